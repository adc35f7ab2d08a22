"""Run one program to its end: feed it, keep what it says, stop it in time, and leave nothing of it behind."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from bridoon.errors import Cancelled
from bridoon.proc import children, environment
from bridoon.proc.capture import MEMORY_LIMIT, Capture
from bridoon.proc.start import CannotStart, Streams, command_for, start

if TYPE_CHECKING:
    from bridoon.proc.terminal import Terminal
    from bridoon.sdk.script import Stoppable

__all__ = ["WHOLE", "CannotStart", "Completed", "Interrupted", "command_for", "run"]

WHOLE = 1 << 62
"""As `out_limit`: keep every byte in memory."""
STDERR_LIMIT = 128 << 10
TICK = 0.05
"""Seconds between two ticks, about."""
SILENCE = 0.05
"""How long to listen for more once the program has ended and somebody else still holds its output open."""
DRAIN = 0.5
"""How long to listen then at most."""
_CHUNK = 64 << 10
_BURY_EVERY = 1.0
_DEVNULL = -3  # subprocess.DEVNULL and subprocess.STDOUT, without importing it before the first child
_STDOUT = -2


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

    Raises `CannotStart`; `Interrupted` (a `Cancelled`) once everything is stopped; also what `tick` and
    `on_output` raise, likewise.
    """
    if cancel is not None:
        cancel.check()
    children.guard(env.get("HARNESS_HOME", ""))
    stdout, stderr = Capture(out_limit, spill), Capture(err_limit)
    terminal = _terminal() if tty else None
    try:
        call = _Call(stdout, None if merge else stderr, cancel)
        call.begin(argv, environment.mark(env, call.id), cwd, stdin, session=terminal is None)
        if terminal is not None:
            call.lend(terminal)
        call.tick, call.on_output = tick, on_output
        timed_out, cancelled = _see_through(call, timeout, grace, keep_background)
    finally:
        if terminal is not None:
            terminal.take_back()
    stdout.finish()
    stderr.finish()
    completed = Completed(
        call.code, stdout, stderr, time.monotonic() - call.began, timed_out, call.background, call.id
    )
    if cancelled:
        raise Interrupted(getattr(cancel, "signum", 0) or signal.SIGINT, completed)
    if terminal is not None and completed.code == -signal.SIGINT:
        # The user's Ctrl-C reached the program that held the terminal, and means us as well.
        if cancel is not None and hasattr(cancel, "set"):
            cancel.set(signal.SIGINT)
        raise Interrupted(signal.SIGINT, completed)
    return completed


def _see_through(
    call: _Call, timeout: float | None, grace: float, keep_background: bool
) -> tuple[bool, bool]:
    """Wait for the end of the call, or bring it about: (timed out, cancelled)."""
    try:
        try:
            timed_out, cancelled = call.follow(timeout)
            if timed_out or cancelled:
                call.stop(grace)
            else:
                call.settle(grace, keep_background)
        except BaseException:
            call.tick = call.on_output = None
            call.stop(grace)
            raise
    finally:
        call.close()
    return timed_out, cancelled


