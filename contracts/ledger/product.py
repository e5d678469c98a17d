"""Promises of product.md that the seeds do not make, its decisions included, in its own order."""

from __future__ import annotations

from codesynapse.contracts.ledger import Requirement

ROWS: tuple[Requirement, ...] = (
    Requirement(
        id="reach:transports",
        promise="An official MCP client stores and recalls over Streamable HTTP, over stdio and through the bridge.",
        source="product.md, Introduction",
        tests=(
            (
                "tests/integration/test_clients.py::"
                "test_twelve_facts_of_a_text_are_remembered_recalled_and_found_again_after_kill_9"
            ),
            "tests/integration/test_bridge.py::test_what_one_launcher_remembers_another_of_the_same_session_recalls",
        ),
    ),
    Requirement(
        id="survive:restart",
        promise="A fact that was acknowledged is found again after the server was killed and started anew.",
        source="product.md, Who uses it",
        tests=(
            "tests/integration/test_kill.py::test_every_acknowledged_write_survives_kill_9_and_none_is_half_there",
            (
                "tests/integration/test_clients.py::"
                "test_twelve_facts_of_a_text_are_remembered_recalled_and_found_again_after_kill_9"
            ),
        ),
    ),
    Requirement(
        id="survive:disconnect",
        promise="A write whose connection was cut is whole or absent, and its session goes on.",
        source="product.md, Who uses it",
        tests=(
            (
                "tests/integration/test_cuts.py::"
                "test_a_write_whose_line_breaks_before_the_first_event_is_whole_or_not_there"
            ),
            "tests/integration/test_clients.py::test_the_official_client_gets_its_answer_through_a_line_that_is_cut",
        ),
    ),
    Requirement(
        id="survive:session",
        promise="A protocol session goes on under its id after a restart, as it was: POST, GET, DELETE and resumption.",
        source="product.md, Who uses it",
        tests=(
            "tests/integration/test_surviving.py::test_a_session_goes_on_after_a_restart_as_it_was",
            "tests/integration/test_surviving.py::test_the_common_call_writes_nothing_into_the_accounts",
        ),
    ),
    Requirement(
        id="survive:kill-streams",
        promise="After kill -9 each streamed call is answered once on resumption: a committed write by its result.",
        source="product.md, Who uses it; product.md, What good means",
        tests=(
            (
                "tests/integration/test_killed_streams.py::"
                "test_after_kill_9_every_committed_write_is_reported_once_and_everything_else_is_named"
            ),
        ),
    ),
    Requirement(
        id="survive:servers",
        promise="Two servers over one accounts store share their protocol sessions, and their ends.",
        source="product.md, Running it",
        tests=(
            "tests/integration/test_two_servers.py::test_a_session_of_one_server_goes_on_at_the_other",
            "tests/integration/test_two_servers.py::test_a_session_that_one_server_closed_is_closed_at_the_other",
        ),
    ),
    Requirement(
        id="errors:actionable",
        promise="An error for bad input names the field and the limit.",
        source="product.md, Who uses it",
        tests=(
            "tests/server/tools/test_arguments.py::test_a_refusal_names_the_field_and_what_it_may_be",
            "tests/integration/test_hostile.py::test_a_wrong_argument_is_a_result_that_names_its_field",
            "tests/contracts/test_triples.py::test_texts_are_bounded_in_characters",
        ),
    ),
    Requirement(
        id="suite:local-stores",
        promise="The memory store and the SQLite store pass one shared contract suite.",
        source="product.md, Introduction",
        tests=("tests/test_contract.py::test_the_suite_runs_here_on_every_store_that_is_shipped",),
    ),
    Requirement(
        id="suite:one-command",
        promise="One command runs the shared suite on a backend named by an entry point or options.",
        source="product.md, Introduction; product.md, Who uses it",
        tests=(
            "tests/server/cli/test_contract.py::test_the_suite_runs_on_the_named_backend_and_ends_as_pytest_does",
            "tests/test_stranger.py::test_options_come_from_the_command_line_then_from_the_environment",
        ),
    ),
    Requirement(
        id="suite:stranger",
        promise=(
            "The suite runs from a wheel in another's repository that has its own `server` and `contracts` folders."
        ),
        source="product.md, Who uses it",
        tests=(
            "tests/test_stranger.py::test_one_line_runs_the_suite_beside_their_own_tests",
            "tests/test_stranger.py::test_the_suite_comes_from_the_wheel",
        ),
    ),
    Requirement(
        id="suite:finds-faults",
        promise="A backend with one planted fault fails the suite's row that names this fault.",
        source="product.md, Who uses it",
        tests=("tests/test_stranger.py::test_a_wrong_store_fails_the_row_that_names_its_fault",),
    ),
    Requirement(
        id="suite:no-skips",
        promise="What a backend declares as not offered is deselected at collection, so no run reports a skip.",
        source="product.md, Who uses it",
        tests=(
            "tests/test_stranger.py::test_what_a_store_does_not_declare_is_deselected_and_proved_absent",
            "tests/test_stranger.py::test_the_right_store_passes_with_nothing_left_out",
        ),
    ),
    Requirement(
        id="suite:report",
        promise=(
            "The command's report gives each promise its source, result and duration, and what a backend does not "
            "declare the test that proves it absent."
        ),
        source="product.md, Who uses it",
        tests=(
            "tests/server/cli/test_contract.py::test_a_report_of_the_whole_suite_is_written_where_it_was_asked_for",
            "tests/test_stranger.py::test_the_report_names_the_promise_that_a_wrong_store_breaks",
            "tests/test_stranger.py::test_the_report_says_what_is_not_declared_and_which_test_proves_it_absent",
        ),
    ),
    Requirement(
        id="suite:report:publishable",
        promise="A report holds no option of the backend and no credential, and its page shows every text as text.",
        source="product.md, Who uses it",
        tests=(
            ("tests/test_stranger.py::test_a_store_that_cannot_be_opened_is_an_error_and_its_report_hides_its_options"),
            "tests/test_stranger.py::test_of_a_drivers_error_the_report_tells_the_kind_alone",
            "tests/contracts/test_report_page.py::test_hostile_texts_are_shown_and_do_nothing",
        ),
    ),
    Requirement(
        id="growing:same-data",
        promise="Pointing a server at another store changes settings and no data model.",
        source="product.md, Who uses it",
        tests=(
            "tests/docker/test_compose.py::test_the_settings_for_neo4j_serve",
            "tests/docker/test_compose.py::test_the_settings_for_hugegraph_serve",
        ),
    ),
    Requirement(
        id="growing:one-graph",
        promise="Processes that write to one graph server at once lose no update and pass no cap.",
        source="product.md, Running it",
        tests=(
            "tests/backends/test_racing.py::test_writers_of_two_processes_on_one_namespace_lose_no_update",
            (
                "tests/backends/test_racing.py::"
                "test_writers_of_two_processes_reach_the_cap_of_each_tenant_and_do_not_pass_it"
            ),
        ),
    ),
    Requirement(
        id="growing:graph-killed",
        promise="What a graph server acknowledged is there after it was killed, and no restart of ours is needed.",
        source="product.md, Running it",
        tests=(
            (
                "tests/backends/test_killed.py::"
                "test_commits_during_which_the_server_is_killed_are_there_once_and_ours_goes_on_alone"
            ),
        ),
    ),
    Requirement(
        id="identity:web-prefix",
        promise="Registration refuses an id that begins with `web:`.",
        source="product.md, The two identities",
        tests=(
            "contracts/suite/test_registry.py::TestRegistration::test_the_prefix_of_dashboard_sessions_is_refused",
            "tests/contracts/test_binding.py::test_the_dashboards_prefix_is_refused_before_anything_is_looked_at",
        ),
    ),
    Requirement(
        id="identity:web-function",
        promise="One named function alone makes `web:` ids.",
        source="product.md, The two identities",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="hints:principal",
        promise="The same key declared in two organisations, or by two users of one, means two buckets.",
        source="decision 1",
        tests=(
            "tests/server/hints/test_pauses.py::test_a_pause_never_leaves_its_tenant_and_subject",
            "tests/server/hints/test_session_key.py::test_a_bucket_lies_inside_its_tenant_and_subject",
            "tests/integration/test_session_key.py::test_two_clients_of_one_server_do_not_silence_one_another_nor_two_organisations",
        ),
    ),
    Requirement(
        id="hints:principal:keyless",
        promise="A keyless pause reaches only the keyless callers of the same principal.",
        source="decision 1",
        tests=(
            "tests/server/hints/test_pauses.py::test_a_pause_never_leaves_its_tenant_and_subject",
            "tests/integration/test_session_key.py::test_two_clients_of_one_server_do_not_silence_one_another_nor_two_organisations",
        ),
    ),
    Requirement(
        id="hints:pauses:principal-cap",
        promise=(
            "Past 256 pauses a principal loses its own nearest to its end, and the answer says `evicted_nearest: true`."
        ),
        source="decision 2",
        tests=(
            "tests/server/tools/test_session.py::test_the_pause_that_evicted_another_says_so_and_no_other_does",
            "tests/server/hints/test_pauses.py::test_at_a_principals_cap_the_pause_nearest_to_its_end_goes_and_the_answer_says_so",
        ),
    ),
    Requirement(
        id="hints:pauses:process-cap",
        promise="At 4,096 pauses in the process a further one is refused, and no other principal loses any.",
        source="decision 2",
        tests=(
            "tests/server/hints/test_pauses.py::test_a_full_process_refuses_and_takes_no_pause_from_anybody",
            "tests/server/hints/test_pauses.py::test_the_caps_are_those_of_the_product",
        ),
    ),
    Requirement(
        id="hints:told-caps",
        promise="Told keys are capped at 256 a principal and 4,096 in all, the oldest leaving first.",
        source="decision 2",
        tests=(
            "tests/server/hints/test_advisories.py::test_the_caps_are_those_of_the_product",
            "tests/server/hints/test_advisories.py::test_a_client_that_rotates_keys_grows_the_map_to_its_cap_only",
            "tests/server/hints/test_advisories.py::test_where_all_is_full_the_oldest_of_all_goes",
        ),
    ),
    Requirement(
        id="hints:key:length",
        promise=(
            "A session key over 256 characters, counted before the strip, is refused, and each schema states the limit."
        ),
        source="decision 3",
        tests=(
            "tests/server/hints/test_session_key.py::test_a_key_has_256_characters_at_most_counted_before_the_blanks_go",
            "tests/server/tools/test_session.py::test_a_key_that_is_too_long_is_a_clear_error",
            "tests/server/tools/test_gate.py::test_the_schema_of_every_keyed_tool_states_the_limit_and_draws_the_line",
        ),
    ),
    Requirement(
        id="hints:flags-resolved",
        promise="Honesty flags follow the resolved key: a key of whitespace counts as undeclared.",
        source="decision 5",
        tests=(
            "tests/server/hints/test_findings.py::test_a_keyless_remote_caller_reads_that_identity_is_shared_whatever_blanks_it_sends",
            "tests/server/tools/test_session.py::test_the_findings_own_up_to_a_shared_identity_over_http_and_never_over_stdio",
        ),
    ),
    Requirement(
        id="hints:graph:now",
        promise="`upsert_graph_triples` obeys the pause and `recall_context` the advisory of the declared key.",
        source="decision 6",
        tests=(
            "tests/server/tools/test_gate.py::test_every_gated_tool_of_the_graph_answers_skipped_with_the_keys_of_its_success_and_its_schema",
            "tests/integration/test_session_key.py::test_during_an_outage_each_caller_is_told_what_the_table_says_and_again_at_the_next",
        ),
    ),
    Requirement(
        id="hints:graph:later",
        promise="`offload_turns` and `promote_facts` obey the pause of the declared key.",
        source="decision 6",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="hints:validate-first",
        promise="Invalid input gets its own error although the caller is paused.",
        source="decision 7",
        tests=(
            "contracts/suite/test_agents.py::TestForeseeing::test_a_memory_that_is_there_is_foreseen_as_a_store_would_answer",
            "contracts/suite/test_agents.py::TestForeseeing::test_looking_ahead_writes_nothing",
            "tests/server/tools/test_gate.py::test_a_pause_hides_no_statement_that_what_is_there_forbids",
            "tests/server/tools/test_gate.py::test_what_the_tool_would_refuse_is_refused_even_while_paused",
            "tests/server/tools/test_memory.py::test_what_collides_with_what_is_there_is_refused_alike_under_a_pause",
            "tests/server/tools/test_gate.py::test_wrong_arguments_are_refused_with_their_error_even_while_paused",
        ),
    ),
    Requirement(
        id="ranking:default",
        promise="The default ranking fuses z-scores with features of the entities.",
        source="decision 8",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="ranking:rrf",
        promise="`CODESYNAPSE_FUSION=rrf` ranks by the seed's reciprocal rank formula.",
        source="decision 8; product.md, Settings",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="ranking:store-free",
        promise="Equal memory and an equal question give the same order on every store.",
        source="decision 8",
        tests=(
            (
                "tests/integration/test_promises_memory.py::"
                "test_equal_memory_and_an_equal_question_give_the_same_order_on_every_store"
            ),
            "tests/server/memory/test_ranking.py::test_a_ranking_does_not_depend_on_the_order_of_facts_or_entities",
        ),
    ),
    Requirement(
        id="accounts:memory-graph-durable",
        promise="Accounts in memory beside a durable graph store keep the server from starting.",
        source="decision 9",
        tests=(
            "tests/server/test_services.py::test_stores_that_do_not_fit_are_refused",
            "tests/server/cli/test_stores.py::test_accounts_in_memory_beside_a_durable_graph_are_refused",
        ),
    ),
    Requirement(
        id="hints:only-pauses",
        promise="Only the pause module holds pause state.",
        source="decision 10",
        tests=("tests/server/hints/test_pauses.py::test_no_other_module_holds_a_pause",),
    ),
    Requirement(
        id="hints:ttl-table",
        promise=(
            'TTLs of true, false, 0, -1, 86,401, 1.0, "60" and null are refused with `ttl_seconds` and 1 to 86,400 '
            "named."
        ),
        source="decision 10",
        tests=(
            "tests/server/hints/test_pauses.py::test_a_ttl_that_is_no_integer_in_bounds_is_refused_by_name_and_bounds",
            "tests/integration/test_session_key.py::test_a_ttl_and_a_key_out_of_bounds_are_refused_by_name",
        ),
    ),
    Requirement(
        id="order:recall-context",
        promise="`recall_context` answers best first.",
        source="decision 11",
        tests=(
            "tests/server/memory/test_recall.py::test_a_session_recalls_its_own_facts_best_first",
            "tests/server/memory/test_ranking.py::test_the_best_comes_first",
        ),
    ),
    Requirement(
        id="order:recall",
        promise="`recall` answers best first, and `recall_with_context` merges by time.",
        source="decision 11",
        tests=(
            "tests/server/agents/test_recalling.py::test_the_best_match_comes_first_and_the_reason_only_on_request",
            "tests/server/agents/test_conversation.py::test_lines_are_merged_by_the_moment_that_they_name_and_undated_ones_come_first",
        ),
    ),
    Requirement(
        id="quotas:setting",
        promise="Each cap of the first seed is a setting of the organisation with the seed's number as default.",
        source="decision 12",
        tests=(
            "tests/contracts/test_quotas.py::test_the_defaults_are_the_numbers_of_seed_0",
            "tests/server/cli/test_admin.py::test_quotas_are_shown_with_their_defaults_and_as_they_were_set",
        ),
    ),
    Requirement(
        id="quotas:audited",
        promise="Raising a cap of an organisation writes an audit record.",
        source="decision 12",
        tests=(
            "tests/server/cli/test_admin.py::test_a_changed_cap_is_audited_with_its_value",
            "contracts/suite/test_accounts.py::TestDirectory::test_each_change_leaves_its_record_in_order",
        ),
    ),
    Requirement(
        id="quotas:on-root",
        promise="The caps in force lie on the tenant root, written by `set_quotas`; where absent the seed's hold.",
        source="decision 12",
        tests=(
            "contracts/suite/test_limits.py::TestQuotas::test_the_caps_are_the_seeds_until_others_are_written",
            "contracts/suite/test_content.py::TestSize::test_the_limit_is_the_one_on_the_tenants_root",
        ),
    ),
    Requirement(
        id="quotas:not-by-caller",
        promise="A commit has no argument for quotas, so its caller cannot choose them.",
        source="decision 12",
        tests=("tests/contracts/test_ports.py::test_a_commit_names_what_it_read_and_a_commit_id_and_brings_no_caps",),
    ),
    Requirement(
        id="expiry:first-commit",
        promise="The first commit of a scope fixes its expiry, and one later than seven days from now is refused.",
        source="decision 12",
        tests=(
            (
                "contracts/suite/test_endings.py::"
                "TestExpiry::test_the_first_commit_sets_an_expiry_at_most_a_lifetime_ahead"
            ),
            "tests/contracts/test_commit.py::test_the_first_expiry_lies_ahead_and_at_most_a_lifetime",
        ),
    ),
    Requirement(
        id="snapshot:size",
        promise=(
            "A snapshot's size is the number of UTF-8 bytes of its canonical JSON, which omits what can be derived."
        ),
        source="decision 13",
        tests=(
            "tests/contracts/test_memory.py::test_size_and_digest_are_of_the_canonical_json",
            "tests/contracts/test_memory.py::test_the_canonical_json_is_pinned",
        ),
    ),
    Requirement(
        id="snapshot:digest",
        promise="A snapshot has the same digest on every store.",
        source="decision 13",
        tests=(
            "contracts/suite/test_memory.py::TestSnapshots::test_any_text_comes_back_as_it_was_with_the_same_digest",
            "tests/contracts/test_memory.py::test_the_order_of_entities_and_facts_does_not_matter",
        ),
    ),
    Requirement(
        id="snapshot:drops-history",
        promise="A commit that does not fit drops superseded facts first, the oldest first.",
        source="decision 13",
        tests=(
            "tests/contracts/test_change.py::test_superseded_facts_are_dropped_oldest_first_until_it_fits",
            "tests/server/memory/test_engine.py::test_superseded_facts_go_first_when_a_commit_does_not_fit",
        ),
    ),
    Requirement(
        id="snapshot:too-large",
        promise="A commit that does not fit without history is refused with the limit and its size.",
        source="decision 13",
        tests=(
            (
                "tests/server/memory/test_engine.py::"
                "test_where_only_live_facts_are_left_the_commit_is_refused_with_limit_and_size"
            ),
        ),
    ),
    Requirement(
        id="snapshot:live-count",
        promise="Superseded and retracted facts count in the bytes and not in the 512 or 2,048.",
        source="decision 13; decision 14",
        tests=(
            "contracts/suite/test_limits.py::TestQuotas::test_superseded_and_retracted_facts_do_not_count",
            "tests/contracts/test_memory.py::test_the_canonical_json_is_pinned",
        ),
    ),
    Requirement(
        id="facts:functional",
        promise="A functional triple closes the current fact of its subject and predicate.",
        source="decision 14",
        tests=(
            "tests/contracts/test_change.py::test_a_functional_triple_closes_the_current_value",
            "tests/contracts/test_change.py::test_a_functional_triple_closes_no_other_subject_or_predicate",
        ),
    ),
    Requirement(
        id="facts:recall-current",
        promise="Recall answers from current facts; history stays in the snapshot's bounds and can be asked for.",
        source="decision 14",
        tests=("tests/server/memory/test_recall.py::test_only_what_holds_now_is_recalled_unless_history_is_asked_for",),
    ),
    Requirement(
        id="facts:id",
        promise="A fact's id follows from subject, predicate and object; repeating an upsert costs no revision.",
        source="decision 14",
        tests=(
            "tests/contracts/test_memory.py::test_ids_are_pinned_and_ignore_the_case_of_names",
            "tests/server/memory/test_engine.py::test_repeating_a_fact_costs_no_revision",
        ),
    ),
    Requirement(
        id="facts:late-functional",
        promise="A functional triple that is valid from before the current one enters as history.",
        source="decision 14",
        tests=("tests/contracts/test_change.py::test_a_functional_triple_of_an_earlier_time_enters_as_history",),
    ),
    Requirement(
        id="facts:retract",
        promise="`retract: true` closes a fact; asserting a closed one again opens a new interval and counts as added.",
        source="decision 14",
        tests=(
            (
                "tests/contracts/test_change.py::"
                "test_retracting_closes_a_fact_and_asserting_it_again_opens_a_new_interval"
            ),
        ),
    ),
    Requirement(
        id="facts:intervals",
        promise="A fact is stored once an id with its intervals; answers show the newest, `history: true` all.",
        source="decision 14",
        tests=(
            "tests/contracts/test_change.py::test_reasserting_a_superseded_fact_opens_a_new_interval_on_its_id",
            "tests/server/memory/test_views.py::test_an_ended_fact_shows_its_newest_interval",
            "tests/server/memory/test_views.py::test_a_fact_shows_types_aliases_source_and_score_where_there_are_some",
        ),
    ),
    Requirement(
        id="facts:alias-only",
        promise="An upsert that only adds an alias or a type counts as unchanged and costs a revision.",
        source="decision 14",
        tests=(
            (
                "tests/server/memory/test_engine.py::"
                "test_an_upsert_that_only_adds_an_alias_or_a_type_counts_as_unchanged_and_costs_a_revision"
            ),
        ),
    ),
    Requirement(
        id="facts:absent-valid-from",
        promise="An upsert without `valid_from` leaves the beginning of a current fact as it is.",
        source="decision 14",
        tests=("tests/contracts/test_change.py::test_an_absent_start_never_changes_a_current_fact",),
    ),
    Requirement(
        id="facts:future",
        promise="A fact that is valid from a future moment is not current before it.",
        source="decision 14",
        tests=(
            "tests/contracts/test_change.py::test_a_future_fact_is_not_current_until_its_time",
            "tests/contracts/test_change.py::test_a_future_functional_value_leaves_the_current_one_until_then",
        ),
    ),
    Requirement(
        id="facts:orphans",
        promise="An entity leaves the snapshot with its last fact.",
        source="decision 14",
        tests=("tests/contracts/test_change.py::test_an_entity_without_facts_leaves",),
    ),
    Requirement(
        id="commits:named",
        promise="Every commit names the revision that it read and a commit id.",
        source="decision 15",
        tests=(
            "tests/contracts/test_ports.py::test_a_commit_names_what_it_read_and_a_commit_id_and_brings_no_caps",
            "contracts/suite/test_memory.py::TestCommitIds::test_a_malformed_commit_id_is_refused",
            "contracts/suite/test_memory.py::TestRevisions::test_the_first_commit_names_revision_0",
        ),
    ),
    Requirement(
        id="commits:remembered",
        promise="The last 32 commit ids with revision, counts and fact ids are kept outside the 24 KiB.",
        source="decision 15",
        tests=(
            "contracts/suite/test_memory.py::TestCommitIds::test_a_commit_id_is_remembered_through_31_further_commits",
            "contracts/suite/test_memory.py::TestCommitIds::test_a_kept_result_can_be_read_and_an_unknown_one_is_none",
            "contracts/suite/test_content.py::TestSize::test_exactly_24_kib_fit_and_come_back_whole",
        ),
    ),
    Requirement(
        id="commits:settled",
        promise="Repeating a remembered commit id returns its first result and writes nothing.",
        source="decision 15",
        tests=(
            (
                "contracts/suite/test_memory.py::"
                "TestCommitIds::test_a_repeated_commit_id_answers_its_first_result_and_writes_nothing"
            ),
            "tests/server/memory/test_engine.py::test_a_lost_acknowledgement_is_settled_by_the_commit_id",
        ),
    ),
    Requirement(
        id="commits:repository",
        promise=(
            "A repository's counter rises by one a changing commit; commit ids and `expected_revision` work as in a "
            "session."
        ),
        source="decision 15",
        tests=(
            (
                "contracts/suite/test_repository.py::"
                "TestRepositoryCommits::test_each_changing_commit_raises_the_revision_by_one"
            ),
            (
                "contracts/suite/test_repository.py::"
                "TestRepositoryCommits::test_a_repeated_commit_id_answers_its_first_result_and_writes_nothing"
            ),
            "tests/server/memory/test_repository.py::test_a_revision_that_is_not_the_current_one_is_a_conflict",
        ),
    ),
    Requirement(
        id="commits:retry",
        promise="After a conflict the engine reads, applies and commits again a bounded number of times.",
        source="decision 15",
        tests=(
            "tests/server/memory/test_engine.py::test_where_another_writer_was_faster_both_changes_hold",
            "tests/server/memory/test_engine.py::test_a_conflict_is_reported_after_a_bounded_number_of_attempts",
            "tests/integration/test_writers.py::test_64_writers_in_two_processes_on_one_namespace_lose_no_update",
        ),
    ),
    Requirement(
        id="commits:expected",
        promise="A caller that passes `expected_revision` gets the conflict with the current revision and no retry.",
        source="decision 15",
        tests=(
            "tests/server/memory/test_engine.py::test_a_race_with_an_expected_revision_is_told_and_not_retried",
            (
                "tests/integration/test_writers.py::"
                "test_of_writers_who_expect_one_revision_exactly_one_wins_and_the_others_are_told_the_current_"
                "one"
            ),
        ),
    ),
    Requirement(
        id="copies:clear",
        promise="Clearing a namespace removes the copies of its memory within a minute.",
        source="decision 16",
        to_come="Retention and erasure",
    ),
    Requirement(
        id="copies:end",
        promise="Revoking, expiring and erasing a session remove the copies of its memory within a minute.",
        source="decision 16",
        to_come="Retention and erasure",
    ),
    Requirement(
        id="copies:job-parameters",
        promise="The parameters of a job hold neither raw turns nor a session key.",
        source="decision 16",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="names:distribution",
        promise="The distribution, the command and the import root are all called `codesynapse`.",
        source="product.md, Names",
        tests=("tests/test_packaging.py::test_the_distribution_the_command_and_the_import_root_have_one_name",),
    ),
    Requirement(
        id="names:headers",
        promise="The execution headers are `X-CodeSynapse-Session` and `X-CodeSynapse-Parent-Session`.",
        source="product.md, Names",
        tests=(
            (
                "tests/server/bridge/test_exchange.py::"
                "test_the_session_is_registered_first_and_every_request_carries_both_headers"
            ),
            "tests/integration/test_product.py::test_a_bound_session_remembers_and_recalls",
        ),
    ),
    Requirement(
        id="names:organisation-header",
        promise="The organisation header of browser sessions is `X-CodeSynapse-Organization`.",
        source="product.md, Names",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="key:form",
        promise="An API key is `csk_` and 32 random bytes, sent as a bearer token.",
        source="product.md, Names",
        tests=(
            "tests/contracts/test_accounts.py::test_a_new_key_is_its_prefix_and_32_random_bytes",
            "tests/server/http/test_requests.py::test_a_bearer_token_is_read_whatever_the_case_of_its_scheme",
        ),
    ),
    Requirement(
        id="key:secret",
        promise="Only an API key's SHA-256 is stored, and the key is shown when it is made and never again.",
        source="product.md, Names",
        tests=(
            "tests/server/cli/test_first.py::test_the_home_holds_the_hash_of_the_key_and_not_the_key",
            "tests/server/cli/test_admin.py::test_a_key_is_printed_once_and_listed_by_its_id",
        ),
    ),
    Requirement(
        id="names:environment",
        promise=(
            "Stdio and launcher read `CODESYNAPSE_API_KEY`, `CODESYNAPSE_SESSION_ID` and "
            "`CODESYNAPSE_PARENT_SESSION_ID`."
        ),
        source="product.md, Names",
        tests=(
            "tests/server/cli/test_serving.py::test_stdio_answers_under_a_registered_session",
            (
                "tests/server/cli/test_bridging.py::"
                "test_options_and_environment_reach_the_launcher_and_its_exit_code_comes_back"
            ),
        ),
    ),
    Requirement(
        id="names:endpoint",
        promise="MCP answers at `/mcp` and at `/mcp/` without a redirect.",
        source="product.md, Names",
        tests=("tests/integration/test_transport.py::test_both_spellings_of_the_path_serve_without_a_redirect",),
    ),
    Requirement(
        id="names:rest",
        promise="The REST routes lie under `/api/v1/`.",
        source="product.md, Names",
        tests=(
            (
                "tests/server/test_app.py::"
                "test_the_routes_are_those_of_the_product_and_none_names_a_session_or_serves_the_audit"
            ),
        ),
    ),
    Requirement(
        id="names:healthz",
        promise="`/healthz` answers while the process serves, to anyone.",
        source="product.md, Names",
        tests=("tests/server/http/test_health.py::test_it_says_that_it_lives_and_is_ready_without_a_credential",),
    ),
    Requirement(
        id="names:readyz",
        promise="`/readyz` tells when a store is down.",
        source="product.md, Names",
        tests=("tests/server/http/test_health.py::test_while_a_store_does_not_answer_it_lives_and_is_not_ready",),
    ),
    Requirement(
        id="names:metrics",
        promise="`/metrics` serves the server's metrics.",
        source="product.md, Names",
        tests=("tests/server/test_app.py::test_metrics_count_calls_requests_sessions_and_bytes",),
    ),
    Requirement(
        id="names:openapi",
        promise="`/openapi.json` describes every REST route that exists.",
        source="product.md, Names",
        to_come="Packaging and release",
    ),
    Requirement(
        id="names:other-tool",
        promise="The README says in one sentence that the public Rust tool of the same name is another program.",
        source="product.md, Names",
        tests=(
            (
                "tests/integration/test_readme.py::"
                "test_the_first_screen_says_what_it_is_for_whom_how_to_start_and_what_it_is_not"
            ),
        ),
    ),
    Requirement(
        id="install:base",
        promise="The base installation serves on SQLite without any extra.",
        source="product.md, Names",
        tests=(
            "tests/test_packaging.py::test_the_base_install_holds_all_that_the_server_imports",
            "tests/server/cli/test_serving.py::test_a_first_start_prints_a_key_and_the_next_one_does_not",
        ),
    ),
    Requirement(
        id="install:extras",
        promise="The extras neo4j, hugegraph, milvus, postgres, suite and all can be installed.",
        source="product.md, Names",
        tests=("tests/test_packaging.py::test_the_promised_extras_are_there_and_all_holds_those_of_a_running_server",),
    ),
    Requirement(
        id="install:extras:embedders",
        promise="The extras embed and embed-static each install an embedder.",
        source="product.md, Names",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="install:contracts",
        promise="The contracts import msgspec and the standard library and nothing else.",
        source="product.md, Names",
        tests=("tests/test_packaging.py::test_contracts_need_msgspec_alone",),
    ),
    Requirement(
        id="settings:sources",
        promise="A setting comes from the environment, a TOML file or the command line.",
        source="product.md, Settings",
        tests=(
            "tests/server/test_settings.py::test_the_command_line_wins_over_the_environment_and_that_over_the_file",
        ),
    ),
    Requirement(
        id="settings:table",
        promise="One table in the docs lists every `CODESYNAPSE_*` setting, and a test holds it to the code.",
        source="product.md, Settings",
        tests=(
            "tests/test_configuration.py::test_the_page_lists_every_setting_with_its_default_and_meaning",
            "tests/test_configuration.py::test_every_setting_has_a_row_and_every_row_a_setting",
        ),
    ),
    Requirement(
        id="settings:masked",
        promise="Passwords in URLs are masked wherever a setting is shown.",
        source="product.md, Settings",
        tests=(
            "tests/server/test_settings.py::test_a_password_in_a_url_is_masked",
            "tests/server/cli/test_doctor.py::test_a_store_that_is_named_by_a_url_is_told_without_its_password",
            "tests/server/cli/test_serving.py::test_a_start_that_fails_prints_no_traceback_and_no_value",
        ),
    ),
    Requirement(
        id="settings:home",
        promise="Embedded stores lie in `CODESYNAPSE_HOME`, by default the user's data folder.",
        source="product.md, Settings",
        tests=(
            "tests/server/test_settings.py::test_the_home_is_the_users_data_folder_unless_it_is_named",
            "tests/server/test_services.py::test_stores_that_fit_are_opened",
        ),
    ),
    Requirement(
        id="home:several",
        promise="Server, stdio processes and the command line write one home at the same time and lose nothing.",
        source="product.md, Settings",
        tests=(
            (
                "tests/integration/test_kill.py::"
                "test_a_server_three_stdio_processes_and_the_command_line_share_a_home_and_lose_nothing"
            ),
        ),
    ),
    Requirement(
        id="home:second-serve",
        promise="A second `serve` on one home refuses to start.",
        source="product.md, Settings",
        tests=("tests/server/cli/test_serving.py::test_a_second_serve_on_one_home_exits_with_2",),
    ),
    Requirement(
        id="listen:default",
        promise="The server listens on 127.0.0.1 and port 8420 by default, and port 0 picks a free one.",
        source="product.md, Settings",
        tests=(
            "tests/server/cli/test_reach.py::test_a_server_is_looked_for_where_the_settings_put_it",
            "tests/server/cli/test_serving.py::test_the_address_is_printed_once_requests_are_served",
        ),
    ),
    Requirement(
        id="listen:line",
        promise="`listening on http://HOST:PORT/mcp` is printed once requests are served.",
        source="product.md, Settings",
        tests=("tests/server/cli/test_serving.py::test_the_address_is_printed_once_requests_are_served",),
    ),
    Requirement(
        id="listen:beyond-loopback",
        promise="A bind beyond loopback refuses without TLS, a trusted proxy or `--insecure-http`.",
        source="product.md, Settings",
        tests=(
            (
                "tests/server/cli/test_serving.py::"
                "test_a_bind_beyond_loopback_is_refused_and_says_how_it_would_be_allowed"
            ),
            "tests/server/http/test_tls.py::test_beyond_loopback_it_listens_only_with_protection",
        ),
    ),
    Requirement(
        id="graph:default",
        promise="The graph store is SQLite by default, and `memory` keeps it in memory.",
        source="product.md, Settings",
        tests=(
            "tests/server/cli/test_doctor.py::test_a_fresh_home_is_well_and_no_server_is_only_a_warning",
            "tests/server/test_services.py::test_stores_that_fit_are_opened",
        ),
    ),
    Requirement(
        id="graph:servers",
        promise=(
            "Neo4j, bolt and HugeGraph URLs in `CODESYNAPSE_GRAPH` open those servers, encrypted where they say so."
        ),
        source="product.md, Settings",
        tests=(
            "tests/integration/test_down_store.py::test_the_scheme_of_a_url_names_the_backend",
            "tests/backends/neo4j/test_options.py::test_user_and_password_are_percent_decoded_and_left_out_of_the_address",
            "tests/backends/hugegraph/test_address.py::test_a_whole_url_is_taken_apart",
            "tests/integration/test_down_store.py::test_the_server_starts_beside_a_store_that_is_down_and_is_ready_when_it_is_there",
        ),
    ),
    Requirement(
        id="store:alike",
        promise="Whatever is asked of session memory, in any order or at once, every store answers as the law does.",
        source="product.md, Introduction",
        tests=(
            "tests/backends/test_differential.py::test_all_stores_answer_as_the_law_does",
            "tests/backends/test_differential.py::test_all_stores_sweep_as_the_law_does",
            "tests/backends/test_differential.py::test_a_store_with_one_guard_taken_out_is_found",
        ),
    ),
    Requirement(
        id="store:hostile-texts",
        promise="A hostile text in any field is inert or refused with a clear error, on every store alike.",
        source="product.md, Introduction",
        tests=(
            "tests/backends/test_hostile_strings.py::test_a_hostile_text_is_answered_alike_by_all_stores",
            "tests/backends/test_hostile_strings.py::test_there_are_at_least_two_hundred_texts",
        ),
    ),
    Requirement(
        id="store:moving",
        promise="All memory moves from any store to any other and has the same digests there, also after a kill.",
        source="product.md, Settings; decision 13",
        tests=(
            (
                "tests/integration/test_moving.py::"
                "test_all_memory_moves_around_all_stores_and_back_with_the_same_digests"
            ),
            ("tests/integration/test_moving.py::test_a_copy_into_neo4j_that_was_killed_goes_on_and_ends_equal"),
            ("tests/integration/test_moving.py::test_a_copy_into_hugegraph_that_was_killed_goes_on_and_ends_equal"),
        ),
    ),
    Requirement(
        id="store:moving:endings",
        promise="What was revoked, cleared or has expired stays so in another store, and commit ids answer there.",
        source="product.md, Settings; decision 15",
        tests=(
            "contracts/suite/test_portable.py::TestMovingSessions::test_closed_stays_closed",
            (
                "contracts/suite/test_portable.py::TestMovingSessions::"
                "test_tombstones_still_refuse_also_of_a_session_that_never_wrote"
            ),
            (
                "contracts/suite/test_portable.py::TestMovingSessions::"
                "test_commit_ids_answer_and_revisions_refuse_after_the_move"
            ),
            (
                "contracts/suite/test_portable.py::TestMovingSessions::"
                "test_the_deadline_moves_too_and_still_ends_the_session"
            ),
        ),
    ),
    Requirement(
        id="store:moving:whole",
        promise="A repository that is only half moved serves nothing and takes nothing until it is whole.",
        source="product.md, Settings; decision 15",
        tests=(
            (
                "contracts/suite/test_portable_repository.py::TestMovingRepositories::"
                "test_a_half_moved_repository_serves_and_takes_nothing_until_it_is_whole"
            ),
        ),
    ),
    Requirement(
        id="graph:entry-point",
        promise="The entry-point name of another's backend in `CODESYNAPSE_GRAPH` opens it.",
        source="product.md, Settings",
        tests=("tests/server/test_services.py::test_a_backend_of_another_is_opened_by_the_name_of_its_entry_point",),
    ),
    Requirement(
        id="accounts:default",
        promise="Accounts are kept in SQLite by default, and `memory` keeps them in memory.",
        source="product.md, Settings",
        tests=(
            "tests/server/cli/test_admin.py::test_a_changed_cap_is_audited_with_its_value",
            "tests/server/test_services.py::test_stores_that_fit_are_opened",
        ),
    ),
    Requirement(
        id="accounts:postgresql",
        promise="A PostgreSQL URL in `CODESYNAPSE_ACCOUNTS` keeps the accounts there.",
        source="product.md, Settings",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="vectors:default",
        promise="Vectors lie beside the graph by default, in whichever store it is.",
        source="product.md, Settings",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="vectors:none",
        promise="With `CODESYNAPSE_VECTORS=none` recall works by words alone.",
        source="product.md, Settings",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="vectors:milvus",
        promise="A Milvus URL in `CODESYNAPSE_VECTORS` keeps the vectors there.",
        source="product.md, Settings",
        to_come="Milvus",
    ),
    Requirement(
        id="embedder:choice",
        promise="`CODESYNAPSE_EMBEDDER` chooses the best installed embedder, a named one or none.",
        source="product.md, Settings",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="secret:file",
        promise=(
            "The key for signed states is a 0600 file in the home or the one set, and all processes of one server "
            "share it."
        ),
        source="product.md, Settings",
        tests=(
            "tests/server/test_secret.py::test_the_home_gets_a_key_for_its_owner_alone_and_keeps_it",
            "tests/server/test_secret.py::test_processes_that_begin_together_agree_on_one_key",
            (
                "tests/server/modern/test_service.py::"
                "test_another_server_with_the_same_key_goes_on_where_the_first_has_asked"
            ),
        ),
    ),
    Requirement(
        id="hosts:model",
        promise="Model calls reach only the configured hosts, loopback by default.",
        source="product.md, Settings",
        tests=(
            "tests/server/test_settings.py::test_an_embedder_on_loopback_or_on_a_host_that_is_named_may_be_asked",
            (
                "tests/server/test_settings.py::"
                "test_an_endpoint_that_cannot_or_must_not_be_asked_is_refused_by_the_settings_name"
            ),
            (
                "tests/backends/embedders/test_http.py::"
                "test_an_endpoint_that_answers_something_else_is_a_wrong_configuration"
            ),
        ),
    ),
    Requirement(
        id="hosts:ingest",
        promise="Ingest reaches only the configured hosts, none by default.",
        source="product.md, Settings",
        to_come="Code graph and ingest",
    ),
    Requirement(
        id="settings:operating-context",
        promise="`get_operating_context` reads the file that the operator's setting names.",
        source="product.md, Settings",
        tests=("tests/integration/test_session_key.py::test_the_operators_file_is_what_get_operating_context_reads",),
    ),
    Requirement(
        id="limits:body",
        promise="A body over 4 MiB and JSON nested deeper than 64 are refused.",
        source="product.md, Limits",
        tests=(
            "tests/integration/test_hostile.py::test_a_body_of_ten_megabytes_is_413_and_names_the_limit",
            "tests/integration/test_hostile.py::test_a_hundred_thousand_brackets_are_refused_with_the_limit",
            (
                "tests/server/mcp/test_messages.py::"
                "test_nesting_up_to_the_limit_passes_and_one_more_is_refused_with_the_limit"
            ),
        ),
    ),
    Requirement(
        id="limits:calls",
        promise="A principal has at most 64 calls in flight.",
        source="product.md, Limits",
        tests=(
            (
                "tests/integration/test_transport_calls.py::"
                "test_a_principals_65th_call_in_flight_is_refused_whatever_its_session"
            ),
        ),
    ),
    Requirement(
        id="limits:transport:own",
        promise=(
            "A principal's 65th transport session ends its own least recently used idle one; with none idle it gets "
            "429."
        ),
        source="product.md, Limits",
        tests=(
            (
                "tests/integration/test_transport_endings.py::"
                "test_a_principals_65th_session_ends_its_least_recently_used_idle_one"
            ),
            "tests/integration/test_transport_endings.py::test_where_none_is_idle_the_next_session_is_429",
        ),
    ),
    Requirement(
        id="limits:transport:total",
        promise="At 10,000 transport sessions a further one gets 503 with `Retry-After`.",
        source="product.md, Limits",
        tests=(
            (
                "tests/integration/test_transport_endings.py::"
                "test_at_the_cap_of_all_the_next_session_is_503_and_says_when_to_come_again"
            ),
            "tests/server/test_limits.py::test_a_bound_has_the_promised_default",
        ),
    ),
    Requirement(
        id="limits:transport:idle",
        promise="A transport session ends after 30 idle minutes.",
        source="product.md, Limits",
        tests=(
            (
                "tests/integration/test_transport_endings.py::"
                "test_an_idle_session_ends_after_half_an_hour_and_any_use_begins_it_anew"
            ),
        ),
    ),
    Requirement(
        id="limits:ring",
        promise="Event rings hold at most 256 events and 1 MiB a session, and 64 MiB in all.",
        source="product.md, Limits",
        tests=(
            (
                "tests/server/mcp/test_stream.py::"
                "test_beyond_the_most_events_the_oldest_notification_goes_and_never_a_response"
            ),
            "tests/server/mcp/test_stream.py::test_beyond_a_sessions_bytes_its_oldest_finished_responses_go_first",
            "tests/server/test_limits.py::test_a_bound_has_the_promised_default",
        ),
    ),
    Requirement(
        id="limits:store-deadline",
        promise="A store that does not answer within 10 s ends the call with an error.",
        source="product.md, Limits",
        tests=(
            (
                "tests/integration/test_promises_memory.py::"
                "test_a_store_that_does_not_answer_in_time_ends_the_call_with_an_error"
            ),
            "tests/server/test_limits.py::test_a_bound_has_the_promised_default",
        ),
    ),
    Requirement(
        id="limits:response-kept",
        promise="A response is kept until delivered, for 10 minutes, or to its session's byte cap.",
        source="product.md, Limits",
        tests=(
            "tests/server/mcp/test_stream.py::test_a_response_is_kept_for_ten_minutes_and_then_known_as_gone",
            "tests/integration/test_transport_streams.py::test_a_response_is_gone_after_ten_minutes",
            "tests/integration/test_transport_streams.py::test_an_evicted_response_is_a_named_error_for_its_request",
        ),
    ),
    Requirement(
        id="limits:response-own",
        promise="At the total a principal loses its own finished responses, then gets 503; nobody else loses any.",
        source="product.md, Limits",
        tests=(
            (
                "tests/server/http/test_live.py::"
                "test_at_the_total_room_is_made_of_the_principals_own_responses_and_never_of_anothers"
            ),
            (
                "tests/integration/test_transport_calls.py::"
                "test_at_the_budget_of_all_events_calls_are_refused_and_pings_are_not"
            ),
        ),
    ),
    Requirement(
        id="limits:retry-hint",
        promise="The SSE retry hint is 2,000 ms unless `CODESYNAPSE_SSE_RETRY_MS` says otherwise.",
        source="product.md, Limits",
        tests=(
            (
                "tests/integration/test_transport_streams.py::"
                "test_at_the_newest_revision_a_stream_begins_with_an_id_and_a_retry"
            ),
            "tests/server/test_limits.py::test_settings_and_limits_agree_on_every_default",
        ),
    ),
    Requirement(
        id="limits:by-setting",
        promise="A limit is raised by its setting, and the server obeys the raised one.",
        source="product.md, Limits",
        tests=(
            "tests/server/test_limits.py::test_a_bound_is_set_by_its_setting_and_never_below_one",
            "tests/integration/test_promises_memory.py::test_a_raised_limit_lets_through_what_the_default_refuses",
        ),
    ),
    Requirement(
        id="start:key-line",
        promise="The first start prints `CODESYNAPSE_API_KEY=csk_…` alone on a line, and no later start prints a key.",
        source="product.md, First start",
        tests=(
            "tests/server/cli/test_serving.py::test_a_first_start_prints_a_key_and_the_next_one_does_not",
            "tests/server/cli/test_first.py::test_a_key_stands_alone_on_its_line",
        ),
    ),
    Requirement(
        id="start:container",
        promise="In a container the first key goes into a 0600 file instead.",
        source="product.md, First start",
        tests=(
            "tests/server/cli/test_first.py::"
            "test_the_first_key_goes_into_a_new_file_for_its_owner_alone_where_one_is_named",
        ),
    ),
    Requirement(
        id="start:creates",
        promise="The first start makes one organisation, one user and the repository `default`.",
        source="product.md, First start",
        tests=("tests/server/cli/test_first.py::test_the_key_opens_the_default_repository",),
    ),
    Requirement(
        id="start:init",
        promise="`codesynapse init` does the same without serving.",
        source="product.md, First start",
        tests=("tests/server/cli/test_first.py::test_init_prints_a_key_once",),
    ),
    Requirement(
        id="start:client-lines",
        promise="The printed client lines use `codesynapse bridge` and contain no session header.",
        source="product.md, First start",
        tests=("tests/server/cli/test_serving.py::test_the_lines_for_a_client_start_a_bridge_and_name_no_session",),
    ),
    Requirement(
        id="commands:make",
        promise=(
            "The Makefile offers setup, serve, test, test-all, contract, lint and the benches, each ending non-zero "
            "on failure."
        ),
        source="product.md, Commands",
        tests=(
            "tests/test_make.py::test_every_command_is_listed",
            "tests/test_make.py::test_a_command_runs_what_it_is_for_and_fails_when_that_fails",
        ),
    ),
    Requirement(
        id="commands:setup",
        promise="`make setup` installs what needs rights: Java, Maven and what builds the image.",
        source="product.md, Commands",
        tests=(
            "tests/test_make.py::test_setup_installs_what_needs_rights",
            "tests/servers/test_servers.py::test_missing_programs_are_named_with_the_line_that_installs_them",
            "tests/servers/test_servers.py::test_in_ci_they_are_installed",
        ),
    ),
    Requirement(
        id="commands:fresh",
        promise="`make serve` and `make test` install what they need on a machine with Python and make.",
        source="product.md, Commands",
        tests=(
            "tests/test_make.py::test_on_a_fresh_machine_a_command_first_installs_what_it_needs",
            "tests/test_make.py::test_what_is_installed_is_not_installed_again",
        ),
    ),
    Requirement(
        id="commands:contract:local",
        promise="`make contract STORE=memory` and `STORE=sqlite` run the suite and end with pytest's line.",
        source="product.md, Commands",
        tests=(
            "tests/test_make.py::test_the_suite_is_run_on_the_named_store_and_pytest_has_the_last_word",
            "tests/server/cli/test_contract.py::test_the_suite_runs_on_the_named_backend_and_ends_as_pytest_does",
        ),
    ),
    Requirement(
        id="commands:contract:graph",
        promise="`make contract` runs the suite on Neo4j and on HugeGraph 1.5 and 1.7.",
        source="product.md, Commands",
        tests=(
            "tests/test_make.py::test_for_a_graph_store_the_suite_is_run_beside_its_server",
            "tests/test_contract.py::test_the_suite_runs_here_on_every_store_that_is_shipped",
        ),
    ),
    Requirement(
        id="commands:contract:postgres",
        promise="`make contract STORE=postgres` runs the suite on PostgreSQL.",
        source="product.md, Commands",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="commands:contract:milvus",
        promise="`make contract STORE=milvus` runs the suite on Milvus.",
        source="product.md, Commands",
        to_come="Milvus",
    ),
    Requirement(
        id="commands:conformance",
        promise="`make conformance` ends with the numbers of passed and failed checks.",
        source="product.md, Commands",
        tests=(
            "tests/conformance/test_judging.py::test_the_last_line_counts_and_nothing_asked_is_a_failure",
            "tests/conformance/test_judging.py::test_a_scenario_that_was_not_run_is_a_failure",
        ),
    ),
    Requirement(
        id="commands:bench-mcp",
        promise="`make bench-mcp` prints its table and writes the JSON under `build/bench/`.",
        source="product.md, Commands",
        tests=(
            "tests/benchmarks/test_mcp_bench.py::test_the_table_is_printed_last_and_the_report_is_written",
            "tests/benchmarks/test_mcp_bench.py::test_a_missed_target_is_named_and_fails_the_run",
        ),
    ),
    Requirement(
        id="commands:bench-stores",
        promise="`make bench-stores` prints its table and writes the JSON under `build/bench/`.",
        source="product.md, Commands",
        tests=(
            "tests/benchmarks/test_stores_bench.py::test_the_table_is_printed_last_and_the_report_is_written",
            "tests/benchmarks/test_stores_bench.py::test_a_missed_target_is_named_and_fails_the_run",
        ),
    ),
    Requirement(
        id="commands:bench-agents",
        promise="`make bench-agents` prints its table and writes the JSON under `build/bench/`.",
        source="product.md, Commands",
        tests=(
            "tests/benchmarks/test_agents_bench.py::test_the_table_is_printed_last_and_the_report_is_written",
            "tests/benchmarks/test_agents_bench.py::test_a_missed_target_is_named_and_fails_the_run",
        ),
    ),
    Requirement(
        id="commands:bench-recall",
        promise="`make bench-recall` prints its table and writes the JSON under `build/bench/`.",
        source="product.md, Commands",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="commands:bench-service",
        promise="`make bench-service` prints its table and writes the JSON under `build/bench/`.",
        source="product.md, Commands",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="commands:tool-cost",
        promise=(
            "`codesynapse tool-cost --json` counts characters, tokens and tools of names, descriptions and input "
            "schemas."
        ),
        source="product.md, Commands",
        tests=(
            "tests/server/cli/test_cost.py::test_the_figures_are_those_of_the_listed_tools",
            "tests/server/tools/test_cost.py::test_name_description_and_input_schema_are_counted_and_nothing_else",
        ),
    ),
    Requirement(
        id="shapes:shared",
        promise="REST routes and tools take and return the same objects and refuse an unknown argument.",
        source="product.md, Shapes",
        tests=("tests/integration/test_promises_memory.py::test_rest_and_tools_take_and_return_the_same_objects",),
    ),
    Requirement(
        id="triple:names",
        promise="Subject and object have 1 to 256 characters in NFC without control characters.",
        source="product.md, Shapes",
        tests=(
            "tests/contracts/test_triples.py::test_names_become_nfc_without_blanks_around_them",
            "tests/contracts/test_triples.py::test_control_characters_and_lone_surrogates_are_refused",
            "tests/contracts/test_triples.py::test_texts_are_bounded_in_characters",
        ),
    ),
    Requirement(
        id="triple:aliases",
        promise="A side of a triple takes at most 8 aliases of at most 128 characters.",
        source="product.md, Shapes",
        tests=("tests/contracts/test_triples.py::test_there_are_at_most_eight_aliases_of_128_characters_each_once",),
    ),
    Requirement(
        id="triple:predicate",
        promise="A predicate is a lower-case letter and up to 63 lower-case letters, digits or underscores.",
        source="product.md, Shapes",
        tests=(
            "tests/contracts/test_triples.py::test_predicates_are_small_letters_digits_and_underscores",
            "tests/contracts/test_triples.py::test_other_predicates_are_refused",
        ),
    ),
    Requirement(
        id="triple:valid-from",
        promise="`valid_from` is an RFC 3339 time; anything else is refused by name.",
        source="product.md, Shapes",
        tests=(
            "tests/server/memory/test_views.py::test_a_moment_that_is_none_is_refused_by_the_place_of_its_field",
            "tests/server/test_clock.py::test_rfc_3339_is_read",
            "tests/server/test_clock.py::test_anything_else_is_no_moment",
        ),
    ),
    Requirement(
        id="entity:identity",
        promise="Two spellings of a name that differ in case are one entity, unless their types differ.",
        source="product.md, Shapes",
        tests=(
            "contracts/suite/test_memory.py::TestSnapshots::test_names_that_differ_by_case_only_are_one_entity",
            "contracts/suite/test_memory.py::TestSnapshots::test_the_same_name_of_another_type_is_another_entity",
        ),
    ),
    Requirement(
        id="fact:shape",
        promise="A fact has the triple's fields, its id, times and, where known, origin session and score.",
        source="product.md, Shapes",
        tests=(
            "tests/server/memory/test_views.py::test_a_fact_shows_only_what_it_has",
            "tests/server/memory/test_views.py::test_a_fact_shows_types_aliases_source_and_score_where_there_are_some",
        ),
    ),
    Requirement(
        id="upsert:arguments",
        promise="`upsert_graph_triples` takes 1 to 50 triples, into a session's memory where the scope says so.",
        source="product.md, Shapes",
        tests=(
            "tests/server/tools/test_graph.py::test_a_list_has_at_least_one_member_and_at_most_the_promised_number",
            (
                "tests/server/tools/test_graph.py::"
                "test_memory_goes_to_the_repository_by_default_and_to_the_session_when_asked"
            ),
        ),
    ),
    Requirement(
        id="upsert:answer",
        promise="`upsert_graph_triples` answers with the facts, four counts that are numbers, and the revision.",
        source="product.md, Shapes",
        tests=(
            "tests/server/memory/test_views.py::test_an_upsert_answers_its_facts_in_the_order_in_which_they_were_sent",
        ),
    ),
    Requirement(
        id="recall:shape",
        promise="`recall_context` returns 10 facts or a limit of 1 to 50, and the revision of what it read.",
        source="product.md, Shapes",
        tests=(
            "tests/server/tools/test_graph.py::test_without_a_limit_ten_facts_are_recalled",
            "tests/server/tools/test_graph.py::test_a_number_has_the_promised_default_and_bounds",
        ),
    ),
    Requirement(
        id="recall:max-chars",
        promise="`max_chars` bounds the length of a recall's answer.",
        source="product.md, Shapes",
        tests=("tests/server/memory/test_recall.py::test_the_characters_of_an_answer_are_bounded_by_whole_facts",),
    ),
    Requirement(
        id="recall:explain",
        promise="`explain` adds to each hit why it was found.",
        source="product.md, Shapes",
        tests=("tests/server/memory/test_recall.py::test_an_explanation_says_what_speaks_for_a_fact",),
    ),
    Requirement(
        id="recall:all",
        promise='With `memory_scope: "all"` each hit names its scope and kind, and there is no revision.',
        source="product.md, Shapes",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="recall:empty-note",
        promise="An empty session recall says how many facts of the repository match.",
        source="product.md, Shapes",
        tests=("tests/server/memory/test_recall.py::test_an_empty_recall_says_how_much_of_the_repository_matches",),
    ),
    Requirement(
        id="search:shape",
        promise=(
            "`search_graph_nodes` pages by labels and an opaque cursor, 20 or up to 100 nodes, losing and repeating "
            "none."
        ),
        source="product.md, Shapes",
        tests=(
            "tests/server/memory/test_repository.py::test_pages_of_a_search_hold_every_entity_once_in_order",
            "tests/server/tools/test_graph.py::test_a_number_has_the_promised_default_and_bounds",
            "tests/server/memory/test_repository.py::test_the_label_of_the_code_graph_alone_finds_no_memory",
        ),
    ),
    Requirement(
        id="subgraph:shape",
        promise=(
            "`query_subgraph` takes 1 to 20 nodes by id or name, depth 1 to 3, limit 1 to 300, and says when it was "
            "cut off."
        ),
        source="product.md, Shapes",
        tests=(
            (
                "tests/server/memory/test_repository.py::"
                "test_a_node_is_named_by_id_name_or_alias_and_an_unknown_one_is_left_out"
            ),
            "tests/server/memory/test_repository.py::test_a_neighbourhood_is_cut_at_its_limit_and_says_so",
            "tests/server/tools/test_graph.py::test_a_number_has_the_promised_default_and_bounds",
        ),
    ),
    Requirement(
        id="graph:shapes",
        promise=(
            "A node answers with id, name, type, labels and aliases, an edge with id, source, target and predicate."
        ),
        source="product.md, Shapes",
        tests=("tests/server/tools/test_graph.py::test_found_nodes_and_edges_have_their_shapes",),
    ),
    Requirement(
        id="node:memory-label",
        promise="Entities of repository memory carry the label `MemoryEntity`.",
        source="product.md, Shapes; product.md, Memory, in three scopes",
        tests=(
            "tests/server/memory/test_views.py::test_a_node_carries_the_label_of_memory",
            "tests/server/memory/test_repository.py::test_the_label_of_the_code_graph_alone_finds_no_memory",
        ),
    ),
    Requirement(
        id="node:code-label",
        promise="Nodes of the code graph carry the label `Node`.",
        source="product.md, Shapes; product.md, Memory, in three scopes",
        to_come="Code graph and ingest",
    ),
    Requirement(
        id="offload:shape",
        promise=(
            "`offload_turns` takes 1 to 50 turns of at most 8,000 characters and answers with a task id and `queued`."
        ),
        source="product.md, Shapes",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="promote:shape",
        promise="`promote_facts` takes 1 to 50 ids and answers with two counts and the missing ids.",
        source="product.md, Shapes",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="register:created",
        promise="The first registration answers 201, a repetition by the same user 200, with the same fields.",
        source="product.md, Shapes",
        tests=(
            (
                "tests/server/http/test_api.py::"
                "test_a_first_registration_is_201_a_repeated_one_200_with_the_same_deadline"
            ),
            "tests/server/http/test_api.py::test_a_registration_is_answered_with_the_identity_and_its_two_moments",
        ),
    ),
    Requirement(
        id="register:conflict",
        promise="Anyone else's registration of a live or dead id answers 409 with one and the same body.",
        source="product.md, Shapes",
        tests=(
            (
                "tests/integration/test_refusals_alike.py::"
                "test_registering_and_revoking_foreign_ids_is_answered_with_one_body"
            ),
            "tests/server/http/test_api.py::test_anyone_elses_id_is_409_with_one_body_live_or_tombstoned",
        ),
    ),
    Requirement(
        id="register:list",
        promise="`GET /api/v1/execution/sessions` lists the caller's own sessions and no others.",
        source="product.md, Shapes",
        tests=("tests/server/http/test_api.py::test_ones_own_sessions_are_listed_with_their_state",),
    ),
    Requirement(
        id="ids:not-in-paths",
        promise="No route or resource URI contains a session id; revocation takes it in the body.",
        source="product.md, Shapes",
        tests=(
            (
                "tests/server/test_app.py::"
                "test_the_routes_are_those_of_the_product_and_none_names_a_session_or_serves_the_audit"
            ),
        ),
    ),
    Requirement(
        id="expiry:told",
        promise="In a session's last 24 hours tool results and REST answers carry its end in `_meta` and in a header.",
        source="product.md, Shapes",
        tests=(
            "tests/server/http/test_api.py::test_during_the_last_day_the_deadline_is_a_header",
            "tests/server/tools/test_dispatch.py::test_in_the_last_day_the_answer_carries_the_deadline",
            "tests/server/tools/test_dispatch.py::test_the_deadline_is_told_as_a_moment",
        ),
    ),
    Requirement(
        id="toolsets:choice",
        promise="Toolsets are chosen by setting, header or query parameter, all by default; a hidden tool is unknown.",
        source="product.md, Shapes; product.md, Tools",
        tests=(
            (
                "tests/integration/test_transport.py::"
                "test_toolsets_are_chosen_by_header_or_query_and_a_hidden_tool_is_unknown"
            ),
            "tests/server/cli/test_cost.py::test_only_the_chosen_toolsets_are_counted",
            "tests/server/mcp/test_catalog.py::test_toolsets_are_chosen_by_name_and_all_or_nothing_means_every_one",
        ),
    ),
    Requirement(
        id="idempotency:replay",
        promise="An agent's idempotency key returns the kept answer for 24 hours; other content under it is an error.",
        source="product.md, Shapes",
        tests=(
            "contracts/suite/test_agents_queue.py::TestOnce::test_a_repeated_key_answers_alike_and_writes_nothing",
            "contracts/suite/test_agents_queue.py::TestOnce::test_other_content_under_a_key_is_an_error",
            "contracts/suite/test_agents_queue.py::TestOnce::test_after_a_day_a_key_is_new",
            "contracts/suite/test_agents_queue.py::TestOnce::test_a_key_belongs_to_one_agent",
            "contracts/suite/test_agents_queue.py::TestOnce::test_the_key_of_a_task_that_will_never_be_done_is_free_again",
            "contracts/suite/test_agents_queue.py::TestOnce::test_a_kept_answer_can_be_foreseen_for_a_day_and_other_content_is_an_error",
            "tests/server/agents/test_writing.py::test_a_key_answers_again_what_it_answered_and_is_refused_for_other_content",
            "tests/server/tools/test_memory.py::test_what_was_acknowledged_before_a_pause_is_acknowledged_again_under_it",
        ),
    ),
    Requirement(
        id="refused:order",
        promise="Credential, transport session, execution and arguments are judged in this order.",
        source="product.md, Who is refused how",
        tests=(
            (
                "tests/integration/test_refusals_alike.py::"
                "test_the_credential_is_judged_first_then_the_transport_then_the_execution_then_the_arguments"
            ),
        ),
    ),
    Requirement(
        id="refused:credential",
        promise="No credential and a wrong one get 401.",
        source="product.md, Who is refused how",
        tests=(
            "tests/integration/test_refusals.py::test_a_credential_that_does_not_work_is_refused",
            "tests/server/http/test_api.py::test_without_a_credential_every_route_is_401",
        ),
    ),
    Requirement(
        id="refused:transport-unknown",
        promise="An unknown transport session, and one of another credential, get 404.",
        source="product.md, Who is refused how",
        tests=(
            "tests/integration/test_refusals.py::test_a_transport_session_that_is_not_this_credentials_own_is_refused",
            "tests/integration/test_transport.py::test_an_unknown_session_and_anothers_are_404_alike",
        ),
    ),
    Requirement(
        id="refused:indistinct",
        promise="A foreign session, live or dead, gets the same 403 as an id that never existed, registration apart.",
        source="product.md, Who is refused how",
        tests=(
            (
                "tests/integration/test_refusals_alike.py::"
                "test_a_foreign_session_live_or_dead_is_answered_like_one_that_never_existed"
            ),
        ),
    ),
    Requirement(
        id="refused:owner-told",
        promise="The owner of an expired or revoked session is told which it is, with 403, on use and on registration.",
        source="product.md, Who is refused how",
        tests=(
            "tests/integration/test_refusals.py::test_an_id_that_is_not_ones_to_register_or_revoke_is_refused",
            "tests/contracts/test_binding.py::test_the_owner_is_told_what_ended_the_session",
            (
                "contracts/suite/test_accounts.py::"
                "TestAuthority::test_the_owner_is_told_expired_or_revoked_beside_the_caller"
            ),
        ),
    ),
    Requirement(
        id="refused:header-bad",
        promise="A repeated or malformed header, and a parent other than the session, get 400 with the header's name.",
        source="product.md, Who is refused how",
        tests=(
            (
                "tests/integration/test_refusals.py::"
                "test_a_session_that_is_not_named_rightly_not_ones_own_or_over_is_refused"
            ),
            "tests/integration/test_hostile.py::test_a_malformed_execution_header_is_400_and_names_the_header",
        ),
    ),
    Requirement(
        id="refused:no-transport-id",
        promise="GET and DELETE without a transport session id get 405.",
        source="product.md, Who is refused how",
        tests=(
            "tests/integration/test_refusals.py::test_a_transport_session_that_is_not_this_credentials_own_is_refused",
            (
                "tests/integration/test_transport.py::"
                "test_without_a_session_only_post_is_allowed_and_nothing_is_allocated"
            ),
        ),
    ),
    Requirement(
        id="refused:register-caps",
        promise="Registration gets 429 at the cap of active bindings and 409 `capacity` at that of retained ones.",
        source="product.md, Who is refused how",
        tests=("tests/integration/test_refusals.py::test_an_id_that_is_not_ones_to_register_or_revoke_is_refused",),
    ),
    Requirement(
        id="refused:revoke-unknown",
        promise="Revoking an unknown or foreign id gets 404.",
        source="product.md, Who is refused how",
        tests=(
            "tests/integration/test_refusals.py::test_an_id_that_is_not_ones_to_register_or_revoke_is_refused",
            "tests/server/http/test_api.py::test_revoking_is_repeatable_and_an_unknown_or_foreign_id_is_404_alike",
        ),
    ),
    Requirement(
        id="refused:arguments-mcp",
        promise="What arguments decide is a result with `isError` and `structuredContent` of ok, code and error.",
        source="product.md, Who is refused how; product.md, Tools",
        tests=(
            "tests/integration/test_refusals.py::test_what_arguments_decide_is_refused_beside_the_transport",
            "tests/integration/test_refusals_stdio.py::test_what_arguments_decide_is_a_result_that_is_an_error",
            "tests/server/tools/test_dispatch.py::test_a_refusal_is_a_result_with_its_figures",
        ),
    ),
    Requirement(
        id="refused:arguments-rest",
        promise="What arguments decide is over REST the same object under 403, 404, 409, 422 or 429.",
        source="product.md, Who is refused how",
        tests=(
            "tests/integration/test_refusals.py::test_what_arguments_decide_is_refused_beside_the_transport",
            "tests/server/http/test_api.py::test_a_conflict_is_409_with_the_current_revision",
            "tests/server/http/test_errors.py::test_each_leaf_has_its_status",
        ),
    ),
    Requirement(
        id="refused:json-rpc",
        promise="Only an unknown tool or method is a JSON-RPC error.",
        source="product.md, Who is refused how",
        tests=(
            "tests/server/mcp/test_connection.py::test_an_unknown_method_is_told_so",
            "tests/server/features/test_operations.py::test_a_malformed_call_or_an_unknown_tool_is_invalid",
            "tests/server/tools/test_dispatch.py::test_wrong_arguments_are_a_result_that_names_the_field",
        ),
    ),
    Requirement(
        id="refused:repository",
        promise="A repository that does not exist answers as one without a grant does.",
        source="product.md, Who is refused how",
        tests=(
            (
                "tests/integration/test_refusals_alike.py::"
                "test_a_repository_that_does_not_exist_is_answered_like_one_without_a_grant"
            ),
        ),
    ),
    Requirement(
        id="refused:read-grant",
        promise="A read grant does not suffice to write, and a withdrawn grant ends with the next call.",
        source="product.md, Who is refused how",
        tests=(
            "tests/integration/test_refusals.py::test_what_arguments_decide_is_refused_beside_the_transport",
            "tests/server/tools/test_graph.py::test_a_read_grant_reads_all_and_writes_only_the_sessions_own_memory",
            "tests/server/tools/test_graph.py::test_a_grant_withdrawn_between_two_calls_holds_for_the_second",
        ),
    ),
    Requirement(
        id="unbound:methods",
        promise="An unbound protocol session answers initialize, ping, logging and the static lists only.",
        source="product.md, Who is refused how",
        tests=(
            (
                "tests/integration/test_refusals.py::"
                "test_an_unbound_transport_answers_lists_alone_until_both_headers_bind_it"
            ),
            "tests/server/mcp/test_connection.py::test_what_needs_no_execution_answers_before_the_binding",
            "tests/server/mcp/test_connection.py::test_anything_else_is_refused_before_the_binding",
        ),
    ),
    Requirement(
        id="unbound:get",
        promise="GET on an unbound protocol session without the headers gets 403.",
        source="product.md, Who is refused how",
        tests=(
            (
                "tests/integration/test_refusals.py::"
                "test_an_unbound_transport_answers_lists_alone_until_both_headers_bind_it"
            ),
        ),
    ),
    Requirement(
        id="streams:closed",
        promise=(
            "Revoking, expiring, suspending or deleting the key closes open streams within a second; no event follows."
        ),
        source="product.md, Who is refused how",
        tests=(
            (
                "tests/integration/test_streams_close.py::"
                "test_a_command_beside_the_server_closes_open_streams_and_no_event_follows"
            ),
            "tests/integration/test_streams_close.py::test_an_expiry_closes_open_streams_by_the_clock_alone",
            (
                "tests/integration/test_transport_endings.py::"
                "test_the_end_of_access_closes_open_streams_and_nothing_follows"
            ),
        ),
    ),
    Requirement(
        id="memory:repository",
        promise=(
            "Repository memory belongs to tenant and repository, outlives every session and has quotas that are "
            "settings."
        ),
        source="product.md, Memory, in three scopes",
        tests=(
            "tests/integration/test_promises_memory.py::test_repository_memory_outlives_the_session_that_wrote_it",
            "contracts/suite/test_repository.py::TestRepositoryQuotas::test_a_repository_holds_so_many_live_facts",
            "tests/server/memory/test_repository.py::test_repositories_of_one_name_in_two_organisations_share_nothing",
        ),
    ),
    Requirement(
        id="memory:agent",
        promise="Agent memory is durable by tenant, agent, project and channel and has quotas that are settings.",
        source="product.md, Memory, in three scopes",
        tests=(
            "contracts/suite/test_reopening.py::TestReopening::test_agent_memory_its_queue_and_its_caps_are_there",
            "contracts/suite/test_agents_recall.py::TestAxes::test_a_reach_sees_its_own_buckets",
            "contracts/suite/test_agents.py::TestMemories::test_at_a_cap_nothing_more_is_kept_and_what_repeats_is_still_answered",
        ),
    ),
    Requirement(
        id="memory:namespace",
        promise="A namespace of session memory is a repository that the caller may read.",
        source="product.md, Memory, in three scopes",
        tests=("tests/server/http/test_api.py::test_a_namespace_is_a_repository_that_one_may_read",),
    ),
    Requirement(
        id="memory:agent-grants",
        promise="An agent is a resource with read, write and admin grants; its first writer in a tenant owns it.",
        source="product.md, Memory, in three scopes",
        tests=(
            "contracts/suite/test_agents.py::TestAgentGrants::test_the_first_writer_owns_the_agent",
            "contracts/suite/test_agents.py::TestAgentGrants::test_of_two_first_writers_one_owns_it_and_the_other_is_refused",
            "contracts/suite/test_agents.py::TestAgentGrants::test_a_grant_allows_what_it_says",
            "tests/server/cli/test_agents.py::test_a_grant_of_the_command_line_holds_for_the_next_call_of_a_running_server",
        ),
    ),
    Requirement(
        id="agents:resource",
        promise=(
            "An agent that may be read is a resource with a size bound, listed, completed by name, and told when it "
            "changes; any other is as one that does not exist."
        ),
        source="product.md, Memory, in three scopes",
        tests=(
            "tests/server/features/test_agents.py::test_the_resource_holds_the_profile_and_the_records_newest_first",
            "tests/server/features/test_agents.py::test_it_is_bounded_in_records_and_in_bytes_and_says_so",
            "tests/server/features/test_agents.py::test_without_a_grant_an_agent_is_as_one_that_does_not_exist",
            "tests/server/features/test_agents.py::test_agents_with_a_grant_are_listed_and_completed_and_no_others",
            "tests/server/features/test_agents.py::test_a_subscriber_hears_of_a_change_and_of_none_of_another_agent",
            "tests/integration/test_features.py::test_an_agent_is_listed_read_completed_and_told_to_its_subscriber",
        ),
    ),
    Requirement(
        id="agents:audited",
        promise="An agent's beginning, grants, their withdrawal, a purge and a move are audited, with who and whose.",
        source="product.md, Memory, in three scopes",
        tests=(
            "contracts/suite/test_agents_audit.py::TestAgentAudit::test_an_agent_is_audited_once_by_whichever_write_makes_it",
            "contracts/suite/test_agents_audit.py::TestAgentAudit::test_a_grant_and_its_withdrawal_are_audited_with_whose_and_how_far",
            "contracts/suite/test_agents_audit.py::TestAgentAudit::test_a_purge_is_audited_with_who_did_it_and_how_much_went",
            "contracts/suite/test_agents_audit.py::TestAgentAudit::test_a_move_is_audited_with_who_did_it_and_how_much_went_and_a_copy_is_not",
            "contracts/suite/test_agents_audit.py::TestAgentAudit::test_what_is_refused_or_only_tried_leaves_no_record",
        ),
    ),
    Requirement(
        id="agents:tenants",
        promise=(
            "Nothing of another tenant, or of an agent out of reach, is served, counted or changed, even by its number."
        ),
        source="product.md, Memory, in three scopes",
        tests=(
            "contracts/suite/test_agents_recall.py::TestAgentIsolation::test_another_tenants_records_do_not_exist",
            "contracts/suite/test_agents_recall.py::TestAgentIsolation::test_another_tenants_records_cannot_be_changed",
            "contracts/suite/test_agents_recall.py::TestAgentIsolation::test_another_agents_records_are_not_served_or_changed_under_this_ones_name",
            "tests/backends/sqlite/test_agent_access.py::test_every_statement_names_its_tenant",
        ),
    ),
    Requirement(
        id="agents:duplicates",
        promise="Of equal memories that are stored at once, from several processes too, one is kept.",
        source="product.md, Memory, in three scopes",
        tests=(
            "contracts/suite/test_agents_racing.py::TestDuplicates::test_of_equal_memories_at_once_one_is_kept",
            "tests/integration/test_agent_memory.py::test_two_hundred_equal_stores_at_once_leave_one_row",
            "tests/backends/sqlite/test_agent_writing.py::test_two_processes_that_store_the_same_keep_it_once",
            "tests/backends/sqlite/test_agent_writing.py::test_a_duplicate_cannot_be_written_past_the_adapter",
        ),
    ),
    Requirement(
        id="agents:locks",
        promise="A memory that is locked is neither updated nor deleted, also by what began before the lock.",
        source="product.md, Memory, in three scopes",
        tests=(
            "contracts/suite/test_agents_racing.py::TestLocks::test_a_locked_memory_is_neither_updated_nor_deleted",
            "contracts/suite/test_agents_racing.py::TestLocks::test_a_lock_that_was_acknowledged_holds_against_what_runs_beside_it",
        ),
    ),
    Requirement(
        id="agents:claims",
        promise="A queued write is done once: the deletion of its row and its effect are one transaction.",
        source="product.md, Memory, in three scopes",
        tests=(
            "contracts/suite/test_agents_queue.py::TestAgentQueue::test_twenty_claims_at_once_write_one_episode",
            "contracts/suite/test_agents_queue.py::TestAgentQueue::test_a_purge_ends_a_task_that_is_under_way",
            "tests/backends/sqlite/test_agent_queue.py::test_a_claim_that_dies_between_the_effect_and_the_removal_leaves_the_task",
        ),
    ),
    Requirement(
        id="agents:queued",
        promise=(
            "An episode with more than 50 entries of history is queued; a task is tried three times, one that nobody "
            "can read is given up at once, and both are counted."
        ),
        source="product.md, Memory, in three scopes",
        tests=(
            "tests/server/agents/test_writing.py::test_a_history_of_more_than_fifty_entries_is_queued_without_a_word_of_it",
            "tests/server/work/test_queue.py::test_a_task_that_fails_is_tried_three_times_thirty_seconds_apart_and_then_counted",
            "tests/server/work/test_queue.py::test_a_row_that_nobody_can_read_is_given_up_at_once_and_counted",
            "tests/integration/test_agent_memory.py::test_a_thread_over_stdio_works_off_what_it_queues_without_a_server_beside_it",
        ),
    ),
    Requirement(
        id="agents:standing",
        promise=(
            "The queued write of a user who is out, or whose organisation is suspended, is not done, and counted."
        ),
        source="product.md, Memory, in three scopes",
        tests=(
            "tests/server/work/test_queue.py::test_what_a_user_queued_who_is_out_since_is_discarded_and_counted",
            "tests/server/work/test_queue.py::test_a_user_who_was_out_and_is_back_before_the_round_loses_nothing",
            "contracts/suite/test_accounts.py::TestDirectory::test_a_user_stands_while_user_organisation_and_membership_do",
        ),
    ),
    Requirement(
        id="agents:derived",
        promise="Queued work that follows from what is stored already is never dropped by a pause.",
        source="seed 1 §5",
        tests=("tests/server/work/test_queue.py::test_work_that_follows_from_what_is_stored_is_never_dropped",),
    ),
    Requirement(
        id="agents:killed",
        promise="Every acknowledged store and archive survives kill -9, and none is there twice.",
        source="product.md, Memory, in three scopes",
        tests=(
            "tests/integration/test_agent_memory.py::test_every_acknowledged_store_survives_kill_9_and_none_is_there_twice",
            "tests/integration/test_agent_memory.py::test_every_acknowledged_archive_survives_kill_9_between_queue_and_claim_and_none_is_there_twice",
        ),
    ),
    Requirement(
        id="agents:brief",
        promise=(
            "A recall of agent memory on plain facts answers in under 1,500 characters; past the bound a hit carries "
            "its reference and time only, and none is left out."
        ),
        source="product.md, What good means",
        tests=(
            "tests/server/agents/test_recalling.py::test_an_answer_on_plain_facts_stays_under_1500_characters_with_its_notice",
            "tests/server/agents/test_recalling.py::test_past_the_bound_a_hit_carries_its_reference_and_time_only_and_none_is_left_out",
        ),
    ),
    Requirement(
        id="agents:pause-hides-no-error",
        promise="What a tool of agent memory refuses it refuses with the same bytes under a pause.",
        source="decision 7",
        tests=(
            "tests/server/tools/test_memory.py::test_what_is_wrong_is_refused_as_json_and_a_pause_changes_no_byte_of_it",
        ),
    ),
    Requirement(
        id="agents:whole",
        promise="An import or a merge of agent memory is whole or leaves nothing, and no read sees half of one.",
        source="product.md, Memory, in three scopes",
        tests=(
            "contracts/suite/test_agents_many.py::TestMovingAgents::test_an_import_that_stops_in_the_middle_leaves_nothing",
            "contracts/suite/test_agents_many.py::TestMovingAgents::test_an_import_past_a_cap_leaves_nothing",
            "tests/backends/sqlite/test_agent_reading.py::test_reads_beside_an_import_see_all_of_it_or_nothing",
        ),
    ),
    Requirement(
        id="agents:tuning",
        promise="Of two who change how an agent recalls, who read the older state is refused.",
        source="product.md, Memory, in three scopes",
        tests=(
            "contracts/suite/test_agents.py::TestAgentSettings::test_of_two_who_change_a_tuning_the_second_is_refused_and_nothing_is_lost",
        ),
    ),
    Requirement(
        id="agents:purged",
        promise="After an agent's data are deleted nothing reaches them, in the index neither.",
        source="product.md, Memory, in three scopes",
        tests=(
            "contracts/suite/test_agents_many.py::TestPurging::test_a_purge_takes_locked_memories_and_queued_tasks_along",
            "tests/backends/sqlite/test_agent_moving.py::test_after_a_purge_no_question_reaches_what_the_index_still_holds",
        ),
    ),
    Requirement(
        id="agents:faults-found",
        promise="The suite names the fault of a store that races, leaks or loses in agent memory.",
        source="product.md, Who uses it",
        tests=("tests/test_stranger.py::test_a_wrong_store_fails_the_row_that_names_its_fault",),
    ),
    Requirement(
        id="tools:graph:four",
        promise="The graph toolset offers recall, upsert, search and subgraph.",
        source="product.md, Tools",
        tests=("tests/server/tools/test_graph.py::test_the_four_are_listed_in_their_order",),
    ),
    Requirement(
        id="tools:graph:six",
        promise="The graph toolset offers `offload_turns` and `promote_facts` too.",
        source="product.md, Tools",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="tools:agents",
        promise="The memory toolset offers its twelve tools, session its six and maintenance its twelve.",
        source="product.md, Tools",
        tests=("tests/server/tools/test_agents.py::test_the_three_toolsets_of_seed_1_offer_twelve_six_and_twelve",),
    ),
    Requirement(
        id="tools:maintenance:gated",
        promise="The ten maintenance tools that write change nothing while their key is paused, and hide no error.",
        source="product.md, Tools",
        tests=(
            "tests/server/tools/test_maintenance.py::test_a_paused_write_answers_with_the_keys_of_its_success_and_writes_nothing",
            "tests/server/tools/test_maintenance.py::test_a_paused_repair_looks_changes_nothing_and_says_so",
            "tests/server/tools/test_maintenance.py::test_what_is_wrong_is_refused_as_json_and_a_pause_changes_no_byte_of_it",
        ),
    ),
    Requirement(
        id="tools:maintenance:export-link",
        promise="Over HTTP an export is a link: once, for the same credential, within ten minutes, in no log.",
        source="product.md, Tools",
        tests=(
            "tests/server/http/test_transfers.py::test_a_link_gives_the_file_once_and_an_upload_of_it_is_imported_with_the_same_digest",
            "tests/server/http/test_transfers.py::test_a_link_is_of_no_use_to_another_credential_or_to_none",
            "tests/server/http/test_transfers.py::test_a_link_ends_after_ten_minutes_and_with_the_grant",
            "tests/server/http/test_transfers.py::test_a_link_and_an_upload_are_in_no_log_and_no_metric",
        ),
    ),
    Requirement(
        id="tools:maintenance:export-digest",
        promise="An export of 10,000 memories that enters an empty server leaves it again with the same digest.",
        source="product.md, Tools",
        tests=(
            "tests/integration/test_exporting.py::test_ten_thousand_memories_enter_an_empty_server_with_the_digest_that_they_left_with",
            "tests/integration/test_exporting_stdio.py::test_what_a_process_exports_another_on_an_empty_home_imports_with_the_same_digest",
        ),
    ),
    Requirement(
        id="tools:maintenance:import-whole",
        promise="A truncated, tampered, oversized or foreign file changes nothing, and the refusal says why.",
        source="product.md, Tools",
        tests=(
            "tests/server/agents/test_moving.py::test_a_damaged_file_changes_nothing_and_says_why",
            "tests/integration/test_exporting_stdio.py::test_a_damaged_file_changes_nothing_says_why_and_repeats_nothing_of_itself",
            "tests/server/agents/test_exported.py::test_a_file_that_is_not_whole_and_as_it_was_written_is_refused_with_the_reason",
        ),
    ),
    Requirement(
        id="tools:maintenance:folder",
        promise="Exports and imports reach no file outside the caller's own folder, by no name and by no link.",
        source="product.md, Tools",
        tests=(
            "tests/server/agents/test_folder.py::test_whatever_is_no_plain_name_is_refused_to_write_and_to_read",
            "tests/server/agents/test_folder.py::test_a_link_is_neither_followed_nor_written_through",
            "tests/server/agents/test_folder.py::test_the_files_of_others_cannot_be_named",
        ),
    ),
    Requirement(
        id="tools:maintenance:upload",
        promise="An upload is bounded, ends, and belongs to who sent it.",
        source="product.md, Tools",
        tests=(
            "tests/server/http/test_transfers.py::test_an_upload_that_is_too_large_is_refused_and_leaves_nothing",
            "tests/server/http/test_transfers.py::test_an_upload_needs_a_credential_and_is_its_owners",
            "tests/server/agents/test_moving.py::test_an_upload_is_its_owners_and_ends",
        ),
    ),
    Requirement(
        id="tools:maintenance:checks",
        promise="Each check finds its planted fault, and a repair repairs it or says why not.",
        source="product.md, Tools",
        tests=(
            "tests/server/tools/test_maintenance_health.py::test_a_planted_fault_is_found_and_repaired_or_it_is_said_why_not",
            "tests/server/agents/test_doctor.py::test_a_fault_of_the_store_is_found_by_its_check_and_mended",
        ),
    ),
    Requirement(
        id="tools:maintenance:health-scope",
        promise="Health sees the agents that the caller may read, and repairs those that they may write.",
        source="product.md, Tools",
        tests=(
            "tests/server/tools/test_maintenance_health.py::test_health_sees_the_callers_readable_agents_and_repairs_the_writable_ones",
        ),
    ),
    Requirement(
        id="tools:maintenance:confirmed",
        promise="What deletes many records asks the user first where the client can be asked, and says what went.",
        source="product.md, Tools",
        tests=(
            "tests/server/tools/test_maintenance_records.py::test_the_end_is_confirmed_where_the_client_can_be_asked",
            "tests/server/tools/test_maintenance_moving.py::test_a_move_is_confirmed_and_a_copy_is_not",
            "tests/server/tools/test_maintenance_health.py::test_a_repair_that_deletes_is_confirmed_and_one_that_does_not_is_not",
        ),
    ),
    Requirement(
        id="tools:described",
        promise="Every tool has a title, annotations, described parameters and a schema that admits no others.",
        source="product.md, Tools",
        tests=(
            (
                "tests/server/tools/test_graph.py::"
                "test_every_tool_has_a_title_annotations_and_a_description_of_itself_and_each_parameter"
            ),
        ),
    ),
    Requirement(
        id="tools:output",
        promise="A tool's `structuredContent` conforms to its `outputSchema`, and its text is the same JSON.",
        source="product.md, Tools",
        tests=(
            "tests/server/tools/test_dispatch.py::test_an_answer_is_structured_content_and_the_same_json_as_text",
            "tests/server/tools/test_graph.py::test_found_nodes_and_edges_have_their_shapes",
        ),
    ),
    Requirement(
        id="tools:marked-data",
        promise="What memory returns is marked as data with its source.",
        source="product.md, Tools",
        tests=(
            "tests/server/tools/test_dispatch.py::test_an_answer_is_structured_content_and_the_same_json_as_text",
            "tests/server/memory/test_views.py::test_a_fact_shows_types_aliases_source_and_score_where_there_are_some",
        ),
    ),
    Requirement(
        id="run:serve",
        promise="`codesynapse serve` runs on loopback with one home folder and nothing configured.",
        source="product.md, Running it",
        tests=(
            "tests/server/cli/test_serving.py::test_a_first_start_prints_a_key_and_the_next_one_does_not",
            "tests/server/cli/test_serving.py::test_the_address_is_printed_once_requests_are_served",
        ),
    ),
    Requirement(
        id="bridge:forwards",
        promise="The bridge registers its environment's session id and sends both headers on every request.",
        source="product.md, Running it",
        tests=(
            (
                "tests/server/bridge/test_exchange.py::"
                "test_the_session_is_registered_first_and_every_request_carries_both_headers"
            ),
        ),
    ),
    Requirement(
        id="bridge:new-thread",
        promise="With `--thread new` the bridge mints one id for its process and revokes it at the end.",
        source="product.md, Running it",
        tests=(
            (
                "tests/server/bridge/test_options.py::"
                "test_an_id_is_made_up_only_on_request_and_only_where_the_runtime_gives_none"
            ),
            "tests/server/bridge/test_run.py::test_a_made_up_id_is_one_for_the_process_and_another_for_the_next",
            "tests/server/bridge/test_run.py::test_a_session_that_it_made_up_is_revoked_at_the_end",
            "tests/server/bridge/test_run.py::test_a_session_that_the_runtime_gave_is_never_revoked",
            "tests/integration/test_bridge.py::test_launchers_that_make_up_their_ids_share_no_memory",
        ),
    ),
    Requirement(
        id="bridge:no-switch",
        promise="At expiry or revocation the bridge answers every call with that error and keeps its id.",
        source="product.md, Running it",
        tests=(
            (
                "tests/server/bridge/test_exchange.py::"
                "test_once_the_session_has_ended_every_call_gets_that_error_and_no_other_id_is_used"
            ),
            (
                "tests/integration/test_bridge.py::"
                "test_after_a_revocation_every_call_says_so_and_no_other_session_is_registered"
            ),
        ),
    ),
    Requirement(
        id="stdio:refuses",
        promise="The stdio server without key, ids or a live binding exits 2 before it reads and names the variable.",
        source="product.md, Running it",
        tests=(
            "tests/integration/test_refusals_stdio.py::test_stdio_exits_with_2_and_names_the_variable_before_it_reads",
            "tests/server/cli/test_serving.py::test_stdio_exits_with_2_before_reading_and_names_the_variable",
        ),
    ),
    Requirement(
        id="stdio:no-bootstrap",
        promise="The stdio server creates no organisation, user or key.",
        source="product.md, Running it",
        tests=("tests/server/cli/test_serving.py::test_stdio_never_makes_the_first_accounts",),
    ),
    Requirement(
        id="run:several-servers",
        promise=(
            "Several servers share PostgreSQL and the stores; the docs name what stays in one process and how to route."
        ),
        source="product.md, Running it",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="good:unmeasured-in-tests",
        promise="No test fails because a machine is slow: a deadline is tested with ten times its margin.",
        source="product.md, What good means",
        not_testable="a rule for whoever writes a test, judged in review",
    ),
    Requirement(
        id="good:cpu-per-call",
        promise="A bound, authenticated read-only call costs at most 0.35 ms of CPU over SSE and 0.25 over JSON.",
        source="product.md, What good means",
        not_testable="measured by make bench-mcp beside a peer, never in a timed test",
    ),
    Requirement(
        id="good:idle-session",
        promise="An idle session with an open stream costs at most 25 KB.",
        source="product.md, What good means",
        tests=("tests/integration/test_idle_memory.py::test_an_idle_stream_costs_at_most_25_kb_and_gives_them_back",),
    ),
    Requirement(
        id="good:resume",
        promise="A resumed stream loses no message and delivers none twice.",
        source="product.md, What good means",
        tests=(
            (
                "tests/integration/test_cuts.py::"
                "test_every_response_arrives_exactly_once_through_cuts_behind_the_first_event"
            ),
            (
                "tests/integration/test_transport_streams.py::"
                "test_every_event_comes_exactly_once_whatever_the_place_of_the_cut"
            ),
        ),
    ),
    Requirement(
        id="good:conformance",
        promise="Every scored scenario of both requirement sets of the MCP conformance suite passes.",
        source="product.md, What good means",
        not_testable="asked by make conformance, which CI runs, of the pinned suite itself",
    ),
    Requirement(
        id="good:recall-latency",
        promise="Lexical recall over a full namespace takes at most 15 ms at the 99th percentile.",
        source="product.md, What good means",
        not_testable="measured by make bench-recall beside a peer, never in a timed test",
    ),
    Requirement(
        id="good:recall-scores",
        promise="The recall benchmark's scores fail CI when they fall.",
        source="product.md, What good means",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="good:commit-latency",
        promise="A full commit takes 2 ms in memory, 3 on SQLite and 1.3 times the bare client on Neo4j and HugeGraph.",
        source="product.md, What good means",
        not_testable="measured by make bench-stores beside the floor, never in a timed test",
    ),
)
