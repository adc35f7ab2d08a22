"""Rows of the table `trace`."""

from __future__ import annotations

from bridoon.ledger.errors import missing
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.target import Target
from bridoon.ledger.vocabulary import OUTCOMES, one_of


def trace_add(target: Target, op: Op) -> int:
    """Add a trace. One whose uid is there already is left as it is.

    Raises Missing for an intake or a story that is not there, Invalid for an outcome that is none.
    """
    if op.get("outcome") is not None:
        one_of(op.get("outcome"), OUTCOMES, "trace: the outcome cannot be")
    if op.get("story_id") is not None:
        target.must_have("story", "id", op.get("story_id"), "story")
    intake_id, intake_uid = _intake(target, op)
    values = {
        **op.payload,
        "intake_id": intake_id,
        "intake_uid": intake_uid,
        "recorded_at_unix_ns": op.get("recorded_at_unix_ns") or op.at or None,
    }
    return target.add("trace", op, values)


def _intake(target: Target, op: Op) -> tuple[int | None, str | None]:
    """The intake that a trace belongs to: its id here, and its uid when it has one."""
    uid = op.get("intake_uid")
    if uid is not None:
        row = target.id_of("intake", uid)
        if row is None:
            raise missing("intake", uid)
        return row, str(uid)
    here = target.here("intake", op.get("intake_id"))
    if here is None:
        return None, None
    return here, target.uid_of("intake", here, "intake") or None
