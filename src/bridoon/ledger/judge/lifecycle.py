"""Where a proposal stands: new, decided, dealt with, or back again; from the backlog rows that bear its key."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from bridoon.ledger.judge.audit import Audit
from bridoon.ledger.judge.proposals import AUDIT, Proposal
from bridoon.ledger.store.cells import number, text, word
from bridoon.ledger.store.schema import WHOLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bridoon.ledger.judge.evidence import Evidence
    from bridoon.ledger.store.db import Read

NEW, PENDING, ACCEPTED, SUPPRESSED = "new", "pending", "accepted", "suppressed"
REGRESSION, RECONSIDERATION, LEGACY = "regression", "reconsideration", "legacy-unclassified"
OPEN = ("proposed", "accepted")
RECURRED = (REGRESSION, RECONSIDERATION)


class Occurrence(NamedTuple):
    """A backlog row of a proposal. A proposal that comes back after it was closed gets another one."""

    id: int
    uid: str
    key: str
    status: str
    title: str
    closed_at: str
    """When it was closed; when it was made, for one that is open."""
    rejection_reason: str | None
    schedule: str | None
    due_at: str | None
    after_traces: int | None
    baseline: int | None


class Unkeyed(NamedTuple):
    """A backlog row that bears no key: by a person, or from a time without keys."""

    id: int
    uid: str | None
    status: str
    title: str
    discovered_while: str | None
    current_pain: str | None
    notes: str | None
    created_at: str


Row = TypeVar("Row", Occurrence, Unkeyed)


class State(NamedTuple):
    """Where a proposal stands."""

    name: str
    detail: str
    item: int | None = None
    """The backlog row that speaks for it."""
    last: Occurrence | None = None
    """The newest row with its key."""


class Backlog(NamedTuple):
    """What the backlog says about proposals, at one moment."""

    by_key: dict[str, list[Occurrence]]
    by_title: dict[str, list[Unkeyed]]
    covered: dict[str, set[str]]
    """By key: the evidence that earlier decisions took into account."""
    shared: frozenset[str]
    """Titles that several proposals have, because they were cut: a title names none of these."""

    def occurrences(self, proposal: Proposal) -> list[Occurrence]:
        """The rows of a proposal, oldest first; those named after its title count when only one can be meant."""
        if not self.by_key:
            return []
        found = self.by_key.get(proposal.key, [])
        other = proposal.title_key
        if other != proposal.key and proposal.title not in self.shared and other in self.by_key:
            found = sorted([*found, *self.by_key[other]])
        return found

    def unkeyed(self, proposal: Proposal) -> Unkeyed | None:
        """The row without a key that was meant for this proposal: an open one, else the newest."""
        rows = self.by_title.get(proposal.title, [])
        if proposal.title in self.shared:
            rows = [row for row in rows if str(row.current_pain or "").endswith(": " + proposal.brief)]
        return speaking(rows) if rows else None


def speaking(rows: list[Row]) -> Row:
    """Of several rows the one that speaks for a proposal: an open one, else the newest."""
    return next((row for row in rows if row.status in OPEN), rows[-1])


def backlog_of(source: Read, found: list[Proposal]) -> Backlog:
    """Read what the backlog says; at a schema without keys all rows are unkeyed."""
    shared = _shared(found)
    if source.schema < WHOLE:
        sql = (
            "SELECT id, NULL, status, title, discovered_while, current_pain, notes, created_at FROM backlog ORDER BY id"
        )
        return Backlog({}, _by_title(source.all(sql)), {}, shared)
    keyed: dict[str, list[Occurrence]] = {}
    for row in source.all(
        "SELECT id, uid, proposal_key, status, title, coalesce(closed_at, implemented_at, created_at), "
        "rejection_reason, outcome_schedule_kind, outcome_due_at, outcome_after_traces, outcome_baseline_trace_count "
        "FROM backlog WHERE proposal_key IS NOT NULL ORDER BY id"
    ):
        keyed.setdefault(word(row[2]), []).append(_occurrence(row))
    unkeyed = source.all(
        "SELECT id, uid, status, title, discovered_while, current_pain, notes, created_at "
        "FROM backlog WHERE proposal_key IS NULL ORDER BY id"
    )
    covered: dict[str, set[str]] = {}
    for key, uid in source.all(
        "SELECT backlog.proposal_key, link.evidence_uid FROM proposal_evidence_link AS link "
        "JOIN backlog ON backlog.uid = link.backlog_uid WHERE backlog.proposal_key IS NOT NULL"
    ):
        covered.setdefault(word(key), set()).add(word(uid))
    return Backlog(keyed, _by_title(unkeyed), covered, shared)


def _shared(found: list[Proposal]) -> frozenset[str]:
    once: set[str] = set()
    twice: set[str] = set()
    for proposal in found:
        (twice if proposal.title in once else once).add(proposal.title)
    return frozenset(twice)


def _by_title(rows: list[tuple[object, ...]]) -> dict[str, list[Unkeyed]]:
    found: dict[str, list[Unkeyed]] = {}
    for row in rows:
        row_id, uid, status, title, *texts, created_at = row
        each = Unkeyed._make((row_id, text(uid), word(status), word(title), *map(text, texts), word(created_at)))
        found.setdefault(each.title, []).append(each)
    return found


def _occurrence(row: Sequence[object]) -> Occurrence:
    row_id, *words, reason, schedule, due_at, after_traces, baseline = row
    told = map(text, (reason, schedule, due_at))
    return Occurrence._make((row_id, *map(word, words), *told, number(after_traces), number(baseline)))


def state_of(source: Read, known: Backlog, proposal: Proposal, found: Audit) -> State:
    """Where a proposal stands now. `source` is only asked when earlier decisions must be compared with evidence."""
    rows = known.occurrences(proposal)
    if not rows:
        legacy = known.unkeyed(proposal)
        if legacy is None:
            return State(NEW, "nobody has decided yet")
        detail = f"backlog item #{legacy.id} ({legacy.status}) has this title and no key"
        return State(LEGACY, detail + "; backlog reconcile can tell whether they are the same", legacy.id)
    last = speaking(rows)
    if last.status in OPEN:
        return open_state(last)
    fresh = _fresh(source, known, rows, proposal, found)
    if not fresh:
        return closed_state(last)
    name = REGRESSION if last.status == "implemented" else RECONSIDERATION
    return State(
        name, f"{fresh} new since backlog item #{last.id} was {last.status} at {last.closed_at}", last.id, last
    )


def open_state(last: Occurrence) -> State:
    """Where a proposal stands whose newest row is open."""
    if last.status == "proposed":
        return State(PENDING, f"backlog item #{last.id} waits for a decision", last.id, last)
    return State(ACCEPTED, f"backlog item #{last.id} is accepted; outcome: {schedule_of(last)}", last.id, last)


def closed_state(last: Occurrence) -> State:
    """Where a proposal stands whose newest row is closed, and nothing has come up since."""
    return State(SUPPRESSED, f"backlog item #{last.id} was {last.status}, nothing new since", last.id, last)


def schedule_of(row: Occurrence) -> str:
    """When the outcome is to be looked at, in words."""
    if row.schedule == "due_at":
        return f"due {row.due_at}"
    if row.schedule == "trace_count":
        return f"after {row.after_traces} traces"
    return row.schedule or "not scheduled"


def _fresh(source: Read, known: Backlog, rows: list[Occurrence], proposal: Proposal, found: Audit) -> int:
    """How many pieces of evidence no decision has covered and were observed since the newest row was closed."""
    from bridoon.ledger.judge import evidence

    covered: set[str] = set().union(*(known.covered.get(key, set()) for key in {row.key for row in rows}))
    closed = rows[-1].closed_at
    if proposal.source == AUDIT:
        pieces, unrecorded = evidence.of_audit(source, proposal, found)
    else:
        # only what is young enough can be fresh, and only what can be fresh is worth a look at its row
        young = tuple(member for member in proposal.members if member.observed_at >= closed)
        pieces, unrecorded = evidence.of_members(source, young), 0
    return unrecorded + sum(_is_fresh(piece, covered, closed) for piece in pieces)


def _is_fresh(piece: Evidence, covered: set[str], closed: str) -> bool:
    """Where no decision covered any evidence (closed by hand), all of the second of the closing counts as known."""
    if piece.uid in covered:
        return False
    return piece.observed_at >= closed if covered else piece.observed_at > closed
