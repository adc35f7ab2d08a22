"""Run one program to its end: feed it, keep what it says, stop it in time, and leave nothing of it behind."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bridoon.errors import Cancelled
from bridoon.proc import children, environment
from bridoon.proc.call import Call
from bridoon.proc.capture import MEMORY_LIMIT, Capture
from bridoon.proc.start import CannotStart, command_for

if TYPE_CHECKING:
    from bridoon.proc.terminal import Terminal
    from bridoon.sdk.script import Stoppable

__all__ = ["WHOLE", "CannotStart", "Completed", "Interrupted", "command_for", "run"]

WHOLE = 1 << 62
"""As `out_limit`: keep every byte in memory."""
STDERR_LIMIT = 128 << 10


class Completed(NamedTuple):
    """How a program ended, and what it wrote."""

    code: int
    """The exit code; negative: the signal that killed it."""
    stdout: Capture
    stderr: Capture
    """Empty when both streams were merged into `stdout`."""
    seconds: float
    timed_out: bool
    background: int
    """How many of its processes were left alive."""
    call: str
    """The id in HARNESS_CALL of all that belongs to it, and in `children.Job`."""


class Interrupted(Cancelled):
    """The program was stopped because its `cancel` was set. `completed` holds what it had written by then."""

    def __init__(self, signum: int, completed: Completed) -> None:
        super().__init__(signum)
        self.completed = completed


def run(  # noqa: PLR0913 - every one of them is something a caller decides
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    stdin: bytes = b"",
    cwd: str | None = None,
    timeout: float | None = None,
    cancel: Stoppable | None = None,
    out_limit: int = MEMORY_LIMIT,
    err_limit: int = STDERR_LIMIT,
    spill: str = "",
    merge: bool = False,
    grace: float = 2.0,
    keep_background: bool = False,
    on_output: Callable[[str, bytes], object] | None = None,
    tick: Callable[[], object] | None = None,
    tty: bool = False,
) -> Completed:
    """Run `argv` (its first word is a path, or a name in PATH) with the environment `env` and our marks.

    `out_limit` and `err_limit` are the bytes kept of each stream; `spill` names the file for all of stdout
    (`Capture`). `merge` puts stderr into stdout in the order written. `on_output("stdout" | "stderr", chunk)`
    sees every chunk. After `timeout` seconds, or when `cancel` is set, what belongs to the call gets TERM,
    `grace` seconds, and KILL. Background processes die with the call, unless `keep_background` and it ended
    by itself. `tty` lends the terminal to the program if there is one; else it cannot open `/dev/tty`.

    Raises `CannotStart`; `Interrupted` (a `Cancelled`) once everything is stopped; what `tick` and `on_output` raise.
    """
    if cancel is not None:
        cancel.check()
    children.guard(env.get("HARNESS_HOME", ""))
    stdout, stderr = Capture(out_limit, spill), Capture(err_limit)
    call = Call(stdout, None if merge else stderr, cancel)
    terminal = _terminal() if tty else None
    try:
        marked = environment.mark(env, call.id)
        call.begin(argv, marked, cwd, stdin, terminal)
        call.tick, call.on_output = tick, on_output
        timed_out, cancelled = call.follow(timeout)
        if timed_out or cancelled:
            call.stop(grace)
        else:
            call.settle(grace, keep_background)
    except CannotStart:
        raise
    except BaseException:
        call.tick = call.on_output = None
        call.stop(grace)
        raise
    finally:
        call.close()
        stdout.finish()
        stderr.finish()
        if terminal is not None:
            terminal.take_back()
    seconds = time.monotonic() - call.began
    completed = Completed(call.code, stdout, stderr, seconds, timed_out, call.background, call.id)
    if cancelled:
        raise Interrupted(getattr(cancel, "signum", 0) or signal.SIGINT, completed)
    if terminal is not None and completed.code in (-signal.SIGINT, 128 + signal.SIGINT):
        # The user's Ctrl-C reached the program that held the terminal, and means us as well.
        if cancel is not None and hasattr(cancel, "set"):
            cancel.set(signal.SIGINT)
        raise Interrupted(signal.SIGINT, completed)
    return completed


def _terminal() -> Terminal | None:
    from bridoon.proc.terminal import borrowable

    return borrowable()
