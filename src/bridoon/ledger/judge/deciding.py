"""Decisions on proposals: accept one with a schedule, reject one with a reason, put one on the list."""

from __future__ import annotations

from typing import NamedTuple

from bridoon.ledger.errors import Conflict, Missing
from bridoon.ledger.judge import evidence, lifecycle
from bridoon.ledger.judge.audit import Audit
from bridoon.ledger.judge.grouping import FORM
from bridoon.ledger.judge.lifecycle import Backlog, State
from bridoon.ledger.judge.proposals import AUDIT, Proposal
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.schema import WHOLE
from bridoon.ledger.store.write import Write

SHORTEST = 8
"""Characters of the hash that a key may be cut to."""


class Schedule(NamedTuple):
    """When the outcome of an accepted proposal is looked at."""

    kind: str
    """`manual`, `due_at` or `trace_count`."""
    due_at: str | None = None
    after_traces: int | None = None


class Decision(NamedTuple):
    """What was decided."""

    key: str
    status: str
    item: int
    changed: bool
    """False when it had been decided just so before."""


class Case(NamedTuple):
    """A proposal that is to be decided, and all that is known about it."""

    key: str
    state: State
    known: Backlog
    found: Audit
    proposal: Proposal | None
    """None when nothing speaks for it any more, and only its backlog row is left."""


def case_of(write: Write, key: str, found: Audit, listed: list[Proposal]) -> Case:
    """The proposal with a key, or with the beginning of one. Raises Missing, Conflict."""
    known = lifecycle.backlog_of(write, listed)
    key = _whole(key, known, listed)
    proposal = next((each for each in listed if key in (each.key, each.title_key)), None)
    if proposal is not None:
        return Case(proposal.key, lifecycle.state_of(write, known, proposal, found), known, found, proposal)
    rows = known.by_key.get(key)
    if not rows:
        raise Missing(
            "there is no proposal with this key",
            f"give its Key, or {SHORTEST} or more of its hash: harness-cli propose --show-suppressed lists all keys",
        )
    last = lifecycle.speaking(rows)
    state = lifecycle.open_state(last) if last.status in lifecycle.OPEN else lifecycle.closed_state(last)
    return Case(key, state, known, found, None)


def _whole(key: str, known: Backlog, listed: list[Proposal]) -> str:
    """The key that begins so; the text itself when none does. Raises Conflict when it is the beginning of several."""
    begin = key.removeprefix(FORM).lower()
    if len(begin) < SHORTEST:
        return key
    keys = {each: proposal.key for proposal in listed for each in (proposal.title_key, proposal.key)}
    if key in keys or key in known.by_key:
        return key
    found = {keys.get(each, each) for each in (*keys, *known.by_key) if each.startswith(FORM + begin)}
    if len(found) > 1:
        raise Conflict(f"the keys of {len(found)} proposals begin with {begin[:80]!r}", "give more of the key")
    return found.pop() if found else key


def accept(write: Write, case: Case, schedule: Schedule) -> Decision:
    """Accept a proposal. Raises Conflict when it is decided otherwise, or cannot be decided."""
    last = case.state.last
    if case.state.name == lifecycle.ACCEPTED and last is not None:
        if (last.schedule, last.due_at, last.after_traces) == schedule:
            return Decision(case.key, "accepted", last.id, False)
        raise Conflict(
            f"the proposal is accepted already, as backlog item #{last.id}, "
            f"with another schedule: {lifecycle.schedule_of(last)}",
            "an accepted proposal keeps its schedule",
        )
    _refuse_undecidable(write, case)
    fields: dict[str, object] = {
        "status": "accepted",
        "accepted_at": write.now,
        "outcome_schedule_kind": schedule.kind,
        "outcome_due_at": schedule.due_at,
        "outcome_after_traces": schedule.after_traces,
    }
    return Decision(case.key, "accepted", _decide(write, case, fields), True)


