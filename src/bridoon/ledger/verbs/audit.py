"""`audit`: what has drifted, and how far; on request kept as evidence that decisions can refer to."""

from __future__ import annotations

from collections.abc import Callable

from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.judge import audit as judge
from bridoon.ledger.ledger import Ledger


def audit(ledger: Ledger, given: Given) -> Answer:
    """Count the drift and weigh it. Exit 0 whatever is found."""
    if not given.has("--record-evidence"):
        with ledger.reading() as read:
            found = judge.audit(read, runnable(ledger))
        return Answer(judge.report(found), judge.facts(found))
    from bridoon.ledger.judge import evidence
    from bridoon.ledger.store.schema import WHOLE

    with ledger.writing() as write:
        write.need(WHOLE, "audit --record-evidence")
        found = judge.audit(write, runnable(ledger))
        opened, ended, same = evidence.record(write, found)
    line = f"Evidence recorded: {opened} opened, {ended} ended, {same} going on.\n"
    kept = {"opened": opened, "cleared": ended, "active": opened + same}
    return Answer(judge.report(found) + line, {**judge.facts(found), "evidence": kept})


def runnable(ledger: Ledger) -> Callable[[str], bool]:
    """What tells whether a command can be run from the root of this ledger."""
    from bridoon.ledger.judge import command

    return lambda text: command.find(text, ledger.place.root, ledger.env).executable
