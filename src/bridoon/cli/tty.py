"""Questions on the controlling terminal, whatever standard input and output are."""

from __future__ import annotations

import os
import select
from types import TracebackType

from bridoon.sdk.script import Stoppable
from bridoon.wire.digits import whole_number

NO = "no"

TRIES = 3
"""Answers that fit no single choice until the question counts as refused."""

REFUSING = "a number, or words: they count as no"
"""Said beside the choices where there is a no."""


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
        """Put a question; the chosen word, or what was typed instead. An empty line is the refusal.

        An answer that fits no single choice is asked for again, up to `TRIES` times; then it is the refusal.
        """
        if detail:
            self.write(detail.rstrip("\n") + "\n")
        numbered = "  ".join(f"[{number}] {choice}" for number, choice in enumerate(choices, 1))
        hint = f"Answer ({REFUSING})" if NO in choices else "Answer"
        for _ in range(TRIES):
            self.write(f"{question}\n{numbered}\n{hint}: ")
            typed = self.line(cancel)
            if typed is None:
                return None
            answer = chosen(typed, choices)
            if answer is not None:
                return answer
            self.write(unclear(typed) + "\n")
        return refusal(choices)


def chosen(typed: str, choices: list[str]) -> str | None:
    """What somebody meant: a choice, by its number, its word or a beginning that no other has; else what was typed.

    An empty answer is the refusal. None: a number that no choice has, or a beginning of several; ask again.
    """
    word = typed.strip()
    if not word:
        return refusal(choices)
    if choices and word.isdecimal():
        number = whole_number(word)
        return choices[number - 1] if 1 <= number <= len(choices) else None
    near = [choice for choice in choices if choice.lower().startswith(word.lower())]
    exact = [choice for choice in near if len(choice) == len(word)]
    if len(exact or near) == 1:
        return (exact or near)[0]
    return None if near else word


def refusal(choices: list[str]) -> str:
    """The choice that changes nothing: `no` when there is one, else the last."""
    return NO if NO in choices else choices[-1]


def unclear(typed: str) -> str:
    """What to say about an answer that fits no single choice."""
    word = typed.strip()
    return f"no choice has the number {word[:20]}" if word.isdecimal() else f"several choices begin with {word!r}"
