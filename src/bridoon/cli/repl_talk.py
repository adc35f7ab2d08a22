"""Between a user at a screen and the agent: what was entered, what is being worked on, what waits."""

from __future__ import annotations

import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable

from bridoon.cli.repl_commands import Command, find, unknown
from bridoon.cli.repl_conversation import Conversation
from bridoon.cli.show import squeeze
from bridoon.cli.terminal.calls import amount, duration
from bridoon.cli.terminal.front import Shown, Verbatim, spinner
from bridoon.cli.terminal.screen import Screen
from bridoon.errors import BridoonError, Cancelled
from bridoon.loop import begin
from bridoon.loop.compact import size
from bridoon.loop.follow import Outcome
from bridoon.loop.run import Run
from bridoon.proc import children
from bridoon.proc.cancel import Cancel

AGAIN = 2.0
"""Seconds within which a second Ctrl-C at an idle prompt leaves."""

LAST_WORDS = 2.5
IMPATIENCE = 0.3
"""Seconds that something at work is given to end when the user leaves; after a second Ctrl-C."""


class Work:
    """Something that runs in a thread of its own and can be stopped."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.cancel = Cancel()
        self.began = time.monotonic()
        self.front: Shown | None = None
        self.thread: threading.Thread | None = None


class Repl:
    """A Talk: takes what the user enters, and has it carried out, one thing after the other."""

    def __init__(self, conversation: Conversation, screen: Screen) -> None:
        self.conversation = conversation
        self.screen = screen
        self.paint = screen.paint
        self._work: Work | None = None
        self._waiting: deque[str] = deque()
        self._interrupted_at = 0.0
        self._leaving = False
        self._impatient = False

    @property
    def busy(self) -> bool:
        return self._work is not None

    @property
    def cancel(self) -> Cancel:
        """What stops the thing that is being worked on."""
        return self._work.cancel if self._work is not None else Cancel()

    # ---- what the user does

    def submit(self, text: str) -> None:
        if not text.strip():
            return
        word, _, argument = text.strip().partition(" ")
        if not _is_command(text):
            self._when_idle(text, lambda: self._prompt(text))
            return
        command = find(word)
        if command is None:
            self.say(self.paint.style("red", unknown(word)))
        elif command.anytime:
            self._carry_out(command, argument.strip())
        else:
            self._when_idle(text.strip(), lambda: self._carry_out(command, argument.strip()))

    def _when_idle(self, text: str, work: Callable[[], None]) -> None:
        if self.busy:
            self._waiting.append(text)
        else:
            work()

    def _queued(self) -> list[str]:
        """What was said while the agent works, for its next turn. A command waits, and so does what follows it."""
        taken = []
        while self._waiting and not _is_command(self._waiting[0]):
            taken.append(self._waiting.popleft())
            self._show_said(taken[-1])
        return taken

    def _show_said(self, text: str) -> None:
        if self.screen.live:
            said = self.paint.style("you", "You:")
            self.say(f"\n{said} {self.paint.style('bold', text)}")

    def _carry_out(self, command: Command, argument: str) -> None:
        if self.screen.live:
            self.say(self.paint.style("dim", f"\n{command.name} {argument}".rstrip()))
        try:
            command.run(self, argument)
        except BridoonError as wrong:
            self.tell(wrong)
        except Exception as crash:
            self._crashed(crash)

    def interrupt(self) -> None:
        if self._work is not None:
            again = self._work.cancel.is_set
            self._work.cancel.set(signal.SIGINT)
            if again:
                self._impatient = True
                self.leave(128 + signal.SIGINT)
            return
        now = time.monotonic()
        if now - self._interrupted_at < AGAIN:
            self.leave(0)
            return
        self._interrupted_at = now
        self.say(self.paint.style("dim", "Ctrl-C again leaves"))

    def no_more_input(self) -> None:
        if self.busy:
            self._waiting.append("/quit")
        else:
            self.leave(0)

    def hung_up(self) -> None:
        self.stop(signal.SIGHUP)

    def stop(self, signum: int) -> None:
        """Stop what is going on and leave, because a signal says so. Safe in a signal handler."""
        self._leaving = True
        if self._work is not None:
            self._work.cancel.set(signum)
        self.screen.leave(128 + signum)

    def leave(self, code: int = 0) -> None:
        """End the conversation; what is being worked on is stopped."""
        self._leaving = True
        if self._work is not None and not self._work.cancel.is_set:
            self._work.cancel.set(signal.SIGINT)
        self.screen.leave(code)

    def close(self) -> None:
        """See what is being worked on to its end, for about four seconds at most; then nobody waits for it.

        Called when the screen has ended.
        """
        self._leaving = True
        work = self._work
        if work is None or work.thread is None:
            return
        if not work.cancel.is_set:
            work.cancel.set(signal.SIGINT)
        work.thread.join(IMPATIENCE if self._impatient else LAST_WORDS)
        if work.thread.is_alive():
            children.end_all(grace=0.2)
            work.thread.join(LAST_WORDS / 2)

    # ---- what is shown

    def say(self, text: str) -> None:
        """Show lines for good."""
        self.screen.above(text)

    def tell(self, wrong: BridoonError) -> None:
        """Show an error and the way out."""
        self.say(self.paint.style("red", f"error: {wrong.message}"))
        if wrong.hint:
            self.say(self.paint.style("dim", f"  {wrong.hint}"))

    def live(self, rows: int) -> str:
        lines = [
            self.paint.style("dim", "queued: " + squeeze(text, max(20, self.paint.columns() - 10)))
            for text in list(self._waiting)[-3:]
        ]
        if len(self._waiting) > 3:
            lines.insert(0, self.paint.style("dim", f"queued: {len(self._waiting) - 3} more"))
        work = self._work
        if work is None:
            return "\n".join(lines)
        lines.insert(0, self._working(work))
        if work.front is not None:
            lines = work.front.live(max(0, rows - len(lines))) + lines
        return "\n".join(lines)

    def _working(self, work: Work) -> str:
        since = duration(time.monotonic() - work.began)
        if work.cancel.is_set:
            return self.paint.style("yellow", f"{spinner()} stopping … Ctrl-C again leaves")
        return self.paint.style("dim", f"{spinner()} {work.label} {since} · Ctrl-C stops")

    # ---- what is done

    def work(
        self, label: str, carry_out: Callable[[Cancel], None], front: Callable[[Cancel], Shown] | None = None
    ) -> None:
        """Do something in a thread of its own; meanwhile the user may type. Its errors are shown."""
        work = self._work = Work(label)
        if front is not None:
            work.front = front(work.cancel)

        def run() -> None:
            try:
                carry_out(work.cancel)
            except Cancelled:
                self.say(self.paint.style("yellow", "interrupted"))
            except BridoonError as wrong:
                self.tell(wrong)
            except Exception as crash:
                self._crashed(crash)
            finally:
                self.screen.post(lambda: self._ended(work))

        work.thread = threading.Thread(target=run, name=label, daemon=True)
        work.thread.start()
        self.screen.refresh()

    def _crashed(self, crash: Exception) -> None:
        self.say(
            self.paint.style("red", f"error: {type(crash).__name__}: {crash} (details in {self.conversation.log})")
        )
        try:
            with open(self.conversation.log, "a", encoding="utf-8") as log:
                log.write(traceback.format_exc())
        except OSError:
            pass

    def _ended(self, work: Work) -> None:
        self._work = None
        self._interrupted_at = 0.0
        if self._leaving:
            return
        if work.cancel.is_set and self._waiting:
            # Who stops the agent wants to decide what comes next.
            self.screen.offer("\n".join(self._waiting))
            self._waiting.clear()
        if self._waiting:
            self.submit(self._waiting.popleft())
        self.screen.refresh()

    def _prompt(self, text: str) -> None:
        self._show_said(text)
        kind = Shown if self.screen.live else Verbatim
        threading.Thread(target=self.paint.warm, name="markdown", daemon=True).start()

        def front(cancel: Cancel) -> Shown:
            shown = kind(self.screen, self.paint, cancel, self.conversation.session.dir)
            shown.waiting = self._queued
            return shown

        self.work("working", lambda cancel: self._turn(text, cancel), front)

    def _turn(self, text: str, cancel: Cancel) -> None:
        front = self._work.front if self._work is not None else None
        run = self.conversation.run(cancel, front)
        began = time.monotonic()
        try:
            outcome = begin.prompt(run, text)
            self._report(outcome, front.last if front is not None else "")
            self.say(self.paint.style("dim", status(run, outcome, time.monotonic() - began)))
        finally:
            run.close()

    def _report(self, outcome: Outcome, shown: str) -> None:
        """Say what the events of the run did not."""
        if outcome.stop == "cancelled":
            self.say(self.paint.style("yellow", "interrupted"))
        elif outcome.exit_code:
            hint = outcome.output.partition("\n")[2]
            if hint:
                self.say(self.paint.style("dim", hint))
        elif outcome.output.strip() not in ("", shown.strip()):
            self.say(self.paint.markdown(outcome.output))
        if outcome.stop not in ("end", "cancelled", "error", "limit"):
            self.say(self.paint.style("yellow", f"the answer ended early: {outcome.stop}"))


def _is_command(text: str) -> bool:
    """Whether a line is for us: one word with a slash before it, which no path has."""
    word = text.strip().partition(" ")[0]
    return word.startswith("/") and "/" not in word[1:] and "\n" not in word


def status(run: Run, outcome: Outcome, seconds: float) -> str:
    """What a prompt cost and what is left of the model's window, on one line."""
    spent = outcome.usage
    cached = f" ({amount(spent.cache_read_tokens)} cached)" if spent.cache_read_tokens else ""
    used, window = size(run)
    left = max(0, window - used)
    return (
        f"tokens: {amount(spent.input_tokens)} in{cached}, {amount(spent.output_tokens)} out"
        f" · context: {100 * left // max(1, window)}% of {amount(window)} left · {duration(seconds)}"
    )
