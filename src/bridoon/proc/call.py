"""A running program and our ends of its streams, served by one loop that never blocks."""

from __future__ import annotations

import functools
import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Thread
from typing import TYPE_CHECKING

from bridoon.proc import children
from bridoon.proc.capture import Capture
from bridoon.proc.start import Streams, explain, start

if TYPE_CHECKING:
    from subprocess import Popen

    from bridoon.proc.terminal import Terminal
    from bridoon.sdk.script import Stoppable

TICK = 0.05
"""Seconds between two ticks, about."""
SILENCE = 0.05
"""How long to listen for more once the program has ended and somebody else still holds its output open."""
DRAIN = 0.5
"""How long to listen then at most."""
_ROUNDS = 20
"""Reads that certainly empty a pipe of what the program itself had written, however late we come to it."""
_CHUNK = 64 << 10
_BURY_EVERY = 1.0
_DEVNULL = -3  # subprocess.DEVNULL and subprocess.STDOUT, without importing it before the first child
_STDOUT = -2


class Call:
    """A running program, and our ends of its streams."""

    def __init__(self, stdout: Capture, stderr: Capture | None, cancel: Stoppable | None) -> None:
        self.id = children.new_call()
        self.background = 0
        self.tick: Callable[[], object] | None = None
        self.on_output: Callable[[str, bytes], object] | None = None
        self.began = time.monotonic()
        self._captures = (stdout, stderr)
        self._child: Popen[bytes] | None = None
        self._cancel = cancel
        self._terminal: Terminal | None = None
        self._poll = select.poll()
        self._sinks: dict[int, tuple[str, Capture]] = {}
        self._stdin, self._unsent = -1, memoryview(b"")
        self._exit = -1
        self._last_tick = 0.0
        self._code: int | None = None

    def begin(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None,
        stdin: bytes,
        terminal: Terminal | None,
    ) -> None:
        """Start the program, in the foreground of `terminal` if there is one. Raises `CannotStart`."""
        theirs: list[int] = []
        stdout, stderr = self._captures
        try:
            given = self._input(stdin, theirs)
            out = self._output("stdout", stdout, theirs)
            err = self._output("stderr", stderr, theirs) if stderr is not None else _STDOUT
            streams = Streams(given, out, err)
            self._child = start(argv, env=env, cwd=cwd, streams=streams, call=self.id, session=terminal is None)
        except OSError as wrong:
            raise explain(argv, env, cwd, wrong) from None
        finally:
            for fd in theirs:
                os.close(fd)
        self._watch_exit(self._child.pid)
        if self._cancel is not None:
            self._poll.register(self._cancel.fileno(), select.POLLIN)
        if terminal is not None:
            self._terminal = terminal
            terminal.lend(self._child.pid)

    @property
    def code(self) -> int:
        """The exit code. That of a program that even KILL could not end yet is KILL's."""
        return -signal.SIGKILL if self._code is None else self._code

    @property
    def _pid(self) -> int:
        return -1 if self._child is None else self._child.pid

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
        left = children.left_behind(self.id, self._pid)
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
        # Without a pid, the start was interrupted: what there is of the call has its mark.
        find = functools.partial(children.members, self.id, self._pid)
        children.kill_tree(find, grace=grace, wait=self._pass_time)
        deadline = time.monotonic() + children.KILL_PATIENCE
        while self._child is not None and self._code is None and time.monotonic() < deadline:
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

    def _watch_exit(self, pid: int) -> None:
        try:
            self._exit = os.pidfd_open(pid)
        except (AttributeError, OSError):
            # Not on this system: `_pump` then looks often.
            return
        self._poll.register(self._exit, select.POLLIN)

    def _pump(self, seconds: float) -> bool:
        """Move bytes until something has happened, for `seconds` at most; True when there was output."""
        if self.tick is not None or self._terminal is not None:
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
        if ended and self._code is None and self._child is not None:
            self._look_at(self._child)
        now = time.monotonic()
        if self.tick is not None and now - self._last_tick >= TICK / 2:
            self._last_tick = now
            self.tick()
        return heard

    def _look_at(self, child: Popen[bytes]) -> None:
        self._code = children.reap(child)
        if self._code is not None:
            if self._exit >= 0:
                self._poll.unregister(self._exit)
        elif self._terminal is not None and _is_stopped(child.pid):
            # Ctrl-Z, or a touch of the terminal before it was lent: there is no shell to type `fg` into.
            self._terminal.lend(child.pid)

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
        deadline, rounds = time.monotonic() + DRAIN, 0
        while self._sinks and self._pump(SILENCE):
            rounds += 1
            if rounds > _ROUNDS and time.monotonic() > deadline:
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
