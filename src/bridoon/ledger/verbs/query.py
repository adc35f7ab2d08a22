"""`query matrix`, `backlog`, `decisions`, `intakes`, `traces`, `friction`, `interventions`, `stats`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridoon.ledger.cmdline.command import Answer, Given, Table
from bridoon.ledger.errors import missing
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store.db import Read
from bridoon.ledger.store.schema import WHOLE
from bridoon.ledger.verbs.listing import Found, Page, find, page

PROOFS = ("unit_proof", "integration_proof", "e2e_proof", "platform_proof")
PROOF_HEADINGS = ("unit", "integ", "e2e", "plat")
COUNTS = {
    "intakes": "intake",
    "stories": "story",
    "decisions": "decision",
    "backlog_items": "backlog",
    "traces": "trace",
}
IDENTITY = ("uid", "proposal_key", "predecessor_uid", "resolution_evidence")
LATER = (
    "occurrence_kind", "accepted_at", "closed_at", "rejection_reason", "outcome_schedule_kind", "outcome_due_at",
    "outcome_after_traces", "outcome_baseline_trace_count", "revision",
)  # fmt: skip
"""What backlog items have besides at the newest schema."""


def matrix(ledger: Ledger, given: Given) -> Answer:
    """Stories with what proves them."""
    wanted = page(given)
    names = ("id", "title", "risk_lane", "status", "runnable", *PROOFS, "evidence")
    where, values = [], []
    if given.has("--active"):
        where.append("status IN ('planned', 'in_progress', 'changed')")
    if given.has("--runnable"):
        where.append("runnable")
    if given.has("--story"):
        where.append("id = ?")
        values.append(given.text("--story"))
    with ledger.reading() as read:
        found = find_stories(read, names, wanted, _where(where), values)
    return Answer(_matrix_table(found, given), found.data("stories"), note=found.note)


def find_stories(read: Read, names: tuple[str, ...], page: Page, where: str = "", values: Sequence[str] = ()) -> Found:
    """A page of stories. One of the columns is `runnable`."""
    from bridoon.ledger.store.workgraph import runnable_sql

    runnable, blanks = runnable_sql(read)
    source = f"(SELECT *, {runnable} AS runnable FROM story){where}"
    found = find(read, {name: name for name in names}, source, "id", [*blanks, *values], page)
    at = names.index("runnable")
    return found._replace(rows=[(*row[:at], bool(row[at]), *row[at + 1 :]) for row in found.rows])


def _matrix_table(found: Found, given: Given) -> Table:
    summary, numeric = given.has("--summary"), given.has("--numeric")
    proofs = found.pick(*PROOFS)
    if not numeric:
        proofs = [tuple(_yes(value) for value in row) for row in proofs]
    if summary:
        head = found.pick("id", "title", "risk_lane", "status", "runnable")
        rows = [(*row[:4], _yes(row[4]), *proof) for row, proof in zip(head, proofs, strict=True)]
        return Table(("id", "title", "lane", "status", "runnable", *PROOF_HEADINGS), rows)
    head = found.pick("id", "title", "status", "evidence")
    rows = [(*row[:3], *proof, row[3]) for row, proof in zip(head, proofs, strict=True)]
    return Table(("id", "title", "status", *PROOF_HEADINGS, "evidence"), rows)


def backlog(ledger: Ledger, given: Given) -> Answer:
    """Proposals of how the harness could be better."""
    from bridoon.ledger import vocabulary

    wanted = page(given)
    number = vocabulary.integer(given.get("--id"), "query backlog: --id")
    columns = ("id", "title", "status", "risk", "predicted_impact", "actual_outcome")
    where = []
    if given.has("--open"):
        where.append("status IN ('proposed', 'accepted')")
    if given.has("--closed"):
        where.append("status IN ('implemented', 'rejected')")
    with ledger.reading() as read:
        if number is not None:
            return _backlog_item(read, number)
        found = find(read, {name: name for name in columns}, "backlog" + _where(where), "status, id", page=wanted)
    return _listed("backlog", found)


def _backlog_item(read: Read, number: int) -> Answer:
    names = ["id", "uid", "title", "status", "risk", "proposal_key", "predecessor_uid", "resolution_evidence"]
    more = ["created_at", "discovered_while", "current_pain", "suggested_improvement", "predicted_impact"]
    more += ["actual_outcome", "implemented_at", "notes"]
    later = (*IDENTITY, *LATER)
    fields = {name: "NULL" if name in later and read.schema < WHOLE else name for name in (*names, *more, *LATER)}
    found = find(read, fields, "backlog WHERE id = ?", "id", [number])
    if not found.rows:
        raise missing("backlog item", number)
    links: list[Any] = []
    if read.schema >= WHOLE:
        links = read.all(
            "SELECT link.relationship, link.story_id FROM story_backlog_link AS link JOIN backlog "
            "ON backlog.uid = link.backlog_uid WHERE backlog.id = ? ORDER BY link.story_id",
            number,
        )
    resolver = next((story for relationship, story in links if relationship == "resolves"), None)
    references = [story for relationship, story in links if relationship == "references"]
    item = found.data("backlog")["backlog"][0] | {"resolver": resolver, "reference_stories": references}
    row = (*found.pick(*names)[0], resolver, ", ".join(references) or None)
    return Answer(
        Table((*names, "resolver", "reference_stories"), [row]),
        {"backlog": [item], "total": 1, "limit": None, "offset": 0},
    )


def decisions(ledger: Ledger, given: Given) -> Answer:
    """Decisions, and how their last verification ended."""
    names = ("id", "title", "status", "last_verified_at", "last_verified_result")
    return _records(ledger, given, "decision", names, "id")


def intakes(ledger: Ledger, given: Given) -> Answer:
    """The latest intakes; 20 unless more are asked for."""
    return _records(ledger, given, "intake", ("id", "created_at", "input_type", "risk_lane", "summary"))


def traces(ledger: Ledger, given: Given) -> Answer:
    """The latest traces; 20 unless more are asked for."""
    return _records(ledger, given, "trace", ("id", "created_at", "outcome", "task_summary", "harness_friction"))


def friction(ledger: Ledger, given: Given) -> Answer:
    """Traces that name a friction, with lane and type of their intake."""
    fields = {
        "id": "trace.id", "created_at": "trace.created_at", "risk_lane": "intake.risk_lane",
        "input_type": "intake.input_type", "task_summary": "trace.task_summary",
        "harness_friction": "trace.harness_friction",
    }  # fmt: skip
    source = "trace LEFT JOIN intake ON intake.id = trace.intake_id WHERE trace.harness_friction IS NOT NULL"
    with ledger.reading() as read:
        found = find(read, fields, source, "trace.id DESC", page=page(given))
    rows = [(*row[:2], row[2] or "-", row[3] or "-", *row[4:]) for row in found.rows]
    return Answer(Table(found.fields, rows), found.data("friction"), note=found.note)


def interventions(ledger: Ledger, given: Given) -> Answer:
    """What people and checks had to say."""
    if given.has("--id"):
        from bridoon.ledger.verbs import detail

        return detail.show(ledger, given, "intervention")
    from bridoon.ledger import vocabulary

    wanted = page(given)
    trace = vocabulary.integer(given.get("--trace"), "query interventions: --trace")
    fields = {"id": "id", "created_at": "created_at", "trace_id": "trace_id", "story_id": "story_id", "type": "type"}
    fields |= {name: name for name in ("source", "description", "impact")}
    asked = {"trace_id": trace, "story_id": given.get("--story"), "type": given.get("--type")}
    filters = {name: value for name, value in asked.items() if value is not None}
    with ledger.reading() as read:
        source = "intervention" + _where([f"{name} = ?" for name in filters])
        found = find(read, fields, source, "id DESC", list(filters.values()), wanted)
    headings = ("id", "created_at", "trace", "story", "type", "source", "description", "impact")
    return Answer(Table(headings, found.rows), found.data("interventions"), note=found.note)


def stats(ledger: Ledger, given: Given) -> Answer:
    """How many rows there are of each sort."""
    del given
    counts = ", ".join(f"(SELECT count(*) FROM {table})" for table in COUNTS.values())
    with ledger.reading() as read:
        row = read.one(f"SELECT {counts}")
    widths = [max(len(name), len(str(count))) for name, count in zip(COUNTS, row, strict=True)]
    lines = (COUNTS, ["-" * width for width in widths], row)
    table = ("  ".join(str(cell).ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return Answer("\n".join(("=== Harness Stats ===", *table)), dict(zip(COUNTS, row, strict=True)))


def _records(ledger: Ledger, given: Given, table: str, names: tuple[str, ...], order: str = "id DESC") -> Answer:
    """A page of the rows of a table, or the one that `--id` names."""
    if given.has("--id"):
        from bridoon.ledger.verbs import detail

        return detail.show(ledger, given, table)
    with ledger.reading() as read:
        return _listed(f"{table}s", find(read, {name: name for name in names}, table, order, page=page(given)))


def _listed(key: str, found: Found) -> Answer:
    return Answer(Table(found.fields, found.rows), found.data(key), note=found.note)


def _where(conditions: list[str]) -> str:
    return " WHERE " + " AND ".join(conditions) if conditions else ""


def _yes(value: object) -> str:
    return "yes" if value == 1 else "no"
