"""`harness-cli query ...` and `import brownfield`, as they are called from a shell."""

from __future__ import annotations

import csv
import io
import json
import os
import select
import signal
import sqlite3
import time
from collections.abc import Callable
from typing import Any

import pytest
from ledgers import Place


def traces(place: Place) -> dict[str, Any]:
    """Every file of the repository with its size and times."""
    found = {}
    for name in sorted(os.listdir(place.root)):
        status = (place.root / name).stat()
        found[name] = (status.st_size, status.st_mtime_ns, status.st_ino)
    return found


def test_a_table_is_laid_out_and_what_is_not_shown_is_said(ledger: Place) -> None:
    for number in range(1, 4):
        ledger.ok(f"intake --type maintenance --summary s{number} --lane tiny")

    ran = ledger.run("query intakes --limit 1")

    assert ran.code == 0
    assert ran.lines[0].split() == ["id", "created_at", "input_type", "risk_lane", "summary"]
    assert ran.lines[2].split()[-1] == "s3"
    assert ran.err == "note: showing 1 to 1 of 3; --limit and --offset show others\n"


def test_sql_shows_values_as_people_write_them(ledger: Place) -> None:
    ran = ledger.run(
        ["query", "sql", "SELECT NULL AS a, 2.5 AS b, 1.0 AS c, 1e20 AS d, 1e-7 AS e, -9e999 AS f, x'00ff' AS g"]
    )

    assert ran.lines[2].split() == ["2.5", "1", "100000000000000000000", "0.0000001", "-inf", "<2", "bytes>"]


def test_sql_as_csv_is_read_back(ledger: Place) -> None:
    out = ledger.ok(
        ["query", "sql", "--csv", "SELECT 'a,\"b\"' AS x, 'two\nlines' AS x, NULL AS y UNION ALL SELECT 1, 2, 3"]
    )

    assert sorted(csv.reader(io.StringIO(out))) == [["1", "2", "3"], ['a,"b"', "two\nlines", ""], ["x", "x", "y"]]


def test_sql_that_would_write_is_refused_with_the_way_out(ledger: Place) -> None:
    before = traces(ledger)

    ran = ledger.run(["query", "sql", "DROP", "TABLE", "story"])

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "error: query sql is read-only, and this statement does more than read\n  query sql --write allows changes\n"
    )
    assert list(traces(ledger)) == list(before)
    assert ledger.error(["query", "sql", "DROP TABLE story"])[0] == 2


def test_sql_that_writes_says_that_no_changeset_tells_of_it(ledger: Place) -> None:
    ran = ledger.run(["query", "sql", "--write", "DELETE FROM story"])

    assert (ran.code, ran.out, ran.err) == (0, "\n\n", "warning: 0 rows changed; no changeset tells of it\n")


def test_sql_without_words_is_a_wrong_command_line(ledger: Place) -> None:
    assert ledger.run("query sql").code == 2
    assert ledger.run(["query", "sql", ""]).code == 1


def test_an_endless_statement_ends_with_the_process(ledger: Place) -> None:
    statement = "SELECT instr(hex(zeroblob(30000000)), hex(zeroblob(1000000)) || '1')"

    ran = ledger.run(["query", "sql", "--timeout", "1", statement], timeout=15)

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: the statement was stopped after 1 s\n")
    assert ledger.ok("query stats")
    assert sorted(os.listdir(ledger.root)) == ["harness.db"]


def test_an_endless_statement_can_be_interrupted(ledger: Place) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    statement = endless + "INSERT INTO intake (input_type, summary, risk_lane) SELECT 'new_spec', x, 'tiny' FROM n"
    process = ledger.start(["query", "sql", "--write", statement])
    wait_until(lambda: locked(ledger))

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)

    assert process.returncode == 130
    assert ledger.value("SELECT count(*) FROM intake") == 0


def locked(place: Place) -> bool:
    with place.open() as db:
        db.execute("PRAGMA busy_timeout=0")
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        db.execute("ROLLBACK")
        return False


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end
        select.select([], [], [], 0.01)


def test_two_imports_at_once_add_everything_once(ledger: Place) -> None:
    rows = "".join(f"| US-{number} | planned |\n" for number in range(500))
    ledger.file("docs/TEST_MATRIX.md", "| Story | Status |\n|-|-|\n" + rows)
    ledger.file("docs/decisions/0001-a.md", "# A\n")
    ledger.file("docs/HARNESS_BACKLOG.md", "## Items\n### Title\nB\n")

    both = [ledger.start("import brownfield --json") for _ in range(2)]
    results = [json.loads(process.communicate(timeout=30)[0])["result"] for process in both]

    assert sorted(result["stories"]["added"] for result in results) == [0, 500]
    assert sorted(result["backlog"]["added"] for result in results) == [0, 1]
    assert ledger.value("SELECT count(*) FROM story") == 500


