"""The schema has the shape that other programs know, at every version."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridoon.ledger.errors import Incompatible
from bridoon.ledger.store import db as database
from bridoon.ledger.store import schema

TABLES = {
    "schema_version": "version applied_at",
    "intake": "id created_at input_type summary risk_lane risk_flags affected_docs story_id notes",
    "story": "id title created_at risk_lane contract_doc status unit_proof integration_proof e2e_proof platform_proof "
    "evidence notes verify_command last_verified_at last_verified_result",
    "decision": "id title created_at status doc_path verify_command last_verified_at last_verified_result "
    "predicted_impact actual_outcome notes",
    "backlog": "id created_at title discovered_while current_pain suggested_improvement risk status predicted_impact "
    "actual_outcome implemented_at notes",
    "trace": "id created_at task_summary intake_id story_id agent actions_taken files_read files_changed "
    "decisions_made errors outcome duration_seconds token_estimate harness_friction notes",
    "tool": "name created_at provider command description args responsibility since kind capability scan_target "
    "status checked_at",
    "intervention": "id created_at trace_id story_id type description source impact",
    "changeset_applied": "id path applied_at",
}
"""Tables of version 6 and their columns in physical order."""


_made: list[sqlite3.Connection] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """What a test has made is closed behind it."""
    yield
    while _made:
        _made.pop().close()


def connected(path: Path) -> sqlite3.Connection:
    db = database.connect(str(path), mode="rwc")
    _made.append(db)
    return db


def made(path: Path, newest: int) -> sqlite3.Connection:
    db = connected(path)
    with database.transaction(db):
        schema.fill(db, newest)
    return db


def columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def test_version_6_has_exactly_its_tables_and_columns(tmp_path: Path) -> None:
    db = made(tmp_path / "x.db", 6)
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    assert {name for name in names if not name.startswith(("sqlite_", "bridoon_"))} == set(TABLES)
    assert {name: " ".join(columns(db, name)) for name in TABLES} == TABLES
    assert [row[0] for row in db.execute("SELECT version FROM schema_version")] == [1, 2, 3, 4, 5, 6]
    ours = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type IN ('index','trigger','view')")]
    assert [name for name in ours if not name.startswith(("sqlite_autoindex", "bridoon_"))] == []


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO intake (input_type, summary, risk_lane) VALUES ('other', 'x', 'tiny')",
        "INSERT INTO intake (input_type, summary, risk_lane) VALUES ('new_spec', 'x', 'low')",
        "INSERT INTO story (id, title, risk_lane, status) VALUES ('a', 'x', 'tiny', 'done')",
        "INSERT INTO story (id, title, risk_lane, last_verified_result) VALUES ('a', 'x', 'tiny', 'maybe')",
        "INSERT INTO decision (id, title, status) VALUES ('a', 'x', 'open')",
        "INSERT INTO decision (id, title, last_verified_result) VALUES ('a', 'x', 'maybe')",
        "INSERT INTO backlog (title, risk) VALUES ('x', 'low')",
        "INSERT INTO backlog (title, status) VALUES ('x', 'open')",
        "INSERT INTO trace (task_summary, outcome) VALUES ('x', 'done')",
        "INSERT INTO trace (task_summary, intake_id) VALUES ('x', 7)",
        "INSERT INTO trace (task_summary, story_id) VALUES ('x', 'none')",
        "INSERT INTO intervention (type, description, source) VALUES ('other', 'x', 'human')",
        "INSERT INTO intervention (type, description, source) VALUES ('approval', 'x', 'me')",
        "INSERT INTO intervention (type, description, source, trace_id) VALUES ('approval', 'x', 'ci', 7)",
    ],
)
def test_the_schema_refuses_what_the_other_program_refuses(tmp_path: Path, sql: str) -> None:
    db = made(tmp_path / "x.db", 6)
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(sql)


def test_defaults_are_those_of_the_other_program(tmp_path: Path) -> None:
    db = made(tmp_path / "x.db", 6)
    db.execute("INSERT INTO story (id, title, risk_lane) VALUES ('a', 'x', 'tiny')")
    db.execute("INSERT INTO decision (id, title) VALUES ('a', 'x')")
    db.execute("INSERT INTO backlog (title) VALUES ('x')")
    db.execute("INSERT INTO tool (name, command, description, responsibility) VALUES ('t', 'c', 'd', 'r')")
    assert db.execute("SELECT status, unit_proof, e2e_proof FROM story").fetchone() == ("planned", 0, 0)
    assert db.execute("SELECT status FROM decision").fetchone() == ("proposed",)
    assert db.execute("SELECT status FROM backlog").fetchone() == ("proposed",)
    found = db.execute("SELECT provider, since, kind, capability, status, checked_at FROM tool").fetchone()
    assert found == ("custom", "registered", "cli", None, "unknown", None)
    assert db.execute("SELECT length(created_at) FROM tool").fetchone() == (19,)


def test_every_migration_leads_from_any_older_version_to_the_newest(tmp_path: Path) -> None:
    whole = made(tmp_path / "whole.db", schema.NEWEST)
    wanted = shape(whole)
    for start in range(1, schema.NEWEST):
        db = made(tmp_path / f"{start}.db", start)
        for version, script in schema.migrations():
            with database.transaction(db):
                assert schema.advance(db, script, version) == (version > start)
        with database.transaction(db):
            schema.make_own(db)
        assert shape(db) == wanted


def shape(db: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master ORDER BY name")]
    return {name: db.execute(f"PRAGMA table_info({name})").fetchall() for name in names}


def test_migration_5_tells_kinds_from_commands(tmp_path: Path) -> None:
    db = made(tmp_path / "x.db", 4)
    add = "INSERT INTO tool (name, command, description, responsibility) VALUES (?, ?, 'd', 'r')"
    db.executemany(add, [("a", "mcp:x"), ("b", "skill:y"), ("c", "./z")])
    for version, script in schema.migrations():
        if version == 5:
            schema.advance(db, script, version)
    assert db.execute("SELECT kind FROM tool ORDER BY name").fetchall() == [("mcp",), ("skill",), ("cli",)]


def test_migration_12_finds_the_reasons_of_rejections_in_their_notes(tmp_path: Path) -> None:
    db = made(tmp_path / "x.db", 11)
    add = "INSERT INTO backlog (title, status, notes) VALUES (?, ?, ?)"
    rows = [
        ("a", "rejected", "first\nrejection_reason: too dear\nrejection_reason: later"),
        ("b", "rejected", "nothing"),
        ("c", "rejected", None),
        ("d", "proposed", "rejection_reason: not rejected"),
        ("e", "rejected", "rejection_reason: "),
    ]
    db.executemany(add, rows)
    for version, script in schema.migrations():
        if version == 12:
            schema.advance(db, script, version)
    found = db.execute("SELECT rejection_reason FROM backlog ORDER BY title").fetchall()
    assert found == [("too dear",), (None,), (None,), (None,), ("",)]


def test_every_change_counts_the_revision_up(tmp_path: Path) -> None:
    db = made(tmp_path / "x.db", 14)
    db.execute("INSERT INTO story (id, title, risk_lane) VALUES ('a', 'x', 'tiny')")
    for count in range(3):
        assert db.execute("SELECT revision FROM story").fetchone() == (count,)
        db.execute("UPDATE story SET title = title")


def test_a_database_of_something_else_is_not_filled(tmp_path: Path) -> None:
    db = connected(tmp_path / "x.db")
    db.execute("CREATE TABLE orders (id)")
    with pytest.raises(Incompatible, match="something else"):
        schema.fill(db)
    assert db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (1,)
