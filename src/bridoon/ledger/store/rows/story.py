"""Rows of the table `story`: added, changed, verified, completed."""

from __future__ import annotations

import sqlite3
from typing import Any

from bridoon.ledger import vocabulary
from bridoon.ledger.errors import Conflict, Invalid, missing
from bridoon.ledger.store.op import PROOFS, Op
from bridoon.ledger.store.target import Target

VERDICTS = ("pass", "fail")
COMPLETABLE = ("in_progress", "changed")
"""Statuses from which a story can be completed."""
UNVERIFIED = {"last_verified_at": None, "last_verified_result": None}
_FIELDS = ("status", "evidence", *(field.name for field in PROOFS), "verify_command", "contract_doc")


def story_add(target: Target, op: Op) -> None:
    """Add a story. Raises Conflict when there is one of that id."""
    try:
        target.insert("story", {**op.payload, "id": op.id, "created_at": op.get("created_at") or target.now})
    except sqlite3.IntegrityError:
        if target.one("SELECT 1 FROM story WHERE id=?", op.id):
            raise Conflict(
                f"there is a story {str(op.id)[:80]!r} already",
                "give another --id, or change that one: harness-cli story update --id ID",
            ) from None
        raise Invalid(f"story {str(op.id)[:80]!r} cannot be added as it is: {_told(op)}") from None


def story_update(target: Target, op: Op) -> None:
    """Set the fields that are not null. A verdict does not outlive the command that it is about."""
    changes: dict[str, Any] = {name: op.get(name) for name in _FIELDS if op.get(name) is not None}
    if "status" in changes:
        vocabulary.one_of(changes["status"], vocabulary.STORY_STATUSES, "a story cannot have the status")
    for field in PROOFS:
        if changes.get(field.name, 0) not in (0, 1):
            raise Invalid(f"{field.name} of a story is 0 or 1, not {str(changes[field.name])[:40]}")
    if "verify_command" in changes:
        row = target.one("SELECT verify_command FROM story WHERE id=?", op.id)
        if row and row[0] != changes["verify_command"]:
            changes.update(UNVERIFIED)
    if not changes:
        target.must_have("story", "id", op.id, "story")
    elif not target.update("story", "id", op.id, changes):
        raise missing("story", op.id)


def story_verify(target: Target, op: Op) -> None:
    """Set the verdict of its verify command."""
    result = check_verdict(op)
    changes = {"last_verified_at": op.get("verified_at") or target.now, "last_verified_result": result}
    if not target.update("story", "id", op.id, changes):
        raise missing("story", op.id)


def story_complete(target: Target, op: Op) -> None:
    """Make a verified story implemented. Raises Conflict when its status does not lead there."""
    result = check_verdict(op)
    row = target.one("SELECT status FROM story WHERE id=?", op.id)
    if row is None:
        raise missing("story", op.id)
    changes = {"last_verified_at": op.get("completed_at") or target.now, "last_verified_result": result}
    if result == "pass":
        if row[0] not in (*COMPLETABLE, "implemented"):
            raise not_completable(op.id, row[0])
        changes["status"] = "implemented"
    target.update("story", "id", op.id, changes)


def not_completable(story: object, status: str) -> Conflict:
    """The error for a story whose status does not lead to its completion."""
    return Conflict(
        f"story {str(story)[:80]!r} is {status}; only one that is in_progress or changed can be completed",
        "harness-cli story update --id ID --status in_progress says that work on it has begun",
        status=status,
    )


def check_verdict(op: Op) -> str:
    """`pass` or `fail`. Raises Invalid."""
    return vocabulary.one_of(str(op.get("result")), VERDICTS, "a verification cannot have the result")


def _told(op: Op) -> str:
    lane = op.get("risk_lane")
    return f"its lane is {str(lane)[:40]!r}" if lane not in vocabulary.LANES else "something that it needs is missing"
