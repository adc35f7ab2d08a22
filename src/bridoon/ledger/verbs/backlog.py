"""`backlog`: what would make the harness better, and what came of it."""

from __future__ import annotations

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store.op import Op


def add(ledger: Ledger, given: Given) -> Answer:
    """Record what could be improved."""
    risk = given.get("--risk")
    payload = {
        "title": given.text("--title"),
        "discovered_while": given.get("--while"),
        "current_pain": given.get("--pain"),
        "suggested_improvement": given.get("--suggestion"),
        "risk": None if risk is None else vocabulary.lane(risk, "backlog add: --risk"),
        "predicted_impact": given.get("--predicted"),
        "notes": given.get("--notes"),
    }
    with ledger.writing() as write:
        row = write.do(Op("backlog.add", payload))
    return Answer(f"Backlog #{row} added.", {"id": row, "status": "proposed"})


def close(ledger: Ledger, given: Given) -> Answer:
    """Set the status of an item, and what came of it."""
    row = vocabulary.integer(given.text("--id"), "backlog close: --id")
    status = given.text("--status")
    vocabulary.one_of(status, vocabulary.BACKLOG_STATUSES, "backlog close: --status cannot be")
    payload = {"status": status, "actual_outcome": given.get("--outcome")}
    with ledger.writing() as write:
        uid = write.uid_of("backlog", row, "backlog item")
        # A row from a time without uids has no name but its id here, as operations of version 1 use it.
        write.do(Op("backlog.close", payload, id=row, uid=uid, version=0 if uid else 1))
    return Answer(f"Backlog #{row} closed as {status}.", {"id": row, "status": status})
