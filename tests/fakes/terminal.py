"""A terminal with somebody at it: a program runs in it, and is answered when it shows what was waited for."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


class AtTerminal:
    """A program with a pseudo-terminal for standard streams and controlling terminal. A context manager."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self.shown = ""
        """Everything that appeared so far."""
        self.code: int | None = None
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            try:
                os.chdir(cwd)
                os.execve(words[0], list(words), dict(env))
            finally:
                os._exit(127)

    def __enter__(self) -> AtTerminal:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.code is None:
            with contextlib.suppress(OSError):
                os.kill(self._pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
        os.close(self._fd)

    def wait_for(self, text: str, seconds: float = 15.0) -> None:
        """Read until `text` has appeared after what was waited for last. Fails when it does not in time."""
        start = len(self.shown)
        end = time.monotonic() + seconds
        while text not in self.shown[start:]:
            if not self._read(end):
                raise AssertionError(f"{text!r} did not appear; shown: {self.shown!r}")

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._fd, text.encode("utf-8"))

    def wait(self, seconds: float = 15.0) -> int:
        """Wait for the end of the program; its exit code, negative when a signal ended it."""
        end = time.monotonic() + seconds
        while self._read(end):
            pass
        while time.monotonic() < end:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                return self.code
            select.select([], [], [], 0.01)
        raise AssertionError(f"the program did not end; shown: {self.shown!r}")

    def _read(self, end: float) -> bool:
        ready, _, _ = select.select([self._fd], [], [], max(0.0, end - time.monotonic()))
        try:
            data = os.read(self._fd, 1 << 16) if ready else b""
        except OSError:
            data = b""
        self.shown += data.decode("utf-8", "replace")
        return bool(data)
