"""The stage `end`: once for each run, however it ended, and without a say in the outcome."""

from __future__ import annotations

import json
import os
import select
import signal
import time

import pytest
from project import Project, bash, call

NOTE = 'tee -a "$HOME/ends"; echo >> "$HOME/ends"'


def ends(project: Project) -> list[dict[str, object]]:
    """The payloads that the hook saw."""
    path = project.home / "ends"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line] if path.exists() else []


def test_the_hooks_are_told_how_a_run_ended(project: Project) -> None:
    project.hook("end/50-note", NOTE)
    result = project.say(calls=[bash("echo x")], answer="all done")
    (end,) = ends(project)
    assert end["output"] == "all done"
    assert (end["stop"], end["exit_code"], end["turns"], end["first"]) == ("end", 0, 2, 1)
    assert end["usage"] == result.final["usage"]
    assert float(str(end["seconds"])) > 0
    assert str(end["run"]).startswith(result.session.name + ".")


def test_the_run_is_the_one_that_hooks_find_in_their_environment(project: Project) -> None:
    project.hook("end/50-note", NOTE)
    project.hook("assemble/90-x", 'echo "$HARNESS_LOOP_RUN_ID" > "$HOME/run"; cat')
    project.say()
    assert ends(project)[0]["run"] == (project.home / "run").read_text().strip()


def test_first_is_the_number_of_the_users_message(project: Project) -> None:
    project.hook("end/50-note", NOTE)
    session = project.say(answer="one").session.name
    project.run("-p", "scripted", session, "again", env={"BRIDOON_SCRIPT": project.script([{"say": "two"}])})
    assert [end["first"] for end in ends(project)] == [1, 3]


@pytest.mark.parametrize(
    ("way", "stop", "code"),
    [("error", "error", 1), ("limit", "limit", 4), ("refused", "error", 1)],
)
def test_it_runs_once_however_the_run_ends(project: Project, way: str, stop: str, code: int) -> None:
    project.hook("end/50-note", NOTE)
    if way == "error":
        project.hook("assemble/50-x", "exit 1")
    if way == "refused":
        project.hook("tool_exec/05-deny", "exit 1")
        project.settings(on_refuse="stop")
    options = ["--max-turns", "1"] if way == "limit" else []
    result = project.say("go", *options, calls=[bash("echo x")])
    assert result.code == code
    (end,) = ends(project)
    assert (end["stop"], end["exit_code"]) == (stop, code)


def test_a_stopped_run_has_time_for_its_end(project: Project) -> None:
    project.hook("end/50-note", f"sleep 0.2; {NOTE}")
    process = start_and_stop(project)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert [end["stop"] for end in ends(project)] == ["cancelled"]


def test_the_end_of_a_stopped_run_takes_a_short_time_at_most(project: Project) -> None:
    project.hook("end/50-slow", "sleep 60")
    process = start_and_stop(project)
    began = time.monotonic()
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert time.monotonic() - began < 12
    assert b"50-slow took longer" in err


def start_and_stop(project: Project) -> object:
    """A run in the middle of a command, told to stop by Ctrl-C."""
    script = project.script([{"calls": [bash("touch reached; sleep 60")]}])
    process = project.start("-p", "scripted", "go", env={"BRIDOON_SCRIPT": script})
    end = time.monotonic() + 15
    while not (project.dir / "reached").exists():
        assert time.monotonic() < end
        select.select([], [], [], 0.01)
    os.kill(process.pid, signal.SIGINT)
    return process


def test_a_second_signal_ends_a_hook_of_the_end(project: Project) -> None:
    project.hook("end/50-slow", "touch ending; sleep 60")
    process = project.start("-p", "scripted", "go", env={"BRIDOON_SCRIPT": project.script([{"say": "x"}])})
    end = time.monotonic() + 15
    while not (project.dir / "ending").exists():
        assert time.monotonic() < end
        select.select([], [], [], 0.01)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=15)
    assert process.returncode == 0, "the run had ended before"
    assert b"x" in out


@pytest.mark.parametrize("body", ["exit 3", "echo no json", "echo '[1]'", "kill -9 $$"])
def test_a_hook_that_fails_changes_nothing_and_the_next_one_runs(project: Project, body: str) -> None:
    project.hook("end/40-bad", body)
    project.hook("end/50-note", NOTE)
    result = project.say(answer="fine")
    assert (result.code, result.output) == (0, "fine")
    assert any("40-bad" in event.get("text", "") for event in result.events)
    assert [end["output"] for end in ends(project)] == ["fine"]


def test_what_a_hook_prints_is_not_the_output(project: Project) -> None:
    project.hook("end/40-other", 'cat > /dev/null; echo \'{"output": "mine", "next_state": "assemble"}\'')
    assert project.say(answer="fine").output == "fine"


def test_a_slow_hook_is_ended_by_the_limit_of_hooks(project: Project) -> None:
    project.hook("end/40-slow", "sleep 60")
    result = project.say(answer="fine", env={"HARNESS_HOOK_TIMEOUT": "0.3"})
    assert (result.code, result.output) == (0, "fine")


def test_done_stays_the_last_event(project: Project) -> None:
    project.hook("end/40-bad", "exit 3")
    session = project.say().session
    lines = [json.loads(line) for line in (session / ".stream").read_text("utf-8").splitlines()]
    assert lines[-1]["type"] == "done"


def test_sub_agents_have_no_end_of_their_own(project: Project) -> None:
    project.hook("end/50-note", NOTE)
    steps = [{"calls": [call("agent", prompt="help")]}, {"say": "done"}]
    script = project.file(
        "script.json", json.dumps({"steps": steps, "agents": [{"for": "help", "steps": [{"say": "x"}]}]})
    )
    project.run("-p", "scripted", "go", env={"BRIDOON_SCRIPT": str(script)})
    assert [end["output"] for end in ends(project)] == ["done"]


def test_nothing_leads_to_it_as_a_state(project: Project) -> None:
    project.hook("end/50-note", NOTE)
    project.hook("receive/90-x", 'sed \'s/"next_state": *"done"/"next_state":"end"/\'')
    project.say(answer="x")
    assert len(ends(project)) == 1


def test_it_is_a_stage_that_people_can_ask_for(project: Project) -> None:
    project.hook("end/50-note", NOTE)
    assert "end/50-note" in project.run("hooks", "end").stdout
    assert project.run("new", "hook", "end/60-mine").code == 0
    assert project.run("check").code == 0
