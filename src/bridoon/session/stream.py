"""The `.stream` file of a session: one JSON object a line, for everybody who watches a run from outside."""

from __future__ import annotations

import json
import os
import stat
import threading
from types import TracebackType
from typing import Any

from bridoon.proc.tail import Follower
from bridoon.wire import jsontext


class Stream:
    """Appends events. `start_over` is called once, when a user's turn begins; readers then begin anew.

    Lines that other processes write (a provider that streams by itself) are read back with `overhear`. A disk that
    is full, or a `.stream` that is no regular file, costs the watchers their events and the run nothing.
    """

    def __init__(self, session_dir: str) -> None:
        self.path = os.path.join(session_dir, ".stream")
        self._fd = -1
        self._lock = threading.Lock()
        self._listeners: list[Overheard] = []
        self._torn = False
        """Whether the last line is only a part of one, since the disk was full."""

    def start_over(self) -> None:
        """Empty the file."""
        with self._lock:
            self._open()
            if self._fd >= 0:
                os.ftruncate(self._fd, 0)

    def write(self, event: dict[str, Any]) -> None:
        """Append one event. Lone surrogates, which no UTF-8 file can hold, become `?`."""
        line = jsontext.dump(event).encode("utf-8", "replace") + b"\n"
        with self._lock:
            self._open()
            if not self._append(line):
                return
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
        if self._fd >= 0:
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            fd = os.open(self.path, flags, 0o600)
        except OSError:
            return
        if stat.S_ISREG(os.fstat(fd).st_mode):
            self._fd = fd
        else:
            os.close(fd)

    def _append(self, line: bytes) -> bool:
        """Write a line, whole or not at all as far as readers can tell."""
        if self._fd < 0:
            return False
        data = b"\n" + line if self._torn else line
        try:
            self._torn = os.write(self._fd, data) < len(data)
        except OSError:
            return False
        return not self._torn


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
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                found.append(value)
        return found
