"""What a REPL needs of a terminal, and what the terminal needs of a REPL."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from bridoon.cli.terminal.paint import Paint
from bridoon.proc.cancel import Cancel


class Talk(Protocol):
    """The conversation that a screen serves. All of it is called in the main thread."""

    @property
    def busy(self) -> bool:
        """Whether something is being worked on."""
        ...

    def submit(self, text: str) -> None:
        """The user entered a line (or several)."""

    def interrupt(self) -> None:
        """The user pressed Ctrl-C and there was nothing on the input line to clear."""

    def no_more_input(self) -> None:
        """The user pressed Ctrl-D on an empty line, or standard input has ended."""

    def hung_up(self) -> None:
        """The terminal is gone."""

    def live(self, rows: int) -> str:
        """What to show above the input line now, in at most so many lines."""
        ...


class Screen(Protocol):
    """A terminal that shows and reads. All but `run` and `close` may be called in any thread."""

    paint: Paint
    live: bool
    """Whether it has a region above the input line that is drawn again and again."""

    def above(self, text: str) -> None:
        """Show whole lines for good, in the order of the calls. Escape sequences in the text are obeyed."""

    def write(self, text: str) -> None:
        """Show a piece of a line, where nothing is drawn again."""

    def refresh(self) -> None:
        """What `Talk.live` gives has changed."""

    def post(self, work: Callable[[], object]) -> None:
        """Have something done in the main thread, soon. Nothing happens when the screen is closed."""

    def offer(self, text: str) -> None:
        """Put text into the input line, before what is there."""

    def ask(self, question: str, choices: list[str], detail: str, cancel: Cancel) -> str | None:
        """Put a question to the user. Raises Cancelled as soon as `cancel` is set."""
        ...

    def lend(self, cancel: Cancel) -> AbstractContextManager[bool]:
        """Leave the terminal alone for a while, so that a child may use it; yields whether there is one."""
        ...

    def run(self, talk: Talk) -> int:
        """Serve the talk until `leave` is called; the exit code."""
        ...

    def leave(self, code: int) -> None:
        """End `run`. The first call counts."""

    def close(self) -> None:
        """Give the terminal back as it was. May be called twice."""