class _Call:
    """A running program, and our ends of its streams."""

    def __init__(self, stdout: Capture, stderr: Capture | None, cancel: Stoppable | None) -> None:
        self.id = children.new_call()
        self.background = 0
        self.tick: Callable[[], object] | None = None
        self.on_output: Callable[[str, bytes], object] | None = None
        self._captures = (stdout, stderr)
        self._cancel = cancel
        self._terminal: Terminal | None = None
        self._poll = select.poll()
        self._sinks: dict[int, tuple[str, Capture]] = {}
        self._stdin, self._unsent = -1, memoryview(b"")
        self._exit = -1
        self._last_tick = 0.0
        self._code: int | None = None

    def begin(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str | None, stdin: bytes, *, session: bool
    ) -> None:
        """Start the program. Raises `CannotStart`."""
        theirs: list[int] = []
        stdout, stderr = self._captures
        self.began = time.monotonic()
        try:
            given = self._input(stdin, theirs)
            out = self._output("stdout", stdout, theirs)
            err = self._output("stderr", stderr, theirs) if stderr is not None else _STDOUT
            self._child = start(
                argv, env=env, cwd=cwd, streams=Streams(given, out, err), call=self.id, session=session
            )
        except BaseException:
            self.close()
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        self._watch_exit()
        if self._cancel is not None:
            self._poll.register(self._cancel.fileno(), select.POLLIN)

    def lend(self, terminal: Terminal) -> None:
        """Give the program the terminal."""
        self._terminal = terminal
        terminal.lend(self._child.pid)

    @property
    def code(self) -> int:
        """The exit code. That of a program that even KILL could not end yet is KILL's."""
        return -signal.SIGKILL if self._code is None else self._code

    def follow(self, timeout: float | None) -> tuple[bool, bool]:
        """Serve the program until it ends (False, False), its time is up (True, False) or `cancel` is set."""
        deadline = None if timeout is None else self.began + timeout
        bury = self.began + _BURY_EVERY
        while self._code is None:
            if self._cancel is not None and self._cancel.is_set:
                return False, True
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                return True, False
            if now >= bury:
                children.reap_orphans()
                bury = now + _BURY_EVERY
            self._pump(min(_BURY_EVERY, bury - now, _BURY_EVERY if deadline is None else deadline - now))
        return False, False

    def settle(self, grace: float, keep_background: bool) -> None:
        """The program has ended: take what it still had to say, and decide about what it left behind."""
        self._drain()
        left = children.left_behind(self.id, self._child.pid)
        stopped = self.code < 0 or (self._cancel is not None and self._cancel.is_set)
        if left and (stopped or not keep_background):
            self.stop(grace)
        elif left:
            self.background = children.leave(left, self.id)
            for fd in tuple(self._sinks):
                self._forget(fd, close=False)
                Thread(target=_read_away, args=(fd,), name="background output", daemon=True).start()

    def stop(self, grace: float) -> None:
        """End everything that belongs to the call."""
        self._close_stdin()
        self._ignore_cancel()
        pid = self._child.pid
        children.kill_tree(lambda: children.members(self.id, pid), grace=grace, wait=self._pass_time)
        deadline = time.monotonic() + children.KILL_PATIENCE
        while self._code is None and time.monotonic() < deadline:
            self._pump(TICK)
        self._drain()

    def close(self) -> None:
        """Let go of all descriptors."""
        self._close_stdin()
        for fd in tuple(self._sinks):
            self._forget(fd)
        if self._exit >= 0:
            os.close(self._exit)
            self._exit = -1

    def _input(self, data: bytes, theirs: list[int]) -> int:
        """The child's standard input, filled with as much as it takes before anybody reads."""
        if not data:
            return _DEVNULL
        read, self._stdin = os.pipe()
        theirs.append(read)
        os.set_blocking(self._stdin, False)
        self._unsent = memoryview(data)
        self._send()
        if self._stdin >= 0:
            self._poll.register(self._stdin, select.POLLOUT)
        return read

    def _output(self, name: str, capture: Capture, theirs: list[int]) -> int:
        read, write = os.pipe()
        theirs.append(write)
        self._sinks[read] = (name, capture)
        self._poll.register(read, select.POLLIN)
        return write

    def _watch_exit(self) -> None:
        try:
            self._exit = os.pidfd_open(self._child.pid)
        except (AttributeError, OSError):
            # Not on this system: `_pump` then looks often.
            return
        self._poll.register(self._exit, select.POLLIN)

    def _pump(self, seconds: float) -> bool:
        """Move bytes until something has happened, for `seconds` at most; True when there was output."""
        if self.tick is not None:
            seconds = min(seconds, TICK)
        if self._exit < 0 and self._code is None:
            seconds = min(seconds, TICK / 5)
        heard, ended = False, self._exit < 0 or self._terminal is not None
        for fd, _ in self._poll.poll(max(0.0, seconds) * 1000):
            if fd in self._sinks:
                heard = True
                self._receive(fd)
            elif fd == self._stdin:
                self._send()
            else:
                ended = ended or fd == self._exit
        if ended and self._code is None:
            self._look_at_child()
        now = time.monotonic()
        if self.tick is not None and now - self._last_tick >= TICK / 2:
            self._last_tick = now
            self.tick()
        return heard

    def _look_at_child(self) -> None:
        self._code = children.reap(self._child)
        if self._code is not None:
            if self._exit >= 0:
                self._poll.unregister(self._exit)
        elif self._terminal is not None and _is_stopped(self._child.pid):
            # Ctrl-Z, or a touch of the terminal before it was lent: there is no shell to type `fg` into.
            self._terminal.lend(self._child.pid)

    def _receive(self, fd: int) -> None:
        name, capture = self._sinks[fd]
        try:
            chunk = os.read(fd, _CHUNK)
        except OSError:
            chunk = b""
        if not chunk:
            self._forget(fd)
            return
        capture.feed(chunk)
        if self.on_output is not None:
            self.on_output(name, chunk)

    def _send(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._stdin, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:
            # It reads no further: its own business.
            pass
        self._close_stdin()

    def _drain(self) -> None:
        """Read on until the end of the streams, a moment of silence, or for half a second."""
        self._close_stdin()
        self._ignore_cancel()
        deadline = time.monotonic() + DRAIN
        while self._sinks and time.monotonic() < deadline:
            if not self._pump(SILENCE):
                break

    def _pass_time(self, seconds: float) -> None:
        """Serve the program's streams for so long, or until it ends."""
        end = time.monotonic() + seconds
        running = self._code is None
        while (left := end - time.monotonic()) > 0 and running == (self._code is None):
            self._pump(left)

    def _ignore_cancel(self) -> None:
        """Once it is set its descriptor is always ready, and would turn every wait into a spin."""
        if self._cancel is not None:
            try:
                self._poll.unregister(self._cancel.fileno())
            except KeyError:
                pass

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            try:
                self._poll.unregister(self._stdin)
            except KeyError:
                pass
            os.close(self._stdin)
            self._stdin = -1

    def _forget(self, fd: int, close: bool = True) -> None:
        self._poll.unregister(fd)
        del self._sinks[fd]
        if close:
            os.close(fd)


def _terminal() -> Terminal | None:
    from bridoon.proc.terminal import borrowable

    return borrowable()


def _is_stopped(pid: int) -> bool:
    try:
        return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG) is not None
    except (AttributeError, OSError):
        return False


def _read_away(fd: int) -> None:
    """Read what a background process goes on writing: it must neither block nor die of a closed pipe."""
    try:
        while os.read(fd, _CHUNK):
            pass
    except OSError:
        pass
    os.close(fd)
