"""The terminal with a living input line: what is shown scrolls above it, also while the user types."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_focus, is_searching
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import create_output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from bridoon.cli.terminal.modes import Modes
from bridoon.cli.terminal.paint import Paint
from bridoon.cli.terminal.past import Complete, Offers, history_in
from bridoon.cli.terminal.reply import Reply
from bridoon.cli.terminal.screen import Talk
from bridoon.cli.terminal.stray import Stray
from bridoon.cli.terminal.words import last_word
from bridoon.cli.tty import NO, REFUSING, TRIES, chosen, refusal, unclear
from bridoon.errors import Cancelled
from bridoon.proc.cancel import Cancel

DRAW_EVERY = 0.1
"""Seconds between two drawings that the run causes. Typing is drawn at once."""

TURN_EVERY = 0.25
"""Seconds between two drawings while something runs that says nothing."""

STYLE = Style.from_dict({"you": "ansicyan bold", "ask": "ansiyellow bold", "completion-menu": "noinherit"})


class Line:
    """A Screen with an input line at the bottom, on standard input and output."""

    live = True

    def __init__(self, colours: bool, history: str, complete: Complete) -> None:
        self._modes = Modes(0)
        self._output = create_output(stdout=sys.stdout)
        # Not every terminal answers the question where the cursor is, and no answer costs a second.
        self._output.enable_cpr = False  # type: ignore[attr-defined]
        self.paint = Paint(colours, lambda: self._output.get_size().columns)
        self._lock = threading.RLock()
        self._pending: list[str] = []
        self._posted: list[Callable[[], object]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._tick: asyncio.TimerHandle | None = None
        self._asked = False
        self._drawn = 0.0
        self._lent = 0
        self._question: tuple[Reply[str], list[str], Document] | None = None
        self._tries = 0
        self._talk: Talk | None = None
        self._code: int | None = None
        self._buffer = Buffer(
            multiline=True,
            history=history_in(history),
            completer=Offers(complete),
            complete_while_typing=Condition(self._completes_while_typing),
        )
        self._app: Application[None] = self._application()

    # ---- showing, from any thread

    def above(self, text: str) -> None:
        with self._lock:
            self._pending.append(text)
        self.refresh()

    def write(self, text: str) -> None:
        self.above(text.rstrip("\n"))

    def refresh(self) -> None:
        if not self._asked:
            self._asked = True
            self.post(self._soon)

    def post(self, work: Callable[[], object]) -> None:
        with self._lock:
            loop = self._loop
            if loop is None:
                if self._code is None:
                    self._posted.append(work)
                return
        try:
            loop.call_soon_threadsafe(work)
        except RuntimeError:
            pass  # the loop has just ended: nothing is shown any more

    def offer(self, text: str) -> None:
        self.post(lambda: self._offer(text))

    def leave(self, code: int) -> None:
        if self._code is None:
            self._code = code
            self.post(self._exit)

    # ---- drawing, in the main thread

    def _soon(self) -> None:
        if self._timer is None and self._loop is not None:
            wait = max(0.0, self._drawn + DRAW_EVERY - time.monotonic())
            self._timer = self._loop.call_later(wait, self._draw)

    def _draw(self) -> None:
        self._timer, self._asked = None, False
        self._drawn = time.monotonic()
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None
        if self._lent or not self._app.is_running or self._app.is_done or self._talk is None:
            return
        try:
            self._put_above()
        except OSError:
            self._talk.hung_up()
            return
        self._app.invalidate()
        if self._talk.busy and self._loop is not None:
            self._tick = self._loop.call_later(TURN_EVERY, self._draw)

    def _put_above(self) -> None:
        text = self._taken()
        if text:
            self._app.renderer.erase()
            self._output.write_raw(text)
            self._output.flush()
            self._app.renderer.render(self._app, self._app.layout)

    def _taken(self) -> str:
        with self._lock:
            pending, self._pending = self._pending, []
        # Raw mode does not promise that the kernel adds the CR.
        return "".join(f"{text}\n" for text in pending).replace("\n", "\r\n")

    def _live(self) -> ANSI:
        if self._talk is None or self._app.is_done:
            return ANSI("")
        rows = max(3, self._output.get_size().rows - 5 - self._buffer.document.line_count)
        text = self._talk.live(rows)
        if self._question is not None:
            text = "\n".join(
                f"  {self.paint.style('bold', str(number))} {self.paint.style('dim', each)}"
                for number, each in enumerate(self._question[1], 1)
            )
            text += f"\n  {self.paint.style('dim', f'({REFUSING})')}" if NO in self._question[1] else ""
        return ANSI(text)

    def _prefix(self, line: int, wraps: int) -> StyleAndTextTuples:
        asking = self._question is not None
        if line or wraps:
            return [("", "        " if asking else "     ")]
        return [("class:ask", "Answer: ")] if asking else [("class:you", "You: ")]

    # ---- typing

    def _application(self) -> Application[None]:
        search = SearchToolbar()
        live = FormattedTextControl(self._live)
        body = HSplit(
            [
                ConditionalContainer(
                    Window(live, dont_extend_height=True, wrap_lines=True),
                    Condition(lambda: bool(self._live().value)),
                ),
                Window(
                    BufferControl(self._buffer, search_buffer_control=search.control, preview_search=True),
                    get_line_prefix=self._prefix,
                    wrap_lines=True,
                    dont_extend_height=True,
                    height=Dimension(min=1),
                ),
                CompletionsMenu(max_height=8),
                search,
            ]
        )
        return Application(
            layout=Layout(body),
            key_bindings=self._keys(),
            style=STYLE,
            include_default_pygments_style=False,
            erase_when_done=True,
            terminal_size_polling_interval=None,
            output=self._output,
        )

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        typing = has_focus(self._buffer) & ~is_searching

        @keys.add("enter", filter=typing)
        def _enter(event: KeyPressEvent) -> None:
            state = self._buffer.complete_state
            if state is not None and state.current_completion is not None:
                self._buffer.complete_state = None
            else:
                self._accept()

        @keys.add("escape", "enter", filter=typing)
        def _newline(event: KeyPressEvent) -> None:
            self._buffer.insert_text("\n")

        @keys.add("c-c", filter=~is_searching)
        @keys.add("<sigint>")
        def _interrupt(event: KeyPressEvent) -> None:
            self._interrupt()

        @keys.add("c-d", filter=typing & Condition(lambda: not self._buffer.text))
        def _end(event: KeyPressEvent) -> None:
            if self._talk is not None:
                self._talk.no_more_input()

        @keys.add("c-z")
        def _suspend(event: KeyPressEvent) -> None:
            event.app.suspend_to_background()

        return keys

    def _accept(self) -> None:
        text = self._buffer.text
        if self._question is not None:
            self._answer(text)
            return
        if text.strip():
            self._buffer.append_to_history()
        self._buffer.reset()
        if self._talk is not None:
            self._talk.submit(text)
        self.refresh()

    def _interrupt(self) -> None:
        if self._talk is None:
            return
        if not self._talk.busy:
            self._buffer.reset()
        self._talk.interrupt()
        self.refresh()

    def _offer(self, text: str) -> None:
        draft = self._buffer.text
        self._buffer.document = Document(f"{text}\n{draft}" if draft else text)

    def _completes_while_typing(self) -> bool:
        text = self._buffer.document.text_before_cursor
        return self._question is None and (
            (text.startswith("/") and " " not in text) or last_word(text).startswith("@")
        )

    # ---- questions and loans, from a run's thread

    def ask(self, question: str, choices: list[str], detail: str, cancel: Cancel) -> str | None:
        reply: Reply[str] = Reply()
        self.above("\n".join(part for part in (detail.rstrip("\n"), self.paint.style("bold", f"? {question}")) if part))
        self.post(lambda: self._begin_question(reply, choices))
        try:
            return reply.wait(cancel)
        except Cancelled:
            self.post(lambda: self._end_question(reply))
            raise

    def _begin_question(self, reply: Reply[str], choices: list[str]) -> None:
        self._app.layout.focus(self._buffer)
        self._question, self._tries = (reply, choices, self._buffer.document), 0
        self._buffer.reset()
        self.refresh()

    def _answer(self, text: str) -> None:
        if self._question is None or not text.strip():
            return  # Enter alone decides nothing: the question may have come while the user was typing
        reply, choices, _ = self._question
        answer = chosen(text, choices)
        if answer is None:
            self._tries += 1
            self.above(self.paint.style("yellow", f"  {unclear(text)}"))
            if self._tries < TRIES:
                self._buffer.reset()
                return
            answer = refusal(choices)
        counts = f"{NO}: " if NO in choices and answer not in choices else ""
        self.above(self.paint.style("dim", f"  → {counts}{answer}"))
        self._end_question(reply)
        reply.give(answer)

    def _end_question(self, reply: Reply[str]) -> None:
        if self._question is not None and self._question[0] is reply:
            draft = self._question[2]
            self._question = None
            self._buffer.document = draft
            self.refresh()

    @contextlib.contextmanager
    def lend(self, cancel: Cancel) -> Iterator[bool]:
        started: Reply[bool] = Reply()
        released = asyncio.Event()
        self.post(lambda: self._app.create_background_task(self._lend(started, released, cancel)))
        try:
            started.wait(cancel)
            yield True
        finally:
            self.post(released.set)

    async def _lend(self, started: Reply[bool], released: asyncio.Event, cancel: Cancel) -> None:
        self._put_above()
        self._lent += 1
        try:
            async with in_terminal():
                started.give(True)
                await released.wait()
                if cancel.is_set:
                    self._output.write_raw("\r\n")  # what the child had begun to ask stands on a line of its own
        finally:
            self._lent -= 1
            self.refresh()

    # ---- from start to end

    def run(self, talk: Talk) -> int:
        self._talk = talk
        streams = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = Stray(lambda text: self.above(self.paint.style("dim", text)))
        try:
            self._app.run(pre_run=self._begin, set_exception_handler=False)
        except EOFError:
            talk.hung_up()
        except OSError:
            talk.hung_up()  # nothing can be shown any more
        finally:
            with self._lock:
                self._loop = None
            sys.stdout, sys.stderr = streams
            self._rest()
        return self._code or 0

    def _begin(self) -> None:
        with self._lock:
            self._loop = self._app.loop
            posted, self._posted = self._posted, []
        for work in posted:
            self.post(work)

    def _exit(self) -> None:
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def _rest(self) -> None:
        try:
            self._output.write_raw(self._taken())
            self._output.flush()
        except OSError:
            pass

    def close(self) -> None:
        self._modes.restore()
