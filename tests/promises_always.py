"""What must hold always: rows of `requirements.py` whose tests try to break it."""

from __future__ import annotations

from promises import Promise, proofs

ALWAYS = (
    Promise(
        "always:one-gate", "always",
        "One gate for every tool, streamed or not, from a sub-agent too; the refusal is recorded with "
        "its reason and the run "
        "goes on and can exit 0.",
        proofs("component/test_gate", "a_gate_that_does_anything_but_print_the_call_has_refused_it",
            "a_gate_that_cannot_start_has_refused", "a_gate_that_takes_too_long_has_refused",
            "a_refusal_gives_the_last_line_of_the_gates_stderr_as_its_reason",
            "a_call_of_a_sub_agent_passes_the_same_gate")
        + proofs("e2e/test_compat_packs", "gates_decide_before_its_calls_run")
        + proofs("e2e/test_one_shot", "a_refusal_does_not_make_a_run_fail"),
    ),
    Promise(
        "always:valid-histories", "always",
        "After a refusal, an error or a signal at any of at least ten points, resuming sends what both "
        "APIs accept, nothing "
        "that was shown is lost, and no call without idempotentHint runs twice.",
        proofs("component/test_interrupts", "a_session_goes_on_after_a_signal_at")
        + proofs("component/test_left_out_hooks",
              "a_hook_that_the_model_tries_out_and_that_fails_makes_nothing_happen_twice",
              "a_result_that_was_shown_is_kept_when_the_stage_that_saves_it_fails")
        + proofs("property/test_providers_histories", "any_conversation_is_accepted")
        + proofs("property/test_session_messages", "any_history_is_valid_once_it_is_a_view"),
    ),
    Promise(
        "always:nothing-left", "always",
        "No descendant of a tool lives 3 s after its call was cancelled or its limit passed, or after "
        "its hs ended; after "
        "SIGKILL the next start cleans up; a background child that holds a pipe never blocks a run.",
        proofs("component/test_proc_stopping", "a_descendant_ends_when_the_call_is_cancelled",
            "a_descendant_ends_when_the_time_is_up",
            "a_background_process_that_holds_the_pipe_holds_up_nothing")
        + proofs("component/test_proc_children", "at_the_end_nothing_is_left_however_it_hides",
              "after_a_kill_the_next_start_ends_what_was_left")
        + proofs("component/test_interrupts", "after_sigkill_the_next_start_ends_what_was_left"),
    ),
    Promise(
        "always:keys", "always",
        "A project's files cannot send a user's key to another host; key values never appear in logs, "
        "sessions, errors or "
        "--json; credentials are written 0600 and atomically.",
        proofs("component/test_providers_choice", "a_project_cannot_send_a_users_key_to_another_host",
            "a_project_cannot_take_a_stored_key_by_the_name_of_a_bundled_variant")
        + proofs("unit/test_catalog_conf", "a_key_of_a_bundled_service_goes_to_no_other_host")
        + proofs("component/test_providers_runs", "the_key_is_nowhere_but_in_the_request")
        + proofs("unit/test_providers_credentials", "a_file_is_written_whole_and_for_its_owner_only"),
    ),
    Promise(
        "always:trust", "always",
        "Code that came with a checkout asks first, whatever the clone does; the model cannot weaken a "
        "gate of its own run.",
        proofs("component/test_catalog_trust", "nothing_of_a_clone_takes_part_but_text",
            "attributes_of_a_repository_change_nothing", "nothing_that_the_repository_configures_runs",
            "a_link_in_the_repository_counts_as_its_target",
            "what_a_user_drops_into_a_repository_works_at_once_and_stays_trusted_when_it_is_committed",
            "without_git_a_repository_is_not_trusted_whoever_dropped_the_file")
        + proofs("component/test_gate", "a_gate_that_the_model_edits_stays_as_it_was_until_the_next_run")
        + proofs("component/test_tools_in_runs", "a_model_cannot_loosen_the_permissions_of_its_own_run"),
    ),
    Promise(
        "always:one-bad-file", "always",
        "One bad file never stops the rest.",
        proofs("unit/test_catalog_near_misses", "one_bad_file_of_each_kind_leaves_the_good_ones")
        + proofs("component/test_left_out_hooks", "a_hook_that_cannot_start_is_named_and_the_run_goes_on")
        + proofs("component/test_loop", "a_tool_with_a_broken_schema_is_left_out_and_the_model_is_told"),
    ),
    Promise(
        "always:sizes", "always",
        "Sizes never stop a run: 10 MB of output, 1 MB of arguments, 5,000 messages, names with anything "
        "in them.",
        proofs("component/test_loop", "ten_megabytes_of_output_are_bounded_and_kept_on_disk",
            "a_megabyte_of_arguments_reaches_the_tool")
        + proofs("component/test_providers_runs", "a_megabyte_of_arguments_arrives")
        + proofs("component/test_proc_memory", "a_hundred_megabytes_of_output_take_little_memory")
        + proofs("e2e/test_one_shot", "five_thousand_messages_are_no_hindrance")
        + proofs("unit/test_catalog_walk", "odd_names_are_names",
              "odd_project_paths_are_found_and_exported_as_one_element"),
    ),
    Promise(
        "always:names", "always",
        "Tool names and session ids are names, never paths.",
        proofs("unit/test_catalog_schemas", "names_are_never_paths")
        + proofs("e2e/test_commands_sessions", "an_id_is_a_name_and_never_a_path"),
    ),
)  # fmt: skip
