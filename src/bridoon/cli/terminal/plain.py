"""A terminal that only prints: for dumb terminals, and for standard input or output that is none."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator

from bridoon.cli.terminal.modes import Modes
from bridoon.cli.terminal.paint import Paint
from bridoon.cli.terminal.screen import Talk
from bridoon.cli.tty import Terminal
from bridoon.proc.cancel import Cancel


class Plain:
    """A Screen that reads lines from standard input while nothing is being worked on."""

    live = False

    def __init__(self, colours: bool) -> None:
        self._modes = Modes(0)
        self._typed = _is_terminal(0)
        self.paint = Paint(colours, lambda: 100)
        self._lock = threading.RLock()
        self._mid_line = False
        self._posted: list[Callable[[], object]] = []
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._code: int | None = None
        self._lines: list[str] = []
        self._rest = b""
        self._ended = False

    # ---- showing

    def above(self, text: str) -> None:
        with self._lock:
            start = "\n" if self._mid_line else ""
            self._put(f"{start}{text}\n")

    def write(self, text: str) -> None:
        with self._lock:
            self._put(text)

    def _put(self, text: str) -> None:
        if not text:
            return
        self._mid_line = not text.endswith("\n")
        encoding = sys.stdout.encoding or "utf-8"
        try:
            sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
            sys.stdout.flush()
        except (OSError, ValueError):
            self.leave(141)  # whoever read this has gone

    def refresh(self) -> None:
        """Nothing is drawn again here."""

    def offer(self, text: str) -> None:
        """There is no line to put it into: it is said instead."""
        self.above(self.paint.style("dim", f"not sent: {text}"))

    # ---- asking and lending

    def ask(self, question: str, choices: list[str], detail: str, cancel: Cancel) -> str | None:
        terminal = Terminal.open()
        if terminal is None:
            return None
        with terminal:
            return terminal.ask(question, choices, detail, cancel)

    @contextlib.contextmanager
    def lend(self, cancel: Cancel) -> Iterator[bool]:
        terminal = Terminal.open()
        if terminal is None:
            yield False
            return
        with terminal:
            yield True

    # ---- from start to end

    def post(self, work: Callable[[], object]) -> None:
        with self._lock:
            self._posted.append(work)
        self._wake()

    def leave(self, code: int) -> None:
        if self._code is None:
            self._code = code
            self._wake()

    def _wake(self) -> None:
        try:
            os.write(self._wake_write, b"!")
        except OSError:
            pass

    def run(self, talk: Talk) -> int:
        prompted = False
        while self._code is None:
            self._do_posted()
            if talk.busy or self._code is not None:
                prompted = False
                self._wait([self._wake_read])
            elif self._lines:
                prompted = False
                talk.submit(self._lines.pop(0))
            elif self._ended:
                talk.no_more_input()
            else:
                if not prompted and self._typed:
                    self.write(self.paint.style("you", "You:") + " ")
                prompted = True
                if 0 in self._wait([0, self._wake_read]):
                    self._mid_line = False
                    self._read()
        return self._code

    def _wait(self, fds: list[int]) -> list[int]:
        ready, _, _ = select.select(fds, [], [])
        if self._wake_read in ready:
            os.read(self._wake_read, 4096)
        return ready

    def _do_posted(self) -> None:
        with self._lock:
            posted, self._posted = self._posted, []
        for work in posted:
            work()

    def _read(self) -> None:
        try:
            chunk = os.read(0, 1 << 16)
        except OSError:
            chunk = b""
        self._ended = not chunk
        if self._ended and self._rest:
            chunk = b"\n"
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self._lines += [line.decode("utf-8", "replace").rstrip("\r") for line in lines]

    def close(self) -> None:
        self._modes.restore()


def _is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return False
