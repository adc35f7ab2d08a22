"""What is promised of the ledger as a whole, bullet by bullet: more rows of `requirements.py`, with tests."""

from __future__ import annotations

from promises import Promise, proofs

WORKING = (
    Promise(
        "ledger:commands", "works",
        "All commands of the seed's tables, declared once each: parser, help, outbound manifest and reference derive "
        "from the declaration; did-you-mean hints; query sql reads one statement, --write opts in, both under a time "
        "limit; propose --commit is idempotent; tool check exits 0, --strict 1; the seed's own lines run as printed.",
        proofs("e2e/test_registry_outbound", "a_command_of_the_page_is_in_the_manifest_and_on_the_command_line",
            "the_commands_of_the_page_come_first_and_in_its_order")
        + proofs("unit/test_ledger_parse_declared", "every_command_is_in_the_manifest_once",
            "a_command_declares_what_its_body_reads_and_reads_what_it_declares")
        + proofs("shape/test_docs_cli", "the_generated_parts_are_up_to_date")
        + proofs("unit/test_ledger_parse", "options_are_not_abbreviated_but_guessed", "nothing_is_given_twice",
            "a_misspelt_command_gets_a_hint")
        + proofs("component/test_ledger_sql", "what_does_more_than_read_is_refused_in_one_sentence",
            "a_second_statement_is_refused", "writing_is_one_transaction_of_which_no_changeset_tells",
            "what_touches_more_than_rows_is_refused_when_writing_as_well", "what_never_ends_is_stopped")
        + proofs("e2e/test_ledger_evidence", "committing_fills_the_backlog_once")
        + proofs("e2e/test_ledger_tools", "strict_tells_by_the_exit_code")
        + proofs("e2e/test_registry_inbound", "the_first_example_registers_as_printed",
              "an_mcp_server_and_a_skill_register_as_printed"),
    ),
    Promise(
        "ledger:shim", "works",
        "harness-cli init --shim writes scripts/bin/harness-cli, a small launcher. The root is the nearest folder "
        "upward with a harness.db, else a .git, else a .harness other than $HARNESS_HOME, else the current one.",
        proofs("e2e/test_ledger_setup_shim", "the_launcher_works_on_its_own_repository_from_anywhere",
            "the_launcher_does_not_find_itself_or_its_like", "a_file_of_somebody_else_is_not_overwritten_and_nothing_is_made")
        + proofs("unit/test_ledger_place", "the_root_is_the_nearest_directory_upward_with_a_database",
              "without_a_database_a_repository_is_the_root_before_a_harness_directory",
              "a_harness_directory_is_the_root_when_there_is_nothing_better",
              "the_users_own_harness_directory_makes_no_root"),
    ),
    Promise(
        "ledger:probes", "works",
        "Probes by kind, in parallel, 2 s for each tool: 200 tools of which 50 are dead endpoints in under 3 s. URLs "
        "are parsed, ~ and quotes understood, execute permission wanted; nothing is run, nothing sent but a connect.",
        proofs("component/test_ledger_tools_probe", "two_hundred_tools_take_no_longer_than_one",
            "an_endpoint_that_answers_is_present_and_gets_no_byte", "an_ipv6_address_is_understood",
            "an_endpoint_that_never_answers_is_missing_when_its_time_is_over",
            "paths_decide_for_skills_and_servers_and_for_http_without_a_url", "nothing_is_left_open")
        + proofs("unit/test_ledger_tools_urls", "a_url_names_host_and_port", "a_url_that_leads_nowhere_has_a_reason")
        + proofs("unit/test_ledger_tools_command", "a_file_without_execute_permission_exists_and_is_not_runnable",
            "the_tilde_is_the_home_of_the_environment")
        + proofs("property/test_ledger_tools_any", "the_first_word_is_that_of_a_shell",
              "any_url_leads_somewhere_or_is_refused"),
        reason="bench/ledger_probe.py measures the 3 seconds from outside",
    ),
    Promise(
        "ledger:posture", "works",
        "query tools --capability X gives the facts, --posture and a library call the rung of the ladder. Only kinds "
        "that the asker can use count; unknown is unconfirmed; a present provider that fails is missing for that run.",
        proofs("e2e/test_ledger_tools", "the_ladder_is_inactive_degraded_and_full",
            "providers_are_looked_up_by_their_capability")
        + proofs("component/test_ledger_tools_posture", "only_kinds_that_can_be_used_count",
            "unknown_is_not_present_but_unconfirmed", "a_present_tool_that_failed_counts_as_missing_for_that_run",
            "none_present_is_degraded_not_inactive")
        + proofs("component/test_evidence_tools", "a_provider_that_fails_counts_as_missing_for_the_rest_of_the_run"),
    ),
    Promise(
        "ledger:json", "works",
        "--json for every query and every mutation, one documented shape each, stable keys; --limit and --offset where "
        "lists are cut; CSV for query sql.",
        proofs("e2e/test_ledger_shapes", "every_command_answers_with_the_keys_that_are_declared_for_it",
            "at_schema_6_the_answers_have_the_same_keys", "a_command_takes_json_and_says_what_that_answers",
            "without_a_ledger_the_answer_is_an_error_that_says_so")
        + proofs("unit/test_ledger_parse_declared", "every_command_answers_programs")
        + proofs("component/test_ledger_queries", "the_latest_twenty_are_shown_unless_more_are_asked_for",
            "pages_have_to_be_numbers_from_nothing_up")
        + proofs("component/test_ledger_sql", "a_part_of_the_rows_can_be_asked_for")
        + proofs("e2e/test_ledger_queries_cli", "sql_as_csv_is_read_back")
        + proofs("property/test_ledger_show", "comma_separated_values_can_be_read_back"),
    ),
    Promise(
        "ledger:changesets", "works",
        "Changesets are written through an outbox in the transaction of the rows, appended afterwards, repaired at the "
        "next start; content hash; apply and rebuild are atomic and idempotent, own changesets included; a bad line "
        "changes nothing and names file and line.",
        proofs("component/test_ledger_changesets_outbox", "a_process_may_die_after_any_byte_that_it_appended",
            "the_next_command_completes_the_file", "a_failed_write_leaves_neither_row_nor_file",
            "a_read_only_directory_keeps_the_row_and_the_next_command_writes_the_line")
        + proofs("component/test_ledger_changesets_apply", "a_changeset_is_applied_once",
            "the_changeset_that_was_written_here_is_skipped", "a_run_id_that_stands_for_other_bytes_is_a_conflict",
            "a_bad_line_changes_nothing_and_is_named", "of_several_processes_that_apply_one_file_one_applies_it")
        + proofs("component/test_ledger_changesets_rebuild", "a_database_is_rebuilt_from_all_changesets_of_a_directory",
              "a_rebuild_that_fails_leaves_nothing_behind_and_can_be_repeated", "a_database_that_is_there_is_left_alone"),
    ),
    Promise(
        "ledger:migrations", "works",
        "Migrations are embedded, each in one transaction with its record; a backup before an upgrade; a newer schema "
        "is refused with the way out; parallel init is safe.",
        proofs("e2e/test_ledger_setup_migrate", "a_step_that_fails_leaves_the_steps_before_it",
            "the_database_as_it_was_is_kept_and_told", "a_copy_can_be_put_back",
            "a_newer_schema_is_refused_with_the_way_out", "eight_at_once_apply_every_step_once")
        + proofs("e2e/test_ledger_setup_init", "eight_at_once_make_one_ledger", "eight_at_once_fill_one_empty_file",
              "a_killed_one_leaves_no_ledger_or_a_whole_one"),
    ),
    Promise(
        "ledger:verify", "works",
        "Verify commands run in a process group of their own, with a time limit (600 s, --timeout), capped output and "
        "a clean environment; a changed command clears the verdict.",
        proofs("e2e/test_ledger_verify", "a_command_that_hangs_is_stopped_and_has_failed",
            "a_command_that_ignores_the_signal_to_stop_is_killed",
            "a_background_process_that_holds_the_output_open_neither_delays_nor_survives",
            "endless_output_is_cut_in_the_middle_and_says_so",
            "a_harness_cli_inside_a_command_is_no_part_of_the_changeset",
            "a_new_command_has_no_verdict_and_the_same_one_keeps_it", "a_time_limit_is_a_number_of_seconds")
        + proofs("component/test_ledger_completion", "what_changes_while_the_command_runs_is_seen"),
    ),
    Promise(
        "ledger:additions", "works",
        "The later additions: dependencies, hierarchy and runnable; matrix filters; JSON list inputs; revisions; story "
        "complete; proposal lifecycle; protocol-v1 envelopes; snapshot.",
        proofs("component/test_ledger_graph", "an_edge_is_added_and_removed_once",
            "a_story_is_claimed_when_all_that_blocks_it_is_implemented")
        + proofs("property/test_ledger_circles", "edges_never_make_a_circle")
        + proofs("component/test_ledger_queries", "the_matrix_can_be_narrowed",
            "a_story_waits_until_everything_that_blocks_it_is_implemented")
        + proofs("unit/test_ledger_vocabulary", "lists_are_items_between_commas_or_json")
        + proofs("component/test_ledger_schema", "every_change_counts_the_revision_up")
        + proofs("component/test_ledger_changesets_apply",
            "a_row_that_was_changed_in_between_is_a_conflict_with_its_revisions")
        + proofs("component/test_ledger_completion", "what_a_story_resolves_is_closed_with_it",
            "resolving_needs_a_trace_of_the_finished_work")
        + proofs("e2e/test_ledger_evidence_lifecycle",
            "a_proposal_lives_from_friction_to_outcome_and_comes_back_as_a_regression")
        + proofs("e2e/test_ledger_cli_json", "an_answer_is_one_line_in_an_envelope",
            "an_error_is_one_line_in_an_envelope")
        + proofs("component/test_ledger_changesets_rebuild", "a_snapshot_is_a_checked_copy_in_one_file",
              "a_snapshot_is_taken_while_others_write"),
    ),
    Promise(
        "ledger:schema", "works",
        "Schemas 1 to 6 exactly; a fresh init makes 14 in upstream's own shape; tables of ours have a version table of "
        "their own.",
        proofs("component/test_ledger_schema", "version_6_has_exactly_its_tables_and_columns",
            "the_schema_refuses_what_the_other_program_refuses", "defaults_are_those_of_the_other_program",
            "every_migration_leads_from_any_older_version_to_the_newest")
        + proofs("e2e/test_ledger_setup_init", "a_new_ledger_has_the_newest_schema_and_nothing_beside_it")
        + proofs("e2e/test_ledger_setup_migrate", "every_older_schema_gets_the_shape_of_a_new_one")
        + proofs("component/test_ledger_changesets_apply", "an_old_database_takes_operations_of_version_1_alone"),
        reason="the other program itself takes no part in the tests: tables and columns are compared with its own",
    ),
    Promise(
        "ledger:brownfield", "works",
        "Brownfield import fills, and overwrites only with --refresh; atomic; logged.",
        proofs("component/test_ledger_brownfield", "what_is_there_keeps_everything_and_only_what_is_empty_is_filled",
            "with_refresh_the_documents_win_but_for_lane_and_verification", "a_failure_in_the_middle_leaves_nothing",
            "a_document_that_is_missing_is_named_and_nothing_is_written")
        + proofs("e2e/test_ledger_queries_cli",
            "documents_are_imported_and_the_changeset_brings_them_to_another_ledger"),
    ),
)  # fmt: skip

