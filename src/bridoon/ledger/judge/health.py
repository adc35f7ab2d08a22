"""What is open between drift, proposals, accepted work and its outcomes, and what to do next about each."""

from __future__ import annotations

from typing import NamedTuple

from bridoon.ledger.judge import lifecycle
from bridoon.ledger.judge.audit import CATEGORIES, Audit
from bridoon.ledger.judge.lifecycle import Backlog, Occurrence
from bridoon.ledger.judge.proposals import Proposal
from bridoon.ledger.store.db import Read

RANKS = ("audit", "proposal_decision", "accepted_work", "outcome_review", "recurrence")
"""The kinds of open points, in the order in which they are listed."""
CLEANING = {
    "orphaned_stories": "record a trace for each, or retire it: harness-cli story update --id ID --status retired",
    "unverified_stories": "harness-cli story verify ID",
    "unverified_decisions": "harness-cli decision verify ID",
    "missing_outcomes": "harness-cli backlog outcome record (backlog close --outcome for items that are no proposal)",
    "stale_stories": "go on with each, or retire it: harness-cli story update --id ID --status retired",
    "broken_tools": "install each, or harness-cli tool remove --name NAME",
}
WAITING = "waiting"


class Point(NamedTuple):
    """One open point."""

    category: str
    id: str
    title: str
    state: str
    schedule: str
    outcome: str
    evidence: str
    next_action: str


def points(read: Read, found: Audit, listed: list[Proposal], known: Backlog) -> list[Point]:
    """All open points, by rank and id."""
    open_now = [*_drift(found), *_decisions(read, found, listed, known), *_work(read, known), *_reviews(read, known)]
    return sorted(open_now, key=lambda point: (RANKS.index(point.category), len(point.id), point.id))


def actionable(points: list[Point]) -> int:
    """How many of them somebody can do something about now."""
    return sum(point.state != WAITING for point in points)


def _drift(found: Audit) -> list[Point]:
    return [
        Point("audit", each.name, each.phrase, "drift", "-", "-", f"{len(found.findings[each.name])} finding(s)",
              CLEANING[each.name])
        for each in CATEGORIES
        if found.findings[each.name]
    ]  # fmt: skip


def _decisions(read: Read, found: Audit, listed: list[Proposal], known: Backlog) -> list[Point]:
    """Proposals that nobody has decided on, and those that came back."""
    points = []
    for proposal in listed:
        state = lifecycle.state_of(read, known, proposal, found)
        if state.name in (lifecycle.ACCEPTED, lifecycle.SUPPRESSED):
            continue
        category = "recurrence" if state.name in lifecycle.RECURRED else "proposal_decision"
        action = "harness-cli propose --accept KEY --outcome-manual, or --reject KEY --reason TEXT"
        if state.name == lifecycle.LEGACY:
            action = "harness-cli backlog reconcile --action backfill-lifecycle-identity --dry-run"
        points.append(Point(category, proposal.key, proposal.title, state.name, "-", "-", proposal.evidence, action))
    return points


def _work(read: Read, known: Backlog) -> list[Point]:
    """What is accepted and not done."""
    resolvers = dict(read.all("SELECT backlog_uid, story_id FROM story_backlog_link WHERE relationship = 'resolves'"))
    points = []
    for row in map(lifecycle.speaking, known.by_key.values()):
        if row.status != "accepted":
            continue
        story = resolvers.get(row.uid)
        action = (
            f"harness-cli story complete {story}"
            if story
            else f"harness-cli story backlog link --story ID --backlog {row.id} --relationship resolves"
        )
        evidence = f"resolved by {story}" if story else "-"
        schedule = lifecycle.schedule_of(row)
        points.append(Point("accepted_work", str(row.id), row.title, row.status, schedule, "-", evidence, action))
    return points


def _reviews(read: Read, known: Backlog) -> list[Point]:
    """What is done, and of which nobody has said what it brought; or it brought nothing."""
    last = {
        uid: (status, outcome)
        for uid, status, outcome, _ in read.all(
            "SELECT backlog_uid, status, outcome, max(ordinal) FROM backlog_outcome_observation GROUP BY backlog_uid"
        )
    }
    written = dict(read.all("SELECT uid, actual_outcome FROM backlog WHERE actual_outcome IS NOT NULL AND uid <> ''"))
    moment = read.one("SELECT datetime('now')")[0]
    traces = read.one("SELECT count(*) FROM trace WHERE uid IS NOT NULL")[0]
    points = []
    for row in map(lifecycle.speaking, known.by_key.values()):
        status, outcome = last.get(row.uid, ("", ""))
        if row.status != "implemented" or status == "confirmed" or (not status and row.uid in written):
            continue
        state = status or ("due" if _due(row, moment, traces) else WAITING)
        action = f"harness-cli backlog outcome record --id {row.id} --status confirmed --outcome TEXT"
        if status:
            action = "look at it again when it comes back: harness-cli propose"
        if state == WAITING:
            action = "-"
        schedule = lifecycle.schedule_of(row)
        points.append(Point("outcome_review", str(row.id), row.title, state, schedule, outcome or "-", "-", action))
    return points


def _due(row: Occurrence, moment: str, traces: int) -> bool:
    if row.schedule == "due_at":
        return moment >= (row.due_at or "").replace("T", " ")
    if row.schedule == "trace_count":
        return traces - (row.baseline or 0) >= (row.after_traces or 0)
    return True
