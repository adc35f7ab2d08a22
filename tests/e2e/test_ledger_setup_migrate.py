"""`migrate`: step by step, each of them whole, with a copy of what was there."""

from __future__ import annotations

import sqlite3

import pytest
from ledgers import Place

from bridoon.ledger.store import schema

NEWEST = schema.NEWEST
INTAKE = "intake --type new-spec --summary before --lane tiny"


def test_a_ledger_that_is_up_to_date_is_told_so(ledger: Place) -> None:
    ran = ledger.run("migrate")
    assert ran.lines == [f"Current schema version: {NEWEST}", "Already up to date."]
    assert (ran.code, ran.err) == (0, "")
    assert sorted(each.name for each in ledger.root.iterdir()) == ["harness.db"]


def test_every_pending_step_is_named(ledger6: Place) -> None:
    ledger6.ok(INTAKE)
    ran = ledger6.run("migrate")
    assert ran.lines == [
        "Current schema version: 6",
        *(f"Applying migration {each}..." for each in range(7, NEWEST + 1)),
        f"Applied {NEWEST - 6} migration(s).",
    ]
    assert ran.code == 0
    assert ledger6.json("query intakes")["intakes"][0]["summary"] == "before"


@pytest.mark.parametrize("version", range(1, NEWEST))
def test_every_older_schema_gets_the_shape_of_a_new_one(bare: Place, version: int) -> None:
    shape = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2"
    bare.make(version)
    bare.ok("migrate")
    migrated = bare.sql(shape)
    bare.database.unlink()
    bare.ok("init")
    assert migrated == bare.sql(shape)


def test_the_database_as_it_was_is_kept_and_told(ledger6: Place) -> None:
    ledger6.ok(INTAKE)
    ran = ledger6.run("migrate")
    copy = ledger6.root / "harness.db.schema-6.bak"
    assert str(copy) in ran.err
    db = sqlite3.connect(copy)
    assert db.execute("SELECT max(version) FROM schema_version").fetchone() == (6,)
    assert db.execute("SELECT summary FROM intake").fetchone() == ("before",)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    assert sorted(each.name for each in ledger6.root.iterdir()) == ["harness.db", "harness.db.schema-6.bak"]


def test_a_copy_that_is_there_is_not_overwritten(ledger6: Place) -> None:
    ledger6.file("harness.db.schema-6.bak", "an older one")
    assert ledger6.json("migrate")["backup"] == str(ledger6.root / "harness.db.schema-6.2.bak")
    assert (ledger6.root / "harness.db.schema-6.bak").read_text() == "an older one"


def test_a_copy_can_be_put_back(ledger6: Place) -> None:
    ledger6.ok(INTAKE)
    ledger6.ok("migrate")
    (ledger6.root / "harness.db.schema-6.bak").replace(ledger6.database)
    assert ledger6.json("query stats")["intakes"] == 1
    assert ledger6.run("migrate").code == 0


def test_a_step_that_fails_leaves_the_steps_before_it(ledger6: Place) -> None:
    ledger6.sql("CREATE TABLE audit_evidence_episode (mine TEXT)")
    ran = ledger6.run("migrate")
    assert (ran.code, ran.out) == (1, "")
    assert "audit_evidence_episode" in ran.err
    assert ledger6.value("SELECT max(version) FROM schema_version") == 8
    ledger6.sql("DROP TABLE audit_evidence_episode")
    assert ledger6.run("migrate").lines[0] == "Current schema version: 8"
    assert ledger6.value("SELECT max(version) FROM schema_version") == NEWEST


def test_eight_at_once_apply_every_step_once(ledger6: Place) -> None:
    started = [ledger6.start("migrate") for _ in range(8)]
    ended = [(process.communicate(timeout=60), process.returncode) for process in started]
    assert [code for _, code in ended] == [0] * 8, ended
    assert ledger6.sql("SELECT version FROM schema_version ORDER BY 1") == [(each,) for each in range(1, NEWEST + 1)]
    steps = [line for (out, _), _ in ended for line in out.splitlines() if line.startswith(b"Applying")]
    assert len(steps) == len(set(steps)) == NEWEST - 6


def test_a_newer_schema_is_refused_with_the_way_out(ledger: Place) -> None:
    ledger.sql("INSERT INTO schema_version (version) VALUES (99)")
    ran = ledger.run("migrate")
    assert (ran.code, ran.out) == (1, "")
    assert "schema 99" in ran.err
    assert "install a newer harness-cli" in ran.err
    assert ledger.error("migrate")[1]["code"] == "COMPATIBILITY_ERROR"


def test_programs_are_told_what_was_done(ledger6: Place) -> None:
    assert ledger6.json("migrate") == {
        "path": str(ledger6.database),
        "before": 6,
        "schema_version": NEWEST,
        "applied": list(range(7, NEWEST + 1)),
        "backup": str(ledger6.root / "harness.db.schema-6.bak"),
    }
