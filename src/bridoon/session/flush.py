"""Brings files to the disk while the run goes on: who needs them there waits only for what is left."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

from bridoon.session import files

IDLE = 2.0
"""Seconds after which a thread that has nothing to do ends."""

AT_ONCE = 8
"""Paths that are flushed beside each other."""


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
        """Begin to flush paths, and the folders that name them."""
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
            folders = dict.fromkeys(map(os.path.dirname, paths))
            self._flush([*paths, *(folder for folder in folders if folder not in paths)])

    def _flush(self, paths: list[str]) -> None:
        """Flush all at once: a journal writes them in one commit. One after the other, each waits for its own.

        The order does not matter, for nobody is told of any before all are on the disk.
        """
        for begin in range(0, len(paths), AT_ONCE):
            first, *others = paths[begin : begin + AT_ONCE]
            beside = [threading.Thread(target=self._one, args=(path,), daemon=True) for path in others]
            for thread in beside:
                thread.start()
            self._one(first)
            for thread in beside:
                thread.join()

    def _one(self, path: str) -> None:
        try:
            files.flush(path)
        except OSError as wrong:
            self._failed = self._failed or wrong
