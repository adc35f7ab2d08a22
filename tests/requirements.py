"""What the project must do, sentence by sentence: each row has tests, or a reason why it has none."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from promises import PROMISES
from promises_always import ALWAYS
from promises_ledger import LEDGER
from registry import REGISTRY


class Requirement(NamedTuple):
    """One sentence of the document that asks for the loop."""

    id: str
    source: str
    """The document, and the part of it."""
    sentence: str
    tests: tuple[str, ...] = ()
    """`file.py::test_name`, relative to `tests/`."""
    reason: str = ""
    """Why there is no test, or how we depart from the sentence."""


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a test as proof of these rows. `shape/test_requirements.py` checks that the rows list it."""
    return pytest.mark.requirement(*ids)


def _row(id: str, source: str, sentence: str, *tests: str, reason: str = "") -> Requirement:
    return Requirement(id, f"extend/{source}", sentence, tests, reason)


DISCOVERY = "e2e/test_extend_discovery.py"
TOOLS = "e2e/test_extend_tools.py"
HOOKS = "e2e/test_extend_hooks.py"
TEXTS = "e2e/test_extend_texts.py"
PROVIDERS = "e2e/test_extend_providers.py"
EXAMPLE_TOOLS = "e2e/test_examples_tools.py"
EXAMPLE_HOOKS = "e2e/test_examples_hooks.py"
COMPAT = "e2e/test_compat_shim.py"

PLACES = (
    _row(
        "discovery:every-turn", "intro",
        "To extend the running agent, drop an executable into the right place. The next loop "
        "iteration picks it up; "
        "no restart needed.",
        f"{DISCOVERY}::test_a_tool_that_the_model_writes_is_called_on_its_next_turn",
        f"{DISCOVERY}::test_a_hook_dropped_during_a_run_takes_part_in_its_next_stage",
    ),
    _row(
        "discovery:refresh-sources", "intro",
        "_refresh_sources runs every turn.",
        f"{COMPAT}::test_refresh_sources_lists_the_sources_lowest_first",
        reason="sources are looked at before every state, by time stamps; the bash function of that "
        "name is a shim",
    ),
    _row(
        "discovery:walk-to-root", "places",
        "Discovery walks from CWD up to /, collecting every .harness/ directory.",
        f"{DISCOVERY}::test_every_harness_directory_from_here_to_the_root_takes_part",
        reason="a directory that came with a checkout waits for hs trust, one that others can write "
        "to is skipped",
    ),
    _row(
        "discovery:most-local-wins", "places",
        "For same-named files, most-local wins.",
        f"{DISCOVERY}::test_the_most_local_of_two_files_with_one_name_counts",
    ),
    _row(
        "layout:commands", "places",
        "commands/: CLI subcommands (hs <name>).",
        f"{DISCOVERY}::test_a_command_is_run_by_its_name_with_its_arguments",
    ),
    _row(
        "layout:tools", "places",
        "tools/: tools the model can call.",
        f"{TOOLS}::test_the_model_is_shown_the_schema_and_the_tool_is_given_the_input",
    ),
    _row(
        "layout:hooks", "places",
        "hooks.d/<stage>/: pipeline hooks; sorted by NN- prefix.",
        f"{HOOKS}::test_the_hooks_of_a_stage_are_a_chain_in_the_order_of_their_names",
    ),
    _row(
        "layout:providers", "places",
        "providers/: LLM API adapters (binary or .conf variant).",
        f"{PROVIDERS}::test_a_provider_reads_the_payload_and_prints_the_raw_response",
    ),
    _row(
        "layout:prompts", "places",
        "prompts/*.md: appended to the system prompt.",
        f"{TEXTS}::test_all_prompt_fragments_are_appended_in_the_order_of_their_names",
    ),
    _row(
        "layout:skills", "places",
        "skills/<name>/: on-demand instruction packs (SKILL.md).",
        f"{TEXTS}::test_only_the_name_and_description_of_a_skill_are_in_the_system_prompt",
    ),
    _row(
        "layout:packs", "places",
        "plugins/<name>/: plugin packs with the same layout.",
        f"{DISCOVERY}::test_a_pack_has_the_same_layout",
    ),
    _row(
        "agents-md:parent", "places",
        "AGENTS.md is placed at the parent of the .harness/ directory, not inside it.",
        f"{TEXTS}::test_agents_md_lies_beside_harness_directories_and_is_read_global_first",
        reason="the nearest one up to the repository's root is read without any .harness, too",
    ),
)  # fmt: skip