def test_the_contract_of_a_ledger_that_is_up_to_date(ledger: Place) -> None:
    before = traces(ledger)

    result = ledger.json("query contract")

    assert traces(ledger) == before
    assert (result["database_state"], result["database_schema_version"]) == ("current", 14)
    assert (result["protocol_version"], result["schema_minimum"], result["schema_maximum"]) == (1, 1, 14)
    assert result["required_environment_variables"] == ["HARNESS_DB_PATH"]
    assert len(result["capabilities"]) == 11


@pytest.mark.parametrize(
    ("content", "state"), [(None, "missing"), (b"", "missing"), (b"no database" * 100, "unsupported")]
)
def test_the_contract_where_there_is_no_ledger(bare: Place, content: bytes | None, state: str) -> None:
    if content is not None:
        bare.database.write_bytes(content)
    before = traces(bare)

    result = bare.json("query contract")

    assert (result["database_state"], result["database_schema_version"]) == (state, None)
    assert traces(bare) == before


@pytest.mark.parametrize(("version", "state"), [(1, "needs_migration"), (13, "needs_migration"), (15, "unsupported")])
def test_the_contract_of_other_versions(bare: Place, version: int, state: str) -> None:
    bare.make(min(version, 14))
    if version > 14:
        bare.sql("INSERT INTO schema_version (version) VALUES (?)", version)

    result = bare.json("query contract")

    assert (result["database_state"], result["database_schema_version"]) == (state, version)


def test_the_contract_of_a_database_of_something_else(bare: Place) -> None:
    bare.sql("CREATE TABLE songs (title)")

    assert bare.json("query contract")["database_state"] == "unsupported"


def test_the_contract_sees_what_another_process_has_committed_and_makes_no_file(bare: Place) -> None:
    bare.make(6)
    other = sqlite3.connect(bare.database, isolation_level=None)
    try:
        other.execute("PRAGMA wal_autocheckpoint=0")
        other.execute("INSERT INTO schema_version (version) VALUES (7)")
        before = traces(bare)

        assert bare.json("query contract")["database_schema_version"] == 7
        assert traces(bare) == before
    finally:
        other.close()


def test_the_work_graph_names_its_state(ledger: Place) -> None:
    ledger.ok("story add --id A --title a --lane tiny --verify true")
    before = ledger.json("query work-graph")["revision"]
    ledger.ok("story add --id B --title b --lane tiny")
    ledger.ok("story dependency add --blocker A --blocked B")

    graph = ledger.json("query work-graph")

    assert graph["dependencies"] == [{"blocker": "A", "blocked": "B"}]
    assert graph["stories"] == ledger.json("query stories")["stories"]
    assert graph["revision"] != before
    assert ledger.ok("query work-graph").splitlines()[-1] == f"revision {graph['revision']}"
    assert ledger.ok("query dependencies --story B").split() == ["blocker", "blocked", "-------", "-------", "A", "B"]


def test_documents_are_imported_and_the_changeset_brings_them_to_another_ledger(ledger: Place) -> None:
    ledger.file("docs/TEST_MATRIX.md", "| Story | Unit | Status |\n|-|-|-|\n| US-1 | yes | changed |\n")
    ledger.file("docs/decisions/0001-a.md", "# A\n")
    ledger.file("docs/HARNESS_BACKLOG.md", "## Items\n### Title\nB\n### Status\naccepted\n")
    ledger.env["HARNESS_RUN_ID"] = "imported"

    out = ledger.ok("import brownfield")

    assert out.splitlines()[1:] == [
        "Stories imported or updated: 1",
        "Decisions imported or updated: 1",
        "Backlog items discovered: 1",
    ]
    del ledger.env["HARNESS_RUN_ID"]
    before = {table: ledger.sql(f"SELECT * FROM {table}") for table in ("story", "decision", "backlog")}
    ledger.database.unlink()
    ledger.ok("db rebuild --from .harness/changesets")
    assert {table: ledger.sql(f"SELECT * FROM {table}") for table in before} == before


def test_an_import_without_documents_names_what_is_missing(ledger: Place) -> None:
    code, error = ledger.error("import brownfield")

    assert (code, error["code"]) == (3, "NOT_FOUND")
    assert "docs/TEST_MATRIX.md" in error["message"]
