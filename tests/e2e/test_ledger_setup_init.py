"""`init`: a ledger is there in whole, or not at all."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from ledgers import Place, bound_by_modes

from bridoon.ledger.store import schema

NEWEST = schema.NEWEST


def left(place: Place) -> list[str]:
    """The files beside the database."""
    return sorted(each.name for each in place.root.iterdir())


def test_a_new_ledger_has_the_newest_schema_and_nothing_beside_it(bare: Place) -> None:
    ran = bare.run("init")
    assert ran.lines == [f"Creating harness database at {bare.database}", "Schema applied."]
    assert (ran.code, ran.err, left(bare)) == (0, "", ["harness.db"])
    assert bare.value("PRAGMA journal_mode") == "wal"
    assert bare.sql("SELECT version FROM schema_version ORDER BY 1") == [(each,) for each in range(1, NEWEST + 1)]


def test_a_ledger_that_is_there_stays_as_it_is(ledger: Place) -> None:
    ledger.ok("intake --type new-spec --summary s --lane tiny")
    ran = ledger.run("init")
    assert ran.lines == [f"Database already exists at {ledger.database}", f"Current schema version: {NEWEST}"]
    assert ran.code == 0
    assert ledger.value("SELECT count(*) FROM intake") == 1


def test_an_old_schema_is_not_brought_up_to_date(ledger6: Place) -> None:
    assert ledger6.run("init").lines[1] == "Current schema version: 6"
    assert ledger6.value("SELECT max(version) FROM schema_version") == 6


def test_a_newer_schema_is_left_alone_and_told(ledger: Place) -> None:
    ledger.sql("INSERT INTO schema_version (version) VALUES (99)")
    ran = ledger.run("init")
    assert (ran.code, ran.lines[1]) == (0, "Current schema version: 99")
    assert "newer" in ran.err
    ran = ledger.run("query stats")
    assert (ran.code, ran.out) == (1, "")
    assert "schema 99" in ran.err
    assert "newer harness-cli" in ran.err


def test_an_empty_file_is_filled(bare: Place) -> None:
    bare.file("harness.db", "")
    ran = bare.run("init")
    assert (ran.code, ran.lines[0], ran.lines[-1]) == (
        0, f"Database already exists at {bare.database}", "Schema applied.",
    )  # fmt: skip
    assert bare.value("PRAGMA journal_mode") == "wal"
    assert bare.value("SELECT max(version) FROM schema_version") == NEWEST


def test_an_empty_file_is_no_ledger_for_other_commands(bare: Place) -> None:
    bare.file("harness.db", "")
    for line in ("query stats", "intake --type new-spec --summary s --lane tiny", "migrate"):
        ran = bare.run(line)
        assert (ran.code, ran.out) == (1, "")
        assert "harness-cli init" in ran.err
    assert bare.database.stat().st_size == 0


def test_a_file_that_is_no_database_is_refused_and_stays(bare: Place) -> None:
    bare.file("harness.db", "my notes\n" * 200)
    for line in ("init", "init --shim", "migrate", "query stats", "intake --type new-spec --summary s --lane tiny"):
        ran = bare.run(line)
        assert (ran.code, ran.out) == (1, "")
        assert "is not a database" in ran.err
    assert bare.database.read_text() == "my notes\n" * 200
    assert left(bare) == ["harness.db"]


def test_a_database_of_something_else_is_refused_and_stays(bare: Place) -> None:
    bare.sql("CREATE TABLE contacts (name TEXT)")
    before = bare.database.read_bytes()
    for line in ("init", "migrate", "query stats"):
        assert bare.run(line).code == 1
    assert "contacts" in bare.run("init").err
    assert bare.database.read_bytes() == before


def test_somebody_elses_schema_version_is_refused(bare: Place) -> None:
    bare.sql("CREATE TABLE schema_version (name TEXT, version TEXT)")
    bare.sql("INSERT INTO schema_version VALUES ('app', 'one')")
    for line in ("init", "migrate", "query stats"):
        ran = bare.run(line)
        assert (ran.code, ran.out) == (1, "")
        assert "no ledger" in ran.err


def test_a_directory_in_its_place_is_refused(bare: Place) -> None:
    bare.database.mkdir()
    assert "is a directory" in bare.run("init").err


def test_a_pipe_in_its_place_is_refused(bare: Place) -> None:
    os.mkfifo(bare.database)
    for line in ("init", "query stats", "audit"):
        assert "is no plain file" in bare.run(line).err


def test_a_link_to_nowhere_is_refused_and_stays(bare: Place) -> None:
    bare.database.symlink_to(bare.home / "nowhere.db")
    assert bare.run("init").code == 1
    assert not (bare.home / "nowhere.db").exists()


def test_a_directory_that_is_not_there_is_told(bare: Place) -> None:
    ran = bare.run("init", env={"HARNESS_DB_PATH": str(bare.root / "a" / "b.db")})
    assert (ran.code, ran.out) == (1, "")
    assert f"no directory {bare.root / 'a'}" in ran.err


def test_a_directory_that_is_read_only_is_told(bare: Place) -> None:
    bare.prefix = bound_by_modes()
    bare.root.chmod(0o555)
    ran = bare.run("init")
    bare.root.chmod(0o755)
    assert (ran.code, ran.out, left(bare)) == (1, "", [])
    assert "nothing can be written in" in ran.err


def test_an_empty_name_of_the_database_counts_as_none(bare: Place) -> None:
    bare.ok("init", env={"HARNESS_DB_PATH": "", "HARNESS_DB": "", "HARNESS_REPO_ROOT": ""})
    assert bare.database.is_file()


def test_a_log_that_is_left_of_another_database_does_not_spoil_the_new_one(bare: Place) -> None:
    bare.file("harness.db-wal", "left over")
    ran = bare.run("init")
    assert (ran.code, ran.out, left(bare)) == (1, "", ["harness.db-wal"])
    assert "harness.db-wal" in ran.err


def test_eight_at_once_make_one_ledger(bare: Place) -> None:
    started = [bare.start("init") for _ in range(8)]
    ended = [(process.communicate(timeout=60), process.returncode) for process in started]
    assert [code for _, code in ended] == [0] * 8, ended
    made = [out for (out, _), _ in ended if out.startswith(b"Creating")]
    assert len(made) == 1
    assert left(bare) == ["harness.db"]
    assert bare.value("SELECT count(*) FROM schema_version") == NEWEST


def test_eight_at_once_fill_one_empty_file(bare: Place) -> None:
    bare.file("harness.db", "")
    started = [bare.start("init") for _ in range(8)]
    ended = [(process.communicate(timeout=60), process.returncode) for process in started]
    assert [code for _, code in ended] == [0] * 8, ended
    assert bare.value("SELECT count(*) FROM schema_version") == NEWEST


def test_a_killed_one_leaves_no_ledger_or_a_whole_one(bare: Place) -> None:
    for attempt in range(12):
        process = bare.start("init")
        try:
            process.wait(timeout=0.004 * attempt)
        except Exception:
            process.kill()
        process.communicate(timeout=30)
        if bare.database.exists():
            assert bare.value("SELECT max(version) FROM schema_version") == NEWEST
            bare.database.unlink()
            for ending in ("-wal", "-shm"):
                Path(f"{bare.database}{ending}").unlink(missing_ok=True)
    bare.ok("init")


def test_programs_are_told_what_was_made(bare: Place) -> None:
    found = {"path": str(bare.database), "created": True, "schema_version": NEWEST, "shim": None}
    assert bare.json("init") == found
    assert bare.json("init") == {**found, "created": False}


def test_a_plain_connection_of_another_program_can_add_rows(ledger: Place) -> None:
    db = sqlite3.connect(ledger.database)
    db.execute("INSERT INTO intake (input_type, summary, risk_lane) VALUES ('new_spec', 's', 'tiny')")
    db.commit()
    db.close()
    assert ledger.json("query intakes")["intakes"][0]["summary"] == "s"
