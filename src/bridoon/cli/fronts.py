"""How a one-shot run is shown: as text, as JSON lines, or not at all."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from bridoon.cli.show import clean_lines
from bridoon.cli.tty import Terminal
from bridoon.dialects import stream as dialect
from bridoon.errors import BridoonError
from bridoon.loop.follow import Outcome
from bridoon.loop.run import Front
from bridoon.model.event import (
    Event,
    Failed,
    Notice,
    RunEnded,
    TextDelta,
    ThinkingDelta,
    ToolOutput,
    TurnEnded,
)
from bridoon.model.message import Usage
from bridoon.proc.cancel import Cancel
from bridoon.wire import jsontext


class AtTerminal(Front):
    """Answers questions and gates at `/dev/tty` when there is one; shows nothing."""

    def __init__(self, cancel: Cancel) -> None:
        self._cancel = cancel

    def ask(self, question: str, choices: list[str], detail: str) -> str | None:
        terminal = Terminal.open()
        if terminal is None:
            return None
        with terminal:
            return terminal.ask(question, choices, detail, self._cancel)

    @contextlib.contextmanager
    def terminal(self) -> Iterator[bool]:
        terminal = Terminal.open()
        if terminal is None:
            yield False
            return
        with terminal:
            yield True


class Plain(AtTerminal):
    """The answer on standard output, what happens meanwhile on standard error.

    On a terminal the answer appears as it is written; elsewhere only the run's `output` is printed, at the end.
    """

    def __init__(self, cancel: Cancel) -> None:
        super().__init__(cancel)
        self._live = sys.stdout is not None and sys.stdout.isatty()
        self._dim = sys.stderr is not None and sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        self._line = ""
        self._shown = ""

    def event(self, event: Event) -> None:
        match event:
            case TextDelta(text) if self._live:
                self._shown += text
                write(sys.stdout, clean_lines(text))
                self._line = text.rpartition("\n")[2] or ("" if text.endswith("\n") else self._line + text)
            case ThinkingDelta(text) if self._live:
                self._aside(text)
            case TurnEnded():
                self._end_line()
                self._shown, self._last = "", self._shown
            case ToolOutput(text, _):
                self._end_line()
                aside(self._faint(_safe(sys.stderr, text)) + "\n")
            case Notice(text):
                self._end_line()
                aside(f"harness: {_safe(sys.stderr, text)}\n")
            case Failed(message) if sys.stdout is None or not sys.stdout.isatty():
                self._end_line()
                aside(f"harness: error: {_safe(sys.stderr, message)}\n")
            case _:
                pass

    def finish(self, outcome: Outcome) -> None:
        """Print the output, unless it is on the screen already."""
        self._end_line()
        if outcome.output and not (self._live and outcome.output == getattr(self, "_last", "")):
            write(sys.stdout, _safe(sys.stdout, outcome.output) + "\n")

    def _aside(self, text: str) -> None:
        text = clean_lines(text)
        write(sys.stdout, f"\x1b[2m{text}\x1b[0m" if self._dim else text)
        self._line = text

    def _end_line(self) -> None:
        if self._line:
            write(sys.stdout, "\n")
            self._line = ""

    def _faint(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[0m" if self._dim else text


def _safe(stream: TextIO | None, text: str) -> str:
    """A text for a stream: a terminal is shown nothing that it would act on, a file or a pipe gets all of it."""
    return clean_lines(text) if stream is not None and stream.isatty() else text


class Quiet(AtTerminal):
    """Only the output, and errors."""

    def event(self, event: Event) -> None:
        if isinstance(event, Failed):
            aside(f"harness: error: {_safe(sys.stderr, event.message)}\n")

    def finish(self, outcome: Outcome) -> None:
        """Print the output."""
        if outcome.output:
            write(sys.stdout, _safe(sys.stdout, outcome.output) + "\n")


class Lines(AtTerminal):
    """Every event as one line of JSON on standard output, and one `result` at the end."""

    def __init__(self, cancel: Cancel) -> None:
        super().__init__(cancel)
        self.session = ""

    def event(self, event: Event) -> None:
        if not isinstance(event, RunEnded) and not self._cancel.is_set:
            try:
                print_line(dialect.encode(event))
            except OSError:
                self._cancel.set(signal.SIGPIPE)  # nobody reads, or nothing can be written: stop the run, cleanly

    def finish(self, outcome: Outcome) -> None:
        """Print the `result` object."""
        _last(outcome, self.session)


def result(session: str, outcome: Outcome) -> dict[str, Any]:
    """The last line of `--json`."""
    return {
        "type": "result",
        "session": session or None,
        "output": outcome.output,
        "stop": outcome.stop,
        "usage": outcome.usage._asdict(),
        "turns": outcome.turns,
        "exit_code": outcome.exit_code,
    }


def failed(wrong: BridoonError) -> Outcome:
    """The outcome of a run that an error kept from beginning."""
    text = f"error: {wrong.message}" + (f"\n{wrong.hint}" if wrong.hint else "")
    return Outcome(text, "error", wrong.exit_code, Usage(), 0)


def refuse(wrong: BridoonError) -> int:
    """Print the `result` object of a run that never began, or that broke; return its exit code."""
    return _last(failed(wrong))


def never_began(code: int) -> int:
    """Print the `result` object of a run that was stopped before it began."""
    return _last(Outcome("", "cancelled", code, Usage(), 0))


_ended = False
"""Whether this process has printed a `result` object."""


def _last(outcome: Outcome, session: str = "") -> int:
    global _ended
    if not _ended:
        print_line(result(session, outcome))
        _ended = True
    return outcome.exit_code


def print_line(value: dict[str, Any]) -> None:
    """One JSON object and a newline on standard output, at once."""
    write(sys.stdout, jsontext.dump(value) + "\n")


def aside(text: str) -> None:
    """Tell the person at standard error. Nobody may be there: that stops nothing."""
    try:
        write(sys.stderr, text)
    except OSError:
        pass


def write(stream: TextIO | None, text: str) -> None:
    """Write and flush; characters that the stream cannot hold are replaced. Raises OSError."""
    if stream is None:
        return
    data = text.encode(stream.encoding or "utf-8", "replace")
    try:
        stream.buffer.write(data)
        stream.flush()
    except AttributeError:
        stream.write(text)
