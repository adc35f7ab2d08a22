"""Whatever has become of standard input, output and error: a run ends as it should, and says so."""

from __future__ import annotations

import json
import subprocess
import time

import pytest
from project import Project, bash, hs

STEPS = [{"calls": [bash("echo noise >&2; echo heard")]}, {"say": "the answer"}]


def shell(project: Project, redirection: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `hs OPTIONS hello` with what a shell makes of its standard streams."""
    line = f'exec "$0" -p scripted "$@" hello {redirection}'
    env = {**project.env, "BRIDOON_SCRIPT": project.script(STEPS)}
    return subprocess.run(
        ["bash", "-c", line, hs(), *options],
        cwd=project.dir,
        env=env,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def test_a_closed_standard_error_takes_nothing_from_the_answer(project: Project) -> None:
    done = shell(project, "2>&-")
    assert (done.returncode, done.stdout) == (0, "the answer\n")


def test_notes_for_people_do_not_land_in_the_files_of_a_session_when_standard_error_is_closed(
    project: Project,
) -> None:
    project.hook("start/01-noisy", "echo a note for people >&2; cat")
    shell(project, "2>&- >&- <&-")
    session = project.newest_session()
    assert "the answer" in (session / "messages" / "0004-assistant.md").read_text()
    for file in [*session.glob("messages/*"), session / ".stream", session / ".lock"]:
        assert "a note for people" not in file.read_text(), file


@pytest.mark.parametrize("closed", [">&-", "<&-", ">&- 2>&-", ">&- 2>&- <&-"])
def test_closed_streams_do_not_make_a_run_fail(project: Project, closed: str) -> None:
    assert shell(project, closed).returncode == 0


def test_a_closed_standard_input_is_not_waited_for(project: Project) -> None:
    began = time.monotonic()
    done = shell(project, "<&-", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "the answer\n", "")
    assert time.monotonic() - began < 2.5, "the patience with a silent pipe is 3 s"


@pytest.mark.parametrize("options", [(), ("--quiet",), ("--json",)])
def test_an_output_that_cannot_be_written_is_one_plain_error(project: Project, options: tuple[str, ...]) -> None:
    done = shell(project, ">/dev/full", *options)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "harness: cannot write the output: No space left on device"
    assert "Traceback" not in done.stderr


def test_nobody_reading_standard_error_stops_nothing(project: Project) -> None:
    done = shell(project, "2> >(true)")
    assert (done.returncode, done.stdout) == (0, "the answer\n")


@pytest.mark.parametrize(
    "words",
    [
        ("--json", "--bogus", "hello"),
        ("hello", "--json", "--max-turns", "many"),
        ("--json", "--cwd", "no such directory", "hello"),
        ("--json", ""),
        ("--json", "--session", "../evil", "hello"),
    ],
)
def test_a_wrong_command_line_ends_in_a_result_object_too(project: Project, words: tuple[str, ...]) -> None:
    done = project.run(*words)
    assert done.code == 2
    (line,) = done.stdout.splitlines()
    result = json.loads(line)
    assert (result["type"], result["stop"], result["exit_code"], result["turns"]) == ("result", "error", 2, 0)
    assert result["output"].startswith("error: ")
