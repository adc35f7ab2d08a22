"""Real processes for the tests of `bridoon.proc`: an environment, bash scripts, and who is still alive."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from bridoon.proc import table
from bridoon.proc.environment import child_env
from bridoon.proc.run import Completed, run

ENV = child_env({"PATH": os.environ["PATH"], "HOME": "/nonexistent"}, root="/nonexistent")
PATIENCE = 10.0
"""Seconds after which what should have happened has not."""

DEAF = "trap '' TERM; "
"""Begins a bash script that ignores TERM, and so do its children."""


def bash(script: str, **options: Any) -> Completed:
    """Run a script to its end, by the function under test."""
    return run(["bash", "-c", script], **{"env": ENV, "timeout": PATIENCE, **options})


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    process = table.read(pid)
    return process is not None and process.alive


def eventually(condition: Callable[[], object]) -> bool:
    """Whether it becomes true while one can wait for it."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def pids(done: Completed) -> list[int]:
    """The process ids that a script printed."""
    return [int(word) for word in done.stdout.text().split()]


def python(source: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run Python source in an interpreter of its own: a stand-in for a whole `hs`."""
    command = [sys.executable, "-c", source, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE * 5, check=False, **options)