TOOL_ROWS = (
    _row(
        "tools:three-flags", "tools",
        "A tool is an executable responding to three flags. Drop it at .harness/tools/<name> and chmod +x.",
        f"{TOOLS}::test_the_model_is_shown_the_schema_and_the_tool_is_given_the_input",
        f"{DISCOVERY}::test_a_tool_that_the_model_writes_is_called_on_its_next_turn",
    ),
    _row(
        "tools:web-get", "tools",
        "The example web_get (bash, jq, curl) works as printed.",
        f"{EXAMPLE_TOOLS}::test_web_get_answers_with_the_body_of_a_page",
        f"{EXAMPLE_TOOLS}::test_web_get_of_a_missing_page_is_a_failed_result_that_says_why",
    ),
    _row(
        "tools:stdout-is-result", "tools",
        "Stdout becomes the tool result.",
        f"{TOOLS}::test_standard_output_is_the_result_and_standard_error_goes_to_the_log",
    ),
    _row(
        "tools:stderr-to-log", "tools",
        "Stderr goes to HARNESS_LOG.",
        f"{TOOLS}::test_standard_output_is_the_result_and_standard_error_goes_to_the_log",
        reason="of a tool that failed, the result holds it as well, after what it printed: a model "
        "needs the cause",
    ),
    _row(
        "tools:nonzero-is-error", "tools",
        "Non-zero exit marks the result as error: true.",
        f"{TOOLS}::test_a_non_zero_exit_marks_the_result_as_an_error",
        f"{EXAMPLE_TOOLS}::test_web_get_of_a_missing_page_is_a_failed_result_that_says_why",
    ),
    _row(
        "tools:cwd", "tools",
        "Tools run in HARNESS_CWD (the session's original working directory).",
        f"{TOOLS}::test_a_tool_runs_in_the_sessions_working_directory",
    ),
    _row(
        "tools:any-language", "tools",
        "Any language: see examples/tools/web_fetch for a Python example.",
        f"{EXAMPLE_TOOLS}::test_web_fetch_in_python_answers_with_the_words_of_a_page",
    ),
    _row(
        "tools:listed", "tools",
        "hs tools lists what's discovered.",
        f"{TOOLS}::test_hs_tools_lists_what_is_discovered_with_its_description",
    ),
)  # fmt: skip

