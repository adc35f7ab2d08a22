"""The life of proposals: decisions on backlog rows that have a key, outcomes, and the evidence behind them."""

from __future__ import annotations

from typing import Any

from bridoon.ledger.errors import Conflict, Invalid, missing
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.target import Target
from bridoon.ledger.vocabulary import OBSERVATIONS, one_of

LEGACY = "legacy_recorded"
"""The status of an outcome that was written down before there were observations."""
DECIDED = ("status", "accepted_at", "closed_at", "rejection_reason", "outcome_schedule_kind", "outcome_due_at",
           "outcome_after_traces", "predecessor_uid", "occurrence_kind")  # fmt: skip
"""What a decision changes of a row that is there already."""
LEGACY_ROW = ("title", "created_at", "status", "discovered_while", "current_pain", "notes")
"""The columns by which a row without a uid is found again in another copy of the database."""


def backlog_proposal_decision(target: Target, op: Op) -> int:
    """Accept or reject a proposal: its backlog row is added, or changed when it is there and undecided.

    Raises Conflict when it is decided otherwise, or another row of the same key is open.
    """
    status = one_of(op.get("status"), ("accepted", "rejected"), "a proposal cannot be decided as")
    row = target.one("SELECT id, status FROM backlog WHERE uid=?", op.uid)
    if row is not None and row[1] != "proposed":
        if row[1] != status and not (row[1] == "implemented" and status == "accepted"):
            raise Conflict(f"backlog item #{row[0]} is {row[1]} already; it cannot become {status}")
        _link(target, op)
        return int(row[0])
    if row is not None:
        target.update("backlog", "uid", op.uid, {name: op.get(name) for name in DECIDED if op.get(name) is not None})
        here = int(row[0])
    else:
        _refuse_second(target, op)
        values = {**op.payload, "uid": op.uid, "created_at": op.get("created_at") or target.now}
        here = target.insert("backlog", values)
    _link(target, op)
    return here


def _refuse_second(target: Target, op: Op) -> None:
    other = target.one(
        "SELECT id, status FROM backlog WHERE proposal_key=? AND status IN ('proposed', 'accepted')",
        op.get("proposal_key"),
    )
    if other is not None and op.get("status") in ("proposed", "accepted"):
        raise Conflict(
            f"the proposal has an open backlog item already: #{other[0]}, {other[1]}",
            "decide that one: harness-cli propose lists it with its key",
        )


def _link(target: Target, op: Op) -> None:
    """Note the evidence that a backlog row covers. What is noted already stays as it is."""
    for each in op.get("evidence") or []:
        fields = ("source_kind", "evidence_uid", "evidence_fingerprint", "observed_at")
        if not isinstance(each, dict) or not all(isinstance(each.get(name), str) for name in fields):
            raise Invalid(f"{op.name}: each piece of evidence needs the texts {', '.join(fields)}")
        one_of(each["source_kind"], ("trace", "intervention", "audit", "legacy_snapshot"), "evidence cannot come from")
        values = {"backlog_uid": op.uid, **{name: each[name] for name in fields}}
        target.insert("proposal_evidence_link", values, ignore=True)


def backlog_outcome_observe(target: Target, op: Op) -> int:
    """Add an observation of what an implemented proposal has brought. One whose uid is there is left as it is.

    Its number moves up when another copy of the ledger has used it meanwhile: both observations are facts.
    """
    known = target.one("SELECT id FROM backlog_outcome_observation WHERE uid=?", op.uid)
    if known:
        return int(known[0])
    one_of(op.get("status"), (*OBSERVATIONS, LEGACY), "an outcome cannot be")
    row = target.one("SELECT id, status FROM backlog WHERE uid=?", op.get("backlog_uid"))
    if row is None:
        raise missing("backlog item", op.get("backlog_uid"))
    if row[1] != "implemented" and op.get("status") != LEGACY:
        raise Conflict(f"backlog item #{row[0]} is {row[1]}; outcomes are of implemented ones")
    ordinal = op.get("ordinal")
    last = target.one(
        "SELECT coalesce(max(ordinal), 0), coalesce(max(ordinal=?), 0) FROM backlog_outcome_observation "
        "WHERE backlog_uid=?",
        ordinal,
        op.get("backlog_uid"),
    )
    values = {**op.payload, "uid": op.uid, "observed_at": op.get("observed_at") or target.now}
    values["ordinal"] = last[0] + 1 if last[1] or ordinal < 1 else ordinal
    return target.insert("backlog_outcome_observation", values)


def backlog_legacy_reconcile(target: Target, op: Op) -> int:
    """Give a backlog row from before the keys its identity. Raises Missing, Conflict."""
    row = target.one("SELECT id, proposal_key FROM backlog WHERE uid=?", op.uid)
    if row is None:
        row = _legacy_row(target, op)
    if row[1] not in (None, op.get("proposal_key")):
        raise Conflict(f"backlog item #{row[0]} belongs to another proposal")
    if row[1] is None:
        changes = {name: op.get(name) for name in ("proposal_key", "occurrence_kind")}
        target.update("backlog", "id", row[0], {"uid": op.uid, **changes})
    _link(target, op)
    return int(row[0])


def _legacy_row(target: Target, op: Op) -> Any:
    """The one row without uid and key that says what the recorded one said."""
    legacy: dict[str, Any] = op.get("legacy_row") or {}
    wanted = {"title": op.get("title"), **{name: legacy[name] for name in LEGACY_ROW if name in legacy}}
    same = " AND ".join(f"{name} IS ?" for name in wanted)
    rows = target.all(
        f"SELECT id, proposal_key FROM backlog WHERE uid IS NULL AND proposal_key IS NULL AND {same} ORDER BY id",
        *wanted.values(),
    )
    if not rows:
        raise missing("backlog item", op.get("title"))
    here = target.here("backlog", legacy.get("id"))
    return next((row for row in rows if row[0] == here), rows[0])


def legacy_evidence_capture(target: Target, op: Op) -> None:
    """Keep a trace or an intervention that has no uid as it was, so that decisions can refer to it."""
    one_of(op.get("source_kind"), ("trace", "intervention"), "evidence cannot be captured from")
    values = {**op.payload, "uid": op.uid, "captured_at": op.get("captured_at") or target.now}
    values["source_local_id"] = target.here(op.get("source_kind"), op.get("source_local_id"))
    target.insert("legacy_evidence_snapshot", values, ignore=True)


def audit_evidence_open(target: Target, op: Op) -> None:
    """Begin an episode: a finding of the audit is there from now on.

    When another copy of the ledger has seen it too, its episode goes on and this one counts as over at once.
    """
    if target.one("SELECT 1 FROM audit_evidence_episode WHERE uid=?", op.uid):
        return
    opened = op.get("opened_at") or target.now
    active = target.one(
        "SELECT 1 FROM audit_evidence_episode WHERE finding_key=? AND cleared_at IS NULL", op.get("finding_key")
    )
    values = {**op.payload, "uid": op.uid, "opened_at": opened, "cleared_at": opened if active else None}
    target.insert("audit_evidence_episode", values)


def audit_evidence_clear(target: Target, op: Op) -> None:
    """End an episode: the finding is gone. Raises Missing; one that is over stays as it is."""
    row = target.one("SELECT cleared_at FROM audit_evidence_episode WHERE uid=?", op.uid)
    if row is None:
        raise missing("audit episode", op.uid)
    if row[0] is None:
        changes = {"cleared_at": op.get("cleared_at") or target.now}
        target.update("audit_evidence_episode", "uid", op.uid, changes)
