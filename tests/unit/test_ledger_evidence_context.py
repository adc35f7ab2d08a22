"""Which reading a trace is asked for, and what counts as having read it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridoon.ledger.judge.context import RULES, TRIGGERS, phase_of, report, score, table
from bridoon.ledger.judge.quality import Trace


def _trace(lane: str | None = None, *, read: tuple[str, ...] = (), changed: tuple[str, ...] = (), **more: Any) -> Trace:
    return Trace(
        1,
        intake_lane=lane,
        files_read=json.dumps(read) if read else None,
        files_changed=json.dumps(changed) if changed else None,
        **more,
    )


@pytest.mark.parametrize(
    ("trace", "phase"),
    [
        (_trace(outcome="completed"), "trace"),
        (_trace("tiny", outcome="completed", story_id="US-1", changed=("a",)), "trace"),
        (_trace(story_id="US-1", changed=("a",)), "implementation"),
        (_trace("normal", story_id="US-1", outcome="failed"), "planning"),
        (_trace("normal", actions_taken='["look"]'), "planning"),
        (Trace(1, intake_lane="normal", story_id="US-1", files_changed="[]"), "planning"),
        (_trace("normal"), "intake"),
        (_trace("normal", read=("AGENTS.md",), actions_taken='[""]'), "intake"),
        (_trace(outcome="blocked", actions_taken='["look"]'), "intake"),
    ],
)
def test_the_phase_is_seen_from_what_was_recorded(trace: Trace, phase: str) -> None:
    assert phase_of(trace) == phase


@pytest.mark.parametrize(
    ("phase", "lane", "must", "should"),
    [
        ("intake", None, 5, 0),
        ("intake", "tiny", 3, 0),
        ("intake", "normal", 5, 0),
        ("intake", "high_risk", 5, 0),
        ("planning", "tiny", 1, 0),
        ("planning", "normal", 3, 0),
        ("planning", "high_risk", 5, 0),
        ("implementation", None, 1, 0),
        ("implementation", "tiny", 1, 0),
        ("implementation", "normal", 2, 1),
        ("implementation", "high_risk", 4, 1),
        ("trace", None, 2, 1),
        ("trace", "tiny", 2, 1),
        ("trace", "normal", 3, 0),
        ("trace", "high_risk", 3, 0),
    ],
)
def test_each_phase_and_lane_has_its_rules(phase: str, lane: str | None, must: int, should: int) -> None:
    begun: dict[str, dict[str, Any]] = {
        "intake": {},
        "planning": {"actions_taken": '["look"]'},
        "implementation": {"story_id": "US-1", "changed": ("src/a.py",)},
        "trace": {"outcome": "completed"},
    }
    found = score(_trace(lane, **begun[phase]))
    assert (found.phase, len(found.must), len(found.should)) == (phase, must, should)


@pytest.mark.parametrize(
    ("read", "met"),
    [
        ("AGENTS.md", True),
        ("./AGENTS.md", True),
        ("/home/me/repo/AGENTS.md", True),
        ("x/AGENTS.md.bak", False),
        ("MY-AGENTS.md", False),
        ("AGENTS.md, README.md", False),
    ],
)
def test_a_path_counts_when_it_is_the_target_or_ends_with_it_after_a_slash(read: str, met: bool) -> None:
    found = score(_trace("normal", read=(read,)))
    assert next(check.met for check in found.must if check.target == "AGENTS.md") is met


@pytest.mark.parametrize(
    ("read", "met"),
    [
        ("docs/stories/US-1.md", True),
        ("/r/docs/stories/US-1.md", True),
        ("docs/stories", True),
        ("docs/stories2/x", False),
    ],
)
def test_a_directory_counts_when_something_in_it_was_read(read: str, met: bool) -> None:
    found = score(_trace("normal", read=(read,), changed=("a",), story_id="US-1"))
    assert next(check.met for check in found.must if check.target == "docs/stories/") is met


def test_a_comma_in_a_path_does_not_split_it() -> None:
    assert not score(_trace("normal", read=("notes,AGENTS.md",))).must[0].met


@pytest.mark.parametrize(
    ("entry", "met"),
    [
        ("git status --short", True),
        ("ran `git status --short` and committed", True),
        ("git status -s", True),
        ("git status --shorter", False),
    ],
)
@pytest.mark.parametrize("field", ["files_read", "actions_taken"])
def test_a_command_counts_among_actions_and_among_what_was_read(entry: str, met: bool, field: str) -> None:
    found = score(Trace(1, outcome="completed", **{field: json.dumps([entry])}))
    assert next(check.met for check in found.must if check.target == "git status --short") is met


def test_the_matrix_counts_wherever_the_program_lies() -> None:
    found = score(
        _trace("normal", outcome="completed", actions_taken='["/opt/bin/harness-cli query matrix --numeric"]')
    )
    assert next(check.met for check in found.must if check.label == "Durable matrix")


@pytest.mark.parametrize(
    "more", [{}, {"actions_taken": '["a"]'}, {"story_id": "U", "changed": ("a",)}, {"outcome": "completed"}]
)
def test_tiny_work_that_reads_the_architecture_reads_too_much_in_every_phase(more: dict[str, Any]) -> None:
    trace = _trace("tiny", read=("docs/ARCHITECTURE.md", "README.md"), **more)
    assert score(trace).over == ("docs/ARCHITECTURE.md",)
    assert "Over-reading: 1 item(s)\n  - docs/ARCHITECTURE.md\n" in report(trace, score(trace))
    assert score(trace._replace(intake_lane="normal")).over == ()


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("scripts/schema/001.sql", "SQLite durable layer decision"),
        ("./scripts/bin/harness-cli", "Prebuilt CLI decision"),
        ("crates/harness-cli/src/main.rs", "Prebuilt CLI decision"),
    ],
)
def test_some_changes_ask_for_one_more_document(path: str, label: str) -> None:
    assert label in [check.label for check in score(_trace(changed=(path, path))).must]


def test_the_report_has_its_format() -> None:
    trace = _trace("normal", read=("docs/stories/US-1.md", "x\ny"), changed=("a",), story_id="US-1")
    assert report(trace, score(trace)) == (
        "Trace #1 | Lane: normal | Phase: implementation\n"
        "\n"
        "Must-read compliance: 2/2\n"
        "  OK Files being changed (<changed-files>)\n"
        "  OK Relevant story packet (docs/stories/)\n"
        "Should-read compliance: 0/1\n"
        "  MISSING Architecture rules (docs/ARCHITECTURE.md)\n"
        "Over-reading: 0 item(s)\n"
    )


def test_the_table_of_the_documentation_has_a_row_for_each_rule() -> None:
    lines = table().splitlines()
    assert len(lines) == 2 + len(RULES) + len(TRIGGERS)
    assert "| planning | normal, high-risk | must | Story template | `docs/templates/story.md` |" in lines
