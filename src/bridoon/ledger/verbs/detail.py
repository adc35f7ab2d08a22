"""One record as a whole, for `--id` of the queries: every field of its row, one below the other."""

from __future__ import annotations

from typing import Any, NamedTuple

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.errors import missing
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.show.cell import plain, text_of
from bridoon.ledger.show.text import clean
from bridoon.ledger.store import schema
from bridoon.ledger.store.cells import text

NOTHING = "-"


class Sort(NamedTuple):
    """What is known of the rows of a table."""

    fields: tuple[str, ...]
    """All of the newest schema; those that a database has not got are empty."""
    lists: tuple[str, ...] = ()
    """Fields that hold lists."""
    named: bool = False
    """Whether its ids are texts that people gave."""


SORTS = {
    "intake": Sort(
        ("id", "uid", "created_at", "input_type", "summary", "risk_lane", "risk_flags", "affected_docs", "story_id",
         "notes"),
        ("risk_flags", "affected_docs"),
    ),
    "story": Sort(
        ("id", "title", "created_at", "risk_lane", "contract_doc", "status", "unit_proof", "integration_proof",
         "e2e_proof", "platform_proof", "evidence", "verify_command", "last_verified_at", "last_verified_result",
         "notes", "revision"),
        named=True,
    ),
    "decision": Sort(
        ("id", "title", "created_at", "status", "doc_path", "verify_command", "last_verified_at",
         "last_verified_result", "predicted_impact", "actual_outcome", "notes", "revision"),
        named=True,
    ),
    "trace": Sort(
        ("id", "uid", "created_at", "task_summary", "intake_id", "intake_uid", "story_id", "agent", "outcome",
         "duration_seconds", "token_estimate", "actions_taken", "files_read", "files_changed", "decisions_made",
         "errors", "harness_friction", "notes", "recorded_at_unix_ns"),
        ("actions_taken", "files_read", "files_changed", "decisions_made", "errors"),
    ),
    "intervention": Sort(
        ("id", "uid", "created_at", "trace_id", "story_id", "type", "description", "source", "impact"),
    ),
}  # fmt: skip
"""By the name of the table."""


def show(ledger: Ledger, given: Given, table: str) -> Answer:
    """The record that `--id` names. Raises Invalid, Missing."""
    sort = SORTS[table]
    name: Any = given.text("--id")
    if not sort.named:
        name = vocabulary.integer(name, f"{given.command.name}: --id")
    with ledger.reading() as read:
        there = schema.columns(read.db, table)
        columns = ", ".join(field if field in there else f"NULL AS {field}" for field in sort.fields)
        row = read.one(f"SELECT {columns} FROM {table} WHERE id = ?", name)
    if row is None:
        raise missing(table, name)
    record = dict(zip(sort.fields, row, strict=True))
    for field in sort.lists:
        record[field] = None if record[field] is None else vocabulary.unlisted(text(record[field]))
    lines = [line for field, value in record.items() for line in _lines(field, value)]
    data = {field: value if isinstance(value, list) else plain(value) for field, value in record.items()}
    return Answer("\n".join(lines), {table: data})


def _lines(field: str, value: Any) -> list[str]:
    """A field on one line; the items of a list and the lines of a text indented below it."""
    if isinstance(value, list):
        return [f"{field}:", *(f"  - {clean(item)}" for item in value)] if value else [f"{field}: []"]
    whole = text_of(value)
    if "\n" in whole.strip():
        return [f"{field}:", *(f"  {clean(line)}".rstrip() for line in whole.strip().split("\n"))]
    return [f"{field}: {clean(whole.strip()) or NOTHING}"]
