"""A ledger that somebody else made runs nothing, removes nothing, and holds nothing up, whatever it is made of."""

from __future__ import annotations

import os
import shutil
import struct
import time
from pathlib import Path

import pytest
from ledger_runs import Book, git
from project import Project, Result, bash, call

CALL = call("evil", word="1")
FOREVER = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


@pytest.fixture
def book(project: Project) -> Book:
    return Book(project)


@pytest.fixture
def evil(project: Project, book: Book) -> Book:
    """A ledger with a tool that would show that it ran, all of it in one file."""
    book.register("evil", "touch RAN-{word}", args="word:string:optional")
    book.sql("PRAGMA journal_mode=DELETE")
    return book


def commit(project: Project, *paths: str) -> None:
    if not (project.dir / ".git").exists():
        git(project.dir, "init", "-q")
    git(project.dir, "add", "-f", *paths)
    git(project.dir, "commit", "-qm", "x")


def ran(project: Project) -> bool:
    return any(project.dir.parent.rglob("RAN*"))


def notices(result: Result) -> str:
    return "\n".join(str(event["text"]) for event in result.events if event["type"] == "notice")


# ---- whose it is


def test_a_database_that_is_checked_out_during_a_run_is_not_trusted_for_what_was_there_before(
    project: Project, evil: Book
) -> None:
    commit(project, "harness.db")
    git(project.dir, "branch", "theirs")
    git(project.dir, "rm", "-q", "--cached", "harness.db")
    evil.path.unlink()
    evil.cli("init")
    git(project.dir, "commit", "-qm", "y")
    checkout = bash("rm harness.db*; git checkout -q -f theirs")
    result = project.say(steps=[{"calls": [checkout]}, {"calls": [CALL]}, {"calls": [CALL]}, {"say": "done"}])
    assert result.code == 0
    assert not ran(project)
    assert "it may have come with a checkout" in notices(result)
    assert all(text.startswith("error: tool 'evil' not found: ") for text in result.results[1:])


def test_what_is_trusted_here_says_nothing_about_a_database_elsewhere(project: Project, evil: Book) -> None:
    commit(project, "harness.db")
    mine = project.dir.parent / "mine"
    (mine / ".harness").mkdir(parents=True)
    assert project.run("trust", str(mine)).code == 0
    project.dir, theirs = mine, evil.path
    result = project.say(calls=[CALL], env={"HARNESS_DB_PATH": str(theirs)})
    assert not ran(project)
    assert "it may have come with a checkout" in notices(result)


def test_a_link_in_a_checkout_borrows_no_trust_from_another_project(project: Project, evil: Book) -> None:
    mine = project.dir.parent / "mine"
    (mine / ".harness").mkdir(parents=True)
    assert project.run("trust", str(mine)).code == 0
    shutil.rmtree(project.harness)
    project.harness.symlink_to("../mine/.harness")
    commit(project, ".")
    assert "it may have come with a checkout" in notices(project.say(calls=[CALL]))
    assert not ran(project)


def test_changes_beside_the_place_that_a_link_leads_to_count_as_the_database(project: Project, book: Book) -> None:
    (project.dir / "data").mkdir()
    book.sql("PRAGMA journal_mode=DELETE")
    book.path.rename(project.dir / "data" / "real.db")
    book.path.symlink_to("data/real.db")
    book.sql("PRAGMA journal_mode=WAL")
    with book.open() as db:  # somebody has it open, so changes stay beside it
        db.execute("SELECT count(*) FROM tool").fetchone()
        book.register("evil", "touch RAN-{word}", args="word:string:optional")
        beside, without = (project.dir / "data" / "real.db-wal").read_bytes(), book.path.read_bytes()
    book.path.write_bytes(without)
    (project.dir / "data" / "real.db-wal").write_bytes(beside)
    commit(project, "data/real.db-wal")
    result = project.say(calls=[CALL])
    assert "real.db-wal came with a checkout" in notices(result)
    assert not ran(project)
    (project.dir / "data" / "real.db-wal").unlink()
    assert project.say("after it is gone", calls=[CALL]).results == ["error: tool 'evil' not found"]
    assert len(book.traces()) == 2


def test_what_a_process_registers_behind_a_link_is_seen_at_once(project: Project, book: Book) -> None:
    (project.dir / "data").mkdir()
    book.sql("PRAGMA journal_mode=DELETE")
    book.path.rename(project.dir / "data" / "real.db")
    book.path.symlink_to("data/real.db")
    book.sql("PRAGMA journal_mode=WAL")
    with book.open() as db:  # somebody has it open, so nothing is moved to the file itself
        db.execute("SELECT count(*) FROM tool").fetchone()
        about = "--description 'a tool of a test' --responsibility Verification --kind cli --args a:string:optional"
        register = bash(f"harness-cli tool register --name late --command 'echo hi' {about}")
        result = project.say(steps=[{"calls": [register]}, {"calls": [call("late")]}, {"say": "done"}])
    assert result.results[1] == "hi"


@pytest.mark.parametrize("way", ["apply", "rebuild"])
def test_a_tool_that_came_in_a_changeset_is_neither_run_nor_probed_until_it_is_trusted(
    project: Project, book: Book, way: str
) -> None:
    project.env["HARNESS_RUN_ID"] = "theirs"
    book.register("evil", "touch RAN-{word}", args="word:string:optional", capability="coverage")
    del project.env["HARNESS_RUN_ID"]
    for path in project.dir.glob("harness.db*"):
        path.unlink()
    if way == "apply":
        book.cli("init")
        book.cli("db", "changeset", "apply", ".harness/changesets/theirs.changeset.jsonl")
    else:
        book.cli("db", "rebuild", "--from", ".harness/changesets")
    book.register("own", "echo own", args="word:string:optional")
    result = project.say(calls=[CALL, call("own"), bash("sleep 0.3")])
    assert result.results[0].startswith("error: tool 'evil' not found: not trusted: it came in a changeset")
    assert result.results[1] == "own"
    assert not ran(project)
    assert "a tool of" in notices(result)
    assert "came in a changeset: listed, not run" in notices(result)
    assert "coverage: inactive - evil (cli, not trusted)" in result.requests[0]["system"]
    assert dict(book.sql("SELECT name, checked_at IS NULL FROM tool")) == {"evil": 1, "own": 0}
    assert "own" in project.run("tools").stdout
    assert " evil " not in project.run("tools").stdout
    assert project.run("trust", ".").code == 0
    project.say(calls=[CALL])
    assert ran(project)


