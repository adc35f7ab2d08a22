"""An answer that one thread waits for and another one gives, while the run may be stopped."""

from __future__ import annotations

import os
import select
from typing import Generic, TypeVar

from bridoon.proc.cancel import Cancel

T = TypeVar("T")


class Reply(Generic[T]):
    """Given once, waited for by one thread. `wait` closes it."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self._value: T | None = None
        self._given = False

    def give(self, value: T | None) -> None:
        """Answer. Later answers are ignored."""
        if not self._given:
            self._given, self._value = True, value
            try:
                os.write(self._write, b"!")
            except OSError:
                pass  # nobody waits any more

    def wait(self, cancel: Cancel) -> T | None:
        """The answer. Raises Cancelled as soon as `cancel` is set."""
        try:
            poll = select.poll()
            poll.register(self._read, select.POLLIN)
            poll.register(cancel.fileno(), select.POLLIN)
            while not self._given:
                cancel.check()
                poll.poll()
            return self._value
        finally:
            self._given = True
            read, write, self._read, self._write = self._read, self._write, -1, -1
            os.close(read)
            os.close(write)
