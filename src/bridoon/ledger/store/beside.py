"""A file that is built under a hidden name beside its own, and gets its own name when it is whole, or never."""

from __future__ import annotations

import os
from types import TracebackType

from bridoon.ledger.errors import LedgerError

SIDES = ("", "-journal", "-wal", "-shm")
"""What SQLite may have beside a database."""


class Beside:
    """`with Beside(path) as beside:` - build the file at `beside.path`, then publish it. Leaves nothing behind."""

    def __init__(self, path: str) -> None:
        directory, name = os.path.split(path)
        self.final = path
        self.path = os.path.join(directory, f".{name[:200]}.{os.getpid()}-{os.urandom(6).hex()}.new")

    def __enter__(self) -> Beside:
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
        sync_directory(self.final)
        return True

    def __exit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        for side in SIDES:
            try:
                os.unlink(self.path + side)
            except OSError:
                pass


def sync_directory(path: str) -> None:
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
