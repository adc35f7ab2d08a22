"""Server-sent events: bytes to events and back."""

from __future__ import annotations

from typing import NamedTuple

from bridoon.wire.lines import LINE_LIMIT, LineSplitter, LineTooLong

LINE_COST = 64
"""Bytes that a line of an event costs beside its text: an event of very many short lines is a large one."""

STRAY_LIMIT = 2000
"""Characters that are kept of lines that are no part of an event."""


class Event(NamedTuple):
    """One event. `name` is empty when the stream did not name it."""

    data: str
    name: str = ""


class Decoder:
    """Collects chunks and gives back the events that are complete.

    LF, CRLF and CR end a line. A field's value may follow its colon with or without a blank. Bytes that are
    not UTF-8 become U+FFFD.
    """

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._lines = LineSplitter(limit)
        self._limit = limit
        self._data: list[str] = []
        self._size = 0
        self._name = ""
        self._after_cr = False
        self._begun = False
        self.stray = ""
        """The beginning of what came that is no event, e.g. an error page. It explains a stream without
        events.
        """

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that `chunk` completes. Raises LineTooLong."""
        events: list[Event] = []
        for line in self._lines.feed(self._line_feeds(chunk)):
            self._line(line, events)
        return events

    def end(self) -> list[Event]:
        """The last event, when the stream ended without the blank line that completes it."""
        events: list[Event] = []
        rest = self._lines.end()
        if rest:
            self._line(rest, events)
        self._line(b"", events)
        return events

    def _line_feeds(self, chunk: bytes) -> bytes:
        if self._after_cr and chunk:
            # The CR at the end of the chunk before was taken for a line's end: its LF must not make a second
            # one.
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _line(self, line: bytes, events: list[Event]) -> None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            if self._data:
                events.append(Event("\n".join(self._data), self._name))
            self._data, self._name, self._size = [], "", 0
            return
        field, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if field == b"data":
            self._size += len(value) + LINE_COST
            if self._size > self._limit:
                raise LineTooLong(f"an event is longer than {self._limit} bytes")
            self._data.append(value.decode("utf-8", "replace"))
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field not in (b"", b"id", b"retry") and len(self.stray) < STRAY_LIMIT:
            self.stray = (self.stray + line.decode("utf-8", "replace") + "\n")[:STRAY_LIMIT]


def encode(data: str, name: str = "") -> bytes:
    """The bytes of one event."""
    head = f"event: {name}\n" if name else ""
    body = "".join(f"data: {line}\n" for line in data.split("\n"))
    return f"{head}{body}\n".encode()
