"""Whatever goes wrong before or in a run, a reader of `--json` gets JSON lines and one `result` last."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fakes.terminal import AtTerminal
from project import Project, bash, hs

SCRIPTED = ("-p", "scripted")


def lines(project: Project, *words: str, stdin: bytes | None = None, **env: str) -> tuple[int, dict[str, object]]:
    """Run `hs` and return its exit code and its last line, after looking at all of them."""
    if "BRIDOON_SCRIPT" not in project.env:
        project.env["BRIDOON_SCRIPT"] = project.script([{"say": "done"}])
    result = project.run(*words, stdin=stdin, env=env)
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["type"] for each in found].count("result") == 1, result
    assert found[-1]["type"] == "result"
    assert found[-1]["exit_code"] == result.code
    assert "Traceback" not in result.stderr
    return result.code, found[-1]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--json", "--nope", "hi"), 2),
        (("--json", "-p"), 2),
        (("hi", "--json", "--max-turns", "0"), 2),
        (("--json", "--max-turns", "9" * 5000, "hi"), 2),
        (("--json", "--cwd", "/proc/nowhere", "hi"), 2),
        (("hi", "--json", "--cwd", "/proc/nowhere"), 2),
        (("--json", *SCRIPTED, "--session", "unknown", "hi"), 1),
        (("--json", *SCRIPTED, "--session", "../../etc", "hi"), 2),
        (("--json", *SCRIPTED, "--attach", "/proc/nowhere", "hi"), 2),
        (("--json", *SCRIPTED, "--attach", "/dev/zero", "hi"), 2),
        (("--json", *SCRIPTED, ""), 2),
        (("--json", "hi"), 3),
        (("--json", "-p", "../x", "hi"), 3),
        (("--json", "-p", "anthropic", "hi"), 3),
        (("--json", "resume"), 2),
        (("resume", "--json", "unknown"), 2),
        (("repl", "--json"), 2),
        (("--json", *SCRIPTED, "hi"), 0),
        ((*SCRIPTED, "hi", "--json"), 0),
    ],
)
def test_every_command_line_that_starts_a_run_ends_with_a_result(
    project: Project, words: tuple[str, ...], code: int
) -> None:
    assert lines(project, *words)[0] == code


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("HARNESS_ROOT", "/proc/nowhere", 1),
        ("HARNESS_SESSIONS", "/proc/nowhere", 1),
        ("HARNESS_SESSIONS", "/dev/null", 1),
        ("HOME", "/dev/null", 1),
        ("HARNESS_MAX_TURNS", "9" * 5000, 0),
        ("HARNESS_CONTEXT", "9" * 5000, 0),
        ("HARNESS_LOG", "/proc/nowhere/log", 0),
        ("PATH", "", 0),
        ("LC_ALL", "C", 0),
        ("BRIDOON_SCRIPT", "/proc/nowhere", 2),
        ("BRIDOON_SCRIPT", "/etc/hostname", 2),
    ],
)
def test_an_environment_that_is_wrong_is_an_error_with_a_result(
    project: Project, name: str, value: str, code: int
) -> None:
    assert lines(project, "--json", *SCRIPTED, "hi", **{name: value})[0] == code


def test_a_reader_of_another_commands_json_is_not_given_a_result(project: Project) -> None:
    result = project.run("session", "list", "--json", "--nope")
    assert (result.code, result.stdout) == (2, "")
    assert project.run("--json", "session", "list").stdout == project.run("session", "list", "--json").stdout


def test_a_pipe_without_an_end_is_refused_before_it_fills_the_memory(project: Project) -> None:
    line = f"(ulimit -v 2000000; yes | {hs()} -p scripted --json explain)"
    done = subprocess.run(
        ["bash", "-c", line], cwd=project.dir, env=project.env, capture_output=True, timeout=20, check=False
    )
    assert done.returncode == 2
    assert b"more than 32 MiB" in done.stdout
    assert b"Traceback" not in done.stderr


def test_thirty_megabytes_of_standard_input_are_read_in_no_time(project: Project) -> None:
    code, last = lines(project, "--json", *SCRIPTED, "explain", stdin=b"a line of a log\n" * (30 << 16))
    assert (code, last["output"]) == (0, "done")


@pytest.mark.parametrize("words", [("version",), ("--help",), ("tools",)])
def test_a_full_disk_is_no_success(project: Project, words: tuple[str, ...]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [hs(), *words],
            cwd=project.dir,
            env=project.env,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=20,
            check=False,
        )
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("place", ["a\nb", "\x1b]0;x\x07", "é \u202e", "\udcff"])
def test_a_directory_of_any_name_is_a_place_to_work_in(project: Project, place: str) -> None:
    (project.dir / place).mkdir()
    code, last = lines(project, "--json", *SCRIPTED, "--cwd", place, "hi")
    assert (code, last["output"]) == (0, "done")


def test_many_runs_at_once_do_not_disturb_each_other(project: Project) -> None:
    project.env["BRIDOON_SCRIPT"] = project.script([{"calls": [bash("echo x")]}, {"say": "done"}])
    with ThreadPoolExecutor(6) as pool:
        ended = list(pool.map(lambda n: lines(project, "--json", *SCRIPTED, f"hi {n}"), range(18)))
    assert {code for code, _ in ended} == {0}
    assert len({last["session"] for _, last in ended}) == 18


def test_nothing_that_a_model_says_is_an_order_to_the_terminal(project: Project) -> None:
    evil = "see \x1b]52;c;ZXZpbA==\x07 and \x9b2J"
    env = {**project.env, "BRIDOON_SCRIPT": project.script([{"think": evil, "say": evil}])}
    with AtTerminal([hs(), "-p", "scripted", "hi"], env, project.dir) as terminal:
        terminal.wait()
        shown = terminal.shown
    assert "\\x1b]52" in shown
    assert "\x1b]52" not in shown
    assert "\x9b" not in shown
    piped = project.run("-p", "scripted", "hi", env={"BRIDOON_SCRIPT": env["BRIDOON_SCRIPT"]})
    assert piped.output == evil