HOOK_ROWS = (
    _row(
        "hooks:chain", "hooks",
        "Each stage dispatches its hooks as a chain: each hook reads the previous one's "
        "stdout and writes JSON.",
        f"{HOOKS}::test_the_hooks_of_a_stage_are_a_chain_in_the_order_of_their_names",
    ),
    _row(
        "hooks:order", "hooks",
        "All hooks for a stage run in basename-sorted order (use NN- prefix).",
        f"{HOOKS}::test_the_hooks_of_a_stage_are_a_chain_in_the_order_of_their_names",
        reason="bytewise, whatever the locale: 100-c comes before 20-b",
    ),
    _row(
        "hooks:override", "hooks",
        "Local same-basename overrides global, which lets you replace a bundled hook by name.",
        f"{HOOKS}::test_a_local_hook_replaces_the_bundled_one_of_the_same_name",
    ),
    _row(
        "hooks:diagram", "hooks",
        "start, assemble, send, receive, then done or tool_exec, tool_done and back.",
        f"{HOOKS}::test_the_states_of_a_run_with_one_call_are_those_of_the_diagram",
        reason="the drawing's arrow from tool_done points between assemble and send; it leads to "
        "assemble, because "
        "the next request needs the results",
    ),
    _row(
        "hooks:next-state", "hooks",
        "The transition is not hardcoded: each hook may emit next_state and the loop follows it.",
        f"{HOOKS}::test_the_loop_goes_where_a_hook_says",
    ),
    _row(
        "hooks:end", "hooks",
        "Empty next_state ends the loop.",
        f"{HOOKS}::test_a_stage_without_a_next_state_ends_the_run_and_its_output_is_printed",
    ),
    _row(
        "hooks:output", "hooks",
        "output (string) is what's printed when the loop exits.",
        f"{HOOKS}::test_a_stage_without_a_next_state_ends_the_run_and_its_output_is_printed",
    ),
    _row(
        "hooks:failure", "hooks",
        "Non-zero exit aborts the chain and routes to error.",
        f"{HOOKS}::test_a_failing_hook_stops_its_stage_and_leads_to_error",
        reason="a hook made during the same run is left out instead, so that an agent can mend it",
    ),
    _row(
        "hooks:gate-refusal", "hooks",
        "Non-zero exit of a gate on tool_exec stops the call before execution.",
        f"{EXAMPLE_HOOKS}::test_confirm_refuses_on_no_and_the_run_goes_on_with_the_refusal_recorded",
        reason="the bundled error hook records the refusal as a failed result, and the run goes on "
        "(on_refuse=stop "
        "ends it): otherwise the history would not be valid",
    ),
    _row(
        "hooks:pass-through", "hooks",
        "Pass-through hooks just cat stdin to stdout after side effects, leaving the pipeline "
        "payload intact.",
        f"{HOOKS}::test_an_observer_that_cats_leaves_the_payload_as_it_was",
    ),
    _row(
        "hooks:driver", "hooks",
        'The hook that wants to drive a transition emits {"next_state": "..."} (usually the '
        'last in the stage).',
        f"{HOOKS}::test_the_loop_goes_where_a_hook_says",
    ),
    _row(
        "hooks:confirm", "hooks",
        "The example 05-confirm (gate hook on tool_exec, asks on /dev/tty) works as printed.",
        f"{EXAMPLE_HOOKS}::test_confirm_asks_at_the_terminal_and_yes_lets_the_command_run",
        f"{EXAMPLE_HOOKS}::test_confirm_refuses_on_no_and_the_run_goes_on_with_the_refusal_recorded",
        f"{EXAMPLE_HOOKS}::test_confirm_without_a_terminal_refuses_bash_and_lets_other_tools_pass",
    ),
    _row(
        "hooks:cost", "hooks",
        "The example 20-cost (observer hook on receive, reads .usage) works as printed.",
        f"{EXAMPLE_HOOKS}::test_cost_logs_the_tokens_of_each_response",
    ),
    _row(
        "hooks:listed", "hooks",
        "hs hooks <stage> lists what's discovered.",
        f"{HOOKS}::test_hs_hooks_lists_the_hooks_of_a_stage",
    ),
)  # fmt: skip

SKILL_ROWS = (
    _row(
        "skills:layout", "skills",
        "A skill is a directory under .harness/skills/<name>/ containing SKILL.md with YAML frontmatter.",
        f"{TEXTS}::test_only_the_name_and_description_of_a_skill_are_in_the_system_prompt",
        f"{EXAMPLE_TOOLS}::test_the_example_skill_loads_with_its_resources",
    ),
    _row(
        "skills:catalog", "skills",
        "The 35-skills assemble hook injects only the catalog (name + description) into the system prompt.",
        f"{TEXTS}::test_only_the_name_and_description_of_a_skill_are_in_the_system_prompt",
    ),
    _row(
        "skills:load", "skills",
        "The model loads the full body via the skill tool when relevant.",
        f"{TEXTS}::test_the_skill_tool_loads_the_body_and_lists_what_lies_beside_it",
    ),
    _row(
        "skills:resources", "skills",
        "Optional sibling dirs (references/, scripts/, assets/) are listed in <skill-resources>.",
        f"{TEXTS}::test_the_skill_tool_loads_the_body_and_lists_what_lies_beside_it",
    ),
    _row(
        "skills:advice", "skills",
        "The description field is what triggers the model: make it concrete about when to load it.",
        reason="advice to authors, not behaviour; hs new skill and hs check give it too",
    ),
)  # fmt: skip

