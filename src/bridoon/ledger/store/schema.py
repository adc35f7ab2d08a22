"""The schema: its versions, the migrations that lead from one to the next, and the tables that are ours alone.

Versions 1 to 14 have the shape of `hoangnb24/repository-harness`, so that its program can open the same file. What
we need besides has tables named `bridoon_*`, which hold a version of their own.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator

from bridoon.ledger.errors import Conflict, Incompatible

NEWEST = 14
OLDEST_USABLE = 6
"""The version from which on all commands of the first releases work."""

DEPENDENCIES, HIERARCHY, UIDS, WHOLE = 7, 8, 9, 14
"""From which versions on there are dependencies of stories, their hierarchy, identities of rows, and all the rest."""

OWN = """
CREATE TABLE IF NOT EXISTS bridoon_version (version INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS bridoon_run (
    run_id TEXT PRIMARY KEY,
    ops INTEGER NOT NULL,
    digest TEXT NOT NULL,
    last_at INTEGER NOT NULL,
    size INTEGER NOT NULL DEFAULT -1
);
CREATE TABLE IF NOT EXISTS bridoon_outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    line TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS bridoon_foreign_tool (name TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS bridoon_touched (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS bridoon_trace_story ON trace(story_id);
CREATE INDEX IF NOT EXISTS bridoon_trace_intake ON trace(intake_id);
CREATE INDEX IF NOT EXISTS bridoon_intervention_trace ON intervention(trace_id);
INSERT OR IGNORE INTO bridoon_version (version) VALUES (1);
"""
"""`bridoon_run`: what we know of a changeset (how many operations, a digest of their lines one after the other,
how large its file was when we last wrote it).
`bridoon_outbox`: lines that are committed and not yet appended to the file of their run.
`bridoon_foreign_tool`: tools that a changeset registered, not somebody here.
`bridoon_touched`: when the newest change of a row was recorded that is in a changeset."""


LATEST_OWN = "bridoon_touched"
"""The one that came last: with it, all are there."""


def version_of(db: sqlite3.Connection) -> int:
    """The version of the database, 0 when it has none. Raises Incompatible when it is no ledger at all."""
    if not has_table(db, "schema_version"):
        return 0
    try:
        row = db.execute("SELECT max(version) FROM schema_version").fetchone()
    except sqlite3.OperationalError:
        raise Incompatible("its table schema_version has no versions: it is no ledger") from None
    found = row[0] if row and row[0] is not None else 0
    if not isinstance(found, int):
        raise Incompatible(f"its schema_version is {str(found)[:40]!r}: it is no ledger")
    return found


def check(version: int, path: str) -> None:
    """Raise Incompatible when commands cannot work with this version."""
    if version == 0:
        raise Incompatible(f"{path} holds no ledger yet", "harness-cli init makes one")
    if version > NEWEST:
        raise Incompatible(
            f"{path} has schema {version}; this harness-cli knows schemas up to {NEWEST}",
            "install a newer harness-cli to use it; nothing was changed",
        )
    if version < OLDEST_USABLE:
        raise Incompatible(
            f"{path} has schema {version}, which is too old to work with", "harness-cli migrate brings it up to date"
        )


def need(version: int, least: int, what: str) -> None:
    """Raise Incompatible when the database is too old for `what`."""
    if version < least:
        raise Incompatible(
            f"{what} needs schema {least}; this database has schema {version}",
            "harness-cli migrate brings it up to date (a backup is kept)",
        )


def has_table(db: sqlite3.Connection, name: str) -> bool:
    """Whether there is a table of that name."""
    return db.execute("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?", (name,)).fetchone() is not None


def columns(db: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table in their order; none when it is not there."""
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def has_own(db: sqlite3.Connection) -> bool:
    """Whether our own tables are there, be they of an earlier state of ours."""
    return has_table(db, "bridoon_version")


def make_own(db: sqlite3.Connection) -> None:
    """Make our own tables and indexes, inside the caller's transaction. Harmless when they are there."""
    for statement in statements(OWN):
        db.execute(statement)


def migrations() -> Iterator[tuple[int, str]]:
    """Version and script of every migration, in order."""
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "migrations")
    names = sorted(name for name in os.listdir(place) if name.endswith(".sql"))
    for name in names:
        with open(os.path.join(place, name), encoding="utf-8") as file:
            yield int(name.partition("-")[0]), file.read()


def statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one (triggers hold semicolons)."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip() and not all(each.strip().startswith("--") or not each.strip() for each in pending.splitlines()):
        yield pending


def advance(db: sqlite3.Connection, script: str, version: int) -> bool:
    """Apply one migration and its record, inside the caller's transaction; False when it was there already."""
    if version_of(db) >= version:
        return False
    for statement in statements(script):
        db.execute(statement)
    if version_of(db) != version:
        raise Conflict(f"migration {version} did not record itself")
    return True


def fill(db: sqlite3.Connection, newest: int = NEWEST) -> None:
    """Apply every migration up to `newest` to an empty database, inside the caller's transaction."""
    others = db.execute("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'").fetchall()
    if version_of(db) == 0 and others:
        names = ", ".join(sorted(str(name) for (name,) in others)[:5])
        raise Incompatible(
            f"it is a database of something else (tables: {names})", "name another file with HARNESS_DB_PATH"
        )
    for version, script in migrations():
        if version <= newest:
            advance(db, script, version)
    if newest >= OLDEST_USABLE:
        make_own(db)
