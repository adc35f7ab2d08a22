"""Keeps a run safe from the file that it takes for its ledger: anybody may have made it, or what lies beside it."""

from __future__ import annotations

import os
import sqlite3
import stat
import time

from bridoon.ledger.errors import Incompatible

LONGEST = 4 << 20
"""Bytes of one value."""

STEPS = 10_000
"""Instructions of SQLite between two looks at the clock; less than a millisecond."""

NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
"""How a journal ends that belongs to a change of several databases at once."""


def check_journal(path: str) -> None:
    """Raise Incompatible when to open the database would remove some other file.

    SQLite rolls back what a journal beside the database holds, and then removes the file that the end of that journal
    names: the journal of a change of several databases, or whatever a stranger has written there. A ledger changes
    alone, so it never has such a journal.
    """
    journal = os.path.realpath(path) + "-journal"
    try:
        descriptor = os.open(journal, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        status = os.fstat(descriptor)
        end = os.pread(descriptor, 8, max(0, status.st_size - 8)) if stat.S_ISREG(status.st_mode) else b""
    except OSError:
        return
    finally:
        os.close(descriptor)
    if end == NAMES_ANOTHER:
        raise Incompatible(f"{journal} names another file, which SQLite would remove", "remove that journal")


def bound(db: sqlite3.Connection, seconds: float) -> None:
    """Let nothing on this connection go on for longer than that, or make huge values: a view or a trigger can do
    both, whatever the statement is."""
    give_up = time.monotonic() + seconds
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    db.set_progress_handler(lambda: time.monotonic() > give_up, STEPS)