PROVIDER_ROWS = (
    _row(
        "providers:raw-response", "providers",
        "A provider is an executable reading payload JSON on stdin and writing the raw API response.",
        f"{PROVIDERS}::test_a_provider_reads_the_payload_and_prints_the_raw_response",
        f"{PROVIDERS}::test_a_bare_provider_can_call_tools",
    ),
    _row(
        "providers:flags", "providers",
        "Optional flags: --describe, --ready (exit 0 if creds set; used for auto-select), "
        "--defaults (model=... lines), "
        "--env, --stream.",
        f"{PROVIDERS}::test_the_optional_flags_describe_choose_and_default",
        f"{PROVIDERS}::test_a_provider_that_streams_is_shown_as_it_writes",
    ),
    _row(
        "providers:scoping", "providers",
        "A directory whose basename matches a binary in its providers/ is a provider plugin: "
        "its hooks/tools/prompts only "
        "participate when that provider is active.",
        f"{PROVIDERS}::test_a_provider_packs_hooks_and_tools_take_part_only_while_it_is_active",
    ),
    _row(
        "providers:conf", "providers",
        "For OpenAI-compatible or Anthropic-compatible services, write a <name>.conf instead "
        "of a full binary.",
        f"{PROVIDERS}::test_a_conf_names_a_service_that_speaks_a_known_api",
        f"{PROVIDERS}::test_the_protocols_executable_is_told_url_and_key_of_the_variant",
        reason="a project's file never sends a user's key to another host",
    ),
    _row(
        "providers:auth-set", "providers",
        "hs auth set <name> stores credentials under that name.",
        f"{PROVIDERS}::test_hs_auth_set_stores_credentials_under_a_variants_name",
    ),
)  # fmt: skip

PROMPT_ROWS = (
    _row(
        "agents-md:order", "prompts",
        "AGENTS.md files (at each .harness/ parent) are concatenated into the system prompt, "
        "global to local.",
        f"{TEXTS}::test_agents_md_lies_beside_harness_directories_and_is_read_global_first",
    ),
    _row(
        "prompts:all", "prompts",
        "For composable fragments, use prompts/*.md (sorted by filename, all loaded).",
        f"{TEXTS}::test_all_prompt_fragments_are_appended_in_the_order_of_their_names",
    ),
    _row(
        "prompts:local-last", "prompts",
        "Local fragments come last so they can refine global ones.",
        f"{TEXTS}::test_local_fragments_come_after_global_ones",
    ),
)  # fmt: skip

WORKFLOW_ROWS = (
    _row(
        "extend:scope", "workflow",
        "Decide scope (~/.harness/ for personal, <repo>/.harness/ for shared).",
        f"{DISCOVERY}::test_the_home_is_for_every_project_and_the_project_beats_it",
    ),
    _row(
        "tools:not-executable", "workflow",
        "Non-executable files are silently ignored.",
        f"{DISCOVERY}::test_a_file_without_the_x_bit_is_ignored_and_told",
        reason="ignored, but not silently: lists, hs check and the log name them",
    ),
    _row(
        "extend:real-call", "workflow",
        "Verify by invoking the new extension as a real tool call on your next turn.",
        f"{DISCOVERY}::test_a_tool_that_the_model_writes_is_called_on_its_next_turn",
    ),
    _row(
        "extend:hook-triggered", "workflow",
        "For hooks, trigger the relevant stage (e.g. emit a tool call to exercise tool_exec).",
        f"{HOOKS}::test_a_gate_that_the_model_drops_decides_about_its_next_call",
    ),
    _row(
        "extend:command-from-bash", "workflow",
        "For commands, run hs <name> from bash.",
        f"{DISCOVERY}::test_the_model_runs_a_command_from_bash_by_hs_name",
    ),
    _row(
        "extend:iterate", "workflow",
        "If the result is an error or unexpected output, read it, edit the file, and call again.",
        f"{TOOLS}::test_a_tool_with_a_broken_schema_is_told_to_the_model_and_works_once_it_is_mended",
    ),
    _row(
        "extend:no-shelling-out", "workflow",
        "Never test a tool by shelling out or by exiting back to the user untested.",
        reason="guidance to the model; the bundled skill extend-harness gives it in our own words",
    ),
    _row(
        "extend:documents", "deeper",
        "docs/PROTOCOLS.md, examples/, AGENTS.md, README.md and plugins/ are where the links "
        "of the skill point.",
        "shape/test_requirements.py::test_the_documents_that_the_skill_points_to_exist",
    ),
)  # fmt: skip

REQUIREMENTS = (
    *PLACES, *TOOL_ROWS, *HOOK_ROWS, *SKILL_ROWS, *PROVIDER_ROWS, *PROMPT_ROWS, *WORKFLOW_ROWS,
    *(Requirement(each.id, f"issue/{each.part}", *each[2:]) for each in (*PROMISES, *ALWAYS)),
    *(Requirement(each.id, f"issue/ledger/{each.part}", *each[2:]) for each in LEDGER),
    *(Requirement(each.id, f"registry/{each.part}", *each[2:]) for each in REGISTRY),
)  # fmt: skip
