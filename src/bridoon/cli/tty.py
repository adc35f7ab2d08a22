"""Questions on the controlling terminal, whatever standard input and output are."""

from __future__ import annotations

import os
import select
from types import TracebackType

from bridoon.sdk.script import Stoppable
from bridoon.wire.digits import whole_number


class Terminal:
    """`/dev/tty`, opened for one exchange. Use it as a context manager."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def open(cls) -> Terminal | None:
        """The terminal, or None when this process has none."""
        try:
            return cls(os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC))
        except OSError:
            return None

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        os.close(self._fd)

    def write(self, text: str) -> None:
        """Show text."""
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._fd, data) :]

    def line(self, cancel: Stoppable | None = None) -> str | None:
        """One typed line, without its end; None at the end of input. Raises Cancelled as soon as the run is stopped."""
        data = b""
        while not data.endswith(b"\n"):
            waited = [self._fd] + ([cancel.fileno()] if cancel is not None else [])
            ready, _, _ = select.select(waited, [], [])
            if cancel is not None:
                cancel.check()
            if self._fd in ready:
                chunk = os.read(self._fd, 4096)
                if not chunk:
                    return None
                data += chunk
        return data.decode("utf-8", "replace").rstrip("\r\n")

    def ask(self, question: str, choices: list[str], detail: str = "", cancel: Stoppable | None = None) -> str | None:
        """Put a question; the chosen word, or what was typed instead. An empty line chooses the last of `choices`."""
        if detail:
            self.write(detail.rstrip("\n") + "\n")
        numbered = "  ".join(f"[{number}] {choice}" for number, choice in enumerate(choices, 1))
        self.write(f"{question}\n{numbered}: ")
        typed = self.line(cancel)
        return None if typed is None else chosen(typed, choices)


def chosen(typed: str, choices: list[str]) -> str:
    """What somebody meant: a choice, by its number, its word or a beginning that no other has; else what was typed.

    An empty answer is the last choice.
    """
    word = typed.strip()
    number = whole_number(word)
    if 1 <= number <= len(choices):
        return choices[number - 1]
    near = [choice for choice in choices if word and choice.lower().startswith(word.lower())]
    return near[0] if len(near) == 1 else word or choices[-1]
