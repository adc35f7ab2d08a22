"""Whether a trace read what its lane and its phase ask for: rules as data, and a score against them.

`table()` renders the rules for the documentation, so that the two cannot differ.
"""

from __future__ import annotations

from typing import NamedTuple

from bridoon.ledger.judge.quality import Trace
from bridoon.ledger.vocabulary import unlisted

ALL = ("tiny", "normal", "high_risk", "unknown")
RISKY = ("normal", "high_risk")
PHASES = ("intake", "planning", "implementation", "trace")
CHANGED = "<changed-files>"
"""Stands for: the trace lists the files that are changed."""


class Rule(NamedTuple):
    """In these phases and lanes, `target` must or should be read, or should not (`skip`)."""

    phases: tuple[str, ...]
    lanes: tuple[str, ...]
    need: str
    label: str
    target: str
    """A path; a directory when it ends in `/`; a command when it holds a blank; or `<changed-files>`."""


class Trigger(NamedTuple):
    """When a changed path begins so, one more thing must be read."""

    prefixes: tuple[str, ...]
    label: str
    target: str


MATRIX = ("Durable matrix", "scripts/bin/harness-cli query matrix")
ARCHITECTURE = ("Architecture rules", "docs/ARCHITECTURE.md")
HIGH_RISK = ("High-risk story template", "docs/templates/high-risk-story/")

RULES = (
    Rule(("intake",), ALL, "must", "Agent entrypoint", "AGENTS.md"),
    Rule(("intake",), ALL, "must", "Feature intake", "docs/FEATURE_INTAKE.md"),
    Rule(("intake",), ALL, "must", *MATRIX),
    Rule(("intake",), (*RISKY, "unknown"), "must", "README", "README.md"),
    Rule(("intake",), (*RISKY, "unknown"), "must", "Harness operating model", "docs/HARNESS.md"),
    Rule(("planning",), ALL, "must", "Files to edit", CHANGED),
    Rule(("planning",), RISKY, "must", "Story template", "docs/templates/story.md"),
    Rule(("planning",), RISKY, "must", "Test matrix", "docs/TEST_MATRIX.md"),
    Rule(("planning",), ("high_risk",), "must", *HIGH_RISK),
    Rule(("planning",), ("high_risk",), "must", "Harness maturity", "docs/HARNESS_MATURITY.md"),
    Rule(("implementation",), ALL, "must", "Files being changed", CHANGED),
    Rule(("implementation",), RISKY, "must", "Relevant story packet", "docs/stories/"),
    Rule(("implementation",), ("high_risk",), "must", *ARCHITECTURE),
    Rule(("implementation",), ("high_risk",), "must", *HIGH_RISK),
    Rule(("implementation",), RISKY, "should", *ARCHITECTURE),
    Rule(("trace",), ALL, "must", "Trace specification", "docs/TRACE_SPEC.md"),
    Rule(("trace",), ALL, "must", "Changed-file list", "git status --short"),
    Rule(("trace",), RISKY, "must", *MATRIX),
    Rule(("trace",), ("tiny", "unknown"), "should", *MATRIX),
    Rule(PHASES, ("tiny",), "skip", *ARCHITECTURE),
)
TRIGGERS = (
    Trigger(("scripts/schema/",), "SQLite durable layer decision", "docs/decisions/0004-sqlite-durable-layer.md"),
    Trigger(
        ("crates/harness-cli/", "scripts/bin/"),
        "Prebuilt CLI decision",
        "docs/decisions/0005-prebuilt-rust-harness-cli.md",
    ),
)
SAME = {
    "git status --short": ("git status -s", "git status --porcelain"),
    "scripts/bin/harness-cli query matrix": ("harness-cli query matrix",),
}
"""Other spellings of a command that show the same."""


class Check(NamedTuple):
    """One thing to read, and whether it was."""

    label: str
    target: str
    met: bool


class Score(NamedTuple):
    """A trace against the rules."""

    lane: str
    phase: str
    must: tuple[Check, ...]
    should: tuple[Check, ...]
    over: tuple[str, ...]
    """Paths that were read and need not have been."""


