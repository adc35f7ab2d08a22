"""Files as tools see them: read without waiting, cut into lines that keep their ends, replaced as a whole."""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple

from bridoon.errors import BridoonError
from bridoon.toolkit.paths import trouble

BOM = b"\xef\xbb\xbf"

SNIFF = 8192
"""How many bytes decide whether a file is text."""


def open_regular(path: str) -> int:
    """A descriptor for reading a regular file. Raises BridoonError; never waits for a pipe or a device."""
    try:
        _check_regular(os.stat(path), path)
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as wrong:
        raise trouble(wrong, path) from None
    try:
        _check_regular(os.fstat(fd), path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _check_regular(found: os.stat_result, path: str) -> None:
    mode = found.st_mode
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise BridoonError(f"{path} is a directory: use bash (ls, find)")
    kind = "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise BridoonError(f"{path} is {kind}, not a file")


def binary_kind(start: bytes) -> str:
    """What to call a file that begins with these bytes and is not text; empty for text."""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "UTF-16 text"
    return "binary file" if b"\0" in start[:SNIFF] else ""


def encoding_of(data: bytes) -> str:
    """`utf-8`, also for text with a few broken bytes in it, else `latin-1`."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        broken = text.count("\ufffd")
        good = sum(1 for char in text if char > "\x7f") - broken
        return "utf-8" if good > broken else "latin-1"
    return "utf-8"


class Line(NamedTuple):
    """One line: its text, and what ends it (`\\n`, `\\r\\n`, or nothing at the end of the file)."""

    text: bytes
    end: bytes


class TextFile(NamedTuple):
    """A text file in memory. Lines that nobody touches go back byte for byte."""

    lines: tuple[Line, ...]
    bom: bool
    newline: bytes
    """The line end that most lines have."""
    final_newline: bool
    encoding: str

    @classmethod
    def parse(cls, data: bytes) -> TextFile:
        """Take a file's bytes apart."""
        bom = data.startswith(BOM)
        body = data[len(BOM) :] if bom else data
        pieces = body.split(b"\n")
        last = pieces.pop()
        lines = [_line(piece) for piece in pieces]
        if last:
            lines.append(Line(last, b""))
        windows = sum(1 for line in lines if line.end == b"\r\n")
        newline = b"\r\n" if windows > len(pieces) - windows else b"\n"
        return cls(tuple(lines), bom, newline, not last, encoding_of(body))

    def join(self, lines: list[Line]) -> bytes:
        """The bytes of a file with these lines: missing line ends are added, the last one is as it was."""
        ends = [line.end or self.newline for line in lines]
        if lines and not self.final_newline:
            ends[-1] = b""
        body = b"".join(line.text + end for line, end in zip(lines, ends, strict=True))
        return BOM + body if self.bom else body


def _line(piece: bytes) -> Line:
    return Line(piece[:-1], b"\r\n") if piece.endswith(b"\r") else Line(piece, b"\n")


class Snapshot(NamedTuple):
    """A file's content, and what tells whether it is still the same file."""

    data: bytes
    mark: tuple[int, int, int]


def read_whole(path: str, limit: int) -> Snapshot:
    """Read a regular file of at most `limit` bytes. Raises BridoonError."""
    with open(open_regular(path), "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_size > limit:
            raise BridoonError(f"{path} has {found.st_size} bytes, this tool takes {limit}: use bash")
        try:
            return Snapshot(file.read(limit + 1), _mark(found))
        except OSError as wrong:
            raise trouble(wrong, path) from None


def _mark(found: os.stat_result) -> tuple[int, int, int]:
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def replace(path: str, data: bytes, unless_changed: tuple[int, int, int] | None = None) -> None:
    """Make `data` the content of the file, all of it or nothing.

    Symbolic links are followed, mode and (where allowed) owner are kept; a new file gets 0666 less the umask.
    The directory must be there. `unless_changed` is the mark of the content that the new one was made from.
    Raises BridoonError, and leaves the old content as it was.
    """
    target = os.path.realpath(path)
    try:
        old: os.stat_result | None = os.stat(target)
    except FileNotFoundError:
        old = None
    except OSError as wrong:
        raise trouble(wrong, path) from None
    if old is not None:
        _check_regular(old, path)
        if not os.access(target, os.W_OK):
            raise BridoonError(f"permission denied: {path} is read-only")
        if unless_changed is not None and _mark(old) != unless_changed:
            raise BridoonError(f"{path} was changed by somebody else meanwhile: read it again")
    try:
        _swap(target, data, old)
    except OSError as wrong:
        raise trouble(wrong, path) from None


def _swap(target: str, data: bytes, old: os.stat_result | None) -> None:
    fresh, fd = _temporary(os.path.dirname(target), 0o666 if old is None else 0o600)
    try:
        with open(fd, "wb") as out:
            out.write(data)
            out.flush()
            if old is not None:
                _take_after(out.fileno(), target, old)
        os.rename(fresh, target)
    except BaseException:
        os.unlink(fresh)
        raise


def _temporary(folder: str, mode: int) -> tuple[str, int]:
    """A new file in the folder, not in anybody's way: hidden, and with a name that nobody guesses."""
    while True:
        fresh = os.path.join(folder, f".hs-{os.urandom(6).hex()}.tmp")
        try:
            return fresh, os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError:
            continue


def _take_after(fd: int, target: str, old: os.stat_result) -> None:
    """Give the open file owner, access list and mode of the one that it replaces, where that is allowed."""
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
        for owner in (old.st_uid, -1):
            try:
                os.fchown(fd, owner, old.st_gid)
                break
            except PermissionError:
                continue
    if hasattr(os, "listxattr"):
        try:
            for name in os.listxattr(target):
                os.setxattr(fd, name, os.getxattr(target, name))
        except OSError as wrong:
            if wrong.errno not in (errno.ENOTSUP, errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENODATA):
                raise
    mode = stat.S_IMODE(old.st_mode)
    # Set-user-id means something else under another owner.
    os.fchmod(fd, mode if os.fstat(fd).st_uid == old.st_uid else mode & 0o777)
