"""The commands for the backlog, tools and interventions."""

from __future__ import annotations

from bridoon.ledger.cmdline.command import Command, Option
from bridoon.ledger.cmdline.options import ADDED, JSON, LANES

ITEM = Option("--id", "the backlog item", "NUMBER", required=True, type="integer")
TOOL = Option("--name", "its name", "NAME", required=True)

COMMANDS = (
    Command(
        "backlog add", "Record a harness improvement proposal.", "Entropy auditing", "backlog:add",
        (
            Option("--title", "what is proposed", "TEXT", required=True),
            Option("--while", "what was being done when it came up", "TEXT"),
            Option("--pain", "what hurts", "TEXT"),
            Option("--suggestion", "what would help", "TEXT"),
            Option("--risk", "how risky it is", LANES, type="enum"),
            Option("--predicted", "what is expected of it", "TEXT"),
            Option("--notes", "anything else", "TEXT"),
            JSON,
        ),
        shape="{id, status}",
    ),
    Command(
        "backlog close", "Close a backlog item with outcome evidence.", "Entropy auditing", "backlog:close",
        (
            ITEM,
            Option("--status", "how it ends (implemented)", "proposed|accepted|implemented|rejected", type="enum",
                   default="implemented"),
            Option("--outcome", "what came of it", "TEXT"),
            JSON,
        ),
        shape="{id, status}",
    ),
    Command(
        "tool register", "Register an external project tool.", "Tool access", "tool:register",
        (
            TOOL,
            Option("--command", "how it is called", "COMMAND", required=True),
            Option("--description", "what it does, in 10 to 200 characters", "TEXT", required=True),
            Option("--responsibility", "which of the eleven responsibilities it serves", "NAME", required=True),
            Option("--kind", "how it is reached and probed (cli)", "cli|binary|mcp|skill|http", type="enum",
                   default="cli"),
            Option("--capability", "the purpose that a step looks it up by", "NAME"),
            Option("--scan", "the path or URL that tells whether it is there", "TARGET"),
            Option("--args", "its arguments: name:type:required|optional[:help], between commas", "SPEC"),
            Option("--force", "register it although its command is not there", type="flag"),
            JSON,
        ),
        since="0.1.8",
        shape="{name, kind, capability, status}",
    ),
    Command(
        "tool check", "Scan registered tools and persist present/missing/unknown status.", "Tool access", "tool:check",
        (
            Option("--name", "scan this one only", "NAME"),
            Option("--strict", "exit with 1 when one of them is not present", type="flag"),
            Option("--json", "answer with a JSON list", type="flag"),
        ),
        since="0.1.8", shape="no envelope: [{name, kind, capability, status: present|missing|unknown, detail}]",
        more="What it finds never changes its exit code unless --strict is given.",
    ),
    Command(
        "tool remove", "Remove a registered external tool.", "Tool access", "tool:remove", (TOOL, JSON),
        since="0.1.8", shape="{name}",
    ),
    Command(
        "intervention add", "Record a human, reviewer, CI, or agent intervention.", "Intervention recording",
        "intervention:add",
        (
            Option("--type", "what it was", "correction|override|escalation|approval", required=True, type="enum"),
            Option("--description", "what was said or done", "TEXT", required=True),
            Option("--source", "who intervened", "human|reviewer|ci|agent", required=True, type="enum"),
            Option("--trace", "the trace that it is about", "NUMBER", type="integer"),
            Option("--story", "the story that it is about", "ID"),
            Option("--impact", "what it changed", "TEXT"),
            JSON,
        ),
        since="0.1.8", shape="{id}",
    ),
    Command(
        "backlog outcome record", "Record what an implemented backlog item turned out to bring.", "Entropy auditing",
        "outcome:record",
        (
            ITEM,
            Option("--status", "how it turned out", "confirmed|ineffective|reverted", required=True, type="enum"),
            Option("--outcome", "what was observed", "TEXT", required=True),
            Option("--evidence", "what shows it", "TEXT"),
            JSON,
        ),
        since=ADDED,
        shape="{id, ordinal, status}",
    ),
    Command(
        "backlog reconcile", "Give backlog items of older releases the identity that proposals have.",
        "Entropy auditing", "reconcile:reconcile",
        (
            Option("--action", "what to do", "backfill-lifecycle-identity", required=True, type="enum"),
            Option("--dry-run", "show what would be done", type="flag"),
            Option("--apply", "do it", type="flag"),
            JSON,
        ),
        since=ADDED, together=(("--dry-run", "--apply"),),
        shape="{items: [{id, title, status, class, proposal_key, filled}], counts: {derivable, manual, ambiguous, "
        "duplicate_candidate}, applied}",
    ),
)  # fmt: skip
