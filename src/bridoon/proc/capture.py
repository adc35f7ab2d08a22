"""Bounded memory of a byte stream: its head and tail, and a file with all of it when that is more."""

from __future__ import annotations

import os
from typing import Any

HEAD_SHARE = 0.7
"""How much of a bounded text comes from its beginning."""
TEXT_LIMIT = 100_000
"""Characters of a tool's output that a model is shown, unless a setting says otherwise."""
MEMORY_LIMIT = 4 * TEXT_LIMIT
"""Bytes that are enough for `TEXT_LIMIT` characters of any text."""
SPILL_LIMIT = 64 << 20
"""Bytes of one stream that go to disk at most."""


class Capture:
    """Takes a stream chunk by chunk, and keeps at most `memory` bytes of it.

    `spill` names a file (mode 0600, its directory is made) that gets the first `spill_limit` bytes of a
    stream that is too long to be kept or shown whole; it is not written for shorter ones.
    """

    def __init__(self, memory: int = MEMORY_LIMIT, spill: str = "", spill_limit: int = SPILL_LIMIT) -> None:
        self.total = 0
        """Bytes fed so far."""
        # So that a quarter of `memory` in characters of any length has its share of both.
        self._head_size = 4 * int(memory // 4 * HEAD_SHARE)
        self._tail_size = memory - self._head_size
        self._head, self._tail = bytearray(), bytearray()
        self._file = _SpillFile(spill, spill_limit)
        self._decoder: Any = None
        self._chars = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(chunk)
        room = self._head_size - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self._tail += chunk
        if self._decoder is not None:
            self._pass_on(chunk)
        elif self.truncated:
            # Memory no longer holds everything: from here on the text is counted and written as it comes.
            import codecs

            self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
            self._pass_on(bytes(self._head))
            self._pass_on(bytes(self._tail))
        # Trimming at twice the size makes the cost per byte constant.
        if len(self._tail) > 2 * self._tail_size:
            del self._tail[: len(self._tail) - self._tail_size]

    def finish(self) -> None:
        """The stream is over: close the file. May be called again."""
        if self._decoder is not None:
            self._chars += len(self._decoder.decode(b"", True))
        self._file.close()

    @property
    def truncated(self) -> bool:
        """True when memory does not hold the whole stream."""
        return self.total > self._head_size + self._tail_size

    @property
    def spill_path(self) -> str:
        """The file with the full text (its beginning, for huge ones); empty when none was needed."""
        return self._file.path if self._file.size else ""

    @property
    def data(self) -> bytes:
        """The bytes that are kept: all of them, or head and tail put together when `truncated`."""
        return bytes(self._head + self._kept_tail())

    def text(self, limit: int | None = None) -> str:
        """The stream as text: at most `limit` characters, and a line that says what was cut and where it is.

        Without a limit, only what memory does not hold is cut. Bytes that are not UTF-8 become U+FFFD. To be
        called after `finish`.
        """
        if self.truncated:
            head, tail = _decode_head(self._head), _decode_tail(self._kept_tail())
            length = self._chars
        else:
            head = tail = self.data.decode("utf-8", "replace")
            length = len(head)
            if limit is None or length <= limit:
                return head
            if not self._file.size:
                self._file.write(self.data)
                self._file.close()
        if limit is not None:
            head = head[: int(limit * HEAD_SHARE)]
            keep = min(len(tail), limit - int(limit * HEAD_SHARE))
            tail = tail[len(tail) - keep :]
        cut = length - len(head) - len(tail)
        return f"{head}\n[... {cut} characters cut{self._file.note(self.total)} ...]\n{tail}"

    def _kept_tail(self) -> bytearray:
        return self._tail[max(0, len(self._tail) - self._tail_size) :]

    def _pass_on(self, chunk: bytes) -> None:
        self._chars += len(self._decoder.decode(chunk))
        self._file.write(chunk)


class _SpillFile:
    """The beginning of a stream on disk. A disk that fails costs the file, never the stream."""

    def __init__(self, path: str, limit: int) -> None:
        self.path, self.size = path, 0
        self._limit, self._fd, self._error = limit, -1, ""

    def write(self, chunk: bytes) -> None:
        if not self.path or self._error:
            return
        try:
            if self._fd < 0:
                self._fd = _open_private(self.path)
            room = memoryview(chunk)[: self._limit - self.size]
            while room:
                written = os.write(self._fd, room)
                self.size += written
                room = room[written:]
        except OSError as wrong:
            self._error = wrong.strerror or str(wrong)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def note(self, total: int) -> str:
        """Where the rest of a stream of `total` bytes is."""
        if not self.path:
            return ""
        if self._error:
            return f"; the full text could not be kept: {self._error}"
        if total > self.size:
            return f"; the first {self.size} of {total} bytes are in {self.path}"
        return f"; the full text is in {self.path}"


def _open_private(path: str) -> int:
    # Without O_NONBLOCK, a pipe that the program put there would hold us until somebody reads it.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


def _decode_head(data: bytearray) -> str:
    """Decode a beginning; a character that the cut went through is left out."""
    import codecs

    return codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(data))


def _decode_tail(data: bytearray) -> str:
    """Decode an end; a character that the cut went through is left out."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:].decode("utf-8", "replace")
