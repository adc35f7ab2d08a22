"""Files that appear under their name when they are whole, at once, and never in the place of another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from bridoon.ledger.errors import Conflict, LedgerError

SIDES = ("-wal", "-journal", "-shm")
"""What SQLite may have beside a database."""
CHANGES = SIDES[:2]
"""Those of them that it would take for changes of a database that comes to their place."""


class Draft:
    """`with Draft(path) as draft:` - build the file at `draft.path`, then publish it. Leaves nothing behind."""

    def __init__(self, path: str) -> None:
        directory, name = os.path.split(path)
        self.final = path
        self.path = os.path.join(directory, f".{name[:200]}.{os.getpid()}-{os.urandom(6).hex()}.new")

    def __enter__(self) -> Draft:
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o666))
        except OSError as wrong:
            raise LedgerError(
                f"nothing can be written in {os.path.dirname(self.path) or '.'}: {wrong.strerror}"
            ) from wrong
        return self

    def publish(self) -> bool:
        """Write the file through to the disk and give it its name; False when something has that name already."""
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        try:
            os.link(self.path, self.final)
        except FileExistsError:
            return False
        except OSError:  # a file system without links: take the name, then put the file in its place
            try:
                os.close(os.open(self.final, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666))
            except FileExistsError:
                return False
            os.replace(self.path, self.final)
        _sync_directory(self.final)
        return True

    def __exit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        for side in ("", *SIDES):
            try:
                os.unlink(self.path + side)
            except OSError:
                pass


@contextmanager
def new_database(target: str) -> Iterator[str]:
    """The path of a draft of a database, which is published when the block ends without an error.

    Raises Conflict when there is something of its name, before and after the block; LedgerError.
    """
    must_be_free(target)
    try:
        with Draft(target) as draft:
            yield draft.path
            for ending in CHANGES:
                if os.path.lexists(draft.path + ending):
                    raise LedgerError(f"{target} was not finished: SQLite left {ending} behind", "nothing was changed")
            if not draft.publish():
                must_be_free(target)
                raise LedgerError(f"{target} was there for a moment", "try again")
    except OSError as wrong:
        raise LedgerError(f"{target} cannot be written: {wrong.strerror or wrong}", "nothing was changed") from wrong


def must_be_free(target: str) -> None:
    """Raise Conflict when a database, or what SQLite would take for a part of it, is there."""
    if os.path.lexists(target):
        raise Conflict(
            f"{target} exists already, and is left alone",
            "move it away first, or name another file",
            path=target,
        )
    for ending in CHANGES:
        if os.path.lexists(target + ending):
            raise Conflict(
                f"{target + ending} is left over from a database that is gone, and would damage a new one",
                "move it away first",
                path=target + ending,
            )
    directory = os.path.dirname(target)
    if not os.path.isdir(directory):
        raise LedgerError(f"{target} cannot be written: there is no directory {directory}")


def _sync_directory(path: str) -> None:
    """Write the name of a file through to the disk, where the file system can do that."""
    try:
        fd = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError:
        pass
    finally:
        os.close(fd)
