"""Rows of the table `backlog`: added, closed by hand, closed by the story that resolves them."""

from __future__ import annotations

import sqlite3
from typing import Any

from bridoon.ledger import vocabulary
from bridoon.ledger.errors import Conflict, Invalid, missing
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.rows.link import RESOLVES, link_of
from bridoon.ledger.store.target import Target

CLOSED = ("implemented", "rejected")


def backlog_add(target: Target, op: Op) -> int:
    """Add an item. One whose uid is there already is left as it is."""
    try:
        return target.add("backlog", op, dict(op.payload))
    except sqlite3.IntegrityError:
        raise _not_addable(target, op) from None


def backlog_close(target: Target, op: Op) -> None:
    """Set the status of an item, its outcome when there is one, and the times that belong to the status."""
    status = vocabulary.one_of(op.payload["status"], vocabulary.BACKLOG_STATUSES, "a backlog item cannot be")
    key, value = _name(target, op)
    extra = ", proposal_key, accepted_at" if "proposal_key" in target.columns("backlog") else ", NULL, NULL"
    row = target.one(f"SELECT id{extra}, status FROM backlog WHERE {key}=?", value)
    if row is None:
        raise missing("backlog item", op.id if op.id is not None else value)
    if row[1] and row[2] and status in CLOSED:
        raise _closed_by_story(int(row[0]), str(row[3]))
    now = op.get("closed_at") or target.now
    changes: dict[str, Any] = {"status": status, "closed_at": now if status in CLOSED else None}
    if status == "implemented":
        changes["implemented_at"] = now
    if op.get("actual_outcome") is not None:
        changes["actual_outcome"] = op.get("actual_outcome")
    try:
        target.update("backlog", key, value, changes)
    except sqlite3.IntegrityError:
        raise Conflict(
            f"backlog #{row[0]} cannot be opened again: its proposal is open as another item",
            "harness-cli query backlog --open lists what is open",
        ) from None


def _closed_by_story(item: int, status: str) -> Conflict:
    """The error for an accepted proposal that is to be closed by hand."""
    if status == "implemented":
        return Conflict(
            f"backlog #{item} is a proposal that was accepted and is implemented already",
            f"what came of it: harness-cli backlog outcome record --id {item}",
        )
    return Conflict(
        f"backlog #{item} is a proposal that was accepted: it is closed by the story that resolves it",
        "link the story (story backlog link --relationship resolves), then harness-cli story complete ID",
    )


def backlog_complete(target: Target, op: Op) -> None:
    """Close an accepted item with the evidence of the story that resolves it."""
    story = op.payload["story_id"]
    row = target.one("SELECT id, status, resolution_evidence FROM backlog WHERE uid=?", op.uid)
    if row is None:
        raise missing("backlog item", op.uid)
    if link_of(target, story, op.uid) != RESOLVES:
        raise Conflict(f"backlog #{row[0]} is not resolved by story {str(story)[:80]!r}")
    if row[1] == "implemented" and closer_of(row[2]) == story:
        return
    if row[1] != "accepted":
        raise Conflict(f"backlog #{row[0]} is {row[1]}, not accepted: no story can close it", status=row[1])
    now = op.get("completed_at") or target.now
    changes = {
        "status": "implemented",
        "closed_at": now,
        "implemented_at": now,
        "resolution_evidence": op.get("resolution_evidence"),
    }
    if op.get("trace_baseline") is not None:
        changes["outcome_baseline_trace_count"] = op.get("trace_baseline")
    target.update("backlog", "uid", op.uid, changes)


def closer_of(evidence: str | None) -> str:
    """The story that closed an item, by its stored evidence; empty when that names none."""
    import json

    try:
        found = json.loads(evidence or "")
    except (ValueError, RecursionError):
        return ""
    story = found.get("story_id") if isinstance(found, dict) else None
    return story if isinstance(story, str) else ""


def _name(target: Target, op: Op) -> tuple[str, Any]:
    """How the row is found: by its uid, else by its id in the changeset that added it."""
    if op.uid:
        return "uid", op.uid
    return "id", target.here("backlog", op.id if isinstance(op.id, int) else None)


def _not_addable(target: Target, op: Op) -> Conflict | Invalid:
    risk, key = op.get("risk"), op.get("proposal_key")
    if risk is not None and risk not in vocabulary.LANES:
        return Invalid(f"a backlog item cannot have the risk {str(risk)[:40]!r}")
    sql = "SELECT id FROM backlog WHERE proposal_key=? AND status IN ('proposed', 'accepted')"
    known = target.one(sql, key) if key else None
    if known:
        return Conflict(f"the proposal is open already, as backlog #{known[0]}", proposal_key=key)
    return Invalid("the backlog item cannot be added as it is: something that it needs is missing or wrong")