def phase_of(trace: Trace) -> str:
    """How far the work was: from the outcome, the story with its changed files, and what else was recorded."""
    if trace.outcome == "completed":
        return "trace"
    changed = unlisted(trace.files_changed)
    if trace.story_id and changed:
        return "implementation"
    begun = (
        changed or trace.story_id or trace.outcome or unlisted(trace.actions_taken) or unlisted(trace.decisions_made)
    )
    return "planning" if trace.lane and begun else "intake"


def score(trace: Trace) -> Score:
    """Score a trace."""
    lane, phase = trace.lane or "unknown", phase_of(trace)
    changed = unlisted(trace.files_changed)
    read = unlisted(trace.files_read)
    ran = read + unlisted(trace.actions_taken)

    def check(label: str, target: str) -> Check:
        return Check(label, target, bool(changed) if target == CHANGED else _met(target, read, ran))

    rules = [rule for rule in RULES if phase in rule.phases and lane in rule.lanes]
    must = [check(rule.label, rule.target) for rule in rules if rule.need == "must"]
    touched = [_plain(path) for path in changed]
    triggers = [each for each in TRIGGERS if any(path.startswith(each.prefixes) for path in touched)]
    must += [check(trigger.label, trigger.target) for trigger in triggers]
    should = [check(rule.label, rule.target) for rule in rules if rule.need == "should"]
    skipped = [rule.target for rule in rules if rule.need == "skip"]
    over = tuple(path for path in read if any(_is(path, target) for target in skipped))
    return Score(lane, phase, tuple(must), tuple(should), over)


def _met(target: str, read: list[str], ran: list[str]) -> bool:
    if " " in target:
        return any(_runs(item, command) for command in (target, *SAME.get(target, ())) for item in ran)
    return any(_is(path, target) for path in read)


def _plain(path: str) -> str:
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path


def _is(path: str, target: str) -> bool:
    """Whether a path names the target: itself, or with directories in front of it."""
    whole = "/" + _plain(path)
    if target.endswith("/"):
        return f"/{target}" in whole or whole.endswith("/" + target[:-1])
    return whole.endswith("/" + target)


def _runs(item: str, command: str) -> bool:
    """Whether an entry names a command, as whole words; the program may have directories in front of it."""
    whole = f" {' '.join(item.replace('`', ' ').split())} "
    return f" {command} " in whole or f"/{command} " in whole


def report(trace: Trace, found: Score) -> str:
    """The lines that `score-context` prints."""
    from bridoon.ledger.show.text import one_line

    lines = [f"Trace #{trace.id} | Lane: {found.lane} | Phase: {found.phase}", ""]
    for name, checks in (("Must", found.must), ("Should", found.should)):
        lines.append(f"{name}-read compliance: {sum(check.met for check in checks)}/{len(checks)}")
        lines += [f"  {'OK' if check.met else 'MISSING'} {check.label} ({check.target})" for check in checks]
    lines.append(f"Over-reading: {len(found.over)} item(s)")
    lines += [f"  - {one_line(path)}" for path in found.over]
    return "\n".join(lines) + "\n"


def facts(trace: Trace, found: Score) -> dict[str, object]:
    """The score for programs."""
    return {
        "id": trace.id,
        "lane": found.lane,
        "phase": found.phase,
        "must": [check._asdict() for check in found.must],
        "must_met": sum(check.met for check in found.must),
        "should": [check._asdict() for check in found.should],
        "should_met": sum(check.met for check in found.should),
        "over_reading": list(found.over),
    }


def table() -> str:
    """The rules as a Markdown table."""
    lines = ["| phase | lane | reading | what | target |", "| --- | --- | --- | --- | --- |"]
    for rule in RULES:
        phases = "any" if rule.phases == PHASES else ", ".join(rule.phases)
        lanes = "any" if rule.lanes == ALL else ", ".join(lane.replace("_", "-") for lane in rule.lanes)
        lines.append(f"| {phases} | {lanes} | {rule.need} | {rule.label} | `{rule.target}` |")
    for trigger in TRIGGERS:
        when = " or ".join(f"`{prefix}`" for prefix in trigger.prefixes)
        lines.append(f"| any, when {when} is changed | any | must | {trigger.label} | `{trigger.target}` |")
    return "\n".join(lines) + "\n"
