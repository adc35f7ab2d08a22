"""The commands that only read."""

from __future__ import annotations

from bridoon.ledger.cmdline.command import Command, Option
from bridoon.ledger.cmdline.options import ADDED, JSON, LATEST_PAGE, PAGE

ONE = (("--id", "--limit"), ("--id", "--offset"))
"""Whoever asks for one record asks for no page."""
STORY = Option("--story", "of this story only", "ID")

COMMANDS = (
    Command(
        "query matrix", "Show durable story proof matrix.", "Task state", "query:matrix",
        (
            Option("--numeric", "show proofs as they are stored", type="flag"),
            Option("--active", "planned, in_progress and changed stories only", type="flag"),
            Option("--runnable", "stories only that can be begun", type="flag"),
            STORY,
            Option("--summary", "lane and runnable instead of the evidence", type="flag"),
            *PAGE,
        ),
        shape="{stories: [{id, title, risk_lane, status, runnable, unit_proof, integration_proof, "
        "e2e_proof, platform_proof, evidence}], total, limit, offset}",
    ),
    Command(
        "query backlog", "Show harness improvement backlog.", "Entropy auditing", "query:backlog",
        (
            Option("--open", "proposed and accepted items only", type="flag"),
            Option("--closed", "implemented and rejected items only", type="flag"),
            Option("--id", "everything about one item", "NUMBER", type="integer"),
            *PAGE,
        ),
        together=(("--open", "--closed"),),
        shape="{backlog: [{id, title, status, risk, predicted_impact, actual_outcome}], total, limit, offset}; with "
        "--id {backlog: [{id, uid, title, status, risk, proposal_key, predecessor_uid, resolution_evidence, "
        "created_at, discovered_while, current_pain, suggested_improvement, predicted_impact, actual_outcome, "
        "implemented_at, notes, occurrence_kind, accepted_at, closed_at, rejection_reason, "
        "outcome_schedule_kind, outcome_due_at, outcome_after_traces, outcome_baseline_trace_count, revision, "
        "resolver, reference_stories}], total, limit, offset}",
    ),
    Command(
        "query decisions", "Show durable decision records.", "Project memory", "query:decisions",
        (Option("--id", "everything about one decision", "ID"), *PAGE),
        together=ONE,
        shape="{decisions: [{id, title, status, last_verified_at, last_verified_result}], total, limit, offset}; with"
        " --id {decision: {id, title, created_at, status, doc_path, verify_command, last_verified_at, "
        "last_verified_result, predicted_impact, actual_outcome, notes, revision}}",
    ),
    Command(
        "query intakes", "Show recent intake records.", "Task specification", "query:intakes",
        (Option("--id", "everything about one intake", "NUMBER", type="integer"), *LATEST_PAGE),
        together=ONE,
        shape="{intakes: [{id, created_at, input_type, risk_lane, summary}], total, limit, offset}; with --id "
        "{intake: {id, uid, created_at, input_type, summary, risk_lane, risk_flags, affected_docs, story_id, "
        "notes}}",
    ),
    Command(
        "query traces", "Show recent trace records.", "Observability", "query:traces",
        (Option("--id", "everything about one trace", "NUMBER", type="integer"), *LATEST_PAGE),
        together=ONE,
        shape="{traces: [{id, created_at, outcome, task_summary, harness_friction}], total, limit, offset}; with --id"
        " {trace: {id, uid, created_at, task_summary, intake_id, intake_uid, story_id, agent, outcome, "
        "duration_seconds, token_estimate, actions_taken, files_read, files_changed, decisions_made, errors, "
        "harness_friction, notes, recorded_at_unix_ns}}",
    ),
    Command(
        "query friction", "Show traces with harness friction.", "Failure attribution", "query:friction", PAGE,
        since="0.1.4",
        shape="{friction: [{id, created_at, risk_lane, input_type, task_summary, harness_friction}], "
        "total, limit, offset}",
    ),
    Command(
        "query tools", "Show compiled and registered tool entries.", "Tool access", "tools:query",
        (
            Option("--json", "answer with a JSON list", type="flag"),
            Option("--summary", "answer with a table (so it does)", type="flag"),
            Option("--responsibility", "of this responsibility only", "NAME"),
            Option("--capability", "registered tools of this capability only", "NAME"),
            Option("--status", "of this status only", "present|missing|unknown"),
            Option("--posture", "say how much of the capability is there: inactive, degraded or full", type="flag"),
            Option("--can", "count only kinds that can be used: a list such as cli,binary,skill,http", "KINDS"),
        ),
        since="0.1.8",
        shape="no envelope: [{provider, name, command, description, args: [{name, type, required, help}], "
        "responsibility, source: compiled|registered, since, kind, capability, scan_target, status, checked_at}]; with "
        "--posture, in an envelope, {capability, posture: inactive|degraded|full, "
        "providers, present, missing, unknown, unusable, note}",
    ),
    Command(
        "query interventions", "Show intervention records.", "Intervention recording", "query:interventions",
        (
            Option("--id", "everything about one intervention", "NUMBER", type="integer"),
            Option("--trace", "of this trace only", "NUMBER", type="integer"),
            STORY,
            Option("--type", "of this type only", "correction|override|escalation|approval"),
            *PAGE,
        ),
        since="0.1.8",
        together=(*ONE, ("--id", "--trace"), ("--id", "--story"), ("--id", "--type")),
        shape="{interventions: [{id, created_at, trace_id, story_id, type, source, description, impact}], total, "
        "limit, offset}; with --id {intervention: {id, uid, created_at, trace_id, story_id, type, description, "
        "source, impact}}",
    ),
    Command(
        "query stats", "Show durable record counts.", "Task state", "query:stats", (JSON,),
        shape="{intakes, stories, decisions, backlog_items, traces}",
    ),
    Command(
        "query sql", "Run arbitrary SQL against harness.db.", "Tool access", "sql:sql",
        (
            Option("--write", "let it change the database, in one transaction; no changeset tells of it", type="flag"),
            Option("--csv", "answer with comma-separated values", type="flag"),
            *PAGE,
            Option("--timeout", "stop it after so many seconds (30)", "SECONDS", type="integer", default="30"),
        ),
        (Option("query", "one statement", "SQL...", required=True),),
        together=(("--csv", "--json"),),
        more="One statement that reads, unless --write is given. A word that begins with - goes after --.",
        shape="{columns, rows, limit, offset, more, changed}",
    ),
    Command(
        "query stories", "Show every story and whether it can be begun.", "Task state", "workgraph:stories",
        (Option("--id", "everything about one story", "ID"), *PAGE),
        together=ONE, since=ADDED,
        shape="{stories: [{id, title, risk_lane, contract_doc, status, verify_command, runnable}], total, limit, "
        "offset}; with --id {story: {id, title, created_at, risk_lane, contract_doc, status, unit_proof, "
        "integration_proof, e2e_proof, platform_proof, evidence, verify_command, last_verified_at, "
        "last_verified_result, notes, revision}}",
    ),
    Command(
        "query work-graph", "Show stories, dependencies and hierarchy as of one moment.", "Task state",
        "workgraph:work_graph", (JSON,), since=ADDED,
        shape="{stories: [{id, title, risk_lane, contract_doc, status, verify_command, runnable}], "
        "dependencies: [{blocker, blocked}], hierarchy: [{parent, child}], revision}",
    ),
    Command(
        "query dependencies", "Show which stories wait for which.", "Task state", "workgraph:dependencies",
        (STORY, *PAGE), since=ADDED,
        shape="{dependencies: [{blocker, blocked}], total, limit, offset}",
    ),
    Command(
        "query hierarchy", "Show which stories are parts of which.", "Task state", "workgraph:hierarchy",
        (STORY, *PAGE), since=ADDED,
        shape="{hierarchy: [{parent, child}], total, limit, offset}",
    ),
    Command(
        "query contract", "Show what programs may rely on.", "Tool access", "workgraph:contract", (JSON,),
        since=ADDED, database=False,
        shape="{protocol_version, cli_version, schema_minimum, schema_maximum, "
        "database_state: missing|current|needs_migration|unsupported, database_schema_version, "
        "required_environment_variables, capabilities}",
    ),
)  # fmt: skip
