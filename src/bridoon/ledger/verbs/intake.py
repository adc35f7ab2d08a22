"""`intake`: what is asked for, of which kind, and how risky it is."""

from __future__ import annotations

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store.op import Op


def add(ledger: Ledger, given: Given) -> Answer:
    """Record an intake."""
    payload = {
        "input_type": vocabulary.input_type(given.text("--type")),
        "summary": given.text("--summary"),
        "risk_lane": vocabulary.lane(given.text("--lane"), "intake: --lane"),
        "risk_flags": vocabulary.listed(given.get("--flags"), "intake: --flags"),
        "affected_docs": vocabulary.listed(given.get("--docs"), "intake: --docs"),
        "story_id": given.get("--story"),
        "notes": given.get("--notes"),
    }
    with ledger.writing() as write:
        row = write.do(Op("intake.add", payload))
    return Answer(f"Intake #{row} recorded.", {"id": row})
