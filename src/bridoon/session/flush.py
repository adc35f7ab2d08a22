"""Brings files to the disk while the run goes on: who needs them there waits only for what is left."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

from bridoon.session import files


class Flusher:
    """Flushes paths in a thread of its own, in order. One per session; the thread ends when it has nothing to do.

    A model takes its time to answer, so a result is usually on the disk long before the next tool starts.
    """

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._done = threading.Condition()
        self._busy = False
        self._failed: OSError | None = None

    def start(self, paths: Iterable[str]) -> None:
        """Begin to flush; files before the folders that name them."""
        with self._done:
            self._waiting += paths
            if self._waiting and not self._busy:
                self._busy = True
                threading.Thread(target=self._work, name="flush", daemon=True).start()

    def wait(self) -> None:
        """Return when everything is on the disk. Raises the OSError of the first file that could not be flushed."""
        with self._done:
            while self._busy:
                self._done.wait()
            failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def _work(self) -> None:
        while True:
            with self._done:
                paths, self._waiting = list(dict.fromkeys(self._waiting)), []
                if not paths:
                    self._busy = False
                    self._done.notify_all()
                    return
            folders = list(dict.fromkeys(map(os.path.dirname, paths)))
            for path in [*paths, *(folder for folder in folders if folder not in paths)]:
                try:
                    files.flush(path)
                except OSError as wrong:
                    self._failed = self._failed or wrong
