"""Rows of `story` and `decision` that come from documents: added, filled, or overwritten where that is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bridoon.ledger import vocabulary
from bridoon.ledger.store.op import PROOFS, Op
from bridoon.ledger.store.target import Target

STORY = ("title", "contract_doc", "status", *(field.name for field in PROOFS), "evidence", "notes")
"""What an import may change of a story. Its lane and its verification stay as they are."""
DECISION = ("title", "status", "doc_path", "notes")
"""What an import may change of a decision."""
BLANKABLE = frozenset(("contract_doc", "evidence", "notes", "doc_path"))
"""What may become empty when the document says nothing of it any more."""
FILLED = frozenset(("title", "contract_doc", "evidence", "doc_path"))
"""What is filled in where it is empty. A status or a proof always says something, and notes are nobody else's."""


def import_story(target: Target, op: Op) -> None:
    """Add a story, or bring the one that is there up to its document."""
    vocabulary.one_of(op.payload["status"], vocabulary.STORY_STATUSES, "an imported story cannot be")
    vocabulary.one_of(op.payload["risk_lane"], vocabulary.LANES, "an imported story cannot have the lane")
    _bring("story", STORY, target, op)


def import_decision(target: Target, op: Op) -> None:
    """Add a decision, or bring the one that is there up to its document."""
    vocabulary.one_of(op.payload["status"], vocabulary.DECISION_STATUSES, "an imported decision cannot be")
    _bring("decision", DECISION, target, op)


def changes(columns: Sequence[str], row: Sequence[Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    """What an import changes of a row that is there. `row`: the values of `columns`."""
    before = dict(zip(columns, row, strict=True))
    if payload.get("refresh"):
        said = {name: payload.get(name) for name in columns if name in BLANKABLE or payload.get(name) is not None}
        return {name: value for name, value in said.items() if value != before[name]}
    empty = [name for name in columns if name in FILLED and before[name] in (None, "")]
    return {name: payload[name] for name in empty if payload.get(name) not in (None, "")}


def _bring(table: str, columns: Sequence[str], target: Target, op: Op) -> None:
    row = target.one(f"SELECT {', '.join(columns)} FROM {table} WHERE id=?", op.id)
    if row is None:
        created = op.get("created_at") or target.now
        target.insert(table, {**op.payload, "id": op.id, "created_at": created})
        return
    changed = changes(columns, row, op.payload)
    if changed:
        target.update(table, "id", op.id, changed)
