"""The standard streams of a process that is a program: how it begins with them, and how it ends."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def fill_closed() -> None:
    """Put /dev/null in the place of standard streams that are closed.

    The next file that is opened would take their number, and what is meant for people would land in a file.
    """
    for number, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            stream = os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False)
            setattr(sys, name, stream)


def leave(code: int) -> NoReturn:
    """End the process, without taking the interpreter apart: exit functions run, and what was printed is written."""
    if "atexit" in sys.modules:
        sys.modules["atexit"]._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(code)
