"""Permissions and tools in whole runs: what is refused never ran and says why, and the run goes on."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

from project import Project, Result, bash, call, hs


def write(path: str, content: str) -> dict[str, object]:
    return call("write_file", path=path, content=content)


def home_settings(project: Project, *lines: str) -> None:
    path = project.home / ".harness" / "settings.conf"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def test_a_denied_command_never_runs_and_the_run_goes_on(project: Project) -> None:
    home_settings(project, "deny bash(touch *)")
    result = project.say(calls=[bash("ls; touch a"), bash("echo fine"), bash("bash -c 'touch b'")])
    assert result.failed == [True, False, True]
    assert "denied by the rule `deny bash(touch *)`" in result.results[0]
    assert result.results[1] == "fine"
    assert not list(project.dir.glob("[ab]"))
    assert (result.code, result.output) == (0, "done")


def test_read_only_lets_readers_pass_and_refuses_the_rest(project: Project) -> None:
    project.file("notes", "hello\n")
    calls = [call("read_file", path="notes"), write("notes", "x"), bash("touch a")]
    result = project.say("go", "--permissions", "read-only", calls=calls)
    assert result.failed == [False, True, True]
    assert (project.dir / "notes").read_text("utf-8") == "hello\n"
    assert not (project.dir / "a").exists()


def test_without_anybody_to_ask_a_call_that_needs_a_yes_is_refused(project: Project) -> None:
    result = project.say("go", "--permissions", "ask", calls=[bash("touch a")])
    assert "nobody can be asked" in result.results[0]
    assert not (project.dir / "a").exists()


def test_a_model_cannot_loosen_the_permissions_of_its_own_run(project: Project) -> None:
    home_settings(project, "permissions=ask", "deny bash(touch *)", "allow write_file", "allow bash(true)")
    settings = "permissions=auto\nallow bash\n"
    calls = [
        write(".harness/settings.conf", settings),
        write(str(project.home / ".harness" / "settings.conf"), settings),
        bash("true"),
        bash("touch a"),
        bash("mkdir b"),
    ]
    assert project.say(calls=calls).failed == [False, False, False, True, True]


def test_what_a_model_makes_stricter_counts_at_once(project: Project) -> None:
    calls = [write(".harness/settings.conf", "deny bash(touch *)\n"), bash("touch a")]
    assert project.say(calls=calls).failed == [False, True]


def test_a_sub_agent_passes_the_same_gate(project: Project) -> None:
    home_settings(project, "deny bash(touch *)")
    script = project.script(
        [
            {"call": {"name": "agent", "input": {"prompt": "touch"}}},
            {"call": bash("touch a")},
            {"say": "child done"},
            {"say": "parent done"},
        ]
    )
    result = project.run("-p", "scripted", "--json", "go", env={"BRIDOON_SCRIPT": script})
    assert not (project.dir / "a").exists()
    children = result.session / ".harness" / "sessions"
    assert "denied by the rule" in "".join(path.read_text("utf-8") for path in children.glob("*/messages/*"))


def test_huge_output_is_bounded_and_kept_in_a_file_that_the_model_is_told_of(project: Project) -> None:
    result = project.say(calls=[bash("seq 1 2000000; exit 3")])
    text = result.results[0]
    assert text.startswith("1\n2\n")
    assert text.endswith("1999999\n2000000\n[exit status 3]")
    assert len(text) < 102_000
    path = Path(text.split("the full text is in ")[1].split(" ...]")[0])
    assert path.stat().st_size == sum(len(f"{number}\n") for number in range(1, 2_000_001))


TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def at_terminal(project: Project, typed: str, script: str, *words: str) -> Result:
    """Run `hs` on a terminal of its own, at which somebody types as soon as a question is shown."""
    ours, theirs = pty.openpty()
    project.started = True
    with subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, hs(), "-p", "scripted", *words, "go"],
        cwd=project.dir,
        env={**project.env, "BRIDOON_SCRIPT": script},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        shown, answers, end = "", typed.split("\n"), time.monotonic() + 20
        while time.monotonic() < end:
            try:
                shown += os.read(ours, 65536).decode("utf-8", "replace")
            except OSError:
                break
            if answers and shown.rstrip().endswith(":") and "[1] yes" in shown:
                os.write(ours, answers.pop(0).encode() + b"\n")
                shown = ""
        process.wait(5)
    os.close(ours)
    return Result(project, process.returncode, "", shown)


def test_a_person_at_the_terminal_answers_once_and_for_the_session(project: Project) -> None:
    script = project.script(
        [{"call": bash(command)} for command in ("touch a b", "touch a c", "mkdir d")] + [{"say": "done"}]
    )
    result = at_terminal(project, "always bash(touch a *)\nrather not", script, "--permissions", "ask")
    assert result.failed == [False, False, True]
    assert "the user said no to this call of bash: rather not" in result.results[2]
    assert sorted(path.name for path in project.dir.glob("[a-d]")) == ["a", "b", "c"]
