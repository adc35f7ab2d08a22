"""A marked file as a program: what it prints, how it fails, and how commands take our place."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from processes import ENV, alive, eventually, python

from bridoon.proc.run import Completed, command_for, run

HEAD = "#!/usr/bin/env -S hs py\nfrom bridoon.sdk.script import command, hook, tool\n"


def started(path: Path, body: str, *arguments: str, stdin: bytes = b"{}") -> Completed:
    path.write_text(HEAD + body, encoding="utf-8")
    return run([*command_for(str(path), True), *arguments], env=ENV, stdin=stdin, timeout=20)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "thing"


def test_a_hook_reads_and_prints_its_payload(path: Path) -> None:
    done = started(path, "@hook\ndef f(payload, context):\n    return {**payload, 'b': 2}\n", stdin=b'{"a":"\xc3\xa9"}')
    assert (done.code, done.stdout.text()) == (0, '{"a":"é","b":2}\n')


def test_a_command_gets_its_arguments_and_decides_the_exit_code(path: Path) -> None:
    done = started(path, "@command\ndef f(arguments, context):\n    print(arguments)\n    return 4\n", "a", "--b")
    assert (done.code, done.stdout.text()) == (4, "['a', '--b']\n")


@pytest.mark.parametrize(
    ("failure", "code", "stderr"),
    [
        ("raise SystemExit('not on a Friday')", 1, "not on a Friday\n"),
        ("raise SystemExit(7)", 7, ""),
        (
            "from bridoon.errors import NotFound; raise NotFound('no story 7', 'ls')",
            1,
            "no story 7\nhint: ls\n",
        ),
        ("from bridoon.errors import Cancelled; raise Cancelled(15)", 143, ""),
        ("import signal; signal.raise_signal(signal.SIGINT)", 130, ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143, ""),
    ],
)
def test_a_failure_is_an_exit_code_and_a_message(path: Path, failure: str, code: int, stderr: str) -> None:
    done = started(path, f"@hook\ndef f(payload, context):\n    {failure}\n")
    assert (done.code, done.stdout.text(), done.stderr.text()) == (code, "", stderr)


def test_a_crash_shows_the_drop_ins_own_part_of_the_trace(path: Path) -> None:
    done = started(path, "@hook\ndef f(payload, context):\n    return 1 / 0\n")
    lines = done.stderr.text().splitlines()
    assert done.code == 1
    assert lines[1] == f'  File "{path}", line 5, in f'
    assert lines[-1] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("x = = 1\n", "line 3: invalid syntax"),
        ("x = 1\n", "it must declare one @tool, @hook, @provider or @command, and declares none"),
        ("x = 1\0\n", "source code string cannot contain null bytes"),
    ],
)
def test_a_wrong_file_is_named(path: Path, body: str, message: str) -> None:
    done = started(path, body)
    assert (done.code, done.stderr.text()) == (1, f"{path}: {message}\n")


def test_a_missing_file_is_named(path: Path) -> None:
    done = run(command_for(str(path), True), env=ENV)
    assert (done.code, done.stderr.text()) == (1, f"{path}: No such file or directory\n")


def test_without_a_file_it_tells_its_usage() -> None:
    done = python("from bridoon.sdk.py import main; raise SystemExit(main([]))")
    assert (done.returncode, done.stderr) == (2, "usage: hs py FILE [ARGUMENT ...]\n")


def test_an_edit_of_equal_length_in_the_same_second_counts(path: Path) -> None:
    body = "@command\ndef f(arguments, context):\n    return {}\n"
    codes = [started(path, body.format(code)).code for code in (1, 2, 3)]
    assert codes == [1, 2, 3]
    assert [entry.name for entry in path.parent.iterdir()] == ["thing"]


def test_when_nobody_reads_it_ends_quietly(path: Path) -> None:
    path.write_text(HEAD + "@command\ndef f(arguments, context):\n    print('x' * 1000000)\n", encoding="utf-8")
    words = " ".join(f"'{word}'" for word in command_for(str(path), True))
    done = run(["bash", "-c", f"{words} | true; echo ${{PIPESTATUS[0]}}"], env=ENV)
    assert (done.stdout.text(), done.stderr.text()) == ("141\n", "")


def test_term_stops_what_a_tool_has_started(path: Path) -> None:
    body = (
        "@command\ndef f(arguments, context):\n"
        "    from bridoon.proc.run import run\n"
        "    script = f'setsid sleep 300 & echo $! > {arguments[0]}; wait'\n"
        "    run(['bash', '-c', script], env=context.env)\n"
    )
    path.write_text(HEAD + body, encoding="utf-8")
    said = path.with_name("pid")
    with subprocess.Popen([*command_for(str(path), True), str(said)], env=ENV) as process:
        assert eventually(lambda: said.exists() and said.read_text(encoding="utf-8"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 143
    assert not alive(int(said.read_text(encoding="utf-8")))


# ---- a command that takes our place

BECOME = """
import os, sys
from bridoon.proc.become import become
from bridoon.proc.run import run
run(["/bin/true"], env={"HARNESS_HOME": sys.argv[1]})
print("before", os.getpid())
become(sys.argv[2], False, sys.argv[3:], {"PATH": os.environ["PATH"]})
"""


def test_a_command_keeps_pid_and_streams_and_leaves_no_record(tmp_path: Path) -> None:
    script = tmp_path / "plain"
    script.write_text('echo "after $$ $1"; cat; ls $2; yes | head -n 1; exit 6', encoding="utf-8")
    script.chmod(0o755)
    running = tmp_path / "home" / ".running"
    env = {name: value for name, value in os.environ.items() if not name.startswith("HARNESS_")}
    done = python(BECOME, str(tmp_path / "home"), str(script), "a b", str(running), input="typed\n", env=env)
    first, second, *rest = done.stdout.splitlines()
    assert first.split()[1] == second.split()[1]
    assert (second.split()[2:], rest, done.stderr, done.returncode) == (["a", "b"], ["typed", "y"], "", 6)


def test_a_command_that_cannot_start_says_why(tmp_path: Path) -> None:
    done = python(BECOME, str(tmp_path), str(tmp_path / "gone"))
    assert f"cannot start {tmp_path}/gone: no such file" in done.stderr
