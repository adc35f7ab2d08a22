"""Writes files so that nobody ever sees half of one."""

from __future__ import annotations

import errno
import itertools
import os
import stat

TMP = ".tmp-"
"""How names of unfinished files begin; the writer's process id follows."""

_numbers = itertools.count(1)
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}


def write_tmp(folder: str, data: bytes) -> tuple[str, os.stat_result]:
    """Write `data` to a new file with a temporary name in `folder`; the caller moves it and removes it."""
    path = f"{folder}/{TMP}{os.getpid()}-{next(_numbers)}"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        return path, os.fstat(fd)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(fd)


def create(folder: str, path: str, data: bytes) -> os.stat_result:
    """Make a file that must not exist yet: all of it at once. Raises FileExistsError."""
    tmp, stat = write_tmp(folder, data)
    try:
        os.link(tmp, path)
    except OSError as wrong:
        if wrong.errno not in _NO_LINKS:
            raise
        # A file system without links: claim the name, then put the content in its place.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.rename(tmp, path)
        return stat
    finally:
        remove(tmp)
    return stat


def replace(folder: str, path: str, data: bytes) -> None:
    """Write a file that may exist: readers see the old content or the new."""
    tmp, _ = write_tmp(folder, data)
    try:
        os.rename(tmp, path)
    except BaseException:
        remove(tmp)
        raise


def remove(path: str) -> None:
    """Delete a file that may be gone."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def read(path: str) -> bytes | None:
    """The content of a regular file; None when there is none. Raises OSError; never waits for a pipe."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        size = status.st_size
        data = os.read(fd, size + 1)
        while len(data) > size and (more := os.read(fd, 1 << 20)):  # it grows while we read
            data += more
        return data
    finally:
        os.close(fd)


def flush(path: str) -> None:
    """Wait until a file or folder is on the disk; one that is gone needs nothing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    try:
        if stat.S_IFMT(os.fstat(fd).st_mode) in (stat.S_IFREG, stat.S_IFDIR):
            os.fsync(fd)
    finally:
        os.close(fd)


def sweep(folder: str) -> None:
    """Remove unfinished files whose writer is gone, or that are older than an hour."""
    import time

    for name in os.listdir(folder):
        if name.startswith(TMP):
            path = f"{folder}/{name}"
            try:
                if not _lives(name[len(TMP) :].partition("-")[0]) or os.stat(path).st_mtime < time.time() - 3600:
                    os.unlink(path)
            except OSError:  # gone meanwhile, or nothing of ours
                pass


def _lives(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True
