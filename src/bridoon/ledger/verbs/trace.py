"""`trace`: what was done, and how well it is told."""

from __future__ import annotations

from typing import Any

from bridoon.ledger import vocabulary
from bridoon.ledger.cmdline.command import Answer, Given
from bridoon.ledger.judge import quality
from bridoon.ledger.ledger import Ledger
from bridoon.ledger.store.cells import word
from bridoon.ledger.store.op import Op
from bridoon.ledger.store.write import Write

LISTS = {
    "actions_taken": "--actions",
    "files_read": "--read",
    "files_changed": "--changed",
    "decisions_made": "--decisions",
    "errors": "--errors",
}
TEXTS = {
    "story_id": "--story",
    "agent": "--agent",
    "outcome": "--outcome",
    "harness_friction": "--friction",
    "notes": "--notes",
}
REMINDER = "When a person corrects or overrides this work, record it: harness-cli intervention add"


def add(ledger: Ledger, given: Given) -> Answer:
    """Record a trace and tell how good it is. Always exit 0 once it is stored."""
    payload: dict[str, Any] = {"task_summary": given.text("--summary")}
    payload |= {field: given.get(option) for field, option in TEXTS.items()}
    if payload["outcome"] is not None:
        vocabulary.one_of(given.text("--outcome"), vocabulary.OUTCOMES, "trace: --outcome cannot be")
    payload |= {field: vocabulary.listed(given.get(option), f"trace: {option}") for field, option in LISTS.items()}
    payload["intake_id"] = vocabulary.integer(given.get("--intake"), "trace: --intake")
    payload["duration_seconds"] = vocabulary.integer(given.get("--duration"), "trace: --duration")
    payload["token_estimate"] = vocabulary.integer(given.get("--tokens"), "trace: --tokens")
    with ledger.writing() as write:
        if payload["intake_id"] is not None:
            payload["intake_uid"] = write.uid_of("intake", payload["intake_id"], "intake") or None
        row = write.do(Op("trace.add", payload))
        trace = quality.find(write, row)
        uid = write.uid_of("trace", row, "trace") or None
        verify = _unproven(write, trace.story_id)
    verdict = quality.judge(trace)
    text = f"Trace #{row} recorded.\n{quality.block(trace, verdict)}{REMINDER}\n"
    if verify:
        text += _warning(str(trace.story_id), verify)
    return Answer(text, {**quality.facts(trace, verdict), "uid": uid, "unproven_story_command": verify or None})


def _unproven(write: Write, story: str | None) -> str:
    """The verify command of a story that has not passed; empty when there is none."""
    row = write.one("SELECT verify_command, last_verified_result FROM story WHERE id=?", story)
    return word(row[0]).strip() if row and row[1] != "pass" else ""


def _warning(story: str, command: str) -> str:
    from bridoon.ledger.show.text import one_line

    return (
        f"\nWarning: story {one_line(story, 60)} has a verify command that has not passed.\n"
        f"  Run: harness-cli story verify {one_line(story, 60)}   ({one_line(command, 200)})\n"
    )