EVIDENCE = (
    Promise(
        "ledger:pack", "evidence",
        "A bundled pack, active when the project has a harness.db; HARNESS_LEDGER=off turns it off.",
        proofs("component/test_evidence_traces", "it_can_be_switched_off", "a_project_without_a_ledger_is_left_alone",
            "a_database_of_something_else_is_left_alone")
        + proofs("e2e/test_ledger_pack", "without_a_ledger_nothing_is_said_and_nothing_is_written"),
    ),
    Promise(
        "ledger:start", "evidence",
        "start: refresh the presence of tools when the last check is older than a minute, without delaying the first "
        "request.",
        proofs("component/test_evidence_tools", "presence_is_refreshed_when_the_last_check_is_old",
            "what_is_found_reaches_the_model_in_the_same_run")
        + proofs("e2e/test_ledger_pack", "a_run_refreshes_the_presence_of_tools"),
        reason="bench/ledger_pack.py measures what comes on top before the first request",
    ),
    Promise(
        "ledger:assemble", "evidence",
        "assemble: the model is told capabilities, postures and providers; the tool capability tells one, inactive "
        "included; a registered cli or binary with --args is a tool of its name, validated, through the gate.",
        proofs("component/test_evidence_tools", "the_model_is_told_capabilities_with_posture_and_providers",
            "capability_tells_posture_and_providers_inactive_ones_included",
            "a_registered_command_is_called_by_its_name",
            "a_value_that_is_none_of_the_choices_is_refused_before_anything_runs",
            "the_gates_decide_about_it_like_about_any_other",
            "tools_without_arguments_and_of_other_kinds_are_not_callable"),
    ),
    Promise(
        "ledger:end", "evidence",
        "At the end one trace of what happened: actions, files, errors, refusals, outcome, duration, tokens, friction, "
        "posture notes; once, also after errors; a killed run's at the next start; intake and story are linked.",
        proofs("component/test_evidence_traces", "a_run_leaves_one_trace",
            "what_commands_change_is_seen_in_the_repository", "refusals_and_repeated_failures_are_friction",
            "the_outcome_says_how_it_ended", "a_run_that_fails_is_recorded_with_its_error",
            "the_story_in_progress_is_linked_when_there_is_exactly_one", "an_intake_is_linked_by_its_number",
            "names_that_are_not_there_are_noted_and_not_linked")
        + proofs("unit/test_evidence_build", "a_tool_that_failed_three_times_is_friction",
            "tokens_are_those_of_the_run_else_of_its_messages")
        + proofs("e2e/test_ledger_pack", "the_trace_tells_of_capabilities_that_were_not_whole")
        + proofs("component/test_evidence_trouble", "the_trace_of_a_killed_run_is_written_at_the_next_start",
              "several_starts_at_once_write_it_once"),
    ),
    Promise(
        "ledger:spool", "evidence",
        "The ledger being locked, full or broken never stops a run: the trace is spooled and picked up later.",
        proofs("component/test_evidence_trouble", "a_locked_ledger_delays_a_run_little_and_gets_its_trace_later",
            "a_broken_ledger_stops_no_run", "a_ledger_that_is_too_new_is_not_touched",
            "a_ledger_that_cannot_be_written_at_all", "a_home_that_cannot_keep_the_trace_is_told")
        + proofs("e2e/test_ledger_break_databases", "a_full_disk_is_told_and_loses_nothing"),
    ),
)  # fmt: skip

