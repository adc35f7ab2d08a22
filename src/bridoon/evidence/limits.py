"""Keeps a run safe from the file that it takes for its ledger: anybody may have made it, or what lies beside it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bridoon.ledger.errors import Incompatible, LedgerError

LONGEST = 4 << 20
"""Bytes of one value."""

STEPS = 10_000
"""Instructions of SQLite between two looks at the clock; less than a millisecond."""

OTHERS = r"""
SELECT type, name FROM sqlite_master
WHERE type='trigger' AND tbl_name LIKE 'bridoon\_%' ESCAPE '\' OR type='view' AND (
    lower(name) IN ('tool', 'trace', 'story', 'intake', 'changeset_applied') OR name LIKE 'bridoon\_%' ESCAPE '\')
LIMIT 1
"""
"""What works on in the place of tables, or of changes, when nobody looks at the clock."""


@contextmanager
def limited(db: sqlite3.Connection, path: str, seconds: float) -> Iterator[None]:
    """Let nothing that is done in the block go on for longer than that, or make huge values: a trigger can do both,
    whatever the statement is. Raises LedgerError, Incompatible."""
    give_up = time.monotonic() + seconds
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    db.set_progress_handler(lambda: time.monotonic() > give_up, STEPS)
    try:
        if other := db.execute(OTHERS).fetchone():
            raise Incompatible(f"{path} has a {other[0]} {other[1][:60]!r} where a ledger has none")
        yield
    except sqlite3.OperationalError as wrong:
        if wrong.sqlite_errorname != "SQLITE_INTERRUPT":
            raise
        raise LedgerError(f"{path} takes too long: more than {seconds:g} s", "nothing was changed") from wrong
    finally:
        db.set_progress_handler(None, 0)
