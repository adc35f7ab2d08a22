"""HTTP/1.1 as a codec: a request to bytes, and bytes to a response as they arrive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

HEAD_LIMIT = 64 << 10
"""Bytes of a status line and all header lines, those of interim answers included, and of the trailers."""

CHUNK_LINE_LIMIT = 4096
"""Bytes of the line that gives a chunk's size."""


class BadResponse(ValueError):
    """What came is not HTTP, is cut short, or is larger than any sane answer."""


class Head(NamedTuple):
    """The beginning of a response. Header names are lower case; repeated ones are joined with a comma."""

    status: int
    reason: str
    headers: dict[str, str]


def request_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    """The bytes of a request up to its body. Raises ValueError for a header that would break the framing."""
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers.items():
        if not value.isprintable() or not value.isascii() or not name.isascii() or not name.isprintable():
            raise ValueError(f"the value of the header {name} has characters that a header cannot hold")
        lines.append(f"{name}: {value}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


class Response:
    """Collects what a server sends and gives back the pieces of the body.

    `head` is None until the header lines are complete; interim answers (100, 103) are skipped. `done` tells
    that the body is complete; bytes after it are counted in `surplus` and make the connection useless.
    """

    def __init__(self, body_expected: bool = True) -> None:
        self.head: Head | None = None
        self.done = False
        self.keep_alive = False
        self.surplus = 0
        self.received = 0
        """Bytes fed so far."""
        self._expected = body_expected
        self._buffer = b""
        self._at = 0
        """Where the first byte of the buffer is that no state has taken."""
        self._left = 0
        """Bytes still to come of the body or of the current chunk."""
        self._heads = 0
        """Bytes of the heads so far: interim answers must not go on for ever."""
        self._state = self._read_head

    def feed(self, data: bytes) -> list[bytes]:
        """The pieces of the body that `data` brings. Raises BadResponse."""
        self.received += len(data)
        self._buffer = self._buffer + data if self._buffer else data
        pieces: list[bytes] = []
        while not self.done and self._state(pieces):
            pass
        self._buffer, self._at = self._buffer[self._at :], 0
        if self.done and self._buffer:
            self.surplus += len(self._buffer)
            self._buffer = b""
            self.keep_alive = False
        return pieces

    def end(self) -> None:
        """The server closed the connection. Raises BadResponse when something is missing."""
        if self.done:
            return
        if self.head is None:
            raise BadResponse("the server closed the connection before it answered")
        if self._state != self._read_rest:
            raise BadResponse("the server closed the connection in the middle of its answer")
        self.done = True

    # ---- one state each; they return whether there may be more to do with what is buffered

    def _read_head(self, pieces: list[bytes]) -> bool:
        end, size = _head_end(self._buffer, self._at)
        if self._heads + (end if end >= 0 else len(self._buffer)) - self._at > HEAD_LIMIT:
            raise BadResponse(f"the header is longer than {HEAD_LIMIT} bytes")
        if end < 0:
            return False
        head, version = _parse_head(self._buffer[self._at : end])
        self._heads += end + size - self._at
        self._at = end + size
        if 100 <= head.status < 200:
            if head.status == 101:
                raise BadResponse("the server switched to another protocol")
            return True
        self.head = head
        self._frame(head, version)
        return True

    def _frame(self, head: Head, version: str) -> None:
        """How the end of the body is told (RFC 9112, 6.3)."""
        connection = head.headers.get("connection", "").lower()
        self.keep_alive = "close" not in connection and (version >= "1.1" or "keep-alive" in connection)
        coding = head.headers.get("transfer-encoding", "").lower().strip()
        length = head.headers.get("content-length")
        if not self._expected or head.status in (204, 304):
            self.done = True
        elif coding:
            if coding != "chunked":
                raise BadResponse(f"the transfer encoding {coding!r} is unknown")
            self._state = self._read_size
        elif length is not None:
            self._left = _length(length)
            self._state = self._read_counted
            self.done = self._left == 0
        else:
            self.keep_alive = False
            self._state = self._read_rest

    def _read_counted(self, pieces: list[bytes]) -> bool:
        self._take(pieces)
        self.done = self._left == 0
        return False

    def _read_rest(self, pieces: list[bytes]) -> bool:
        if len(self._buffer) > self._at:
            pieces.append(self._buffer[self._at :])
            self._at = len(self._buffer)
        return False

    def _read_size(self, pieces: list[bytes]) -> bool:
        line = self._line(CHUNK_LINE_LIMIT)
        if line is None:
            return False
        digits = line.split(b";", 1)[0].strip()
        if not digits or len(digits) > 15 or digits.strip(b"0123456789abcdefABCDEF"):
            raise BadResponse("a chunk of the answer has no valid size")
        self._left = int(digits, 16)
        self._state = self._read_chunk if self._left else self._read_trailer
        return True

    def _read_chunk(self, pieces: list[bytes]) -> bool:
        self._take(pieces)
        if self._left:
            return False
        self._state = self._read_chunk_end
        return True

    def _read_chunk_end(self, pieces: list[bytes]) -> bool:
        line = self._line(CHUNK_LINE_LIMIT)
        if line is None:
            return False
        if line:
            raise BadResponse("a chunk of the answer is longer than its size")
        self._state = self._read_size
        return True

    def _read_trailer(self, pieces: list[bytes]) -> bool:
        line = self._line(HEAD_LIMIT)
        if line is None:
            return False
        self.done = not line
        return True

    def _take(self, pieces: list[bytes]) -> None:
        piece = self._buffer[self._at : self._at + self._left]
        if piece:
            self._at += len(piece)
            self._left -= len(piece)
            pieces.append(piece)

    def _line(self, limit: int) -> bytes | None:
        end = self._buffer.find(b"\n", self._at)
        if (end if end >= 0 else len(self._buffer)) - self._at > limit:
            raise BadResponse(f"a line of the framing is longer than {limit} bytes")
        if end < 0:
            return None
        line = self._buffer[self._at : end]
        self._at = end + 1
        return line.removesuffix(b"\r")


def _head_end(data: bytes, start: int) -> tuple[int, int]:
    """Where the header lines end, and the length of what ends them; -1 when they do not yet."""
    end = data.find(b"\r\n\r\n", start)
    sooner = data.find(b"\n\n", start, end if end >= 0 else len(data))
    return (sooner, 2) if sooner >= 0 else (end, 4)


def _parse_head(raw: bytes) -> tuple[Head, str]:
    lines = raw.decode("latin-1").replace("\r\n", "\n").split("\n")
    version, _, rest = lines[0].partition(" ")
    code, _, reason = rest.strip().partition(" ")
    reason = "".join(c if c.isprintable() else "?" for c in reason)
    if not version.startswith("HTTP/1.") or len(code) != 3 or not code.isascii() or not code.isdigit():
        raise BadResponse(f"the answer is not HTTP/1.1: {lines[0][:60]!r}")
    headers: dict[str, str] = {}
    last = ""
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if line[:1] in (" ", "\t") and last:
            headers[last] += " " + line.strip()
            continue
        if not colon:
            raise BadResponse(f"a header line has no colon: {line[:60]!r}")
        last = name.strip().lower()
        value = value.strip()
        if last == "content-length" and headers.get(last, value) != value:
            raise BadResponse("the answer states two different lengths")
        headers[last] = f"{headers[last]}, {value}" if last in headers and last != "content-length" else value
    return Head(int(code), reason.strip(), headers), version.removeprefix("HTTP/")


def _length(text: str) -> int:
    said = {part.strip() for part in text.split(",")}  # a proxy may have joined two that say the same
    text = said.pop() if len(said) == 1 else text
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise BadResponse(f"the content length {text[:40]!r} is no number")
    return int(text)