HOLDING = (
    Promise(
        "ledger:many-writers", "always",
        "Eight processes with 200 writes each, a ninth holding the lock 7 s at a time: nothing lost, nothing doubled, "
        "no error. kill -9 at any point: nothing half-done, the changeset complete after the next start.",
        proofs("e2e/test_ledger_changesets_many", "eight_processes_write_while_a_ninth_keeps_the_lock",
            "processes_that_are_killed_at_any_moment_lose_and_double_nothing",
            "commands_of_one_run_at_once_make_one_changeset")
        + proofs("component/test_ledger_changesets_outbox", "a_process_may_die_after_any_byte_that_it_appended"),
    ),
    Promise(
        "ledger:hostile", "always",
        "A read-only directory, a full disk, a zero-byte or foreign file, a closed pipe, control characters and 1 MB "
        "texts in any field: a clear error or correct output, JSON always valid, tables with display width.",
        proofs("e2e/test_ledger_setup_init", "a_directory_that_is_read_only_is_told", "an_empty_file_is_filled",
            "an_empty_file_is_no_ledger_for_other_commands", "a_file_that_is_no_database_is_refused_and_stays",
            "a_database_of_something_else_is_refused_and_stays")
        + proofs("e2e/test_ledger_cli", "a_closed_pipe_ends_the_command_quietly",
            "a_full_disk_behind_standard_output_is_told", "control_characters_reach_no_terminal",
            "somebody_who_may_only_read_gets_answers_without_a_warning")
        + proofs("e2e/test_ledger_break_databases", "a_full_disk_is_told_and_loses_nothing")
        + proofs("e2e/test_ledger_break_rows", "every_command_copes_with_rows_of")
        + proofs("unit/test_ledger_table", "wide_and_combining_characters_are_measured_as_they_are_drawn")
        + proofs("property/test_ledger_show", "every_answer_is_one_line_of_json"),
    ),
    Promise(
        "ledger:names", "always",
        "HARNESS_RUN_ID and names never become paths outside their folder.",
        proofs("unit/test_ledger_place", "what_could_be_a_path_or_is_no_plain_name_is_no_run_id")
        + proofs("component/test_ledger_changesets_outbox", "a_run_id_never_becomes_a_path_outside_its_folder",
            "a_changeset_that_is_a_link_is_not_followed")
        + proofs("e2e/test_ledger_break_databases", "a_changeset_of_the_outbox_never_leaves_its_folder")
        + proofs("e2e/test_ledger_stories", "names_of_any_characters_reach_neither_the_terminal_nor_the_json_raw"),
    ),
    Promise(
        "ledger:replay", "always",
        "Random sequences of operations: replaying the changesets gives the same rows; twice gives the same as once.",
        proofs("property/test_ledger_changesets", "every_kind_of_operation_is_among_those_that_are_replayed"),
        reason="the state machine beside that test, Runs, makes the random sequences",
    ),
    Promise(
        "ledger:speed", "speed",
        "query stats at most 3 times python -c pass; rebuild of 10,000 operations at most 5 times a bare script; audit, "
        "propose and matrix under 1 s on 10,000 stories and traces; no command imports more than it needs.",
        proofs("shape/test_ledger_imports", "a_command_loads_what_it_needs_and_nothing_else",
            "a_query_does_not_load_what_only_changes_need")
        + proofs("component/test_ledger_queries", "ten_thousand_rows_are_listed_at_once"),
        reason="times are measured by bench/ledger_start.py, ledger_rebuild.py and ledger_scale.py",
    ),
    Promise(
        "ledger:documents", "documents",
        "docs/ledger.md: a tutorial from init to propose that the tests run line by line, the reference derived from "
        "the declarations, file formats, and how a team merges changesets through git.",
        proofs("e2e/test_docs", "the_examples_of_a_document_run_as_shown")
        + proofs("shape/test_docs_cli", "the_generated_parts_are_up_to_date"),
        reason="the derived reference is a page of its own, docs/ledger-reference.md, to which the tutorial links",
    ),
)  # fmt: skip

LEDGER = (*WORKING, *EVIDENCE, *HOLDING)
