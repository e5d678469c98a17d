"""Promises of seed 1, the declared session key, in the order of its sections."""

from __future__ import annotations

from codesynapse.contracts.ledger import Requirement

ROWS: tuple[Requirement, ...] = (
    Requirement(
        id="keyless:preserved",
        promise=(
            "A recorded keyless sequence gives, over HTTP and stdio, the same bytes with the parameter and without it."
        ),
        source="seed 1 §3; seed 1 §8; seed 1 §10",
        tests=(
            "tests/integration/test_keyless.py::test_a_keyless_sequence_gets_the_same_bytes_with_the_key_and_without_it_but_for_the_list",
            "tests/integration/test_keyless.py::test_a_keyless_sequence_gets_the_bytes_that_were_recorded",
        ),
    ),
    Requirement(
        id="key:in-arguments",
        promise=(
            "The declared key travels as an argument of the call and is read from no header, environment or transport "
            "id."
        ),
        source="seed 1 §1",
        tests=("tests/integration/test_session_key.py::test_no_header_and_no_transport_stands_in_for_a_key",),
    ),
    Requirement(
        id="key:opaque",
        promise="A key is compared and nothing else: apart from outer whitespace it is kept as it came.",
        source="seed 1 §2; seed 1 §3",
        tests=(
            "tests/server/hints/test_session_key.py::test_a_key_is_compared_as_it_came_and_never_parsed",
            "tests/server/hints/test_session_key.py::test_a_declared_key_counts_without_the_blanks_around_it",
        ),
    ),
    Requirement(
        id="key:not-authentication",
        promise="No declared key makes a refused call allowed or an allowed call refused.",
        source="seed 1 §2; product.md, The two identities",
        tests=(
            "tests/integration/test_session_key.py::test_no_key_makes_a_refused_call_allowed_and_none_an_allowed_one_refused",
            "tests/server/tools/test_gate.py::test_a_pause_hides_no_missing_grant_and_no_impossible_statement",
        ),
    ),
    Requirement(
        id="key:foreign-accepted",
        promise="Declaring the key of another session of one's own principal is accepted and joins its bucket.",
        source="seed 1 §2; decision 1",
        tests=(
            "tests/integration/test_session_key.py::test_two_clients_of_one_server_do_not_silence_one_another_nor_two_organisations",
            "tests/server/hints/test_session_key.py::test_two_chats_of_one_principal_share_a_bucket_of_one_name",
        ),
    ),
    Requirement(
        id="key:not-an-axis",
        promise="`recall` under one key, another key and none returns the same bytes.",
        source="seed 1 §2",
        tests=(
            "tests/server/tools/test_memory_reading.py::test_recall_answers_the_same_bytes_under_one_key_another_and_none",
        ),
    ),
    Requirement(
        id="key:reaches-no-row",
        promise="No database statement, row, log line or metric label contains a declared key.",
        source="seed 1 §2; seed 1 §3; seed 1 §7; product.md, The two identities",
        tests=("tests/integration/test_session_key.py::test_a_key_reaches_no_database_no_log_and_no_metric",),
    ),
    Requirement(
        id="seam:value",
        promise=(
            "`resolve_session_key` takes the declared value and returns the effective key and whether it was declared."
        ),
        source="seed 1 §3; decision 4",
        tests=(
            "tests/server/hints/test_session_key.py::test_a_declared_key_counts_without_the_blanks_around_it",
            "tests/server/hints/test_session_key.py::test_what_is_no_text_is_undeclared",
        ),
    ),
    Requirement(
        id="seam:one-place",
        promise="Only the seam decides an effective key; no other module strips or defaults one.",
        source="seed 1 §3",
        tests=("tests/server/hints/test_session_key.py::test_only_the_seam_decides_an_effective_key",),
    ),
    Requirement(
        id="seam:declared",
        promise="A string with visible content resolves to itself without outer whitespace, as declared.",
        source="seed 1 §3; seed 1 §10",
        tests=("tests/server/hints/test_session_key.py::test_a_declared_key_counts_without_the_blanks_around_it",),
    ),
    Requirement(
        id="seam:undeclared",
        promise="An absent, empty or blank key resolves to the transport bucket, as undeclared.",
        source="seed 1 §3; seed 1 §10",
        tests=(
            "tests/server/hints/test_session_key.py::test_no_key_a_blank_one_and_the_shared_buckets_own_name_are_undeclared",
        ),
    ),
    Requirement(
        id="seam:unlimited",
        promise="A declared key may have any length.",
        source="seed 1 §3",
        decision=3,
    ),
    Requirement(
        id="fallback:constant",
        promise="The fallback key is one constant of the process, derived from neither client nor connection.",
        source="seed 1 §3",
        tests=(
            "tests/server/hints/test_session_key.py::test_the_shared_buckets_name_is_the_seeds",
            "tests/integration/test_session_key.py::test_no_header_and_no_transport_stands_in_for_a_key",
        ),
    ),
    Requirement(
        id="fallback:shared",
        promise="All keyless callers of one HTTP process share one bucket.",
        source="seed 1 §3",
        decision=1,
    ),
    Requirement(
        id="fallback:literal",
        promise="A caller that declares the fallback's literal value joins the keyless bucket.",
        source="seed 1 §3; decision 4",
        tests=(
            "tests/server/hints/test_session_key.py::test_no_key_a_blank_one_and_the_shared_buckets_own_name_are_undeclared",
            "tests/integration/test_session_key.py::test_a_keyless_pause_skips_keyless_writes_and_leaves_declared_ones_alone",
        ),
    ),
    Requirement(
        id="partition:complete",
        promise="Pauses and told keys are the only state that the key divides; the queue's attribution serves them.",
        source="seed 1 §4",
        tests=(
            "tests/server/hints/test_state.py::test_the_key_divides_pauses_told_keys_and_attributions_and_nothing_else",
        ),
    ),
    Requirement(
        id="partition:by-agent",
        promise="Calibration, recall precision and profiles belong to the agent and are the same under every key.",
        source="seed 1 §4",
        tests=(
            "tests/server/tools/test_maintenance_records.py::test_a_calibration_says_what_it_found_and_holds_for_every_key",
        ),
    ),
    Requirement(
        id="partition:in-memory",
        promise="Pauses and told keys lie in process memory: no table, column, migration or cleaning job holds them.",
        source="seed 1 §4; seed 1 §7",
        tests=(
            "tests/integration/test_session_key.py::test_a_key_reaches_no_database_no_log_and_no_metric",
            "tests/server/hints/test_state.py::test_a_fresh_process_knows_no_pause_no_told_key_and_no_attribution",
        ),
    ),
    Requirement(
        id="tools:advisory-pair",
        promise="The two recall tools and the three pause tools accept a session key.",
        source="seed 1 §5",
        tests=("tests/server/tools/test_agents.py::test_the_two_recall_tools_and_the_three_pause_tools_accept_a_key",),
    ),
    Requirement(
        id="tools:writers",
        promise=(
            "The sixteen tools that ask about the pause accept a session key; `export_memories`, which does not, has "
            "none."
        ),
        source="seed 1 §5",
        tests=(
            "tests/server/tools/test_agents.py::test_the_sixteen_that_a_pause_stops_take_a_key_and_the_export_takes_none",
        ),
    ),
    Requirement(
        id="tools:findings",
        promise="`get_session_findings` takes a key under a text of its own, and it changes the honesty flag alone.",
        source="seed 1 §1; seed 1 §5; seed 1 §6",
        tests=(
            "tests/server/hints/test_texts.py::test_the_findings_text_is_its_own_and_promises_nothing_but_the_flag",
            "tests/server/hints/test_findings.py::test_the_key_changes_nothing_but_the_honesty_flag",
        ),
    ),
    Requirement(
        id="staging:first-stage",
        promise="A pause stays process-wide and its answers tell who owns it, until the second stage.",
        source="seed 1 §5",
        not_testable="a step on the seed's way that its own second stage took back",
    ),
    Requirement(
        id="advisory:once-a-key",
        promise="During one outage each key gets the full notice once and the short form from then on.",
        source="seed 1 §1; seed 1 §5; seed 1 §10",
        tests=(
            "tests/server/hints/test_advisories.py::test_each_declared_key_is_told_in_full_once_and_in_short_from_then_on",
            "tests/integration/test_session_key.py::test_during_an_outage_each_caller_is_told_what_the_table_says_and_again_at_the_next",
            "tests/integration/test_outage.py::test_an_embedder_that_dies_and_comes_back_is_told_to_each_caller_as_the_table_says",
        ),
    ),
    Requirement(
        id="advisory:keyless-pair",
        promise="Two keyless remote callers keep the suppression of their shared bucket.",
        source="seed 1 §10",
        tests=(
            "tests/server/hints/test_advisories.py::test_keyless_remote_callers_share_one_suppression_of_a_hint",
            "tests/integration/test_session_key.py::test_without_an_embedder_keyless_remote_callers_are_told_in_full_once_between_them",
        ),
    ),
    Requirement(
        id="advisory:scope",
        promise=(
            "`advisory_scope` is `session` for a caller that declared a key and `process` for a keyless remote one."
        ),
        source="seed 1 §5; seed 1 §8",
        tests=(
            "tests/integration/test_session_key.py::test_during_an_outage_each_caller_is_told_what_the_table_says_and_again_at_the_next",
            "tests/integration/test_outage.py::test_an_embedder_that_dies_and_comes_back_is_told_to_each_caller_as_the_table_says",
        ),
    ),
    Requirement(
        id="advisory:only-degraded",
        promise="A recall that is not degraded carries no advisory and no scope field.",
        source="seed 1 §8",
        tests=("tests/integration/test_session_key.py::test_a_recall_that_is_not_degraded_carries_no_notice",),
    ),
    Requirement(
        id="pause:own-writes",
        promise="A declared pause skips the writes of its key and no one else's, keyless callers included.",
        source="seed 1 §1; seed 1 §5; seed 1 §10",
        tests=(
            "tests/integration/test_session_key.py::test_a_declared_pause_skips_its_own_writes_and_leaves_others_and_keyless_ones_alone",
            "tests/server/tools/test_gate.py::test_every_tool_of_the_table_writes_under_another_key_and_under_none",
            "tests/integration/test_paused_clients.py::test_one_client_pauses_its_key_and_the_others_writes_go_on",
        ),
    ),
    Requirement(
        id="pause:keyless",
        promise="A keyless pause skips keyless writes and leaves those of declared keys alone.",
        source="seed 1 §5; seed 1 §10",
        tests=(
            "tests/integration/test_session_key.py::test_a_keyless_pause_skips_keyless_writes_and_leaves_declared_ones_alone",
            "tests/server/tools/test_gate.py::test_a_keyless_pause_skips_keyless_writes_and_no_declared_ones",
            "tests/integration/test_paused_clients.py::test_a_keyless_pause_reaches_every_keyless_client_of_its_principal",
        ),
    ),
    Requirement(
        id="pause:one-implementation",
        promise="One module holds the pauses of all buckets, the keyless one included.",
        source="seed 1 §5",
        tests=("tests/server/hints/test_pauses.py::test_no_other_module_holds_a_pause",),
    ),
    Requirement(
        id="pause:vendored-switch",
        promise="No call to the vendored pause switch exists in the package.",
        source="seed 1 §5; seed 1 §10",
        decision=10,
    ),
    Requirement(
        id="pause:vendored-ttl",
        promise="The TTL rules agree with the vendored module that they were copied from.",
        source="seed 1 §5; seed 1 §10",
        decision=10,
    ),
    Requirement(
        id="pause:skipped-shape",
        promise="A skipped write answers with that tool's own keys, its ids and action ids null.",
        source="seed 1 §5",
        tests=(
            "tests/server/hints/test_skipped.py::test_the_keys_are_those_of_the_success_and_three_more",
            "tests/server/hints/test_skipped.py::test_ids_of_actions_are_null_figures_zero_and_lists_empty",
            "tests/server/tools/test_gate.py::test_every_gated_tool_of_the_graph_answers_skipped_with_the_keys_of_its_success_and_its_schema",
        ),
    ),
    Requirement(
        id="pause:skipped-reason",
        promise="The reason of a skipped write names the pause's TTL in figures.",
        source="seed 1 §10",
        tests=(
            "tests/server/tools/test_gate.py::test_a_skipped_answer_has_the_keys_of_the_success_and_says_what_is_left_of_the_pause",
        ),
    ),
    Requirement(
        id="pause:no-owner-fields",
        promise="No answer has `pause_owner_known` or `paused_by_self`.",
        source="seed 1 §5; seed 1 §8",
        tests=("tests/server/tools/test_session.py::test_no_answer_says_who_owns_a_pause",),
    ),
    Requirement(
        id="pause:scope",
        promise="Pause, resume and status answer scope `session` to a declared key and `process` to a keyless caller.",
        source="seed 1 §5; seed 1 §8; seed 1 §10",
        tests=(
            "tests/server/tools/test_session.py::test_all_three_answer_in_their_shapes_with_the_scope_of_the_caller",
        ),
    ),
    Requirement(
        id="queue:drop",
        promise="A queued write is dropped when the key that queued it pauses, and kept when another one does.",
        source="seed 1 §5; seed 1 §10",
        tests=(
            "tests/server/hints/test_attribution.py::test_a_task_is_dropped_when_the_key_that_queued_it_pauses_and_kept_when_another_does",
            "tests/server/work/test_queue.py::test_a_task_is_dropped_by_the_pause_of_its_own_key_and_done_under_any_other",
            "tests/server/work/test_queue.py::test_a_task_is_left_to_the_process_that_queued_it_so_that_its_pause_drops_it",
            "tests/server/work/test_queue.py::test_no_worker_here_sees_a_row_before_its_key_is_noted",
            "tests/integration/test_section_ten.py::test_a_queued_write_is_dropped_by_its_own_keys_pause_and_kept_by_anothers",
        ),
    ),
    Requirement(
        id="queue:unattributed",
        promise="A queued row of unknown origin, as every one after a restart, follows the keyless bucket.",
        source="seed 1 §5; seed 1 §7; seed 1 §10",
        tests=(
            "tests/server/hints/test_attribution.py::test_a_task_of_unknown_origin_follows_the_keyless_bucket_of_its_principal",
            "tests/server/hints/test_attribution.py::test_after_a_restart_a_task_follows_the_keyless_bucket_whoever_queued_it",
            "tests/server/work/test_queue.py::test_a_keyless_pause_drops_keyless_tasks_and_those_of_unknown_origin",
            "tests/server/work/test_queue.py::test_after_a_restart_the_pause_of_the_key_that_queued_a_task_does_not_reach_it",
        ),
    ),
    Requirement(
        id="queue:tenants",
        promise="Two tenants' tasks of one number keep their own keys, and no principal's pause drops another's task.",
        source="seed 1 §5; decision 1",
        tests=(
            "tests/server/hints/test_attribution.py::test_tasks_of_two_tenants_may_have_one_number",
            "tests/server/work/test_queue.py::test_the_same_key_of_another_principal_drops_nothing",
        ),
    ),
    Requirement(
        id="queue:no-trace",
        promise="A queued row holds no declared key and no turn of the conversation.",
        source="seed 1 §5; decision 16",
        tests=("tests/server/work/test_queue.py::test_no_row_holds_a_turn_or_a_key",),
    ),
    Requirement(
        id="findings:out-of-scope",
        promise="`get_session_findings` lists nothing by the session that wrote it.",
        source="seed 1 §5",
        tests=(
            "tests/integration/test_session_key.py::test_the_findings_are_the_same_under_every_key_whoever_wrote_or_queued_what",
        ),
    ),
    Requirement(
        id="cost:by-deletion",
        promise="The price of a parameter, tool by tool, is measured by deleting it from the live tool list.",
        source="seed 1 §6",
        tests=(
            "tests/server/tools/test_cost.py::test_a_parameter_costs_what_is_gone_once_it_is_deleted",
            "tests/server/cli/test_cost.py::test_the_key_is_priced_in_all_four_arms_and_the_shipped_one_is_the_list",
        ),
    ),
    Requirement(
        id="cost:arms",
        promise="All four ways of describing the key are priced from the same live list.",
        source="seed 1 §6",
        tests=(
            "tests/server/tools/test_cost.py::test_the_four_arms_come_from_one_list_and_the_findings_keep_their_text",
            "tests/server/tools/test_cost.py::test_arm_d_is_what_a_server_lists_and_the_first_two_texts_draw_the_line",
        ),
    ),
    Requirement(
        id="cost:arm-d",
        promise=(
            "One full text serves the two recall tools and one short text the others; both say that no data is "
            "filtered."
        ),
        source="seed 1 §6",
        tests=(
            "tests/server/tools/test_agents.py::test_one_full_text_is_on_the_two_recall_tools_and_one_short_text_elsewhere",
        ),
    ),
    Requirement(
        id="cost:own-figures",
        promise=(
            "The seed's list costs 38,970 characters without the key, 41,719 after stage one and 46,113 after stage "
            "two."
        ),
        source="seed 1 §6",
        not_testable="figures of another program's tool list; ours are printed by tool-cost and held to the docs",
    ),
    Requirement(
        id="cost:true-descriptions",
        promise="The descriptions of the pause tools say that a pause concerns the caller's own key.",
        source="seed 1 §6",
        tests=("tests/server/tools/test_session.py::test_the_descriptions_say_that_a_pause_concerns_ones_own_key",),
    ),
    Requirement(
        id="cost:twenty-two",
        promise="Of the seed's tools exactly 22 carry the key.",
        source="seed 1 §6; decision 6",
        tests=(
            "tests/server/tools/test_agents.py::test_of_the_seeds_thirty_exactly_22_carry_the_key_and_of_ours_those_of_decision_6",
            "tests/server/tools/test_agents.py::test_the_tools_with_a_key_are_exactly_those_22_of_the_seed_and_two_of_ours",
        ),
    ),
    Requirement(
        id="lifetime:ttl",
        promise="A pause ends by its own TTL on an injected clock and leaves the map when it is next looked at.",
        source="seed 1 §7; seed 1 §10",
        tests=(
            "tests/server/hints/test_pauses.py::test_each_pause_ends_by_its_own_ttl_and_leaves_the_map_when_looked_at",
            "tests/integration/test_session_key.py::test_a_pause_ends_on_the_clock_without_being_looked_at",
        ),
    ),
    Requirement(
        id="lifetime:told-bounded",
        promise="Told keys are bounded by a cap; an evicted key hears the full notice again, and nothing worse.",
        source="seed 1 §7",
        tests=(
            "tests/server/hints/test_advisories.py::test_an_evicted_key_hears_the_full_notice_again_and_nothing_worse",
            "tests/server/hints/test_advisories.py::test_a_client_that_rotates_keys_grows_the_map_to_its_cap_only",
        ),
    ),
    Requirement(
        id="lifetime:pause-bounded",
        promise="Pauses are bounded by their own cap; the one nearest to its end is evicted.",
        source="seed 1 §7; decision 2",
        tests=(
            "tests/server/hints/test_pauses.py::test_at_a_principals_cap_the_pause_nearest_to_its_end_goes_and_the_answer_says_so",
            "tests/server/hints/test_pauses.py::test_a_client_that_rotates_keys_holds_no_more_than_its_cap",
        ),
    ),
    Requirement(
        id="lifetime:attribution",
        promise="A task's attribution disappears together with its row.",
        source="seed 1 §7",
        tests=(
            "tests/server/hints/test_attribution.py::test_an_entry_goes_with_its_row",
            "tests/server/hints/test_attribution.py::test_rows_that_others_took_away_are_forgotten_when_the_store_is_asked",
            "tests/server/work/test_queue.py::test_what_an_agents_deletion_takes_away_is_forgotten_and_never_done",
            "tests/server/work/test_queue.py::test_a_task_that_failed_keeps_its_key_until_its_row_is_gone",
        ),
    ),
    Requirement(
        id="lifetime:restart",
        promise="A restart forgets pauses, told keys and attributions.",
        source="seed 1 §7",
        tests=("tests/server/hints/test_state.py::test_a_fresh_process_knows_no_pause_no_told_key_and_no_attribution",),
    ),
    Requirement(
        id="honesty:shared-remote",
        promise="A keyless remote caller of `get_session_findings` reads `identity_shared: true`.",
        source="seed 1 §8; seed 1 §10",
        tests=(
            "tests/integration/test_session_key.py::test_only_a_keyless_remote_caller_reads_that_identity_is_shared",
            "tests/server/hints/test_findings.py::test_a_keyless_remote_caller_reads_that_identity_is_shared_whatever_blanks_it_sends",
        ),
    ),
    Requirement(
        id="honesty:stdio",
        promise="Over stdio no answer has `identity_shared`.",
        source="seed 1 §8; seed 1 §10",
        tests=(
            "tests/integration/test_session_key.py::test_only_a_keyless_remote_caller_reads_that_identity_is_shared",
            "tests/server/hints/test_findings.py::test_over_stdio_nothing_claims_a_shared_identity",
        ),
    ),
    Requirement(
        id="version:ladder",
        promise="The two stages enter the release line as 2.5.7 beta and 2.5.8a1, the latter ending in 2.5.8.",
        source="seed 1 §9",
        not_testable="version numbers of another program",
    ),
    Requirement(
        id="version:stale-advice",
        promise="No document advises to look for parallel sessions before pausing.",
        source="seed 1 §9",
        tests=(
            "tests/test_documents.py::test_nothing_that_people_or_models_read_advises_to_look_for_other_sessions_before_pausing",
        ),
    ),
    Requirement(
        id="resume:was-active",
        promise="`resume_persistence` reports `was_active` for the caller's own key only.",
        source="seed 1 §10",
        tests=("tests/server/hints/test_pauses.py::test_resume_tells_of_its_own_key_only",),
    ),
    Requirement(
        id="mutation:proof",
        promise="Each of the seven named mutations of the key's handling fails a test that names the defect.",
        source="seed 1 §10",
        tests=(
            "tests/mutations/test_defects.py::test_the_seeds_seven_mutations_are_among_the_defects",
            "tests/mutations/test_defects.py::test_a_defect_is_found_by_its_test_and_a_harmless_change_is_not",
        ),
    ),
)
