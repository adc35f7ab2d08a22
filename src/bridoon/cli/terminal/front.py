"""Shows a run on a screen: the answer as Markdown, calls as they run, questions where the user types."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from bridoon.cli.show import clean_lines, tilde
from bridoon.cli.terminal.blocks import Blocks
from bridoon.cli.terminal.calls import duration, result_of, shortened, title
from bridoon.cli.terminal.paint import Paint
from bridoon.cli.terminal.screen import Screen
from bridoon.loop.run import Front
from bridoon.model.event import (
    Event,
    Failed,
    Notice,
    RunEnded,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnEnded,
)
from bridoon.proc.cancel import Cancel

LIVE_EVERY = 0.1
"""Seconds between two renderings of the block that is being written."""

OPEN_LINES = 60
"""Lines of the open block that are rendered; a long one shows its end until it is finished."""

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Running(NamedTuple):
    """A call that has started and has no result yet."""

    name: str
    given: dict[str, Any]
    since: float


class Shown(Front):
    """One run on a screen. Events may come from several threads; `live` is called by the one that draws."""

    def __init__(self, screen: Screen, paint: Paint, cancel: Cancel, session_dir: str) -> None:
        self._screen, self._paint, self._cancel = screen, paint, cancel
        self._messages = tilde(os.path.join(session_dir, "messages"), os.environ)
        self._lock = threading.RLock()
        self._blocks = Blocks()
        self._thinking = ""
        self._running: dict[str, Running] = {}
        self._outputs: dict[str, str] = {}
        self._last = ""
        self._said = ""
        self.last = ""
        """The text of the last answer that was shown."""
        self._labelled = False
        self._rendered: tuple[float, str, str] = (0.0, "", "")
        self._began = time.monotonic()
        self.waiting: Callable[[], list[str]] = list
        """Gives what the user said meanwhile, once."""

    def queued(self) -> list[str]:
        return self.waiting()

    # ---- what the run tells

    def event(self, event: Event) -> None:
        with self._lock:
            self._take(event)
        self._screen.refresh()

    def _take(self, event: Event) -> None:
        match event:
            case TextDelta(text):
                self._end_thinking()
                self._said += text
                self._text(text)
            case ThinkingDelta(text):
                self._think(text)
            case ToolStarted(id, name, given):
                self._flush()
                self._running[id] = Running(name, given, time.monotonic())
            case ToolOutput(text, id):
                self._output(text, id)
            case ToolFinished(id, name, failed, seq, seconds):
                self._finished(id, name, failed, seq, seconds)
            case TurnEnded():
                self._flush()
                self.last, self._said = self._said, ""
            case RunEnded():
                self._flush()
                self._stopped()
            case Notice(text):
                self._flush()
                self._show("notice", self._paint.style("yellow", f"· {text}"))
            case Failed(message):
                self._flush()
                self._show("notice", self._paint.style("red", f"error: {message}"))

    def _text(self, text: str) -> None:
        self._label()
        for block in self._blocks.feed(text):
            self._block(block)

    def _block(self, block: str) -> None:
        shown = self._paint.markdown(block)
        if shown:
            self._show("text", shown)

    def _think(self, text: str) -> None:
        self._label()
        *lines, self._thinking = (self._thinking + text).split("\n")
        if lines:
            self._show("thinking", self._paint.style("dim", "\n".join(lines)))

    def _end_thinking(self) -> None:
        if self._thinking.strip():
            self._show("thinking", self._paint.style("dim", self._thinking))
        self._thinking = ""

    def _flush(self) -> None:
        self._end_thinking()
        for block in self._blocks.finish():
            self._block(block)

    def _output(self, text: str, id: str) -> None:
        self._flush()
        if id in self._running:
            self._outputs[id] = text
        else:
            self._show("call", self._paint.style("dim", text))

    def _finished(self, id: str, name: str, failed: bool, seq: int, seconds: float) -> None:
        self._flush()
        call = self._running.pop(id, None)
        given = call.given if call else {}
        lines, left_out = result_of(self._outputs.pop(id, ""), name, given)
        where = f"{self._messages}/{seq:04d}-tool_result.md" if seq else ""
        mark = self._paint.style("red", "✗") if failed else self._paint.style("green", "✓")
        outcome = "error, " if failed else ""
        head = title(name, given, self._paint.columns() - 20)
        shown = [f"{mark} {head} {self._paint.style('dim', f'({outcome}{duration(seconds)})')}"]
        lines = shortened(lines, left_out, where, 2 * self._paint.columns())
        shown += [self._paint.style("dim", f"  {line}") for line in lines]
        self._show("call", "\n".join(shown))

    def _stopped(self) -> None:
        """Calls that have no result when the run ends were stopped."""
        for call in self._running.values():
            head = title(call.name, call.given, self._paint.columns() - 20)
            since = duration(time.monotonic() - call.since)
            self._show(
                "call",
                f"{self._paint.style('red', '✗')} {head} {self._paint.style('dim', f'(stopped, {since})')}",
            )
        self._running.clear()

    def _show(self, kind: str, text: str) -> None:
        """Show finished lines; an empty line parts what is of different kinds, and paragraphs."""
        self._label()
        if self._last and (self._last != kind or kind == "text"):
            text = "\n" + text
        self._last = kind
        self._screen.above(text)

    def _label(self) -> None:
        if not self._labelled:
            self._labelled = True
            self._screen.above(self._paint.style("agent", "Agent:"))

    # ---- what is drawn again and again

    def live(self, rows: int) -> list[str]:
        """What is still happening, as lines: the end of the open block, each running call with its time."""
        with self._lock:
            calls = [self._call_line(call) for call in self._running.values()]
            open_part = self._open()
        room = max(0, rows - len(calls))
        lines = self._rows(open_part)[-room:] if open_part and room else []
        if lines and self._last:
            lines = ["", *lines][-room:]
        return lines + calls[-rows:]

    def _rows(self, text: str) -> list[str]:
        """Lines that take one row each. Rendered ones do; others are cut where the terminal would."""
        lines = text.split("\n")
        if self._paint.colours:
            return lines
        width = max(1, self._paint.columns())
        return [line[at : at + width] for line in lines for at in range(0, max(1, len(line)), width)]

    def _open(self) -> str:
        if self._thinking:
            return self._paint.style("dim", self._thinking[-2000:])
        source = self._blocks.open_end(OPEN_LINES)[-8000:]
        now = time.monotonic()
        last, known, shown = self._rendered
        if known != source and (now - last >= LIVE_EVERY or not source.strip()):
            shown = self._paint.markdown(source)
            self._rendered = (now, source, shown)
        return shown

    def _call_line(self, call: Running) -> str:
        since = time.monotonic() - call.since
        head = title(call.name, call.given, self._paint.columns() - 16)
        return f"{self._paint.style('yellow', spinner())} {head} {self._paint.style('dim', duration(since))}"

    @property
    def seconds(self) -> float:
        """How long the run has been going on."""
        return time.monotonic() - self._began

    @property
    def quiet(self) -> bool:
        """Whether nothing is being shown that moves by itself."""
        with self._lock:
            return not self._running

    # ---- what the run asks

    def ask(self, question: str, choices: list[str], detail: str) -> str | None:
        with self._lock:
            self._flush()
        began = time.monotonic()
        try:
            return self._screen.ask(question, choices, detail, self._cancel)
        finally:
            self._waited(began)

    def _waited(self, began: float) -> None:
        """A call does not run while somebody thinks about it."""
        with self._lock:
            now = time.monotonic()
            for id, call in self._running.items():
                self._running[id] = call._replace(since=min(now, call.since + now - began))

    @contextlib.contextmanager
    def terminal(self) -> Iterator[bool]:
        with self._lock:
            self._flush()
        with self._screen.lend(self._cancel) as lent:
            yield lent


class Verbatim(Shown):
    """The same for a terminal where nothing is drawn twice: text appears as it comes, just as it is."""

    def _text(self, text: str) -> None:
        self._label()
        self._screen.write(clean_lines(text))

    def _think(self, text: str) -> None:
        self._label()
        self._thinking = "there"
        self._screen.write(clean_lines(text))

    def _end_thinking(self) -> None:
        if self._thinking:
            self._screen.write("\n")
        self._thinking = ""

    def _flush(self) -> None:
        self._thinking = ""

    def _label(self) -> None:
        if not self._labelled:
            self._labelled = True
            self._screen.write(self._paint.style("agent", "Agent:") + " ")


def spinner() -> str:
    """The sign that something is going on; it turns with the time."""
    return SPINNER[int(time.monotonic() * 8) % len(SPINNER)]
