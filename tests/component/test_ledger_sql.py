"""`query sql` reads by default, changes rows when told to, does nothing else, and comes to an end."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from ledgers import Place

from bridoon.ledger.cmdline.command import Answer, Given, Table
from bridoon.ledger.cmdline.parse import parse
from bridoon.ledger.errors import Conflict, Invalid, LedgerError, TooMuch
from bridoon.ledger.verbs import sql as verb

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
READS = [
    "SELECT 1",
    "select id, title from story;",
    "SELECT 1; -- and nothing more",
    "-- first\nSELECT /* second */ 1",
    "VALUES (1, 2), (3, 4)",
    "WITH a AS (SELECT 1 AS x) SELECT x FROM a",
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 9) SELECT sum(x) FROM n",
    "SELECT status, count(*) FROM story GROUP BY 1 HAVING count(*) > 0 ORDER BY 2 DESC LIMIT 3",
    "SELECT * FROM story LEFT JOIN trace ON trace.story_id = story.id WHERE EXISTS (SELECT 1)",
    "SELECT rank() OVER (ORDER BY id) FROM story",
    "SELECT value FROM json_each('[1,2]')",
    "SELECT name, sql FROM sqlite_master",
    "SELECT name FROM pragma_table_info('story')",
    "PRAGMA table_info(story)",
    "PRAGMA main.table_info('story')",
    "PRAGMA index_list = story",
    "PRAGMA foreign_key_check",
    "PRAGMA integrity_check",
    "PRAGMA user_version",
    "PRAGMA journal_mode",
    "EXPLAIN SELECT * FROM story",
    "EXPLAIN QUERY PLAN SELECT * FROM story",
    "SELECT group_concat(id), upper('a'), strftime('%Y', 'now') FROM story",
]
REFUSED = [
    "INSERT INTO story (id, title, risk_lane) VALUES ('X', 'x', 'tiny')",
    "REPLACE INTO story (id, title, risk_lane) VALUES ('X', 'x', 'tiny')",
    "INSERT INTO story (id, title, risk_lane) VALUES ('X', 'x', 'tiny') RETURNING id",
    "UPDATE story SET title = 'x'",
    "DELETE FROM story",
    "UPDATE sqlite_master SET sql = 'x'",
    "UPDATE sqlite_master SET sql = 'x' WHERE name = (SELECT value FROM json_each('[1]'))",
    "WITH a AS (SELECT 1) DELETE FROM story",
    "WITH a AS (SELECT 'A' AS id) UPDATE story SET title = 'x' FROM a WHERE a.id = story.id",
    "EXPLAIN DELETE FROM story",
    "CREATE TABLE x (y)",
    "CREATE TEMP TABLE x (y)",
    "CREATE TABLE x AS SELECT * FROM story",
    "CREATE VIEW x AS SELECT 1",
    "CREATE TEMP VIEW x AS SELECT 1",
    "CREATE INDEX x ON story(title)",
    "CREATE TRIGGER x AFTER INSERT ON story BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE x USING fts5(y)",
    "DROP TABLE story",
    "DROP TABLE IF EXISTS absent",
    "/* nothing at all */",
    "ALTER TABLE story ADD COLUMN x",
    "ALTER TABLE story RENAME TO x",
    "REINDEX",
    "ANALYZE",
    "VACUUM",
    "VACUUM INTO 'copy.db'",
    "ATTACH 'other.db' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "BEGIN",
    "BEGIN IMMEDIATE",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT x",
    "RELEASE x",
    "PRAGMA user_version = 7",
    "PRAGMA user_version(7)",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA query_only = OFF",
    "PRAGMA writable_schema = ON",
    "PRAGMA wal_checkpoint",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA optimize",
    "PRAGMA incremental_vacuum",
    "PRAGMA shrink_memory",
    "PRAGMA temp_store_directory = '/tmp'",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA never_heard_of_it",
    "SELECT load_extension('/tmp/x.so')",
    "SELECT fts3_tokenizer('simple')",
    "SELECT Load_Extension('/tmp/x.so', 'f') FROM story",
]
NOT_EVEN_WHEN_WRITING = [
    "VACUUM",
    "VACUUM INTO 'copy.db'",
    "ATTACH 'other.db' AS other",
    "DETACH main",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "END",
    "SAVEPOINT x",
    "PRAGMA user_version = 7",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA writable_schema = ON",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA optimize",
    "UPDATE sqlite_master SET sql = 'x'",
    "INSERT INTO story (id, title, risk_lane) VALUES ('X', load_extension('x'), 'tiny')",
]


def ask(place: Place, *words: str) -> Answer:
    given = parse(["query", "sql", *words])
    assert isinstance(given, Given)
    return verb.sql(place.ledger, given)


def rows(place: Place, *words: str) -> list[Any]:
    text = ask(place, *words).text
    assert isinstance(text, Table)
    return [tuple(row) for row in text.rows]


@pytest.fixture
def filled(ledger: Place) -> Place:
    ledger.sql("INSERT INTO story (id, title, risk_lane) VALUES ('A', 'a', 'tiny')")
    return ledger


def state(place: Place) -> tuple[list[str], list[Any], list[Any]]:
    return sorted(os.listdir(place.root)), place.sql("SELECT * FROM story"), place.sql("PRAGMA user_version")


def test_what_reads_is_run(filled: Place) -> None:
    before = state(filled)

    for statement in READS:
        assert ask(filled, "--", statement).data["columns"], statement

    assert state(filled) == before


def test_what_does_more_than_read_is_refused_in_one_sentence(filled: Place) -> None:
    before = state(filled)

    for statement in REFUSED:
        with pytest.raises(Invalid, match=r"^query sql is read-only, and this statement does more than read$"):
            print(statement, ask(filled, statement).data)

    assert state(filled) == before


def test_what_touches_more_than_rows_is_refused_when_writing_as_well(filled: Place) -> None:
    before = state(filled)

    for statement in NOT_EVEN_WHEN_WRITING:
        with pytest.raises(Invalid, match=r"^query sql --write does not do this$"):
            print(statement, ask(filled, "--write", statement).data)

    assert state(filled) == before


@pytest.mark.parametrize(
    "statement", ["SELECT 1; SELECT 2", "SELECT 1; DELETE FROM story", "DELETE FROM story; SELECT 1"]
)
@pytest.mark.parametrize("write", [[], ["--write"]])
def test_a_second_statement_is_refused(filled: Place, statement: str, write: list[str]) -> None:
    before = state(filled)

    with pytest.raises(Invalid, match=r"(runs one statement, and another one follows|read-only)"):
        ask(filled, *write, statement)

    assert state(filled) == before


@pytest.mark.parametrize("words", [[""], ["  \n"], ["SELECT", "\0"], ["SELEC 1"], ["SELECT ?"], ["SELECT :name"],
                                   ["SELECT nothing FROM story"], ["SELECT '"]])  # fmt: skip
def test_what_is_no_statement_is_an_error(filled: Place, words: list[str]) -> None:
    with pytest.raises(Invalid):
        ask(filled, *words)


def test_words_are_joined_by_one_blank(filled: Place) -> None:
    assert rows(filled, "SELECT", "'a", " b'") == [("a  b",)]
    assert rows(filled, "--", "SELECT", "-1") == [(-1,)]


def test_writing_is_one_transaction_of_which_no_changeset_tells(filled: Place) -> None:
    filled.env["HARNESS_RUN_ID"] = "run"

    answer = ask(filled, "--write", "UPDATE story SET title = 'new'")

    assert answer.warning == "1 row changed; no changeset tells of it"
    assert (answer.data["columns"], answer.data["changed"]) == ([], 1)
    assert filled.value("SELECT title FROM story") == "new"
    assert filled.changeset("run") == []


def test_a_statement_that_fails_changes_nothing(filled: Place) -> None:
    with pytest.raises(Conflict, match=r"UNIQUE constraint failed: story.id"):
        ask(filled, "--write", "INSERT INTO story (id, title, risk_lane) VALUES ('B', 'b', 'tiny'), ('A', 'a', 'tiny')")

    assert filled.sql("SELECT id FROM story") == [("A",)]


def test_a_statement_that_writes_is_carried_through_whatever_is_shown_of_it(filled: Place) -> None:
    statement = (
        f"{ENDLESS.replace('FROM n)', 'FROM n WHERE x < 50)')}INSERT INTO intake (input_type, summary, risk_lane) "
    )
    statement += "SELECT 'new_spec', x, 'tiny' FROM n RETURNING id"

    answer = ask(filled, "--write", "--limit", "2", statement)

    assert (answer.data["rows"], answer.data["changed"]) == ([(1,), (2,)], 50)
    assert filled.value("SELECT count(*) FROM intake") == 50


def test_a_table_may_be_made_and_removed(filled: Place) -> None:
    ask(filled, "--write", "CREATE TABLE mine (x)")
    assert ask(filled, "--write", "CREATE TRIGGER mine_too AFTER INSERT ON mine BEGIN DELETE FROM mine; END").data
    ask(filled, "--write", "DROP TABLE mine")

    assert rows(filled, "SELECT name FROM sqlite_master WHERE name LIKE 'mine%'") == []


def test_values_keep_their_kind_for_programs(filled: Place) -> None:
    given = "SELECT NULL AS a, 9223372036854775807 AS a, 1e20, -9e999, x'00ff', CAST(x'61ff' AS TEXT), 0.0 / 0"

    answer = ask(filled, "--json", given)

    assert answer.data["columns"][:2] == ["a", "a"]
    assert answer.data["rows"] == [
        [None, 9223372036854775807, 1e20, {"real": "-inf"}, {"blob": "AP8="}, "a\ufffd", None]
    ]


def test_a_part_of_the_rows_can_be_asked_for(filled: Place) -> None:
    answer = ask(filled, "--limit", "2", "--offset", "3", ENDLESS + "SELECT x FROM n")

    assert answer.data["rows"] == [(4,), (5,)]
    assert answer.data["more"]
    assert answer.note == "there are more rows; --limit and --offset show others"
    assert not ask(filled, "--limit", "1", "SELECT 1").data["more"]


@pytest.mark.parametrize(
    "statement",
    [
        ENDLESS + "SELECT count(*) FROM n",
        "SELECT instr(hex(zeroblob(30000000)), hex(zeroblob(1000000)) || '1')",  # never looks at the clock
    ],
)
@pytest.mark.parametrize("write", [[], ["--write"]])
def test_what_never_ends_is_stopped(filled: Place, statement: str, write: list[str]) -> None:
    before = state(filled)
    begun = time.monotonic()
    if write:
        statement = f"UPDATE story SET title = 'gone' WHERE ({statement}) IS NOT NULL"

    with pytest.raises(LedgerError, match="the statement was stopped after 1 s"):
        ask(filled, *write, "--timeout", "1", statement)

    assert time.monotonic() - begun < 10
    if "instr" not in statement:
        assert state(filled) == before


def test_a_million_rows_do_not_eat_the_memory(filled: Place) -> None:
    with pytest.raises(TooMuch, match="the rows take more than 64 MiB"):
        ask(filled, ENDLESS + "SELECT x FROM n")
    with pytest.raises(TooMuch, match="as a table these rows would take more than 256 MiB"):
        ask(filled, ENDLESS + "SELECT CASE x WHEN 1 THEN hex(zeroblob(500000)) END FROM n")
    with pytest.raises(TooMuch, match="a value is larger than 64 MiB"):
        ask(filled, "SELECT zeroblob(1000000000)")


@pytest.mark.parametrize("seconds", ["0", "-1", "x", "1.5"])
def test_the_time_limit_is_a_number_of_seconds(filled: Place, seconds: str) -> None:
    with pytest.raises(Invalid, match="query sql: --timeout must be"):
        ask(filled, f"--timeout={seconds}", "SELECT 1")


def test_an_old_ledger_is_read_and_written(ledger6: Place) -> None:
    ask(ledger6, "--write", "INSERT INTO story (id, title, risk_lane) VALUES ('A', 'a', 'tiny')")

    assert rows(ledger6, "SELECT id FROM story") == [("A",)]
