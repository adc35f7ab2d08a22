"""`intake`: what is asked for, of which kind, and how risky it is."""

from __future__ import annotations

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.write import Write


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
        note = unknown_story(write, given.get("--story"))
    return Answer(f"Intake #{row} recorded.", {"id": row}, note=note)


def unknown_story(write: Write, story: str | None) -> str:
    """What to say of a story that is named and does not exist (yet); empty when all is well."""
    if story is None or write.one("SELECT 1 FROM story WHERE id=?", story):
        return ""
    return f"there is no story {story[:80]!r}; it is recorded all the same"
