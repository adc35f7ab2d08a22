"""How good a trace is: the tier that it reaches, what is missing for the next, and what its lane asks for."""

from __future__ import annotations

from typing import NamedTuple

from bridoon.ledger.errors import Missing, missing
from bridoon.ledger.store.cells import number, text
from bridoon.ledger.store.db import Read
from bridoon.ledger.vocabulary import unlisted

TIERS = ("incomplete", "minimal", "standard", "detailed")
"""By their number."""
REQUIRED = {"tiny": 1, "normal": 2, "high_risk": 3}
"""The tier that a lane asks for."""
SUMMARY_LEAST = 10
"""Characters."""
NUMBERS = ("id", "intake_id", "duration_seconds", "token_estimate")
"""Columns that are no texts."""
UNMEASURED = ("unavailable", "not available", "unknown")
"""With one of these words the notes may say that a number could not be had."""


class Trace(NamedTuple):
    """A trace as it is stored, and the lane of the work that it tells of."""

    id: int
    created_at: str = ""
    task_summary: str = ""
    intake_id: int | None = None
    story_id: str | None = None
    agent: str | None = None
    actions_taken: str | None = None
    files_read: str | None = None
    files_changed: str | None = None
    decisions_made: str | None = None
    errors: str | None = None
    outcome: str | None = None
    duration_seconds: int | None = None
    token_estimate: int | None = None
    harness_friction: str | None = None
    notes: str | None = None
    intake_lane: str | None = None
    story_lane: str | None = None

    @property
    def lane(self) -> str | None:
        """The lane of the linked intake, else of the story."""
        return self.intake_lane or self.story_lane

    @property
    def lane_source(self) -> str | None:
        """Whose lane it is: `intake`, `story`, or None when there is none."""
        return "intake" if self.intake_lane else "story" if self.story_lane else None


class Quality(NamedTuple):
    """The verdict on a trace."""

    tier: int
    """0 to 3."""
    missing: tuple[str, ...]
    """What the next tier needs; empty at tier 3."""
    required: int | None
    """The tier that the lane asks for; None without a lane."""

    @property
    def meets(self) -> bool:
        """Whether the trace is as good as its lane asks for. Without a lane nothing is asked."""
        return self.required is None or self.tier >= self.required


def find(source: Read, trace_id: int | None) -> Trace:
    """A trace by its id; the latest for None. Raises Missing."""
    own = Trace._fields[: Trace._fields.index("intake_lane")]
    columns = ",".join(f"trace.{name}" for name in own)
    which = "ORDER BY trace.id DESC LIMIT 1" if trace_id is None else "WHERE trace.id=?"
    row = source.one(
        f"SELECT {columns}, intake.risk_lane, story.risk_lane FROM trace "
        "LEFT JOIN intake ON intake.id=trace.intake_id LEFT JOIN story ON story.id=trace.story_id " + which,
        *(() if trace_id is None else (trace_id,)),
    )
    if row is None and trace_id is None:
        raise Missing("there are no traces yet", "harness-cli trace --summary TEXT records one")
    if row is None:
        raise missing("trace", trace_id)
    values = zip(Trace._fields, row, strict=True)
    return Trace._make(number(value) if name in NUMBERS else text(value) for name, value in values)


def wanted() -> dict[int, tuple[str, ...]]:
    """What each tier asks for besides those below it: all that a trace lacks which says nothing."""
    nothing = Trace(0)
    return {1: _for_minimal(nothing), 2: _for_standard(nothing), 3: _for_detailed(nothing)}


def judge(trace: Trace) -> Quality:
    """The tier of a trace. A tier counts only when all below it are complete."""
    required = REQUIRED.get(trace.lane or "")
    for below, lacking in enumerate((_for_minimal(trace), _for_standard(trace), _for_detailed(trace))):
        if lacking:
            return Quality(below, lacking, required)
    return Quality(3, (), required)


def _for_minimal(trace: Trace) -> tuple[str, ...]:
    return _labels(
        (len(_text(trace.task_summary)) >= SUMMARY_LEAST, f"task_summary: fewer than {SUMMARY_LEAST} characters"),
        (_text(trace.outcome), "outcome: null"),
    )


def _for_standard(trace: Trace) -> tuple[str, ...]:
    return _labels(
        (_text(trace.agent), "agent: empty"),
        (unlisted(trace.actions_taken), "actions_taken: empty"),
        (unlisted(trace.files_read), "files_read: empty"),
        (_stated(trace.files_changed), "files_changed: null"),
        (_stated(trace.errors) or _text(trace.harness_friction), "errors or harness_friction: null"),
    )


def _for_detailed(trace: Trace) -> tuple[str, ...]:
    return _labels(
        (unlisted(trace.decisions_made), "decisions_made: empty"),
        (_stated(trace.errors), "errors: null"),
        (_text(trace.harness_friction), "harness_friction: null"),
        (
            trace.duration_seconds is not None or _unmeasured(trace, "duration"),
            "duration_seconds: null (or say in the notes that the duration is unavailable)",
        ),
        (
            trace.token_estimate is not None or _unmeasured(trace, "token"),
            "token_estimate: null (or say in the notes that the token count is unavailable)",
        ),
    )


def _labels(*checks: tuple[object, str]) -> tuple[str, ...]:
    return tuple(label for holds, label in checks if not holds)


def _text(text: str | None) -> str:
    return str(text or "").strip()


def _stated(text: str | None) -> bool:
    """Whether a list says something: an item that is not blank, or `[]`, which says that there were none."""
    return bool(unlisted(text)) or "".join(_text(text).split()) == "[]"


def _unmeasured(trace: Trace, what: str) -> bool:
    notes = _text(trace.notes).lower()
    return what in notes and any(word in notes for word in UNMEASURED)


def block(trace: Trace, quality: Quality, *, latest: bool = False) -> str:
    """The lines that `trace` and `score-trace` print."""
    lines = [
        f"Trace #{trace.id}{' (latest)' if latest else ''}:",
        f"  Tier achieved: {TIERS[quality.tier]} ({quality.tier}/3)",
    ]
    if quality.required is None:
        lines.append("  Lane: unknown (no linked intake)")
    else:
        whose = f" (lane of story {_shown(trace.story_id)})" if trace.lane_source == "story" else ""
        lines.append(f"  Lane: {trace.lane}{whose} -> required tier: {TIERS[quality.required]} ({quality.required}/3)")
        lines.append("  MEETS REQUIREMENT" if quality.meets else "  BELOW REQUIREMENT")
    if quality.missing:
        lines += ["", f"  Missing for {TIERS[quality.tier + 1]}:"]
        lines += [f"    - {label}" for label in quality.missing]
        if quality.tier == 2:
            lines.append("")
    return "\n".join(lines) + "\n"


def facts(trace: Trace, quality: Quality) -> dict[str, object]:
    """The verdict for programs."""
    return {
        "id": trace.id,
        "tier": quality.tier,
        "tier_name": TIERS[quality.tier],
        "lane": trace.lane,
        "lane_source": trace.lane_source,
        "required": quality.required,
        "required_name": None if quality.required is None else TIERS[quality.required],
        "meets": quality.meets,
        "missing_for": TIERS[quality.tier + 1] if quality.missing else None,
        "missing": list(quality.missing),
    }


def _shown(text: str | None) -> str:
    from bridoon.ledger.show.text import one_line

    return one_line(text or "", 60)
