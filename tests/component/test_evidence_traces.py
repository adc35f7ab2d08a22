"""Evidence that nobody fills in: every run in a project with a ledger leaves one trace of what happened."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time

import pytest
from ledger_runs import Book, git
from project import Project, bash, call


@pytest.fixture
def book(project: Project) -> Book:
    return Book(project)


def test_a_run_leaves_one_trace(project: Project, book: Book) -> None:
    project.file("a.txt", "one\n")
    calls = [call("read_file", path="a.txt"), call("write_file", path="b.txt", content="x"), bash("false")]
    result = project.say("tidy the files up\nand more", calls=calls)
    trace = book.trace()
    assert trace["task_summary"] == "tidy the files up"
    assert trace["agent"] == "hs (scripted/script)"
    assert trace["actions_taken"] == ["read_file: a.txt", "write_file: b.txt", "bash: false"]
    assert trace["files_read"] == ["a.txt"]
    assert trace["files_changed"] == ["b.txt"]
    assert trace["errors"] == ["bash: [exit status 1]"]
    assert trace["outcome"] == "completed"
    assert trace["harness_friction"] == "none"
    assert trace["duration_seconds"] >= 0
    assert trace["token_estimate"] == sum(result.final["usage"][name] for name in ("input_tokens", "output_tokens"))
    assert f"in session {result.session.name}" in trace["notes"]
    assert str(project.home) not in trace["notes"], "a changeset would tell it to everybody"
    assert book.left == []
    assert result.stderr == ""


def test_such_a_trace_is_good_enough_for_the_normal_lane(project: Project, book: Book) -> None:
    project.file("a.txt", "one\n")
    book.cli("intake", "--type", "maintenance", "--summary", "tidy", "--lane", "normal")
    project.say("tidy the files up", calls=[call("read_file", path="a.txt")], env={"HARNESS_INTAKE": "1"})
    assert "MEETS REQUIREMENT" in book.cli("score-trace")


def test_every_prompt_of_a_session_leaves_its_own(project: Project, book: Book) -> None:
    session = project.say("first of all", calls=[bash("echo one")]).session.name
    env = {"BRIDOON_SCRIPT": project.script([{"say": "x"}, {"say": "x"}, {"calls": [bash("echo two")]}, {"say": "y"}])}
    project.run("-p", "scripted", session, "and then this", env=env)
    assert [trace["task_summary"] for trace in book.traces()] == ["first of all", "and then this"]
    assert book.traces()[1]["actions_taken"] == ["bash: echo two"]


def test_what_commands_change_is_seen_in_the_repository(project: Project, book: Book) -> None:
    for name in ("kept.txt", "removed.txt", "dirty.txt", "committed.txt", "gone-before.txt"):
        project.file(name, "one\n")
    book.git()
    project.file("dirty.txt", "dirty before\n")
    (project.dir / "gone-before.txt").unlink()
    project.file("untracked-before", "x")
    command = (
        "rm removed.txt; echo n > new.txt; echo i > .harness/ignored; echo 2 >> committed.txt; git add committed.txt"
    )
    project.say(calls=[bash(f"sleep 0.1; {command}; git -c user.name=a -c user.email=a@b commit -qm x committed.txt")])
    assert book.trace()["files_changed"] == ["committed.txt", "new.txt", "removed.txt"]


def test_a_repository_can_name_no_program_that_is_run_for_the_trace(project: Project, book: Book) -> None:
    project.file("a.txt", "one\n")
    project.file(".gitattributes", "* filter=evil\n")
    book.git()
    for key in ("filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "diff.external", "core.hooksPath"):
        git(project.dir, "config", key, f"touch {project.home}/ran")
    project.file("a.txt", "two\n")
    project.say(calls=[bash("echo three > a.txt; echo b > b.txt")])
    assert book.trace()["files_changed"] == ["a.txt", "b.txt"]
    assert not (project.home / "ran").exists()


def test_outside_of_a_repository_the_tools_tell(project: Project, book: Book) -> None:
    project.say(calls=[call("write_file", path="b.txt", content="x"), bash("echo n > new.txt")])
    assert book.trace()["files_changed"] == ["b.txt"]


def test_refusals_and_repeated_failures_are_friction(project: Project, book: Book) -> None:
    project.hook(
        "tool_exec/05-deny", 'p=$(cat); [[ "$p" == *\'"command":"no\'* ]] && { echo not that >&2; exit 1; }; echo "$p"'
    )
    project.say(calls=[bash("no way"), bash("false"), bash("exit 2"), bash("exit 3")])
    trace = book.trace()
    assert (
        trace["harness_friction"] == "a call of bash was refused by 05-deny; the tool bash failed three times or more"
    )
    assert trace["actions_taken"] == ["bash x3: false; exit 2; exit 3"]


@pytest.mark.parametrize(
    ("options", "settings", "outcome"),
    [(["--max-turns", "1"], {}, "partial"), ([], {"on_refuse": "stop"}, "blocked")],
)
def test_the_outcome_says_how_it_ended(
    project: Project, book: Book, options: list[str], settings: dict[str, str], outcome: str
) -> None:
    if settings:
        project.settings(**settings)
        project.hook("tool_exec/05-deny", "exit 1")
    assert project.say("go", *options, calls=[bash("echo x")]).code != 0
    assert book.trace()["outcome"] == outcome


def test_a_run_that_fails_is_recorded_with_its_error(project: Project, book: Book) -> None:
    project.hook("assemble/50-x", "echo the disk is full >&2; exit 4")
    project.say()
    assert book.trace()["outcome"] == "failed"
    assert "the disk is full" in book.trace()["errors"][0]


def test_a_stopped_run_is_recorded(project: Project, book: Book) -> None:
    script = project.script([{"calls": [bash("touch reached; sleep 60")]}])
    process = project.start("-p", "scripted", "take your time", env={"BRIDOON_SCRIPT": script})
    wait_for(project, "reached", process)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=20)
    trace = book.trace()
    assert (process.returncode, trace["outcome"], trace["task_summary"]) == (130, "partial", "take your time")
    assert trace["actions_taken"] == ["bash: touch reached; sleep 60"]
    assert book.left == []


def wait_for(project: Project, name: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a file is there."""
    end = time.monotonic() + 15
    while not (project.dir / name).exists():
        assert time.monotonic() < end, f"{name} never came"
        assert process.poll() is None
        select.select([], [], [], 0.01)


