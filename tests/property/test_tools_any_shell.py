"""Shell rules under any command line: compared with what bash really runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridoon.toolkit.shellrules import Pattern, allows, touches
from bridoon.toolkit.shellscan import glimpses
from bridoon.toolkit.shellwords import Command, simple_commands

EXAMPLES = int(os.environ.get("BRIDOON_EXAMPLES", "100"))

ALLOWED = [Pattern.parse("git status*"), Pattern.parse("echo *")]
OPERATORS = [";", "\n", "&", "&&", "||", "|", "|&", " ; ", " &&\n", " & ", " \n\n"]
WRAPPERS = [
    "env {}", "env A=b {}", "timeout 5 {}", "timeout -k 1 5 {}", "nohup {}", "nice -n 5 {}", "sudo {}",
    "sudo -u me {}", "command {}", "builtin {}", "exec {}", "eval {}", "xargs {}", "xargs -n1 {}",
    "time {}", "find . -exec {} \\;", "X=1 {}", "! {}", "( {} )", "{{ {}; }}", "if true; then {}; fi",
    "$({})", "while {}; do :; done", "echo `{}`", "echo \"$({})\"", "cat <({})", "ls; {}",
    "ls && {} | wc", "ls\n{}", "f() {{ {}; }}", "bash -c '{}'", "sh -c \"{}\"", "eval \"{}\"",
    "bash <<EOF\n{}\nEOF", "bash <<< '{}'", ">/dev/null {}", "# it's\n{}",
]  # fmt: skip
DISGUISES = ["rm", "'rm'", '"rm"', "\\rm", "r''m", 'r"m"', "/bin/rm", "r\\m"]

unquoted = st.text(st.characters(codec="utf-8", exclude_characters="\0'\"\\#"), max_size=12)
names = st.text("abcxyz", min_size=1, max_size=6)
plain = st.text("abcxyz0-./_", min_size=1, max_size=6)
allowed_commands = st.builds("git status {}".format, plain) | st.builds("echo {} {}".format, plain, plain)


@settings(max_examples=EXAMPLES)
@given(allowed_commands, st.sampled_from(OPERATORS), names, plain, st.booleans())
def test_joining_an_allowed_command_with_another_is_not_allowed(
    command: str, operator: str, other: str, argument: str, first: bool
) -> None:
    assert allows(ALLOWED, command)
    other = f"{other} {argument}"
    joined = f"{other}{operator}{command}" if first else f"{command}{operator}{other}"
    assert not allows(ALLOWED, joined)
    assert allows([*ALLOWED, Pattern.parse(f"{other.split()[0]} *")], joined)


@settings(max_examples=EXAMPLES)
@given(unquoted, st.sampled_from(OPERATORS), unquoted)
def test_no_text_around_another_command_makes_it_allowed(before: str, operator: str, after: str) -> None:
    assert not allows(ALLOWED, f"{before}{operator}rm x{operator}{after}")


@settings(max_examples=EXAMPLES)
@given(st.lists(st.sampled_from(WRAPPERS), max_size=3), st.sampled_from(DISGUISES), plain)
def test_a_denied_command_stays_denied_in_any_wrapping(wrappers: list[str], name: str, argument: str) -> None:
    command = f"{name} {argument}"
    for wrapper in wrappers:
        if ("'" in command and "'" in wrapper) or ("`" in command and "`" in wrapper):
            continue  # these would end each other
        if '"{}"' in wrapper:
            command = re.sub(r'([\\"$`])', r"\\\1", command)
        command = wrapper.format(command)
    assert touches(Pattern.parse("rm *"), command)


@settings(max_examples=EXAMPLES)
@given(st.text(max_size=60) | st.text("ab '\"\\$`(){}<>&|;\n#=*?[~!E", max_size=40))
def test_no_text_upsets_the_readers(text: str) -> None:
    for command in simple_commands(text) or []:
        assert command
        assert command[0].known
    assert all(glimpse for glimpse in glimpses(text))


TOKENS = [
    "x", "y", "z", "z", "x", "y", " ", " ", " ", " ", "\n", ";", "&", "|", "&&", "||", "|&", "(", ")",
    "{ ", "; }", "'", "\"", "\\", "$", "`", "#", " # ", "!", "! ", "=", "*", "~", "[", "]", "if ",
    ";then ", ";fi", ";fi", " do ", " done", "while ", "$(", "${", "case ", " in ", " esac", "<<E\n",
    "\nE\n", "$x", "${x}", "$'", "x=z", "&>", " 2>&1", "\t", " >/dev/null ", " 2>/dev/null", "[[ ", " ]]",
    "((", "))", ";;", "'a b'", "\"c d\"", "''", "time ", "coproc ", "\r", "for ", "<(", "<<<", "{z,y}",
    "$IFS", "\\\n", "x() ", "${x:-z}", "${x:-z}", "\u00a0", "a#b", "\\;", "\\ ", "%", "^", "@",
]  # fmt: skip


@pytest.fixture(scope="module")
def bash() -> Iterator[Path]:
    """A directory with a start file for bash that notes the words of every command instead of running it."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "start").write_text(
            'command_not_found_handle() { local s; printf -v s "%s\\037" "$@"\n'
            'printf "%s\\036" "$s" >> "$NOTES"; }\n'
            "readonly -f command_not_found_handle; ulimit -t 1 -f 1000\n",
            "utf-8",
        )
        yield place


def what_runs(place: Path, text: str) -> list[list[str]]:
    """The commands that bash runs for `text`, in a place where no program exists."""
    with tempfile.TemporaryDirectory(dir=place) as work:
        notes = Path(work) / "notes"
        notes.touch()
        with subprocess.Popen(
            [str(shutil.which("bash")), "-c", text], cwd=work, start_new_session=True,
            env={"PATH": "/nowhere", "BASH_ENV": str(place / "start"), "HOME": work, "NOTES": str(notes)},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as shell:  # fmt: skip
            try:
                shell.wait(2)
            except subprocess.TimeoutExpired:
                os.killpg(shell.pid, 9)
        try:
            os.killpg(shell.pid, 9)
        except ProcessLookupError:
            pass
        told = notes.read_bytes().decode("utf-8", "surrogateescape")
    return [each.split("\x1f")[:-1] for each in told.split("\x1e")[:-1]]


def could_be(command: Command, argv: list[str]) -> bool:
    for index, word in enumerate(command):
        if not word.known:
            return index >= len(argv) or argv[index].startswith(word.text)
        if index >= len(argv) or argv[index] != word.text:
            return False
    return len(command) == len(argv)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=12).map("".join))
def test_bash_runs_nothing_that_the_readers_did_not_see(bash: Path, text: str) -> None:
    understood = simple_commands(text)
    denied = touches(Pattern.parse("z *"), text)
    if understood is None and denied:
        return  # nothing is claimed
    ran = what_runs(bash, text)
    if understood is not None:
        for argv in ran:
            assert any(could_be(command, argv) for command in understood)
    if not denied:
        assert "z" not in [argv[0] for argv in ran]
