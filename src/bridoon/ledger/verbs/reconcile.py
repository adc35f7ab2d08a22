"""`backlog reconcile`: gives backlog rows from before the keys the identity of their proposals."""

from __future__ import annotations

from bridoon.errors import UsageError
from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.judge import audit, evidence, lifecycle
from bridoon.ledger.judge.proposals import AUDIT, proposals
from bridoon.ledger.judge.reconcile import CLASSES, DERIVABLE, Classified, classify
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store.db import Read
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.rows.proposal import LEGACY_ROW
from bridoon.ledger.store.schema import WHOLE
from bridoon.ledger.store.write import Write
from bridoon.ledger.verbs.audit import runnable

ACTIONS = ("backfill-lifecycle-identity",)


def reconcile(ledger: Ledger, given: Given) -> Answer:
    """Classify the rows without a key; with --apply give those that are certain theirs."""
    vocabulary.one_of(given.text("--action"), ACTIONS, "backlog reconcile: --action cannot be")
    if given.has("--dry-run") == given.has("--apply"):
        raise UsageError("backlog reconcile: give --dry-run to look or --apply to do it", "--dry-run changes nothing")
    if given.has("--dry-run"):
        with ledger.reading() as read:
            return _answer(_classified(ledger, read), False)
    with ledger.writing() as write:
        found = _classified(ledger, write)
        for each in found:
            if each.name == DERIVABLE:
                _fill(write, each)
    return _answer(found, True)


def _classified(ledger: Ledger, source: Read) -> list[Classified]:
    source.need(WHOLE, "backlog reconcile")
    listed = proposals(source, audit.audit(source, runnable(ledger)))
    return classify(lifecycle.backlog_of(source, listed), listed)


def _fill(write: Write, each: Classified) -> None:
    """Give a row its key, and the evidence that was there when it was written as what it covers."""
    row = each.row
    pieces: list[evidence.Evidence] = []
    if each.proposal is not None and each.proposal.source != AUDIT:
        then = tuple(member for member in each.proposal.members if member.observed_at <= row.created_at)
        pieces = evidence.of_members(write, then)
    payload = {
        "title": row.title,
        "proposal_key": each.key,
        "occurrence_kind": "original",
        "legacy_row": {"id": row.id, **{name: getattr(row, name) for name in LEGACY_ROW}},
        "evidence": evidence.capture(write, pieces),
    }
    write.do(Op("backlog.legacy.reconcile", payload, uid=row.uid or evidence.identity("blg", each.key)))


def _answer(found: list[Classified], applied: bool) -> Answer:
    from bridoon.ledger.show.text import one_line

    lines = []
    for each in found:
        key = f" {each.key}" if each.key else ""
        lines.append(f"Backlog #{each.row.id}: {each.name}{key} {one_line(each.row.title, 80)}")
    counts = {name: sum(each.name == name for each in found) for name in CLASSES}
    filled = counts[DERIVABLE] if applied else 0
    lines.append(", ".join(f"{count} {name}" for name, count in counts.items()))
    lines.append(f"Identity filled for {filled} item(s)." if applied else "Nothing was changed (--dry-run).")
    items = [
        {"id": each.row.id, "title": each.row.title, "status": each.row.status, "class": each.name,
         "proposal_key": each.key or None, "filled": applied and each.name == DERIVABLE}
        for each in found
    ]  # fmt: skip
    return Answer("\n".join(lines) + "\n", {"items": items, "counts": counts, "applied": applied})
