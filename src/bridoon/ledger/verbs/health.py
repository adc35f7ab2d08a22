"""`query improvement-health`: what is open between a finding and its outcome."""

from __future__ import annotations

from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.judge import audit, lifecycle
from bridoon.ledger.judge.health import Point, actionable, points
from bridoon.ledger.judge.proposals import proposals
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store.schema import WHOLE
from bridoon.ledger.verbs.audit import runnable

CELL = 120
"""Characters of a text in the table."""


def health(ledger: Ledger, given: Given) -> Answer:
    """List drift, undecided proposals, accepted work, outcomes to review, and what came back."""
    from bridoon.ledger.show.table import layout
    from bridoon.ledger.show.text import one_line

    with ledger.reading() as read:
        read.need(WHOLE, "query improvement-health")
        found = audit.audit(read, runnable(ledger))
        listed = proposals(read, found)
        open_now = points(read, found, listed, lifecycle.backlog_of(read, listed))
    rows = [[one_line(cell, CELL) if name != "next_action" else one_line(cell, 400) for name, cell in
             zip(Point._fields, point, strict=True)] for point in open_now]  # fmt: skip
    text = (
        f"=== Improvement Health ===\nEntropy score: {found.entropy}/{audit.WORST}\n"
        f"Actionable drift: {actionable(open_now)}\n\n{layout(Point._fields, rows)}"
    )
    data = {
        "entropy": found.entropy,
        "actionable": actionable(open_now),
        "points": [point._asdict() for point in open_now],
    }
    return Answer(text, data)
