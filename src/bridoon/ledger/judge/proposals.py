"""What could be improved, concluded from friction, interventions and drift that come back."""

from __future__ import annotations

from typing import NamedTuple

from bridoon.ledger.judge.audit import CATEGORIES, Audit
from bridoon.ledger.judge.grouping import THRESHOLD, Group, groups, key_of, short, token_of
from bridoon.ledger.store.cells import word
from bridoon.ledger.store.db import Read
from bridoon.ledger.store.schema import UIDS

ORIGIN = "harness-cli propose"
"""What the backlog says a proposal was discovered while doing."""
SURE = 3
"""How often something must come back for a proposal of high confidence."""
PATTERN_MOST = 500
"""Characters of a pattern in the evidence; programs get all of it beside."""
FRICTION, INTERVENTION, AUDIT = "friction", "intervention", "audit"
COMPONENTS = {FRICTION: "Failure attribution", INTERVENTION: "Intervention recording", AUDIT: "Entropy auditing"}
TITLES = {FRICTION: "Reduce repeated friction: ", INTERVENTION: "Address repeated intervention: ", AUDIT: "Clean up "}


class Member(NamedTuple):
    """A trace or an intervention that a proposal rests on."""

    kind: str
    """`trace` or `intervention`."""
    id: int
    text: str
    observed_at: str
    uid: str | None


class Proposal(NamedTuple):
    """One proposal, in words."""

    source: str
    """`friction`, `intervention` or `audit`."""
    title: str
    component: str
    confidence: str
    """`high`, `medium` or `low`."""
    evidence: str
    predicted_impact: str
    risk: str
    suggested_action: str
    validation: str
    key: str
    """Its identity, independent of spelling and of what is cut from the title."""
    pattern: str
    """What comes back, as it was first spelt; for drift the name of the category."""
    times: int
    """How often; for drift the number of findings."""
    members: tuple[Member, ...] = ()

    @property
    def title_key(self) -> str:
        """The identity that a program gives it that knows only the title."""
        return key_of(self.component, self.title)

    @property
    def brief(self) -> str:
        """The pattern on one line, cut."""
        return _brief(self.pattern)

    def backlog(self) -> dict[str, object]:
        """The payload of its backlog row."""
        return {
            "title": self.title,
            "discovered_while": ORIGIN,
            "current_pain": self.evidence,
            "suggested_improvement": self.suggested_action,
            "risk": self.risk,
            "predicted_impact": self.predicted_impact,
            "notes": f"component: {self.component}; confidence: {self.confidence}; validation: {self.validation}",
        }


def proposals(source: Read, found: Audit) -> list[Proposal]:
    """All proposals: from friction, from interventions, from drift, each in the order of their first appearance."""
    return [
        *(_friction(group) for group in groups(frictions(source)) if len(group.members) >= THRESHOLD),
        *(_intervention(group) for group in groups(interventions(source)) if len(group.members) >= THRESHOLD),
        *(
            _drift(category.name, category.phrase, [each.id for each in found.findings[category.name]])
            for category in CATEGORIES
            if found.findings[category.name]
        ),
    ]


def frictions(source: Read) -> list[tuple[str, Member]]:
    """Every friction that somebody noted, with its trace."""
    uid = "uid" if source.schema >= UIDS else "NULL"
    rows = source.all(
        f"SELECT id, harness_friction, created_at, {uid} FROM trace WHERE harness_friction IS NOT NULL ORDER BY id"
    )
    return [
        (text, Member("trace", number, text, word(at), word(own) or None))
        for number, text, at, own in rows
        if isinstance(text, str) and text.strip() and text.strip().lower() != "none"
    ]


def interventions(source: Read) -> list[tuple[str, Member]]:
    """Every intervention that says what it was, with its row."""
    uid = "uid" if source.schema >= UIDS else "NULL"
    rows = source.all(f"SELECT id, type, description, created_at, {uid} FROM intervention ORDER BY id")
    return [
        (f"{word(kind)}: {text}", Member("intervention", number, f"{word(kind)}: {text}", word(at), word(own) or None))
        for number, kind, text, at, own in rows
        if isinstance(text, str) and text.strip()
    ]


def finding_key(category: str, name: str) -> str:
    """The identity of a finding of the audit."""
    return f"audit.finding:v1:{category}:{name}"


def _brief(pattern: str) -> str:
    whole = " ".join(pattern[: 4 * PATTERN_MOST].split())
    return whole if len(whole) <= PATTERN_MOST else whole[: PATTERN_MOST - 3] + "..."


def _friction(group: Group) -> Proposal:
    return _repeated(
        FRICTION,
        group,
        group.token.replace("_", " "),
        "traces report",
        "Fewer traces report this friction.",
        "Find what causes it, and remove the cause or write down the way around it where the work begins.",
        "No new trace reports it in the next runs that do such work.",
    )


def _intervention(group: Group) -> Proposal:
    kind, _, description = group.text.partition(": ")
    return _repeated(
        INTERVENTION,
        group,
        f"{kind}: {token_of(description).replace('_', ' ')}",
        "interventions say",
        "Nobody has to step in for this reason again.",
        "Turn what people keep saying into an instruction, a check or a gate that comes before them.",
        "No new intervention says it in the next runs that do such work.",
    )


def _repeated(source: str, group: Group, words: str, verb: str, impact: str, action: str, validation: str) -> Proposal:
    """A proposal about what comes back; `words` are those of its key."""
    count, component = len(group.members), COMPONENTS[source]
    return Proposal(
        source,
        TITLES[source] + short(group.text),
        component,
        "high" if count >= SURE else "medium",
        f"{count} {verb}: {_brief(group.text)}",
        impact,
        "normal",
        action,
        validation,
        key_of(component, TITLES[source] + words),
        group.text,
        count,
        tuple(group.members),
    )


def _drift(category: str, phrase: str, names: list[str]) -> Proposal:
    some = ", ".join(_brief(name)[:60] for name in names[:5]) + (", ..." if len(names) > 5 else "")
    title = TITLES[AUDIT] + phrase
    return Proposal(
        AUDIT,
        title,
        COMPONENTS[AUDIT],
        "low",
        f"{len(names)} in the audit: {some}",
        "The entropy score goes down.",
        "tiny",
        "Go through the findings of harness-cli audit and bring each one up to date, or retire it.",
        "harness-cli audit counts none of them any more.",
        key_of(COMPONENTS[AUDIT], title),
        category,
        len(names),
    )
