"""The commands for traces and for what is concluded from them."""

from __future__ import annotations

from bridoon.ledger.cmdline.command import Command, Option
from bridoon.ledger.cmdline.options import ADDED, JSON, LIST_NOTE

COMMANDS = (
    Command(
        "trace", "Record an agent execution trace and print trace quality.", "Observability", "trace:add",
        (
            Option("--summary", "what was done", "TEXT", required=True),
            Option("--intake", "the intake that it was done for", "NUMBER", type="integer"),
            Option("--story", "the story that it was done for", "ID"),
            Option("--agent", "who did it", "NAME"),
            Option("--outcome", "how it ended", "completed|blocked|partial|failed", type="enum"),
            Option("--duration", "how long it took", "SECONDS", type="integer"),
            Option("--tokens", "how many tokens it took", "N", type="integer"),
            Option("--friction", "what was in the way", "TEXT"),
            Option("--actions", f"what was done, step by step: {LIST_NOTE}", "LIST", type="list"),
            Option("--read", f"files that were read: {LIST_NOTE}", "LIST", type="list"),
            Option("--changed", f"files that were changed: {LIST_NOTE}", "LIST", type="list"),
            Option("--decisions", f"what was decided: {LIST_NOTE}", "LIST", type="list"),
            Option("--errors", f"what went wrong: {LIST_NOTE}", "LIST", type="list"),
            Option("--notes", "anything else", "TEXT"),
            JSON,
        ),
        shape="{id, tier, tier_name, lane, lane_source, required, required_name, meets, missing_for, missing, "
        "uid, unproven_story_command}",
    ),
    Command(
        "score-trace", "Score trace detail against lane requirements.", "Observability", "score:trace",
        (Option("--id", "the trace (the latest)", "NUMBER", type="integer"), JSON), since="0.1.4",
        more="Exit code 1 when the trace is below what its lane requires.",
        shape="{id, tier, tier_name, lane, lane_source, required, required_name, meets, missing_for, "
        "missing}",
    ),
    Command(
        "score-context", "Score trace reads against compiled context rules.", "Context selection", "score:context",
        (JSON,), (Option("trace-id", "the trace", "NUMBER", required=True, type="integer"),), since="0.1.8",
        shape="{id, lane, phase, must: [{label, target, met}], must_met, should: [{label, target, met}], "
        "should_met, over_reading}",
    ),
    Command(
        "audit", "Run drift checks and compute entropy score.", "Entropy auditing", "audit:audit",
        (Option("--record-evidence", "keep what is found, so that proposals can be decided on", type="flag"), JSON),
        since="0.1.8",
        shape="{entropy, band: perfect|healthy|attention|action, categories: [{name, label, weight, count, "
        "findings: [{id, title}]}]}; with --record-evidence also {evidence: {opened, cleared, active}}",
    ),
    Command(
        "propose", "Generate improvement proposals from friction, interventions, and audit findings.",
        "Entropy auditing", "propose:propose",
        (
            Option("--commit", "put every proposal into the backlog that is not there", type="flag"),
            Option("--show-suppressed", "show what has been dealt with, too", type="flag"),
            Option("--accept", "accept a proposal; of the hash in its key the first 8 characters will do", "KEY"),
            Option("--reject", "reject a proposal, named likewise", "KEY"),
            Option("--reason", "why it is rejected", "TEXT"),
            Option("--outcome-manual", "its outcome is looked at when somebody does", type="flag"),
            Option("--outcome-due", "its outcome is looked at from this time on", "RFC3339"),
            Option("--outcome-after-traces", "its outcome is looked at after so many traces", "N", type="integer"),
            JSON,
        ),
        since="0.1.8",
        together=(
            ("--commit", "--accept", "--reject"), ("--outcome-manual", "--outcome-due", "--outcome-after-traces"),
        ),
        more="--accept needs one of --outcome-manual, --outcome-due and --outcome-after-traces; --reject needs "
        "--reason.",
        shape="{proposals: [{source: friction|intervention|audit, title, component, confidence, evidence, "
        "predicted_impact, risk, suggested_action, validation, key, pattern, count, lifecycle, lifecycle_detail, "
        "backlog_item, created}], suppressed}; with --accept or --reject {key, "
        "status: accepted|rejected, item, changed}",
    ),
    Command(
        "query improvement-health", "Show what is open between a proposal and its outcome.", "Entropy auditing",
        "health:health", (JSON,), since=ADDED,
        shape="{entropy, actionable, points: [{category, id, title, state, schedule, outcome, evidence, "
        "next_action}]}",
    ),
)  # fmt: skip
