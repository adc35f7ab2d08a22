"""Each run leaves one trace that tells what it did, whatever happens to its files, its hooks and its repository."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sqlite3
import time

import pytest
from ledger_runs import Book
from project import Project, Result, bash, call

BROKEN = b"this is no database at all" * 200


@pytest.fixture
def book(project: Project) -> Book:
    return Book(project)


def notices(result: Result) -> str:
    return "\n".join(str(event["text"]) for event in result.events if event["type"] == "notice")


def kill_when_reached(project: Project, command: str, message: str) -> None:
    """Start a run with a command, and kill it when there is a file `reached`."""
    script = project.script([{"calls": [bash(command)]}, {"calls": [bash("touch reached; sleep 60")]}])
    process = project.start("-p", "scripted", "--", message, env={"BRIDOON_SCRIPT": script})
    end = time.monotonic() + 15
    while not (project.dir / "reached").exists():
        assert time.monotonic() < end
        select.select([], [], [], 0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=10)


def test_traces_that_wait_are_not_lost_in_a_home_whose_path_has_a_tilde(project: Project, book: Book) -> None:
    project.home = project.home.rename(project.home.with_name("my~home"))
    project.env["HOME"] = str(project.home)
    good = book.path.read_bytes()
    book.path.write_bytes(BROKEN)
    project.say("one", record=False)
    project.say("two", record=False)  # takes the first in hand, and has to give it back
    assert len(book.left) == 2
    book.path.write_bytes(good)
    project.say("three", record=False)
    assert {trace["task_summary"] for trace in book.traces()} == {"one", "two", "three"}
    assert not (project.home.parent / "my").exists()


def test_a_trace_that_waits_is_written_however_the_path_of_the_ledger_is_spelled(project: Project, book: Book) -> None:
    link = project.dir.parent / "link"
    link.symlink_to(project.dir)
    good = book.path.read_bytes()
    book.path.write_bytes(BROKEN)
    project.say("through a link", env={"HARNESS_DB_PATH": str(link / "harness.db")})
    book.path.write_bytes(good)
    project.say("directly")
    assert {trace["task_summary"] for trace in book.traces()} == {"through a link", "directly"}
    assert book.left == []


def test_a_killed_run_whose_session_was_removed_leaves_a_trace_all_the_same(project: Project, book: Book) -> None:
    kill_when_reached(project, "true", "to be killed")
    shutil.rmtree(project.newest_session())
    project.say("the next one")
    traces = {trace["task_summary"]: trace for trace in book.traces()}
    assert set(traces) == {"to be killed", "the next one"}
    assert traces["to be killed"]["outcome"] == "failed"
    assert traces["to be killed"]["actions_taken"] == ["no answer is recorded"]
    assert book.left == []


def test_a_run_that_removes_its_own_session_leaves_a_trace_that_names_the_task(project: Project, book: Book) -> None:
    project.say("clean up", calls=[bash('rm -rf "$HARNESS_SESSION"')])
    assert book.trace()["task_summary"] == "clean up"


@pytest.mark.parametrize("printed", ["{}", '{"first": "x", "usage": 5, "seconds": "long", "stop": ["a"], "run": 7}'])
def test_hooks_of_the_end_do_not_change_what_the_next_one_is_told_of_the_run(
    project: Project, book: Book, printed: str
) -> None:
    project.hook("end/10-says", f"cat >/dev/null; echo '{printed}'")
    project.hook("end/20-keeps", "tee end.json")
    result = project.say("mind the hooks")
    assert result.code == 0
    assert notices(result) == ""
    trace = book.trace()
    assert (trace["task_summary"], trace["outcome"]) == ("mind the hooks", "completed")
    assert '"stop":"end"' in (project.dir / "end.json").read_text().replace(": ", ":")


def test_a_ledger_that_is_made_during_a_run_gets_the_trace_of_that_run(project: Project) -> None:
    result = project.say("make a ledger", calls=[bash("harness-cli init")])
    assert result.code == 0
    with contextlib.closing(sqlite3.connect(project.dir / "harness.db", isolation_level=None)) as db:
        assert db.execute("SELECT task_summary, outcome FROM trace").fetchall() == [("make a ledger", "completed")]
    off = project.say("not this one", calls=[bash("harness-cli query stats")], env={"HARNESS_LEDGER": "off"})
    assert off.code == 0
    with contextlib.closing(sqlite3.connect(project.dir / "harness.db", isolation_level=None)) as db:
        assert db.execute("SELECT count(*) FROM trace").fetchone() == (1,)


def test_files_that_were_gone_before_are_not_told_as_changed_however_many(project: Project, book: Book) -> None:
    for number in range(1100):
        project.file(f"many/{number}.txt", "x")
    project.file("one.txt", "x")
    book.git()
    shutil.rmtree(project.dir / "many")
    project.say(calls=[bash("echo a > new.txt")])
    assert book.trace()["files_changed"] == ["new.txt"]


def test_files_that_were_gone_before_are_not_told_of_a_killed_run(project: Project, book: Book) -> None:
    for name in ("before.txt", "now.txt"):
        project.file(name, "x")
    book.git()
    (project.dir / "before.txt").unlink()
    kill_when_reached(project, "echo a > made.txt", "to be killed")
    project.say("the next one")
    killed = next(trace for trace in book.traces() if trace["task_summary"] == "to be killed")
    assert set(killed["files_changed"]) - {"reached"} == {"made.txt"}


def test_the_oldest_of_too_many_waiting_traces_go(project: Project, book: Book) -> None:
    good = book.path.read_bytes()
    book.path.write_bytes(BROKEN)
    project.say("the newest")
    (newest,) = (project.home / ".harness" / ".ledger").rglob("*.trace.json")
    for number in range(520):
        old = newest.with_name(f"trc_{number:032x}z.trace.json")  # before and after it in the order of names
        old.write_text("{}")
        os.utime(old, (1000 + number, 1000 + number))
    newest = newest.rename(newest.with_name("trc_0.trace.json"))
    project.say("makes room")
    assert newest.exists()
    assert len(book.left) <= 501
    book.path.write_bytes(good)
    project.say("the last")
    assert {trace["task_summary"] for trace in book.traces()} == {"the newest", "makes room", "the last"}


def test_what_is_told_of_a_capability_with_thousands_of_providers_is_short_and_noted(
    project: Project, book: Book
) -> None:
    with book.open() as db:
        db.execute("BEGIN")
        columns = "name, provider, command, description, responsibility, since, created_at, kind, capability, status"
        for number in range(2000):
            row = (f"tool-{number:04}", "registered", "nope", "d", "Verification", "", "", "cli", "coverage", "missing")
            db.execute(f"INSERT INTO tool ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        db.execute("COMMIT")
    result = project.say(calls=[call("capability", name="coverage")])
    assert len(result.results[0]) < 10_000
    assert "... and 1960 more" in result.results[0]
    assert book.trace()["notes"].startswith("Weak proof: coverage (0 of 2000 present; missing tool-0000, ")
    assert len(book.trace()["notes"]) < 1000


def test_a_story_whose_name_cannot_be_shown_is_noted_and_no_other_is_linked(project: Project, book: Book) -> None:
    book.cli("story", "add", "--id", "US-1", "--title", "A story", "--lane", "tiny")
    book.cli("story", "update", "--id", "US-1", "--status", "in_progress")
    project.say(env={"HARNESS_STORY": os.fsdecode(b"\xff\x01")})
    assert book.trace()["story_id"] is None
    assert book.trace()["notes"].startswith("HARNESS_STORY ?: there is no such story")
