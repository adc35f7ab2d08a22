"""What the catalog asks of a file: who else can write to it, whether it changed, what it says."""

from __future__ import annotations

import os
import stat
import time

YOUNG = 30_000_000
"""Nanoseconds during which a second change may leave the same time stamp (clocks of file systems tick
slowly)."""

SKEW = 1_000_000_000
"""Time stamps that lie further in the future come from another clock and say nothing about age."""

TEXT_LIMIT = 1 << 20
"""Bytes of a text file that are read."""

Stamp = tuple[int, int, int]
"""Modification time in ns, size, inode: equal stamps mean the same content."""


class Watch:
    """The files and directories from which something was derived, as they looked then.

    Ask through `look`; later `changed` says whether the answers could differ now. Symbolic links are
    followed.
    """

    __slots__ = ("_absent", "_now", "_present", "young")

    def __init__(self) -> None:
        self._present: dict[str, tuple[int, int]] = {}
        self._absent: set[str] = set()
        self._now = time.time_ns()
        self.young = False
        """Something changed a moment ago: a further change may leave no trace, so look again."""

    def look(self, path: str) -> os.stat_result | None:
        """The status of a path, None when there is nothing that can be reached."""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            self._absent.add(path)
            return None
        changed = status.st_ctime_ns
        self._present[path] = (changed, status.st_ino)
        if -SKEW < self._now - changed < YOUNG:
            self.young = True
        return status

    def changed(self) -> bool:
        """Whether any answer could be different now."""
        look = os.stat
        try:
            for path, mark in self._present.items():
                status = look(path)
                if status.st_ctime_ns != mark[0] or status.st_ino != mark[1]:
                    return True
        except OSError:
            return True
        exists = os.access
        return any(exists(path, os.F_OK) for path in self._absent)

    def same(self, other: Watch | None) -> bool:
        """Whether both watched the same files and saw the same."""
        return other is not None and self._present == other._present and self._absent == other._absent


def stamp_of(status: os.stat_result) -> Stamp:
    """The part of a status that changes with the content."""
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def exposed(status: os.stat_result) -> str:
    """Why a file or directory cannot be relied on because of who can change it; empty when it can."""
    if status.st_mode & stat.S_IWOTH:
        return "others can write to it (chmod o-w)"
    if status.st_uid not in (0, os.geteuid()):
        return f"it belongs to another user (uid {status.st_uid})"
    return ""


def foreign_link(path: str) -> str:
    """Why a directory entry cannot be relied on: it is a link that another user made. Else empty."""
    try:
        status = os.lstat(path)
    except OSError:
        return ""
    theirs = stat.S_ISLNK(status.st_mode) and status.st_uid not in (0, os.geteuid())
    return f"it is a link that another user made (uid {status.st_uid})" if theirs else ""


def read_file(path: str, limit: int = TEXT_LIMIT) -> bytes:
    """The first bytes of a regular file, after symbolic links. Raises OSError; never waits for a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb", buffering=0) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a regular file")
        parts = []
        room = max(status.st_size + 1, 4096)
        while limit > 0 and (part := file.read(min(limit, room))):
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)


def decode(content: bytes) -> str:
    """Bytes of a text file as text: UTF-8 with or without a BOM, what is not UTF-8 replaced."""
    return content.decode("utf-8", "replace").removeprefix("\ufeff")


def entries(path: str) -> list[os.DirEntry[str]]:
    """The entries of a directory in bytewise order of their names; none when it cannot be read."""
    try:
        with os.scandir(path) as found:
            listed = list(found)
    except OSError:
        return []
    listed.sort(key=_name)
    return listed


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a directory or a link to one. A link that runs in circles is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _name(entry: os.DirEntry[str]) -> bytes:
    return os.fsencode(entry.name)


def printable(text: str) -> str:
    """A path for people: control characters and undecodable bytes cannot disturb a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
