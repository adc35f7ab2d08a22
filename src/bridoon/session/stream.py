"""The `.stream` file of a session: one JSON object a line, for everybody who watches a run from outside."""

from __future__ import annotations

import json
import os
import threading
from types import TracebackType
from typing import Any

from bridoon.proc.tail import Follower
from bridoon.wire import jsontext


class Stream:
    """Appends events. `start_over` is called once, when a user's turn begins; readers then begin anew.

    Lines that other processes write (a provider that streams by itself) are read back with `overhear`.
    """

    def __init__(self, session_dir: str) -> None:
        self.path = os.path.join(session_dir, ".stream")
        self._fd = -1
        self._lock = threading.Lock()
        self._listeners: list[Overheard] = []

    def start_over(self) -> None:
        """Empty the file."""
        with self._lock:
            if self._fd < 0:
                self._open()
            os.ftruncate(self._fd, 0)

    def write(self, event: dict[str, Any]) -> None:
        """Append one event. Lone surrogates, which no UTF-8 file can hold, become `?`."""
        line = jsontext.dump(event).encode("utf-8", "replace") + b"\n"
        with self._lock:
            if self._fd < 0:
                self._open()
            os.write(self._fd, line)
            for listener in self._listeners:
                listener.own.append(line[:-1])

    def overhear(self) -> Overheard:
        """Begin to listen for lines that other processes append."""
        return Overheard(self)

    def close(self) -> None:
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._fd = os.open(self.path, flags, 0o600)


class Overheard:
    """The lines that others append to a `.stream` within this context, each told once."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._follower = Follower(stream.path, at_end=True)
        self.own: list[bytes] = []
        """What we wrote meanwhile and have not met in the file yet."""

    def __enter__(self) -> Overheard:
        with self._stream._lock:
            self._stream._listeners.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with self._stream._lock:
            self._stream._listeners.remove(self)

    def events(self) -> list[dict[str, Any]]:
        """The new events of others, in order. Lines that are no JSON objects are left out."""
        found = []
        for line in self._follower.lines():
            if line in self.own:
                self.own.remove(line)
                continue
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                found.append(value)
        return found
