"""What the page about the registry of tools asks for, sentence by sentence: more rows of `requirements.py`."""

from __future__ import annotations

from promises import Promise

IN = "e2e/test_registry_inbound.py"
OUT = "e2e/test_registry_outbound.py"


def _row(id: str, part: str, sentence: str, *tests: str, reason: str = "") -> Promise:
    return Promise(id, part, sentence, tests, reason)


REGISTRY = (
    _row(
        "manifest:two-kinds", "intro",
        "The harness deals with two distinct kinds of tool: the capability manifest (outbound, always compiled in) and "
        "the inbound registry (optional; may be absent). Keep them separate.",
        f"{OUT}::test_a_command_of_the_page_is_in_the_manifest_and_on_the_command_line",
        f"{OUT}::test_compiled_and_registered_tools_are_told_apart",
    ),
    _row(
        "registry:never-blocks", "intro",
        "If missing: clean skip; never blocks the main process. The core never depends on an extra capability.",
        "e2e/test_ledger_pack.py::test_without_a_ledger_nothing_is_said_and_nothing_is_written",
    ),
    _row(
        "registry:register", "register",
        "scripts/bin/harness-cli tool register --name deploy-check --kind cli --capability deploy-verification ...",
        f"{IN}::test_the_first_example_registers_as_printed",
    ),
    _row(
        "registry:args-example", "register",
        '--args "env:enum:required:staging,production"',
        f"{IN}::test_the_first_example_registers_as_printed",
    ),
    _row(
        "registry:kind", "register",
        "--kind: how the tool is reached and probed. One of cli, binary, mcp, skill, http. Defaults to cli.",
        f"{IN}::test_the_kind_is_one_of_five_and_cli_unless_given",
    ),
    _row(
        "registry:kind-runtime", "register",
        "The kind tells each agent runtime what it can orchestrate (a non-Claude agent simply treats a skill it cannot "
        "run as absent) and tells tool check which probe to use.",
        f"{IN}::test_a_runtime_treats_a_kind_that_it_cannot_use_as_absent",
    ),
    _row(
        "registry:capability", "register",
        "--capability: the workflow purpose a step looks the tool up by. Free-text but normalized to kebab-case, so "
        "Impact Analysis, impact_analysis, and impact-analysis all register as impact-analysis.",
        f"{IN}::test_three_spellings_of_a_capability_are_one",
    ),
    _row(
        "registry:coupling", "register",
        "The capability is the only coupling between a step and a tool; steps reference the capability, never the "
        "tool name.",
        f"{IN}::test_a_step_asks_for_a_capability_and_gets_the_set_of_its_providers",
    ),
    _row(
        "registry:scan", "register",
        "--scan: for mcp/skill/http, a declarative path or URL that tool check resolves to decide presence.",
        f"{IN}::test_a_path_in_the_home_directory_and_a_url_are_scanned",
    ),
    _row(
        "registry:force", "register",
        "--force is only needed for cli/binary whose command is intentionally absent on the current machine. "
        "mcp/skill/http register without --force.",
        f"{IN}::test_an_absent_command_needs_force_for_cli_and_binary_only",
    ),
    _row(
        "registry:register-mcp-skill", "register",
        "Registering an MCP server or a Claude skill: gitnexus, c3.",
        f"{IN}::test_an_mcp_server_and_a_skill_register_as_printed",
    ),
    _row(
        "registry:remove", "register",
        "scripts/bin/harness-cli tool remove --name deploy-check",
        f"{IN}::test_a_tool_is_removed_by_its_name",
    ),
    _row(
        "registry:check", "check",
        "Registration records intent. tool check reconciles intent with reality by scanning each registered tool and "
        "persisting the verdict (status and checked_at).",
        f"{IN}::test_registration_records_intent_and_check_reconciles_it_with_reality",
    ),
    _row(
        "registry:check-at-start", "check",
        "Run it at intake start so status reflects current reality.",
        "e2e/test_ledger_pack.py::test_a_run_refreshes_the_presence_of_tools",
    ),
    _row(
        "registry:check-one", "check", "tool check --name c3: scan one",
        f"{IN}::test_one_tool_can_be_checked_alone",
    ),
    _row(
        "registry:check-json", "check", "tool check --json: machine-readable for agents",
        f"{IN}::test_check_prints_json_for_agents",
    ),
    _row(
        "registry:probe-command", "check",
        "cli, binary: command resolves on PATH or as a path; present means installed and runnable",
        f"{IN}::test_a_command_is_present_when_it_resolves_and_can_run",
    ),
    _row(
        "registry:probe-path", "check",
        "mcp, skill: scan_target path resolves (~ expands); present means equipped/configured on disk",
        f"{IN}::test_a_server_or_a_skill_is_present_when_its_path_is_there",
        f"{IN}::test_a_path_in_the_home_directory_and_a_url_are_scanned",
    ),
    _row(
        "registry:probe-http", "check",
        "http: scan_target reachable over TCP (2s), else path; present means endpoint answers",
        f"{IN}::test_an_endpoint_is_present_when_it_answers_else_when_its_path_is_there",
    ),
    _row(
        "registry:check-exit", "check",
        "tool check always exits 0: a missing extension is a fact to report, not a CLI failure.",
        f"{IN}::test_a_missing_extension_is_a_fact_and_no_failure",
        reason="without a database there is nothing to report, which is an error; --strict is an addition",
    ),
    _row(
        "registry:equipped", "check",
        "An mcp/skill/http present means equipped, not live this session: the agent still confirms live usability at "
        "call time.",
        f"{IN}::test_a_server_or_a_skill_is_present_when_its_path_is_there",
        "component/test_evidence_tools.py::test_a_provider_that_fails_counts_as_missing_for_the_rest_of_the_run",
    ),
    _row(
        "registry:no-target", "check",
        "With no scan_target, the status is unknown and the agent must confirm.",
        f"{IN}::test_without_a_target_the_status_is_unknown",
    ),
    _row(
        "registry:lookup", "lookup",
        "A workflow step asks what is present for this purpose rather than naming a tool: query tools --capability "
        "impact-analysis [--status present]",
        f"{IN}::test_a_step_asks_for_a_capability_and_gets_the_set_of_its_providers",
    ),
    _row(
        "registry:providers", "lookup",
        "The result is the set of providers. Multiple tools may provide one capability.",
        f"{IN}::test_a_step_asks_for_a_capability_and_gets_the_set_of_its_providers",
    ),
    _row(
        "registry:ladder", "ladder",
        "Keyed on the present-provider count for a capability: none registered is inactive, none or some present "
        "is degraded, all present is full.",
        f"{IN}::test_the_posture_follows_from_how_many_providers_are_present",
    ),
    _row(
        "registry:agent-policy", "ladder",
        "The CLI reports facts; the agent applies policy: note capability X: inactive in the trace; run with what "
        "resolves, set the Weak proof flag, note the gap.",
        "e2e/test_ledger_pack.py::test_the_trace_tells_of_capabilities_that_were_not_whole",
    ),
    _row(
        "registry:validity-gate", "ladder",
        "A registered tool that scans as missing is a failed validity gate, not a skip. A capability with no "
        "registered providers is simply inactive and is skipped without penalty.",
        f"{IN}::test_a_registered_tool_that_is_missing_is_drift_and_an_inactive_capability_is_not",
    ),
    _row(
        "registry:vocabulary", "vocabulary",
        "Capability is open, but a step and its providers must agree on the exact string. Reuse these: "
        "impact-analysis, deploy-verification, coverage, security-scan, performance-benchmark, documentation-lookup.",
        reason="advice; the error for a bad capability and the reference name them",
    ),
    _row(
        "registry:inspect", "inspecting",
        "query tools --summary; query tools --json; query tools --responsibility Verification",
        f"{IN}::test_the_registry_can_be_inspected_in_three_ways",
    ),
    _row(
        "registry:json-fields", "inspecting",
        "JSON records carry kind, capability, scan_target, status, and checked_at alongside the existing fields.",
        f"{IN}::test_json_records_carry_what_an_agent_needs",
    ),
    _row(
        "manifest:commands", "manifest",
        "The table of 33 compiled commands with responsibility, purpose and arguments.",
        f"{OUT}::test_a_command_of_the_page_is_in_the_manifest_and_on_the_command_line",
        f"{OUT}::test_the_commands_of_the_page_come_first_and_in_its_order",
    ),
    _row(
        "registry:valid-name", "validation", "Tool names must be unique among registered tools.",
        f"{IN}::test_a_name_is_registered_once",
    ),
    _row(
        "registry:valid-description", "validation", "Descriptions must be 10-200 characters.",
        f"{IN}::test_descriptions_have_10_to_200_characters",
    ),
    _row(
        "registry:valid-responsibility", "validation",
        "Responsibilities must match the Runtime Substrate responsibility list.",
        f"{IN}::test_a_responsibility_is_one_of_the_list",
    ),
    _row(
        "registry:valid-capability", "validation",
        "--capability must be kebab-case (lowercase letters, digits, single hyphens); spaces and underscores are "
        "normalized to hyphens.",
        f"{IN}::test_three_spellings_of_a_capability_are_one",
        f"{IN}::test_a_capability_that_is_not_kebab_case_is_refused",
    ),
    _row(
        "registry:valid-args", "validation",
        "--args entries must use name:type:required or name:type:required:help, with required or optional as the "
        "third field.",
        f"{IN}::test_arguments_that_are_not_declared_in_full_are_refused",
        f"{IN}::test_arguments_may_have_a_help_with_colons_and_commas",
    ),
    _row(
        "registry:valid-command", "validation",
        "For cli/binary, the command must exist as a path or on PATH, unless --force is supplied. mcp/skill/http skip "
        "this check.",
        f"{IN}::test_an_absent_command_needs_force_for_cli_and_binary_only",
    ),
)  # fmt: skip
