"""The tier of a trace: what each one asks for, and what does not count."""

from __future__ import annotations

from typing import Any

import pytest

from bridoon.ledger.judge.quality import Trace, block, judge

MINIMAL: dict[str, Any] = {"task_summary": "ten letters", "outcome": "completed"}
STANDARD: dict[str, Any] = {
    **MINIMAL,
    "agent": "me",
    "actions_taken": '["edit"]',
    "files_read": '["a"]',
    "files_changed": "[]",
    "errors": "[]",
}
DETAILED: dict[str, Any] = {
    **STANDARD,
    "decisions_made": '["d"]',
    "harness_friction": "none",
    "duration_seconds": 0,
    "token_estimate": 0,
}


def _judged(*sets: dict[str, Any], **more: Any) -> tuple[int, tuple[str, ...]]:
    fields: dict[str, Any] = {}
    for each in (*sets, more):
        fields |= each
    found = judge(Trace(1, **fields))
    return found.tier, found.missing


@pytest.mark.parametrize(("fields", "tier"), [({}, 0), (MINIMAL, 1), (STANDARD, 2), (DETAILED, 3)])
def test_a_tier_is_reached_when_all_that_it_asks_for_is_there(fields: dict[str, Any], tier: int) -> None:
    assert _judged(fields)[0] == tier


@pytest.mark.parametrize(
    ("complete", "change", "tier", "label"),
    [
        (MINIMAL, {"task_summary": "  nine char "}, 0, "task_summary: fewer than 10 characters"),
        (MINIMAL, {"task_summary": "ééééééééé"}, 0, "task_summary: fewer than 10 characters"),
        (MINIMAL, {"outcome": None}, 0, "outcome: null"),
        (STANDARD, {"agent": " "}, 1, "agent: empty"),
        (STANDARD, {"actions_taken": None}, 1, "actions_taken: empty"),
        (STANDARD, {"actions_taken": '[""]'}, 1, "actions_taken: empty"),
        (STANDARD, {"actions_taken": "[ ]"}, 1, "actions_taken: empty"),
        (STANDARD, {"files_read": '[" ",""]'}, 1, "files_read: empty"),
        (STANDARD, {"files_changed": None}, 1, "files_changed: null"),
        (STANDARD, {"files_changed": '[""]'}, 1, "files_changed: null"),
        (STANDARD, {"errors": None}, 1, "errors or harness_friction: null"),
        (STANDARD, {"errors": '[""]', "harness_friction": " \n"}, 1, "errors or harness_friction: null"),
        (DETAILED, {"decisions_made": "[]"}, 2, "decisions_made: empty"),
        (DETAILED, {"errors": None}, 2, "errors: null"),
        (DETAILED, {"harness_friction": None}, 2, "harness_friction: null"),
        (DETAILED, {"duration_seconds": None}, 2, "duration_seconds: null"),
        (DETAILED, {"token_estimate": None, "notes": "duration unknown"}, 2, "token_estimate: null"),
    ],
)
def test_what_is_missing_is_named_and_keeps_the_tier_below(
    complete: dict[str, Any], change: dict[str, Any], tier: int, label: str
) -> None:
    found, missing = _judged(complete, change)
    assert (found, len(missing)) == (tier, 1)
    assert missing[0].startswith(label)


@pytest.mark.parametrize("word", ["unavailable", "not available", "UNKNOWN"])
def test_notes_may_say_that_a_number_could_not_be_had(word: str) -> None:
    notes = f"Duration and tokens: {word}."
    assert _judged(DETAILED, duration_seconds=None, token_estimate=None, notes=notes) == (3, ())


def test_friction_stands_in_for_errors_only_at_the_standard_tier() -> None:
    assert _judged(STANDARD, errors=None, harness_friction="slow")[0] == 2


def test_only_the_first_incomplete_tier_says_what_is_missing() -> None:
    assert _judged({}, agent=None)[1] == ("task_summary: fewer than 10 characters", "outcome: null")


@pytest.mark.parametrize(("lane", "least"), [("tiny", MINIMAL), ("normal", STANDARD), ("high_risk", DETAILED)])
@pytest.mark.parametrize("source", ["intake_lane", "story_lane"])
def test_each_lane_asks_for_its_tier_whether_by_intake_or_by_story(
    lane: str, least: dict[str, Any], source: str
) -> None:
    found = judge(Trace(1, **least, **{source: lane}))
    assert found.meets
    assert found.required == found.tier


def test_the_lane_of_the_intake_counts_before_that_of_the_story() -> None:
    trace = Trace(1, intake_lane="tiny", story_lane="high_risk")
    assert (trace.lane, trace.lane_source) == ("tiny", "intake")


def test_without_a_lane_nothing_is_asked() -> None:
    trace = Trace(1, task_summary="x")
    assert judge(trace).meets
    assert "  Lane: unknown (no linked intake)\n" in block(trace, judge(trace))


def test_the_block_of_a_detailed_list_ends_with_a_blank_line() -> None:
    trace = Trace(7, **{**DETAILED, "errors": None}, intake_lane="high_risk")
    assert block(trace, judge(trace), latest=True) == (
        "Trace #7 (latest):\n"
        "  Tier achieved: standard (2/3)\n"
        "  Lane: high_risk -> required tier: detailed (3/3)\n"
        "  BELOW REQUIREMENT\n"
        "\n"
        "  Missing for detailed:\n"
        "    - errors: null\n"
        "\n"
    )


def test_the_lane_line_says_when_the_lane_is_that_of_the_story() -> None:
    trace = Trace(7, **STANDARD, story_id="US-1\x1b[2J", story_lane="normal")
    assert block(trace, judge(trace)).splitlines()[1:4] == [
        "  Tier achieved: standard (2/3)",
        "  Lane: normal (lane of story US-1\\x1b[2J) -> required tier: standard (2/3)",
        "  MEETS REQUIREMENT",
    ]
