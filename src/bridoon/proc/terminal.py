"""The controlling terminal, lent to one child at a time so that it can ask its user something."""

from __future__ import annotations

import os
import signal
from typing import Any


class Terminal:
    """An open `/dev/tty` whose foreground this process may give away; `take_back` closes it."""

    def __init__(self, fd: int) -> None:
        import termios

        self._fd = fd
        self._group = os.getpgrp()
        self._modes: list[Any] = termios.tcgetattr(fd)

    def lend(self, group: int) -> None:
        """Put a process group in the foreground, and wake it if it was stopped for not being there."""
        _set_foreground(self._fd, group)
        try:
            os.killpg(group, signal.SIGCONT)
        except OSError:
            pass

    def take_back(self) -> None:
        """Return to the foreground, with the terminal's modes as they were."""
        import termios

        try:
            _set_foreground(self._fd, self._group, self._modes)
        except termios.error:
            pass
        finally:
            os.close(self._fd)


def borrowable() -> Terminal | None:
    """The terminal, if there is one and this process is in its foreground.

    A process in the background has none to lend: its child gets a session without a terminal and fails at
    once, where touching the terminal would stop it for ever.
    """
    import termios

    try:
        fd = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if os.tcgetpgrp(fd) == os.getpgrp():
            return Terminal(fd)
    except (OSError, termios.error):
        pass
    os.close(fd)
    return None


def _set_foreground(fd: int, group: int, modes: list[Any] | None = None) -> None:
    import termios

    # From the background this would stop us; a blocked SIGTTOU means: do it all the same.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        os.tcsetpgrp(fd, group)
        if modes is not None:
            termios.tcsetattr(fd, termios.TCSADRAIN, modes)
    except OSError:
        # The group, or the terminal, is gone.
        pass
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