# ---- what it is made of


def journal_that_names(victim: Path, database: Path) -> bytes:
    """A journal as a change of two databases leaves it: its end names the file that SQLite removes afterwards."""
    magic = bytes.fromhex("d9d505f920a163d7")
    page = struct.unpack(">H", database.read_bytes()[16:18])[0]
    size, name = database.stat().st_size // page, os.fsencode(victim)
    head = magic + struct.pack(">IIIII", 0, 1, size, 512, page)
    return head.ljust(512, b"\0") + struct.pack(
        f">I{len(name)}sII8s", 0x40000000 // page + 1, name, len(name), sum(name), magic
    )


def test_a_journal_that_names_another_file_does_not_have_it_removed(project: Project, evil: Book) -> None:
    victim = project.home / "precious.txt"
    victim.write_text("mine\n")
    beside = project.dir / "harness.db-journal"
    beside.write_bytes(journal_that_names(victim, evil.path))
    commit(project, "harness.db", "harness.db-journal")
    result = project.say(calls=[CALL])
    assert (result.code, result.output) == (0, "done")
    assert victim.read_text() == "mine\n"
    assert "names another file" in notices(result)
    project.run("tools")
    assert victim.exists()


def replace_tools(book: Book, values: str, more: str) -> None:
    """Put a view in the place of the table `tool`, each column of which is `values`."""
    columns = [str(row[1]) for row in book.sql("PRAGMA table_info(tool)")]
    book.sql("ALTER TABLE tool RENAME TO old_tool")
    book.sql(f"CREATE VIEW tool AS {more.format(', '.join(f'{values} AS {name}' for name in columns))}")


def test_a_view_that_never_ends_in_the_place_of_a_table_is_not_read(project: Project, book: Book) -> None:
    replace_tools(book, "x", FOREVER + " SELECT {} FROM n WHERE x < 0")
    began = time.monotonic()
    result = project.say("in a strange place")
    assert (result.code, result.output) == (0, "done")
    assert time.monotonic() - began < 8
    assert "has a view 'tool' where a ledger has none" in notices(result)
    assert "waits for the next one" in notices(result)


def test_a_view_in_the_place_of_lines_that_wait_is_not_read(project: Project, book: Book) -> None:
    book.sql("DROP TABLE bridoon_outbox")
    book.sql(f"CREATE VIEW bridoon_outbox AS {FOREVER} SELECT x AS seq, x AS run_id, x AS line FROM n WHERE x < 0")
    result = project.say("in a strange place")
    assert (result.code, result.output) == (0, "done")
    assert "has a view 'bridoon_outbox'" in notices(result)


@pytest.mark.parametrize(("bytes_each", "rows"), [(300_000_000, 1), (1_000_000, 1000)], ids=["one", "many"])
def test_tools_that_would_fill_the_memory_are_not_read(
    project: Project, book: Book, bytes_each: int, rows: int
) -> None:
    book.sql(f"ALTER TABLE tool ADD COLUMN huge TEXT AS (hex(zeroblob({bytes_each})))")
    book.sql("ALTER TABLE tool RENAME COLUMN scan_target TO other")
    book.sql("ALTER TABLE tool RENAME COLUMN huge TO scan_target")
    with book.open() as db:
        db.execute("BEGIN")
        for number in range(rows):
            row = (f"t{number}", "registered", "x", "d", "Verification", "", "", "cli", "unknown")
            columns = "name, provider, command, description, responsibility, since, created_at, kind, status"
            db.execute(f"INSERT INTO tool ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        db.execute("COMMIT")
    result = project.say("in a strange place")
    assert (result.code, result.output) == (0, "done")
    assert "the ledger cannot be read" in notices(result)
    assert book.trace()["task_summary"] == "in a strange place"


def test_a_trigger_that_never_ends_lets_the_trace_wait(project: Project, book: Book) -> None:
    loop = f"INSERT INTO tool (name) SELECT x FROM ({FOREVER} SELECT x FROM n WHERE x < 0)"
    book.sql(f"CREATE TRIGGER trap AFTER INSERT ON trace BEGIN {loop}; END")
    began = time.monotonic()
    result = project.say("into a trap")
    assert (result.code, result.output) == (0, "done")
    assert time.monotonic() - began < 10
    assert "waits for the next one" in notices(result)
    book.sql("DROP TRIGGER trap")
    project.say("after it")
    assert {trace["task_summary"] for trace in book.traces()} == {"into a trap", "after it"}


def test_a_value_that_looks_like_an_assignment_sets_no_variable(project: Project, book: Book) -> None:
    project.file("show.sh", '#!/bin/sh\necho "$MARKED"\n', 0o755)
    book.register("show", "MARKED={word} ./show.sh", args="word:string:required")
    book.register("any", "{word} ./show.sh", args="word:string:required")
    result = project.say(calls=[call("show", word="a b"), call("any", word="MARKED=1")])
    assert result.results[0] == "a b"
    assert "MARKED=1 cannot be started" in result.results[1]
