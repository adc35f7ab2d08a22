"""A terminal's modes, remembered, so that whatever happens it is left as it was found."""

from __future__ import annotations

import os
import signal
import termios
from typing import Any

RESET = b"\x1b[?2004l\x1b[?25h\x1b[0m"
"""No bracketed paste, a visible cursor, no colours."""


class Modes:
    """The modes of the terminal at a descriptor; nothing where there is none."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._saved: list[Any] | None = None
        try:
            self._saved = termios.tcgetattr(fd)
        except termios.error:
            pass

    def restore(self) -> None:
        """Set them again, also from the background. Does nothing when they are as they were."""
        if self._saved is None:
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            if termios.tcgetattr(self._fd) != self._saved:
                termios.tcsetattr(self._fd, termios.TCSANOW, self._saved)
                os.write(1, RESET)
        except (termios.error, OSError):
            pass  # the terminal is gone
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