def test_sub_agents_are_part_of_the_run_that_started_them(project: Project, book: Book) -> None:
    steps = [{"calls": [call("agent", prompt="help me")]}, {"say": "done"}]
    inner = [{"calls": [call("write_file", path="deep.txt", content="x")]}, {"say": "helped"}]
    script = project.file("script.json", json.dumps({"steps": steps, "agents": [{"for": "help", "steps": inner}]}))
    project.run("-p", "scripted", "delegate this", env={"BRIDOON_SCRIPT": str(script)})
    trace = book.trace()
    assert trace["actions_taken"] == ["agent: help me", "write_file: deep.txt"]
    assert trace["files_changed"] == ["deep.txt"]
    assert "1 sub-agent" in trace["notes"]


# ---- what it belongs to


def test_the_story_in_progress_is_linked_when_there_is_exactly_one(project: Project, book: Book) -> None:
    for name in ("US-1", "US-2"):
        book.cli("story", "add", "--id", name, "--title", "a story", "--lane", "tiny")
    project.say()
    book.cli("story", "update", "--id", "US-1", "--status", "in_progress")
    project.say()
    book.cli("story", "update", "--id", "US-2", "--status", "in_progress")
    project.say()
    project.say(env={"HARNESS_STORY": "US-2"})
    assert [trace["story_id"] for trace in book.traces()] == [None, "US-1", None, "US-2"]


def test_names_that_are_not_there_are_noted_and_not_linked(project: Project, book: Book) -> None:
    project.say(env={"HARNESS_STORY": "nope", "HARNESS_INTAKE": "17"})
    trace = book.trace()
    assert (trace["story_id"], trace["intake_id"]) == (None, None)
    assert "HARNESS_STORY nope: there is no such story" in trace["notes"]
    assert "HARNESS_INTAKE 17: there is no such intake" in trace["notes"]


def test_an_intake_is_linked_by_its_number(project: Project, book: Book) -> None:
    book.cli("intake", "--type", "maintenance", "--summary", "tidy", "--lane", "tiny")
    project.say(env={"HARNESS_INTAKE": "1"})
    assert book.trace()["intake_id"] == 1
    assert book.trace()["intake_uid"] == book.sql("SELECT uid FROM intake")[0][0]


def test_with_a_run_id_the_trace_goes_to_its_changeset_and_presence_does_not(project: Project, book: Book) -> None:
    book.register("look", "ls", capability="coverage")
    project.say(env={"HARNESS_RUN_ID": "r1"})
    lines = (project.harness / "changesets" / "r1.changeset.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["op"] for line in lines] == ["changeset.header", "trace.add"]


def test_a_run_id_that_is_no_name_costs_the_changeset_only(project: Project, book: Book) -> None:
    result = project.say(env={"HARNESS_RUN_ID": "../x"})
    assert result.code == 0
    assert book.trace()["outcome"] == "completed"
    assert any("no changeset" in event.get("text", "") for event in result.events)


# ---- switched off, or not there


@pytest.mark.parametrize("way", ["variable", "setting"])
def test_it_can_be_switched_off(project: Project, book: Book, way: str) -> None:
    book.register("look", "ls", capability="coverage")
    if way == "setting":
        project.settings(ledger="off")
    result = project.say(env={"HARNESS_LEDGER": "off"} if way == "variable" else {})
    assert book.traces() == []
    assert "capability" not in [tool["name"] for tool in result.requests[0]["tools"]]
    assert "coverage" not in result.requests[0]["system"]


def test_a_project_without_a_ledger_is_left_alone(project: Project) -> None:
    result = project.say()
    assert "capability" not in [tool["name"] for tool in result.requests[0]["tools"]]
    assert not (project.home / ".harness" / ".ledger").exists()


def test_a_database_of_something_else_is_left_alone(project: Project) -> None:
    subprocess.run(
        ["python3", "-c", "import sqlite3; sqlite3.connect('harness.db').execute('CREATE TABLE t (x)')"],
        cwd=project.dir,
        check=True,
    )
    before = (project.dir / "harness.db").read_bytes()
    result = project.say()
    assert (result.code, result.stderr) == (0, "")
    assert not any(event["type"] == "notice" for event in result.events)
    assert (project.dir / "harness.db").read_bytes() == before


@pytest.mark.parametrize("text", ["x" * 1_000_000, "a\x1b[2J\x07b\u202e", "line\r\nnext"])
def test_messages_of_any_kind_make_a_trace(project: Project, book: Book, text: str) -> None:
    assert project.say("", stdin=text).code == 0
    summary = book.trace()["task_summary"]
    assert summary.isprintable()
    assert len(summary) <= 200


def test_a_ledger_of_the_first_schema_takes_traces_too(project: Project, book: Book) -> None:
    from bridoon.ledger.store import schema

    book.path.unlink()
    with book.open() as db:
        for number, script in schema.migrations():
            if number <= 6:
                for statement in schema.statements(script):
                    db.execute(statement)
    project.say("with an old ledger")
    project.say("and once more")
    assert [trace["task_summary"] for trace in book.traces()] == ["with an old ledger", "and once more"]
