"""Rows of the table `intervention`."""

from __future__ import annotations

from bridoon.ledger import vocabulary
from bridoon.ledger.errors import missing
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.target import Target


def intervention_add(target: Target, op: Op) -> int:
    """Add an intervention. One whose uid is there already is left as it is."""
    words = vocabulary.INTERVENTION_TYPES
    vocabulary.one_of(op.payload["type"], words, "an intervention cannot be of the type")
    vocabulary.one_of(op.payload["source"], vocabulary.INTERVENTION_SOURCES, "an intervention cannot have the source")
    return target.add("intervention", op, {**op.payload, "trace_id": _trace(target, op)})


def _trace(target: Target, op: Op) -> int | None:
    """The id here of the trace that it is about."""
    uid = op.get("trace_uid")
    if uid is not None:
        found = target.id_of("trace", uid)
        if found is None:
            raise missing("trace", uid)
        return found
    here = target.here("trace", op.get("trace_id"))
    if here is not None:
        target.must_have("trace", "id", here, "trace")
    return here