def reject(write: Write, case: Case, reason: str) -> Decision:
    """Reject a proposal. Raises Conflict when it is decided otherwise, or cannot be decided."""
    last = case.state.last
    if case.state.name == lifecycle.ACCEPTED and last is not None:
        raise Conflict(
            f"the proposal is accepted, as backlog item #{last.id}; it cannot be rejected any more",
            "complete the story that resolves it",
        )
    if case.state.name == lifecycle.SUPPRESSED and last is not None and last.status == "rejected":
        if last.rejection_reason == reason:
            return Decision(case.key, "rejected", last.id, False)
        raise Conflict(f"the proposal was rejected already, as backlog item #{last.id}, for another reason")
    _refuse_undecidable(write, case)
    fields: dict[str, object] = {"status": "rejected", "closed_at": write.now, "rejection_reason": reason}
    return Decision(case.key, "rejected", _decide(write, case, fields), True)


def put_on_list(write: Write, known: Backlog, proposal: Proposal, state: State) -> tuple[int, bool]:
    """Add a proposal to the backlog unless an open row stands for it: the row, and whether it is new (`--commit`)."""
    if state.last is not None and state.last.status in lifecycle.OPEN:
        return state.last.id, False
    unkeyed = known.unkeyed(proposal)
    if unkeyed is not None and unkeyed.status in lifecycle.OPEN:
        return unkeyed.id, False
    payload = proposal.backlog()
    uid = ""
    if write.schema >= WHOLE:
        payload |= {"proposal_key": proposal.key, "occurrence_kind": _kind(state)}
        uid = _identity(write, proposal.key, state)
    item = write.do(Op("backlog.add", payload, uid=uid))
    assert item is not None
    return item, True


def _refuse_undecidable(write: Write, case: Case) -> None:
    state = case.state
    if state.name == lifecycle.SUPPRESSED and state.last is not None:
        raise Conflict(f"there is nothing new to decide: {state.detail}", "it comes back when it is observed again")
    if state.name == lifecycle.LEGACY:
        raise Conflict(
            f"{state.detail}: it cannot be decided here",
            "harness-cli backlog reconcile --action backfill-lifecycle-identity --dry-run shows what it is",
        )
    if case.proposal is not None and case.proposal.source == AUDIT:
        unrecorded = evidence.of_audit(write, case.proposal, case.found)[1]
        if unrecorded:
            raise Conflict(
                f"{unrecorded} finding(s) behind this proposal are not recorded as evidence yet",
                "harness-cli audit --record-evidence records them",
            )


def _decide(write: Write, case: Case, fields: dict[str, object]) -> int:
    last, proposal = case.state.last, case.proposal
    pieces: list[evidence.Evidence] = []
    if proposal is not None and proposal.source == AUDIT:
        pieces = evidence.of_audit(write, proposal, case.found)[0]
    elif proposal is not None:
        pieces = evidence.of_members(write, proposal.members)
    waiting = last is not None and last.status == "proposed"
    words = proposal.backlog() if proposal is not None else {"title": last.title if last else ""}
    payload = {
        **words,
        **fields,
        "proposal_key": last.key if waiting and last is not None else case.key,
        "occurrence_kind": _occurrence(write, case) if waiting else _kind(case.state),
        "predecessor_uid": _predecessor(case),
        "evidence": evidence.capture(write, pieces),
    }
    uid = last.uid if waiting and last is not None else _identity(write, case.key, case.state)
    item = write.do(Op("backlog.proposal.decision", payload, uid=uid))
    assert item is not None
    return item


def _kind(state: State) -> str:
    return state.name if state.name in lifecycle.RECURRED else "original"


def _occurrence(write: Write, case: Case) -> str:
    """What the row that waits for the decision was put on the list as."""
    row = write.one("SELECT occurrence_kind FROM backlog WHERE id=?", case.state.item)
    return str(row[0] or "original")


def _predecessor(case: Case) -> str | None:
    rows = case.known.occurrences(case.proposal) if case.proposal else case.known.by_key.get(case.key, [])
    closed = [row.uid for row in rows if row.status not in lifecycle.OPEN]
    return closed[-1] if closed else None


def _identity(write: Write, key: str, state: State) -> str:
    """The uid of the next row of a proposal: the first one is the same in every copy of the ledger."""
    if state.last is None:
        return evidence.identity("blg", key)
    return evidence.identity("blg", key, str(write.at))
