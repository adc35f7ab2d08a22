"""A database that appears under its name at once and complete, and never in the place of another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from bridoon.ledger.errors import Conflict, LedgerError

BESIDE = ("-wal", "-shm", "-journal")
"""Files that SQLite keeps beside a database."""


@contextmanager
def new_database(target: str) -> Iterator[str]:
    """The path of a temporary file beside `target`; it gets that name when the block ends without an error.

    Raises Conflict when there is something of that name, before and after the block; LedgerError.
    """
    must_be_free(target)
    temporary = f"{target}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    try:
        yield temporary
        _sync(temporary)
        _publish(temporary, target)
        _sync(os.path.dirname(target))
    except OSError as wrong:
        raise LedgerError(f"{target} cannot be written: {wrong.strerror or wrong}", "nothing was changed") from wrong
    finally:
        for ending in ("", *BESIDE):
            try:
                os.unlink(temporary + ending)
            except OSError:
                pass


def must_be_free(target: str) -> None:
    """Raise Conflict when a database, or what SQLite would take for a part of it, is there."""
    if os.path.lexists(target):
        raise Conflict(
            f"{target} exists already, and is left alone",
            "move it away first, or name another file",
            path=target,
        )
    for ending in BESIDE:
        if os.path.lexists(target + ending) and ending != "-shm":
            raise Conflict(
                f"{target + ending} is left over from a database that is gone, and would damage a new one",
                "move it away first",
                path=target + ending,
            )
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise LedgerError(f"{target} cannot be written: there is no directory {directory}")


def _publish(temporary: str, target: str) -> None:
    for ending in ("-wal", "-journal"):
        if os.path.lexists(temporary + ending):
            raise LedgerError(f"{target} was not finished: SQLite left {ending} behind", "nothing was changed")
    try:
        os.link(temporary, target, follow_symlinks=False)
        return
    except FileExistsError:
        must_be_free(target)
    except OSError:  # a file system without hard links: take the name, then fill it
        pass
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    except FileExistsError:
        must_be_free(target)
        raise
    os.replace(temporary, target)


def _sync(path: str) -> None:
    fd = os.open(path or ".", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
