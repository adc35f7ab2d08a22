"""Rows of the table `decision`: added and verified."""

from __future__ import annotations

import sqlite3

from bridoon.ledger import vocabulary
from bridoon.ledger.errors import Conflict, missing
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.rows.story import check_verdict
from bridoon.ledger.store.target import Target


def decision_add(target: Target, op: Op) -> None:
    """Add a decision. Raises Conflict when there is one of that id."""
    vocabulary.one_of(op.payload["status"], vocabulary.DECISION_STATUSES, "a decision cannot have the status")
    try:
        target.insert("decision", {**op.payload, "id": op.id, "created_at": op.get("created_at") or target.now})
    except sqlite3.IntegrityError:
        target.must_have("decision", "id", op.id, "decision")
        raise Conflict(
            f"there is a decision {str(op.id)[:80]!r} already",
            "decisions are not rewritten: add another one that supersedes it",
        ) from None


def decision_verify(target: Target, op: Op) -> None:
    """Set the verdict of its verify command."""
    result = check_verdict(op)
    changes = {"last_verified_at": op.get("verified_at") or target.now, "last_verified_result": result}
    if not target.update("decision", "id", op.id, changes):
        raise missing("decision", op.id)
