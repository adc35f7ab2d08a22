"""Whole lines out of arbitrary chunks of bytes. LF only: U+2028 is ordinary text inside JSON."""

from __future__ import annotations

LINE_LIMIT = 16 << 20
"""Bytes of one line when the caller does not say."""


class LineTooLong(ValueError):
    """A line grew past the limit. The splitter that raised it is of no further use."""


class LineSplitter:
    """Collects chunks and gives back the lines that are complete, without their LF.

    The cost is linear in the bytes fed, however small the chunks are.
    """

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._held = bytearray()
        self._limit = limit

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, in order. Raises LineTooLong."""
        lines = chunk.split(b"\n")
        if len(self._held) + len(lines[0]) > self._limit:
            raise LineTooLong(f"a line is longer than {self._limit} bytes")
        if len(lines) == 1:
            self._held += chunk
            return []
        if self._held:
            self._held += lines[0]
            lines[0] = bytes(self._held)
            self._held.clear()
        rest = lines.pop()
        if len(chunk) > self._limit and any(len(line) > self._limit for line in (*lines, rest)):
            raise LineTooLong(f"a line is longer than {self._limit} bytes")
        self._held += rest
        return lines

    def end(self) -> bytes:
        """The last line, if it had no LF. The splitter is empty afterwards."""
        rest = bytes(self._held)
        self._held.clear()
        return rest
