"""Brings files to the disk while the run goes on: who needs them there waits only for what is left."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from bridoon.session import files

IDLE = 2.0
"""Seconds after which a thread that has nothing to do ends."""


class Flusher:
    """Flushes paths in a thread of its own. One per session.

    A model takes its time to answer, so a result is usually on the disk long before the next tool starts.
    """

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._changed = threading.Condition()
        self._alive = False
        self._busy = False
        self._failed: OSError | None = None

    def start(self, paths: Iterable[str]) -> None:
        """Begin to flush."""
        with self._changed:
            self._waiting += paths
            if not self._waiting:
                return
            self._busy = True
            if self._alive:
                self._changed.notify_all()
            else:
                self._alive = True
                threading.Thread(target=self._work, name="flush", daemon=True).start()

    def wait(self) -> None:
        """Return when everything is on the disk. Raises the OSError of the first file that could not be flushed."""
        with self._changed:
            while self._busy:
                self._changed.wait()
            failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._busy = False
                    self._changed.notify_all()
                    self._changed.wait(IDLE)
                if not self._waiting:
                    self._alive = False
                    return
                paths, self._waiting = list(dict.fromkeys(self._waiting)), []
            for path in paths:
                try:
                    files.flush(path)
                except OSError as wrong:
                    self._failed = self._failed or wrong
