"""A ledger that is locked, broken or not writable stops no run, and no trace is lost or written twice."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ledger_runs import Book
from ledgers import bound_by_modes
from project import Project, bash, call

HOLD = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""
"""Holds the database until its standard input ends."""


@pytest.fixture
def book(project: Project) -> Book:
    return Book(project)


def hold(book: Book) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(book.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def notices(events: list[dict[str, object]]) -> str:
    return "\n".join(str(event["text"]) for event in events if event["type"] == "notice")


def test_a_locked_ledger_delays_a_run_little_and_gets_its_trace_later(project: Project, book: Book) -> None:
    holder = hold(book)
    began = time.monotonic()
    result = project.say("while it is locked", env={"HARNESS_STORY": "nope"})
    took = time.monotonic() - began
    holder.communicate()
    assert result.code == 0
    assert took < 6
    assert "waits for the next one" in notices(result.events)
    (waiting,) = book.left
    assert waiting.endswith(".trace.json")
    project.say("the next one")
    assert sorted(trace["task_summary"] for trace in book.traces()) == ["the next one", "while it is locked"]
    assert "HARNESS_STORY nope" in next(t["notes"] for t in book.traces() if t["task_summary"].startswith("while"))
    assert book.left == []


def test_what_waits_is_for_its_owner_alone(project: Project, book: Book) -> None:
    book.path.write_bytes(b"this is no database at all, but a text" * 100)
    project.say("my private words")
    (path,) = (project.home / ".harness" / ".ledger").rglob("*.trace.json")
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "content", [b"this is no database at all, but a text" * 100, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_broken_ledger_stops_no_run(project: Project, book: Book, content: bytes) -> None:
    good = book.path.read_bytes()
    book.path.write_bytes(content)
    result = project.say("with a broken ledger", calls=[bash("echo x"), call("capability", name="coverage")])
    assert (result.code, result.output) == (0, "done")
    assert "ledger" in notices(result.events)
    assert "Traceback" not in result.stderr
    book.path.write_bytes(good)
    project.say("after it was mended")
    assert {trace["task_summary"] for trace in book.traces()} == {"with a broken ledger", "after it was mended"}


def test_a_ledger_that_is_too_new_is_not_touched(project: Project, book: Book) -> None:
    book.sql("INSERT INTO schema_version (version) VALUES (99)")
    result = project.say()
    assert result.code == 0
    assert "schema 99" in notices(result.events)
    assert book.traces() == []


def test_a_directory_that_cannot_be_written(project: Project, book: Book) -> None:
    project.prefix = bound_by_modes()
    project.dir.chmod(0o555)
    try:
        assert project.say().code == 0
    finally:
        project.dir.chmod(0o755)
    assert len(book.left) == 1


def test_a_ledger_that_cannot_be_written_at_all(project: Project, book: Book) -> None:
    book.path.unlink()
    book.path.symlink_to("/proc/version")
    result = project.say("nowhere to write to")
    assert (result.code, result.output) == (0, "done")
    assert "Traceback" not in result.stderr


def test_a_home_that_cannot_keep_the_trace_is_told(project: Project, book: Book) -> None:
    (project.home / ".harness").mkdir()
    (project.home / ".harness" / ".ledger").write_text("in the way")
    assert project.say("with a good ledger").code == 0
    assert book.trace()["task_summary"] == "with a good ledger"
    book.path.write_bytes(b"broken" * 1000)
    result = project.say("and a bad one")
    assert result.code == 0
    assert "left no trace" in notices(result.events)


def test_two_runs_at_once_leave_two_traces(project: Project, book: Book) -> None:
    script = project.script([{"calls": [bash("sleep 0.2")]}, {"say": "x"}])
    runs = [project.start("-p", "scripted", f"task number {n}", env={"BRIDOON_SCRIPT": script}) for n in range(4)]
    for run in runs:
        run.communicate(timeout=30)
        assert run.returncode == 0
    assert sorted(trace["task_summary"] for trace in book.traces()) == [f"task number {n}" for n in range(4)]
    assert book.left == []


# ---- killed


def kill_in_the_middle(project: Project, message: str = "never to end", *options: str) -> Path:
    """A run that is killed while its second command works; its session."""
    calls = [call("write_file", path="half.txt", content="x"), bash("touch reached; sleep 60")]
    script = project.script([{"calls": calls}])
    process = project.start("-p", "scripted", *options, "--", message, env={"BRIDOON_SCRIPT": script})
    end = time.monotonic() + 15
    while not (project.dir / "reached").exists():
        assert time.monotonic() < end
        select.select([], [], [], 0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=10)
    (project.dir / "reached").unlink()
    return project.newest_session()


def test_the_trace_of_a_killed_run_is_written_at_the_next_start(project: Project, book: Book) -> None:
    session = kill_in_the_middle(project)
    assert book.traces() == []
    project.say("the next one")
    first, second = sorted(book.traces(), key=lambda trace: trace["task_summary"], reverse=True)
    assert (first["task_summary"], second["task_summary"]) == ("the next one", "never to end")
    assert second["outcome"] == "failed"
    assert second["harness_friction"] == "the run was killed"
    assert second["actions_taken"] == ["write_file: half.txt", "bash: touch reached; sleep 60"]
    assert second["files_changed"] == ["half.txt"]
    assert second["token_estimate"] > 0
    assert Path(session).name in second["notes"]
    assert book.left == []
    project.say("and another")
    assert len(book.traces()) == 3


def test_several_starts_at_once_write_it_once(project: Project, book: Book) -> None:
    for _ in range(3):
        kill_in_the_middle(project)
    script = project.script([{"say": "x"}])
    runs = [project.start("-p", "scripted", f"start {n}", env={"BRIDOON_SCRIPT": script}) for n in range(6)]
    for run in runs:
        run.communicate(timeout=30)
    project.say("a last one")
    summaries = [trace["task_summary"] for trace in book.traces()]
    assert sorted(summaries) == ["a last one", *["never to end"] * 3, *[f"start {n}" for n in range(6)]]
    assert book.left == []


def test_a_killed_session_that_goes_on_has_two_traces_that_do_not_overlap(project: Project, book: Book) -> None:
    session = kill_in_the_middle(project)
    script = project.script([{"say": "-"}, {"calls": [bash("echo more")]}, {"say": "x"}])
    done = project.run("-p", "scripted", session.name, "go on", env={"BRIDOON_SCRIPT": script})
    assert done.code == 0
    traces = {trace["task_summary"]: trace for trace in book.traces()}
    assert traces["never to end"]["actions_taken"] == ["write_file: half.txt", "bash: touch reached; sleep 60"]
    assert traces["go on"]["actions_taken"] == ["bash: echo more"]


def test_a_run_that_died_after_its_trace_was_stored_is_not_told_twice(project: Project, book: Book) -> None:
    """The record of a run is still there, and its trace is in the ledger: killed between the two."""
    kill_in_the_middle(project)
    (path,) = (project.home / ".harness" / ".ledger").rglob("*.run.json")
    record = path.read_bytes()
    project.say("the next one")
    path.write_bytes(record)
    project.say("and another")
    assert sorted(trace["task_summary"] for trace in book.traces()) == ["and another", "never to end", "the next one"]
    assert book.left == []


def test_what_a_dead_process_had_in_hand_is_taken_up(project: Project, book: Book) -> None:
    kill_in_the_middle(project)
    (path,) = (project.home / ".harness" / ".ledger").rglob("*.run.json")
    path.rename(f"{path}~4000000.1")
    project.say("the next one")
    assert len(book.traces()) == 2
    assert book.left == []


def test_the_record_of_a_run_that_goes_on_is_left_alone(project: Project, book: Book) -> None:
    script = project.script(
        [{"calls": [bash("touch reached; while [ ! -e go-on ]; do sleep 0.05; done")]}, {"say": "x"}]
    )
    process = project.start("-p", "scripted", "a long one", env={"BRIDOON_SCRIPT": script})
    end = time.monotonic() + 15
    while not (project.dir / "reached").exists():
        assert time.monotonic() < end
        select.select([], [], [], 0.01)
    project.say("a short one")
    assert [trace["task_summary"] for trace in book.traces()] == ["a short one"]
    (project.dir / "go-on").touch()
    process.communicate(timeout=20)
    assert [trace["task_summary"] for trace in book.traces()] == ["a short one", "a long one"]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"database": 5}', '{"uid": "x", "first": "no"}'])
def test_files_that_are_no_records_do_no_harm(project: Project, book: Book, content: str) -> None:
    kill_in_the_middle(project)
    (path,) = (project.home / ".harness" / ".ledger").rglob("*.run.json")
    for name in ("a.run.json", "b.trace.json"):
        (path.parent / name).write_text(content)
    record = json.loads(path.read_text())
    (path.parent / "c.run.json").write_text(json.dumps({**record, "first": "no", "uid": "trc_1"}))
    (path.parent / "d.trace.json").write_text(json.dumps({"database": record["database"], "uid": 5}))
    result = project.say("the next one")
    assert result.code == 0
    assert "Traceback" not in result.stderr
    assert sorted(trace["task_summary"] for trace in book.traces()) == ["never to end", "the next one"]


def test_a_stage_that_a_program_asks_for_is_no_run(project: Project, book: Book) -> None:
    text = 'source "$(hs config HARNESS_ROOT)/bin/harness"; _refresh_sources; echo "{}" | call start'
    done = subprocess.run(["bash", "-c", text], cwd=project.dir, env=project.env, capture_output=True, timeout=30)
    assert json.loads(done.stdout) == {"next_state": "assemble"}, done
    project.say("the only run")
    assert book.trace()["task_summary"] == "the only run"
