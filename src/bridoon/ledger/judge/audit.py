"""Drift: what the ledger says should be looked after, counted and weighed into one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridoon.ledger.store.cells import word
from bridoon.ledger.store.schema import UIDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridoon.ledger.store.db import Read

STALE_DAYS = 30
WORST = 100
BANDS = ((0, "perfect"), (25, "healthy"), (50, "attention"), (WORST, "action"))
"""Up to which entropy it is called so."""


class Category(NamedTuple):
    """One kind of drift."""

    name: str
    label: str
    weight: int
    phrase: str
    """What is cleaned up, in the title of a proposal."""


CATEGORIES = (
    Category(
        "orphaned_stories",
        "Orphaned stories (planned/in-progress, no traces)",
        10,
        "orphaned planned or in-progress stories",
    ),
    Category("unverified_stories", "Unverified stories", 5, "unverified story commands"),
    Category("unverified_decisions", "Unverified decisions", 5, "unverified decision commands"),
    Category("missing_outcomes", "Open backlog without outcomes", 2, "implemented backlog items without outcomes"),
    Category("stale_stories", "Stale stories", 3, "stale unfinished stories"),
    Category("broken_tools", "Broken tools", 8, "broken registered tools"),
)

ORPHANED = """
SELECT id, title FROM story
WHERE status IN ('planned', 'in_progress') AND id NOT IN (SELECT story_id FROM trace WHERE story_id IS NOT NULL)
ORDER BY id"""
UNVERIFIED = """
SELECT id, title, verify_command FROM story
WHERE verify_command IS NOT NULL AND status <> 'retired' AND last_verified_result IS NOT 'pass' ORDER BY id"""
UNVERIFIED_DECISIONS = """
SELECT id, title, verify_command FROM decision
WHERE verify_command IS NOT NULL AND last_verified_result IS NOT 'pass' ORDER BY id"""
OUTCOMES = """
SELECT id, title FROM backlog
WHERE status = 'implemented' AND predicted_impact IS NOT NULL AND actual_outcome IS NULL {observed} ORDER BY id"""
OBSERVED = """
AND (proposal_key IS NULL OR coalesce(uid, '') NOT IN (SELECT backlog_uid FROM backlog_outcome_observation))"""
STALE = """
SELECT story.id, story.title
FROM (SELECT story_id, max(created_at) AS newest FROM trace WHERE story_id IS NOT NULL GROUP BY story_id) AS latest
JOIN story ON story.id = latest.story_id
WHERE story.status NOT IN ('implemented', 'retired') AND julianday('now') - julianday(latest.newest) > ?
ORDER BY story.id"""
TOOLS = "SELECT name, command, kind, status FROM tool ORDER BY name"


class Finding(NamedTuple):
    """One thing that drifted."""

    id: str
    title: str


class Audit(NamedTuple):
    """All that drifted, by the name of its category."""

    findings: dict[str, list[Finding]]

    @property
    def entropy(self) -> int:
        """0 (perfect) to 100."""
        return min(WORST, sum(each.weight * len(self.findings[each.name]) for each in CATEGORIES))

    @property
    def band(self) -> str:
        """What that number is called."""
        return next(name for most, name in BANDS if self.entropy <= most)


def audit(source: Read, runnable: Callable[[str], bool]) -> Audit:
    """Look for drift. `runnable` tells whether the command of a `cli` or `binary` can be run now."""
    observed = OBSERVED if source.schema >= UIDS else ""
    return Audit(
        {
            "orphaned_stories": _found(source.all(ORPHANED)),
            "unverified_stories": _unverified(source.all(UNVERIFIED)),
            "unverified_decisions": _unverified(source.all(UNVERIFIED_DECISIONS)),
            "missing_outcomes": _found(source.all(OUTCOMES.format(observed=observed))),
            "stale_stories": _found(source.all(STALE, STALE_DAYS)),
            "broken_tools": _broken(source, runnable),
        }
    )


def _found(rows: list[tuple[object, object]]) -> list[Finding]:
    return [Finding(word(name), word(title)) for name, title in rows]


def _unverified(rows: list[tuple[object, object, object]]) -> list[Finding]:
    """Those with a command. A blank one is none, as for `story verify`: SQLite's trim knows only the space."""
    return _found([(name, title) for name, title, command in rows if str(command).strip()])


def _broken(source: Read, runnable: Callable[[str], bool]) -> list[Finding]:
    """Tools that cannot be run, or were missing when they were last looked for. Unknown is not broken."""
    known: dict[str, bool] = {}
    broken = []
    for row in source.all(TOOLS):
        name, command, kind, status = map(word, row)
        if kind not in ("cli", "binary"):
            wrong = status == "missing"
        else:
            if command not in known:
                known[command] = runnable(command)
            wrong = not known[command]
        if wrong:
            broken.append(Finding(name, command))
    return broken


def report(found: Audit) -> str:
    """The lines that `audit` prints."""
    from bridoon.ledger.show.text import one_line

    lines = ["=== Harness Audit ==="]
    for category in CATEGORIES:
        findings = found.findings[category.name]
        lines += ["", f"{category.label}: {len(findings)}"]
        lines += [f"  - {one_line(each.id)}: {one_line(each.title)}" for each in findings]
    lines += ["", f"Entropy score: {found.entropy}/{WORST} (lower is better)"]
    return "\n".join(lines) + "\n"


def facts(found: Audit) -> dict[str, object]:
    """The audit for programs."""
    return {
        "entropy": found.entropy,
        "band": found.band,
        "categories": [
            {
                "name": category.name,
                "label": category.label,
                "weight": category.weight,
                "count": len(found.findings[category.name]),
                "findings": [each._asdict() for each in found.findings[category.name]],
            }
            for category in CATEGORIES
        ],
    }
