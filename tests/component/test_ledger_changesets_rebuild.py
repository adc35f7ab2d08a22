"""A database out of changesets, and a copy of a database: complete, or not there at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from ledgers import Place

HEAD = {"base_schema_version": 6, "op": "changeset.header", "version": 1}
A, B = {"HARNESS_RUN_ID": "a"}, {"HARNESS_RUN_ID": "b"}


def write(place: Place, run: str, *lines: dict[str, Any], name: str = "") -> None:
    text = "".join(json.dumps(line) + "\n" for line in ({**HEAD, "run_id": run}, *lines))
    place.file(f"in/{name or run}.changeset.jsonl", text)


def add(story: str) -> dict[str, Any]:
    return {"op": "story.add", "version": 1, "id": story, "payload": {"title": story, "risk_lane": "tiny"}}


def set_(story: str, status: str) -> dict[str, Any]:
    return {"op": "story.update", "version": 1, "id": story, "payload": {"status": status}}


def left(place: Place) -> list[str]:
    return sorted(path.name for path in place.root.iterdir() if "harness.db" in path.name)


def test_a_database_is_rebuilt_from_all_changesets_of_a_directory(bare: Place) -> None:
    write(bare, "b", set_("US-1", "changed"))
    write(bare, "a", add("US-1"), set_("US-1", "in_progress"))
    bare.file("in/notes.jsonl", "no changeset")
    bare.file("in/below/c.changeset.jsonl", "not looked at")
    said = bare.ok("db rebuild --from in")
    assert said == f"Rebuilt database at {bare.database}\nApplied 2 changeset(s), 3 operation(s).\n"
    assert bare.sql("SELECT id, status FROM story") == [("US-1", "changed")]
    assert bare.sql("SELECT id, path FROM changeset_applied ORDER BY id") == [
        ("a", "in/a.changeset.jsonl"),
        ("b", "in/b.changeset.jsonl"),
    ]
    assert bare.value("PRAGMA journal_mode") == "wal"
    assert bare.value("SELECT max(version) FROM schema_version") == 14
    bare.ok("story add --id US-2 --title t --lane tiny")
    assert "already applied" in bare.ok("db changeset apply in/a.changeset.jsonl")


def test_runs_that_went_on_side_by_side_are_replayed_in_their_true_order(ledger: Place, tmp_path: Path) -> None:
    ledger.ok("story add --id US-1 --title t --lane tiny", env=B)
    for status, run in (("in_progress", A), ("changed", B), ("in_progress", B), ("retired", A), ("planned", B)):
        ledger.ok(f"story update --id US-1 --status {status}", env=run)
    ledger.ok("story update --id US-1 --evidence last", env=A)
    copy = Place(tmp_path / "copy")
    copy.ok(["db", "rebuild", "--from", str(ledger.changesets)])
    rows = "SELECT id, status, evidence, created_at, revision FROM story"
    assert copy.sql(rows) == ledger.sql(rows) == [("US-1", "planned", "last", *ledger.sql(rows)[0][3:])]


def test_what_does_not_say_when_it_was_recorded_comes_first(bare: Place) -> None:
    write(bare, "a", {**set_("US-1", "changed"), "version": 2, "recorded_at_unix_ns": 20})
    write(bare, "b", {**set_("US-1", "retired"), "version": 2, "recorded_at_unix_ns": 10})
    write(bare, "z", add("US-1"))
    bare.ok("db rebuild --from in")
    assert bare.value("SELECT status FROM story") == "changed"


def test_a_database_that_is_there_is_left_alone(ledger: Place) -> None:
    write(ledger, "a", add("US-1"))
    before = ledger.database.read_bytes()
    code, error = ledger.error("db rebuild --from in")
    assert (code, error["code"]) == (3, "CONFLICT")
    assert str(ledger.database) in error["message"]
    assert ledger.database.read_bytes() == before
    dangling = ledger.root / "link.db"
    dangling.symlink_to("nowhere")
    assert ledger.error("db rebuild --from in", env={"HARNESS_DB_PATH": str(dangling)})[0] == 3


def test_a_rebuild_that_fails_leaves_nothing_behind_and_can_be_repeated(bare: Place) -> None:
    write(bare, "a", add("US-1"))
    write(bare, "b", add("US-1"))
    ran = bare.run("db rebuild --from in")
    assert ran.code == 1
    assert ran.err.startswith("error: in/b.changeset.jsonl:2: ")
    assert left(bare) == []
    write(bare, "b", add("US-2"))
    bare.ok("db rebuild --from in")
    assert left(bare) == ["harness.db"]


def test_a_directory_that_is_missing_is_an_error_and_an_empty_one_is_not(bare: Place) -> None:
    assert "no directory in" in bare.run("db rebuild --from in").err
    assert left(bare) == []
    (bare.root / "in").mkdir()
    assert "Applied 0 changeset(s), 0 operation(s)." in bare.ok("db rebuild --from in")


def test_two_files_of_one_run_are_an_error(bare: Place) -> None:
    write(bare, "a", add("US-1"))
    write(bare, "a", add("US-2"), name="copy-of-a")
    ran = bare.run("db rebuild --from in")
    assert ran.code == 1
    assert "in/copy-of-a.changeset.jsonl:1: run a is in in/a.changeset.jsonl already" in ran.err
    assert left(bare) == []


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_what_a_lost_database_left_behind_is_not_mixed_into_a_new_one(bare: Place, ending: str) -> None:
    write(bare, "a", add("US-1"))
    bare.file("harness.db" + ending, "remains")
    assert f"harness.db{ending} is left over" in bare.run("db rebuild --from in").err
    assert left(bare) == ["harness.db" + ending]


def test_of_several_rebuilds_at_once_one_makes_the_database(bare: Place) -> None:
    write(bare, "a", *(add(f"US-{number}") for number in range(500)))
    running = [bare.start("db rebuild --from in") for _ in range(4)]
    for process in running:
        process.communicate(timeout=60)
    assert sorted(process.returncode for process in running) == [0, 1, 1, 1]
    assert left(bare) == ["harness.db"]
    assert bare.value("SELECT count(*) FROM story") == 500


def test_a_run_of_the_rebuilt_database_can_go_on(ledger: Place, tmp_path: Path) -> None:
    ledger.ok("story add --id US-1 --title t --lane tiny", env=A)
    os.unlink(ledger.database)
    ledger.ok("db rebuild --from .harness/changesets")
    ledger.ok("story update --id US-1 --status in_progress", env=A)
    assert [line["op"] for line in ledger.changeset("a")] == ["changeset.header", "story.add", "story.update"]
    assert "already applied" in ledger.ok("db changeset apply .harness/changesets/a.changeset.jsonl")


def test_a_snapshot_is_a_checked_copy_in_one_file(ledger: Place) -> None:
    for story in ("A", "B"):
        ledger.ok(f"story add --id {story} --title t --lane tiny --verify true")
    ledger.ok("story dependency add --blocker A --blocked B")
    made = ledger.json("db snapshot --output copy.db")
    copy = ledger.root / "copy.db"
    assert made["output"] == str(copy)
    assert made["snapshot_file_sha256"] == hashlib.sha256(copy.read_bytes()).hexdigest()
    assert made["graph_revision"] == ledger.json("query work-graph")["revision"]
    assert made["source_logical_sha256"] == ledger.json("db snapshot --output again.db")["source_logical_sha256"]
    assert sorted(path.name for path in ledger.root.glob("copy.db*")) == ["copy.db"]
    with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert db.execute("SELECT count(*) FROM story").fetchone() == (2,)
    ledger.ok("story update --id A --status in_progress")
    changed = ledger.json("db snapshot --output third.db")
    assert changed["source_logical_sha256"] != made["source_logical_sha256"]
    assert changed["graph_revision"] != made["graph_revision"]


def test_a_snapshot_never_replaces_a_file(ledger: Place) -> None:
    path = ledger.file("copy.db", "mine")
    code, error = ledger.error("db snapshot --output copy.db")
    assert (code, error["code"]) == (3, "CONFLICT")
    assert path.read_text() == "mine"
    assert "no directory" in ledger.run("db snapshot --output gone/copy.db").err


def test_a_snapshot_is_taken_while_others_write(ledger: Place) -> None:
    ledger.ok("story add --id A --title t --lane tiny")
    with ledger.open() as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE story SET status='retired'")
        ledger.ok("db snapshot --output copy.db")
        db.execute("COMMIT")
    with contextlib.closing(sqlite3.connect(ledger.root / "copy.db", isolation_level=None)) as copy:
        assert copy.execute("SELECT status FROM story").fetchone() == ("planned",)


def test_lines_that_wait_for_their_file_are_not_copied(ledger: Place) -> None:
    ledger.changesets.parent.mkdir()
    ledger.changesets.write_text("in the way")
    assert "warning: " in ledger.run("story add --id A --title t --lane tiny", env=A).err
    ledger.ok("db snapshot --output copy.db")
    with contextlib.closing(sqlite3.connect(ledger.root / "copy.db", isolation_level=None)) as copy:
        assert copy.execute("SELECT count(*) FROM bridoon_outbox").fetchone() == (0,)
    assert ledger.value("SELECT count(*) FROM bridoon_outbox") == 1
