"""Rows of the table `intake`."""

from __future__ import annotations

from bridoon.ledger.store.op import Op
from bridoon.ledger.store.target import Target


def intake_add(target: Target, op: Op) -> int:
    """Add an intake. One whose uid is there already is left as it is."""
    return target.add("intake", op, dict(op.payload))
