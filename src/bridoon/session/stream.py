"""The `.stream` file of a session: one JSON object a line, for everybody who watches a run from outside."""

from __future__ import annotations

import json
import os
import threading
from typing import Any


class Stream:
    """Appends events. `start_over` is called once, when a user's turn begins; readers then begin anew.

    Lines written by other processes (a provider that streams by itself) are read back with `others`.
    """

    def __init__(self, session_dir: str) -> None:
        self.path = os.path.join(session_dir, ".stream")
        self._fd = -1
        self._lock = threading.Lock()

    def start_over(self) -> None:
        """Empty the file."""
        with self._lock:
            if self._fd < 0:
                self._open()
            os.ftruncate(self._fd, 0)

    def write(self, event: dict[str, Any]) -> None:
        """Append one event. Lone surrogates, which no UTF-8 file can hold, become `?`."""
        line = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        with self._lock:
            if self._fd < 0:
                self._open()
            os.write(self._fd, line)

    def size(self) -> int:
        """Bytes written so far, by anybody."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0

    def close(self) -> None:
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._fd = os.open(self.path, flags, 0o600)
