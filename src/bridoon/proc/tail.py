"""Follow a file that others append lines to, by offset: one `stat` when nothing is new."""

from __future__ import annotations

import os

LINE_LIMIT = 16 << 20
"""Bytes of one line; longer ones are left out."""
_CHUNK = 1 << 20


class Follower:
    """Reads what was appended to `path` since the last call, in whole lines.

    A file that shrank or was replaced is read from its beginning; one that is missing has no lines yet. With
    `at_end`, what is there now is not read.
    """

    def __init__(self, path: str, *, at_end: bool = False, limit: int = LINE_LIMIT) -> None:
        self.path = path
        self.left_out = 0
        """How many lines were longer than `limit`."""
        self._limit = limit
        self._offset, self._file = 0, (0, 0)
        self._rest = bytearray()
        self._skipping = False
        if at_end:
            self.skip_to_end()

    def skip_to_end(self) -> None:
        """Go to the present end of the file: its lines so far are not read."""
        now = self._stat()
        self._start_over((now.st_dev, now.st_ino) if now else (0, 0), now.st_size if now else 0)

    def lines(self) -> list[bytes]:
        """The whole lines that are new, without their line feeds. Never waits, never raises."""
        now = self._stat()
        if now is None:
            self._start_over((0, 0), 0)
            return []
        if (now.st_dev, now.st_ino) != self._file or now.st_size < self._offset:
            self._start_over((now.st_dev, now.st_ino), 0)
        if now.st_size == self._offset:
            return []
        found: list[bytes] = []
        try:
            with open(self.path, "rb", buffering=0) as file:
                file.seek(self._offset)
                while chunk := file.read(_CHUNK):
                    self._offset += len(chunk)
                    found += self._split(chunk)
        except OSError:
            pass
        return found

    def _split(self, chunk: bytes) -> list[bytes]:
        *whole, rest = chunk.split(b"\n")
        lines = []
        for part in whole:
            self._rest += part
            if self._skipping or len(self._rest) > self._limit:
                self.left_out += 1
            else:
                lines.append(bytes(self._rest))
            self._rest.clear()
            self._skipping = False
        self._rest += rest
        if len(self._rest) > self._limit:
            self._rest.clear()
            self._skipping = True
        return lines

    def _start_over(self, file: tuple[int, int], offset: int) -> None:
        self._file, self._offset = file, offset
        self._rest.clear()
        self._skipping = False

    def _stat(self) -> os.stat_result | None:
        try:
            return os.stat(self.path)
        except OSError:
            return None
