"""Connections: to read, to write, to ask one moment, and what SQLite's errors mean to people."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bridoon.ledger.errors import Conflict, Incompatible, Invalid, LedgerError
from bridoon.ledger.place import holds_changesets
from bridoon.ledger.store import schema

WAIT = 30.0
"""Seconds to wait for other processes that hold the database."""
POLL = 0.01
"""Seconds between two attempts to begin: short, so that a short gap between two long holders is found."""
LOOK = "SELECT 1 FROM sqlite_master LIMIT 1"
"""The first look at a database, which tells whether it can be read."""
LOOK_UP = 100_000
"""Steps of SQLite after which it looks whether somebody wants it to stop."""
UNCHANGED = "nothing was changed"
RESTORE = "restore a backup, or rebuild it: harness-cli db rebuild --from DIRECTORY"
MEANINGS: tuple[tuple[tuple[str, ...], type[LedgerError], str, str], ...] = (
    (("SQLITE_NOTADB",), Incompatible, "{path} is not a database", "name another file with HARNESS_DB_PATH"),
    (("SQLITE_CORRUPT",), Incompatible, "{path} is damaged: {wrong}", RESTORE),
    (("SQLITE_BUSY", "SQLITE_LOCKED"), LedgerError, "{path} is locked by another process", UNCHANGED + "; try again"),
    (("SQLITE_FULL",), LedgerError, "{path} cannot be written: the disk is full", UNCHANGED),
    (
        ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"),
        LedgerError,
        "{path} cannot be opened or written: {wrong}",
        UNCHANGED,
    ),
    (
        ("SQLITE_IOERR",),
        LedgerError,
        "{path} cannot be read or written: {wrong}",
        UNCHANGED + "; it may be that the disk is full",
    ),
    (("SQLITE_CONSTRAINT", "SQLITE_MISMATCH"), Conflict, "{path} does not take it: {wrong}", UNCHANGED),
    (("SQLITE_TOOBIG",), Invalid, "a value is larger than a row can be", UNCHANGED),
)
"""What begins the name of an error of SQLite, and what it means."""


class Read:
    """One moment of a ledger, which can be asked."""

    def __init__(self, db: sqlite3.Connection, version: int) -> None:
        self.db = db
        self.schema = version

    def one(self, sql: str, *values: Any) -> Any:
        """The first row as a tuple; None when there is none."""
        return self.db.execute(sql, values).fetchone()

    def all(self, sql: str, *values: Any) -> list[Any]:
        """All rows as tuples."""
        return self.db.execute(sql, values).fetchall()

    def need(self, least: int, what: str) -> None:
        """Raise Incompatible when the schema is too old for `what`."""
        schema.need(self.schema, least, what)


def uri(path: str, **options: str) -> str:
    """The URI of a database file. A second slash in front would begin the name of a host."""
    path = "/" + path.lstrip("/") if path.startswith("//") else path
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{quoted}?" + "&".join(f"{name}={value}" for name, value in options.items())


def connect(path: str, *, mode: str = "rw", wait: float = WAIT) -> sqlite3.Connection:
    """A connection that begins transactions only when told, with foreign keys on.

    `mode`: `rw` (must exist), `rwc` (is made), `ro`, `immutable` (nobody writes it: only
    the main file is looked at, and nothing is created). Raises sqlite3.Error.
    """
    options = {"immutable": "1", "mode": "ro"} if mode == "immutable" else {"mode": mode}
    db = sqlite3.connect(uri(path, **options), uri=True, isolation_level=None, timeout=wait)
    db.text_factory = lossy
    db.set_progress_handler(_go_on, LOOK_UP)
    try:
        db.execute("PRAGMA foreign_keys=ON")
    except sqlite3.Error:
        db.close()
        raise
    return db


def _go_on() -> bool:
    """Called by SQLite now and then: only while Python code runs is Ctrl-C heard."""
    return False


def lossy(text: bytes) -> str:
    """Text as well as it can be read: another program may have stored bytes that are no UTF-8."""
    return text.decode("utf-8", "replace")


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except sqlite3.Error as wrong:
        if str(getattr(wrong, "sqlite_errorname", "")).startswith("SQLITE_INTERRUPT"):
            raise KeyboardInterrupt from wrong  # it came during `_go_on`, and is not told to us otherwise
        raise explain(wrong, path) from wrong
    except UnicodeEncodeError as wrong:
        raise LedgerError("a value holds characters that no text can hold", "give it as UTF-8") from wrong


def explain(wrong: sqlite3.Error, path: str) -> LedgerError:
    """What an error of SQLite means, and the way out."""
    name = str(getattr(wrong, "sqlite_errorname", ""))
    for beginnings, kind, message, hint in MEANINGS:
        if name.startswith(beginnings):
            return kind(message.format(path=path, wrong=wrong), hint)
    if name == "SQLITE_ERROR":  # our statements fit the tables that we make
        return Incompatible(f"{path} has not the tables of its schema version: {wrong}", RESTORE)
    return LedgerError(f"sqlite error: {wrong}")


def open_to_write(path: str, wait: float = WAIT) -> sqlite3.Connection:
    """A connection that may write. Raises Incompatible when there is no such file."""
    must_exist(path)
    with explained(path):
        db = connect(path, wait=wait)
        try:
            patiently(db, LOOK, wait)
        except sqlite3.Error:
            db.close()
            raise
        return db


def open_to_read(path: str, wait: float = WAIT) -> sqlite3.Connection:
    """A connection that cannot write. Leaves no files behind, and works where the directory is read-only."""
    must_exist(path)
    with explained(path):
        for mode in ("rw", "ro"):
            try:
                db = connect(path, mode=mode, wait=wait)
                db.execute("PRAGMA query_only=ON")
                patiently(db, LOOK, wait)
                return db
            except sqlite3.OperationalError as wrong:
                if "LOCKED" in str(wrong.sqlite_errorname) or "BUSY" in str(wrong.sqlite_errorname):
                    raise
        if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"):
            raise LedgerError(
                f"{path} cannot be read here: the newest rows are still in {path}-wal",
                "read it once where its directory can be written; nothing was changed",
            )
        return connect(path, mode="immutable")


def must_exist(path: str) -> None:
    """Raise Incompatible unless there is a file to open."""
    if os.path.isdir(path):
        raise Incompatible(f"{path} is a directory, not a ledger", "name a file with HARNESS_DB_PATH")
    if not os.path.exists(path):
        changesets = recorded_beside(path)
        hint = f"harness-cli db rebuild --from {changesets} makes it from its changesets" if changesets else ""
        raise Incompatible(f"there is no ledger at {path}", hint or "harness-cli init makes one")
    if not os.path.isfile(path):
        raise Incompatible(f"{path} is no plain file", "name another one with HARNESS_DB_PATH")


def recorded_beside(path: str) -> str:
    """The directory of changesets beside a database, as a shell here takes it, when it holds any; else nothing."""
    import shlex

    directory = os.path.join(os.path.dirname(path), ".harness", "changesets")
    try:
        return shlex.quote(os.path.relpath(directory)) if holds_changesets(directory) else ""
    except OSError:  # there is no working directory
        return ""


def begin(db: sqlite3.Connection, wait: float = WAIT) -> None:
    """Begin a transaction that may write, waiting at most `wait` seconds for others. Raises sqlite3.OperationalError.

    IMMEDIATE, always: a deferred one that finds at its first write that somebody else was quicker has lost.
    """
    patiently(db, "BEGIN IMMEDIATE", wait)


def patiently(db: sqlite3.Connection, sql: str, wait: float) -> None:
    """Run a statement, waiting at most `wait` seconds for others. SQLite itself would be deaf to Ctrl-C meanwhile."""
    give_up = time.monotonic() + wait
    db.execute("PRAGMA busy_timeout=0")
    try:
        while True:
            try:
                db.execute(sql).fetchone()
                return
            except sqlite3.OperationalError as wrong:
                busy = str(wrong.sqlite_errorname).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
                if not busy or time.monotonic() >= give_up:
                    raise
            time.sleep(POLL)
    finally:
        db.execute(f"PRAGMA busy_timeout={int(wait * 1000)}")


@contextmanager
def transaction(db: sqlite3.Connection, wait: float = WAIT) -> Iterator[None]:
    """A transaction that commits when the block ends, and rolls back when it raises."""
    begin(db, wait)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
