"""One wish to stop, seen by everything that waits: it can be selected on, asked, and told to call back."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from types import TracebackType

from bridoon.errors import Cancelled


class Cancel:
    """Set at most once, from a signal handler or any thread; never unset.

    It owns two descriptors, which are closed with the object.
    """

    __slots__ = ("_callbacks", "_read", "_write", "is_set", "signum")

    def __init__(self) -> None:
        self.is_set = False
        self.signum = 0
        """The first signal that asked, 0 while nobody did."""
        self._callbacks: dict[int, Callable[[], object]] = {}
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)

    def __del__(self) -> None:
        for fd in (getattr(self, "_read", -1), getattr(self, "_write", -1)):
            if fd >= 0:
                os.close(fd)

    def set(self, signum: int = signal.SIGINT) -> None:
        """Ask everything that waits to stop, for the reason `signum`. Safe in a signal handler."""
        if not self.is_set:
            self.signum = int(signum)
        self.is_set = True
        try:
            os.write(self._write, b"!")
        except BlockingIOError:
            pass
        for key in tuple(self._callbacks):
            self._call(key)

    def fileno(self) -> int:
        """A descriptor that is readable for ever once this is set; nobody reads from it."""
        return self._read

    def check(self) -> None:
        """Raise `Cancelled` if this is set."""
        if self.is_set:
            raise Cancelled(self.signum)

    def wait(self, seconds: float) -> bool:
        """Sleep up to `seconds`; return True as soon as this is set, False when the time is over."""
        if self.is_set:
            return True
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        return bool(poll.poll(max(0.0, seconds) * 1000))

    def on_set(self, callback: Callable[[], object]) -> _Registration:
        """Within this context, `callback` is called once, by whoever sets this; at once if it is set.

        It runs in the setter's thread or in a signal handler: it must be short, take no lock and raise
        nothing but OSError, which is ignored.
        """
        return _Registration(self, callback)

    def _call(self, key: int) -> None:
        # pop is atomic: of a setter and a late registration, only one gets the callback.
        callback = self._callbacks.pop(key, None)
        if callback is not None:
            try:
                callback()
            except OSError:
                pass


class _Registration:
    """A callback's time of being called."""

    __slots__ = ("_callback", "_cancel")

    def __init__(self, cancel: Cancel, callback: Callable[[], object]) -> None:
        self._cancel, self._callback = cancel, callback

    def __enter__(self) -> None:
        callbacks = self._cancel._callbacks
        callbacks[id(self)] = self._callback
        if self._cancel.is_set:
            self._cancel._call(id(self))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cancel._callbacks.pop(id(self), None)
