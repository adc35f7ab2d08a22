"""The log of a run: HARNESS_LOG, or the nearest thing to it that can be written. It never breaks anything."""

from __future__ import annotations

import os
import stat


class Log:
    """Appends lines. `path` is what children are given as HARNESS_LOG: always something that they can open.

    A target that cannot be opened falls back to `<session>/harness.log`, then to nothing.
    """

    def __init__(self, path: str, session_dir: str = "") -> None:
        self._fd = -1
        self.path = "/dev/null"
        fallback = os.path.join(session_dir, "harness.log") if session_dir else ""
        for candidate in (path, fallback):
            if candidate and self._use(candidate):
                return

    def _use(self, path: str) -> bool:
        try:
            if path == "/dev/stderr":
                # A socket or a closed descriptor cannot be opened again by that name, but may be written.
                mode = os.fstat(2).st_mode
                self._fd, self.path = 2, "/dev/null" if stat.S_ISSOCK(mode) else path
                return True
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self.path = path
            return True
        except OSError:
            return False

    def write(self, text: str) -> None:
        """Append `text` as one or more whole lines."""
        if self._fd < 0 or not text:
            return
        data = (text if text.endswith("\n") else text + "\n").encode("utf-8", "replace")
        try:
            os.write(self._fd, data)
        except OSError:
            self._fd = -1

    def close(self) -> None:
        if self._fd > 2:
            os.close(self._fd)
        self._fd = -1
