"""A copy of the database as it is in one moment: one file, checked against its source."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from typing import NamedTuple

from bridoon.ledger.errors import LedgerError
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store import db as database
from bridoon.ledger.store import schema
from bridoon.ledger.store.db import Read
from bridoon.ledger.store.publish import new_database
from bridoon.ledger.store.workgraph import graph_of


class Snapshot(NamedTuple):
    """What was copied, and what names it."""

    output: str
    source_logical_sha256: str
    """Of all rows, however they are stored."""
    graph_revision: str
    snapshot_file_sha256: str


def snapshot(ledger: Ledger, output: str) -> Snapshot:
    """Copy the database to the new file `output`. Raises Conflict when that exists, LedgerError."""
    output = os.path.normpath(output)
    with new_database(output) as temporary:
        with ledger.reading() as read:
            logical, graph = logical_hash(read.db), graph_of(read).revision
            copied = _copy(read, temporary, ledger.wait)
        if copied != logical:
            raise LedgerError("the copy differs from its source", "nothing was written")
        with open(temporary, "rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
    return Snapshot(output, logical, graph, content)


def logical_hash(db: sqlite3.Connection) -> str:
    """The SHA-256 of the schema's objects and of all rows in the order of their columns, but for our own tables."""
    digest = hashlib.sha256()
    tables = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'bridoon~_%' ESCAPE '~' ORDER BY type, name"
    texts, db.text_factory = db.text_factory, bytes  # whatever they hold
    try:
        for kind, name, sql in db.execute(tables).fetchall():
            digest.update(repr((kind, name, sql)).encode())
            if kind != b"table":
                continue
            quoted = '"' + name.decode(errors="surrogateescape").replace('"', '""') + '"'
            columns = len(db.execute(f"PRAGMA table_info({quoted})").fetchall())
            order = ", ".join(str(number + 1) for number in range(columns))
            for row in db.execute(f"SELECT * FROM {quoted} ORDER BY {order}"):
                digest.update(repr(row).encode())
    finally:
        db.text_factory = texts
    return digest.hexdigest()


def _copy(read: Read, temporary: str, wait: float) -> str:
    """Copy one moment into a file, which is whole without any other file; its logical hash."""
    with database.explained(temporary):
        db = database.connect(temporary, mode="rwc", wait=wait)
        try:
            read.db.backup(db)
            db.execute("PRAGMA journal_mode=DELETE")
            if schema.has_own(db):
                db.execute("DELETE FROM bridoon_outbox")  # the source hands these lines over, not its copy
            problems = db.execute("PRAGMA integrity_check(3)").fetchall()
            if problems != [("ok",)]:
                raise LedgerError(f"the database is damaged: {problems[0][0]}", "nothing was written")
            return logical_hash(db)
        finally:
            db.close()
