"""Commands that ask programs end them when they are told to stop themselves."""

from __future__ import annotations

import signal
from types import FrameType

from bridoon.errors import Cancelled


def stop_at_once() -> None:
    """Let SIGTERM and SIGHUP raise Cancelled in the main thread, as SIGINT raises KeyboardInterrupt.

    Whoever waits for a program then ends it on the way out; by default the process would just be gone.
    """

    def stop(signum: int, frame: FrameType | None) -> None:
        for each in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        raise Cancelled(signum)

    for each in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) == signal.SIG_DFL:
            signal.signal(each, stop)
