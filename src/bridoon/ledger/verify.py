"""Verify commands: what a story or decision is proven by, run to its end, and its verdict recorded."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from bridoon.errors import BridoonError
from bridoon.ledger.errors import Conflict, Invalid, missing
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.place import check_run_id
from bridoon.ledger.store.op import Op

if TYPE_CHECKING:
    from bridoon.proc.cancel import Cancel

TIMEOUT = 600.0
"""Seconds that a command gets, unless it is told otherwise."""
LONGEST = 30 * 24 * 3600
"""The most seconds that it can be told."""
OUTPUT = 400_000
"""Bytes that are kept of its output: the beginning and the end."""
DROPPED = ("HARNESS_RUN_ID", "HARNESS_RUN_MODE", "HARNESS_DB_PATH", "HARNESS_DB", "HARNESS_REPO_ROOT")
"""What a command does not inherit: a harness-cli inside of it is about its own ledger, and no part of our changeset."""
CHANGED = "Its verify command was changed while it ran: nothing was recorded."


class Verdict(NamedTuple):
    """How a command ended."""

    passed: bool
    output: str = ""
    """Both streams in the order written, with a mark where something was cut."""
    reasons: tuple[str, ...] = ()
    """Sentences about what its output cannot tell: a time limit, a signal, why nothing was recorded."""
    code: int | None = None
    """Its exit code; negative: the signal that killed it; None when it never ran."""
    seconds: float = 0.0
    timed_out: bool = False
    recorded: bool = False

    @property
    def result(self) -> str:
        """The word for it."""
        return "pass" if self.passed else "fail"

    @property
    def text(self) -> str:
        """Output and reasons as whole lines."""
        output = self.output + "\n" if self.output and not self.output.endswith("\n") else self.output
        return output + "".join(reason + "\n" for reason in self.reasons)

    @property
    def data(self) -> dict[str, Any]:
        """It, for programs."""
        return {
            "result": self.result,
            "recorded": self.recorded,
            "exit_code": self.code,
            "timed_out": self.timed_out,
            "seconds": round(self.seconds, 3),
            "reasons": list(self.reasons),
            "output": self.output,
        }

    def unrecorded(self, reason: str) -> Verdict:
        """The verdict of what cannot be recorded: nothing is proven by it."""
        return self._replace(passed=False, reasons=(*self.reasons, reason))


def time_limit(ledger: Ledger, text: str | None, label: str) -> float:
    """The seconds that a command gets, the usual ones for None.

    Raises Invalid, also for a run id that would only show to be wrong when the verdict is to be recorded.
    """
    if ledger.place.run_id:
        check_run_id(ledger.place.run_id)
    if text is None:
        return TIMEOUT
    import re

    if not re.fullmatch(r"\+?[0-9]{1,9}(\.[0-9]{1,9})?", text) or not 0 < float(text) <= LONGEST:
        raise Invalid(f"{label} must be a number of seconds, not {text[:80]!r}", f"for example {label.split()[-1]} 600")
    return float(text)


def is_blank(command: object) -> bool:
    """Whether there is nothing to run: NULL, blanks, or what is no text."""
    return not isinstance(command, str) or not command.strip()


def command_of(ledger: Ledger, table: str, name: str) -> str:
    """The verify command of a story or decision. Raises Missing; Conflict when it has none."""
    with ledger.reading() as read:
        row = read.one(f"SELECT verify_command FROM {table} WHERE id=?", name)
    if row is None:
        raise missing(table, name)
    if is_blank(row[0]):
        raise without_command(table, name)
    return str(row[0])


def without_command(table: str, name: str) -> Conflict:
    """The error for what has no verify command."""
    hint = 'configure one: harness-cli story update --id ID --verify "COMMAND"'
    if table == "decision":
        hint = 'add a decision that supersedes it and has one: harness-cli decision add --id ID --verify "COMMAND" ...'
    return Conflict(f"{table} {name[:80]!r} has no verify command", hint)


def verify(ledger: Ledger, table: str, name: str, timeout: float) -> tuple[str, Verdict]:
    """Run the verify command of a story or decision and record its verdict; the command, and how it ended.

    Raises Missing; Conflict when there is nothing to run; CannotStart; Cancelled, with nothing recorded.
    """
    command = command_of(ledger, table, name)
    return command, record(ledger, table, name, command, run(ledger, command, timeout))


def record(ledger: Ledger, table: str, name: str, command: str, verdict: Verdict) -> Verdict:
    """Record the verdict about a command, unless the story or decision has another one by now.

    That it cannot be recorded is a part of the verdict: nobody should lose the output of a long command to that.
    """
    try:
        with ledger.writing() as write:
            if write.one(f"SELECT verify_command FROM {table} WHERE id=?", name) != (command,):
                return verdict.unrecorded(CHANGED)
            write.do(Op(f"{table}.verify", {"result": verdict.result}, id=name))
    except BridoonError as wrong:
        return verdict.unrecorded(f"Nothing was recorded: {wrong}.")
    return verdict._replace(recorded=True)


def run(ledger: Ledger, command: str, timeout: float, limit: int = OUTPUT) -> Verdict:
    """Run a command in the root of the repository, with nothing to read and `limit` characters of output kept.

    No database is open meanwhile. What it leaves running is ended. Raises CannotStart; Cancelled when we are told
    to stop, once the command is.
    """
    from bridoon.proc.run import run as run_program

    with _stoppable() as cancel:
        done = run_program(
            ["sh", "-c", command],
            env=_environment(ledger.env),
            cwd=ledger.place.root,
            timeout=timeout,
            cancel=cancel,
            out_limit=OUTPUT,
            merge=True,
        )
    reasons: tuple[str, ...] = ()
    if done.timed_out:
        reasons = (f"The command was stopped: it took longer than {timeout:g} seconds.",)
    elif done.code < 0:
        reasons = (f"The command was ended by {_signal_name(-done.code)}.",)
    passed = done.code == 0 and not done.timed_out
    return Verdict(passed, done.stdout.text(limit), reasons, done.code, done.seconds, done.timed_out)


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name not in DROPPED}


@contextmanager
def _stoppable() -> Iterator[Cancel]:
    """Let Ctrl-C and the like stop the command rather than only us. What was ignored stays ignored."""
    from bridoon.proc.cancel import Cancel

    cancel = Cancel()
    former: dict[int, Any] = {}
    try:
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(signum) != signal.SIG_IGN:
                former[signum] = signal.signal(signum, lambda number, frame: cancel.set(number))
    except ValueError:
        pass  # only the main thread hears of signals, and it is not us
    try:
        yield cancel
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _signal_name(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"
