"""Public reports of other servers' faults by their number in the research's table, and the tests that show ours right.

Most of them were promises of ours anyway and are tested where those are; the others stand beside this file.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """symptom: what was seen elsewhere. tests: `file::test` below tests/, all of which hold for us."""

    symptom: str
    tests: tuple[str, ...]


STREAMS, PROCESSES = "integration/reported/test_streams.py", "integration/reported/test_processes.py"
CLIENTS, TRANSPORT = "integration/reported/test_clients.py", "integration/test_transport.py"
RESUMED, CALLS = "integration/test_transport_streams.py", "integration/test_transport_calls.py"
ENDINGS, HOSTILE, MODERN = (
    "integration/test_transport_endings.py",
    "integration/test_hostile.py",
    "server/http/test_modern.py",
)
GUARD, STDIO, HEADER, REQUEST = (
    "server/http/test_guard.py",
    "server/test_stdio.py",
    "server/mcp/test_header.py",
    "server/mcp/test_request.py",
)


def row(symptom: str, *tests: tuple[str, str]) -> Row:
    return Row(symptom, tuple(f"{file}::test_{name}" for file, name in tests))


ROWS: dict[int, Row] = {
    1: row(
        "answers to two calls of one request id are crossed, or the first caller waits for ever",
        (CALLS, "requests_of_one_id_in_flight_each_get_their_own_answer"),
    ),
    2: row(
        "replay crosses sessions",
        (RESUMED, "the_event_id_of_another_session_leads_to_a_fresh_stream_with_nothing_of_it"),
        (STREAMS, "replay_does_not_cross_sessions_that_use_the_same_request_ids"),
    ),
    4: row(
        "the priming id is always the same, and what was sent is forgotten at once",
        (RESUMED, "ids_are_ascii_and_differ_over_all_streams_of_a_session"),
        (RESUMED, "a_stream_cut_before_its_answer_is_resumed_after_it_as_well"),
    ),
    5: row(
        "nothing is stored while nobody is connected, and the answer is deleted when it was stored",
        ("integration/test_cuts.py", "a_call_outlives_the_line_that_brought_it_and_its_answer_waits"),
    ),
    7: row(
        "the first id comes only with the result, so that a cut before it cannot be resumed",
        (RESUMED, "at_the_newest_revision_a_stream_begins_with_an_id_and_a_retry"),
        (RESUMED, "a_stream_cut_before_its_answer_is_resumed_and_gets_it"),
    ),
    8: row(
        "the store of events grows without end",
        (STREAMS, "a_session_of_very_many_calls_keeps_no_more_than_its_ring_and_an_old_id_is_not_404"),
        (
            RESUMED,
            "a_response_that_went_so_long_ago_that_its_long_request_id_is_forgotten_is_an_error_without_id",
        ),
    ),
    10: row(
        "after a half-dead GET the next one is refused",
        (RESUMED, "a_second_get_closes_the_first_and_is_itself_alive"),
        (STREAMS, "after_a_half_dead_get_the_next_one_is_served"),
    ),
    11: row(
        "a GET that has no stream is answered like a session that is gone",
        (TRANSPORT, "a_get_that_rules_streams_out_is_405"),
        (TRANSPORT, "without_a_session_only_post_is_allowed_and_nothing_is_allocated"),
    ),
    13: row(
        "requests that open nothing allocate a session",
        (HOSTILE, "a_request_that_allocates_nothing_leaves_no_session"),
        (TRANSPORT, "an_unknown_session_and_anothers_are_404_alike"),
    ),
    14: row(
        "sessions that nobody deletes live for ever",
        ("integration/test_hostile_floods.py", "sessions_that_nobody_uses_are_bounded_and_end_and_the_server_answers"),
        (ENDINGS, "an_idle_session_ends_after_half_an_hour_and_any_use_begins_it_anew"),
    ),
    16: row(
        "clients handle a session that is gone badly",
        (CLIENTS, "a_session_that_is_gone_is_told_so_in_json_however_often_it_is_asked_for"),
        (PROCESSES, "a_session_of_before_a_restart_is_served_and_never_404_while_the_server_starts"),
    ),
    17: row(
        "any credential can use, read or end another's session",
        (TRANSPORT, "an_unknown_session_and_anothers_are_404_alike"),
        (TRANSPORT, "another_key_of_the_same_user_does_not_find_the_session"),
    ),
    19: row(
        "a slow reader or a fast writer stalls everybody",
        (RESUMED, "a_client_that_never_reads_delays_nobody_and_is_cut_and_its_answer_kept"),
        (STREAMS, "a_get_stream_that_nobody_reads_does_not_hold_up_a_ping"),
        (STREAMS, "ten_large_answers_at_once_all_arrive"),
    ),
    20: row(
        "SIGTERM with an open stream hangs, or breaks the stream off",
        (PROCESSES, "sigterm_with_open_streams_ends_them_cleanly_and_the_process_at_once"),
        (STREAMS, "a_subscription_gets_its_last_word_from_a_server_that_stops_at_once"),
        (ENDINGS, "at_the_servers_end_running_calls_are_answered_and_streams_end_cleanly"),
    ),
    22: row(
        "a redirect between /mcp and /mcp/ loses the credential",
        (TRANSPORT, "both_spellings_of_the_path_serve_without_a_redirect"),
    ),
    23: row(
        "the guard of the Host header refuses what is local, or everything behind a proxy",
        (GUARD, "names_of_this_machine_are_served_with_and_without_a_port"),
        (GUARD, "a_configured_host_is_served_beside_loopback"),
        (GUARD, "any_other_host_is_refused_on_loopback"),
    ),
    25: row(
        "separators of Unicode cut a line",
        (HOSTILE, "separators_that_end_lines_for_some_make_the_round_trip_in_ascii"),
        (STDIO, "separators_that_end_lines_for_some_make_the_round_trip_in_ascii"),
        (STREAMS, "separators_of_unicode_do_not_cut_a_stateless_answer"),
    ),
    26: row(
        "older clients parse the empty data of the priming event",
        (RESUMED, "at_older_revisions_no_data_is_empty_and_ids_ride_on_messages"),
        (RESUMED, "at_the_newest_revision_a_stream_begins_with_an_id_and_a_retry"),
    ),
    28: row(
        "a server that was probed is locked to one era",
        (PROCESSES, "a_client_that_probes_and_then_initializes_is_served_in_both_eras"),
    ),
    29: row(
        "the process dies of a request before initialize",
        (PROCESSES, "a_request_that_nobody_knows_before_initialize_is_an_error_and_the_process_lives"),
    ),
    31: row(
        "a line beyond 64 KiB kills the reader",
        (STDIO, "a_line_of_a_megabyte_is_served"),
        (STDIO, "a_line_over_the_limit_is_an_error_that_names_it_and_the_next_is_served"),
    ),
    32: row(
        "what a tool prints, or the machine's encoding, breaks the output",
        (PROCESSES, "a_tool_that_prints_does_not_break_the_output"),
        (PROCESSES, "the_encoding_of_the_machine_changes_nothing_and_half_a_character_loses_no_answer"),
    ),
    34: row(
        "initialize repeats any revision, or answers one that is not served",
        (TRANSPORT, "a_known_revision_is_agreed_on_and_the_newest_offered_for_any_other"),
        (TRANSPORT, "initialize_without_its_parameters_is_invalid_and_opens_no_session"),
    ),
    35: row(
        "the stateless revision is announced without subscriptions or hints for caches",
        (CLIENTS, "what_is_discovered_can_be_listened_to_and_listed_with_hints_for_caches"),
    ),
    37: row(
        "initialize is refused without a version header, or with one",
        (TRANSPORT, "the_version_header_of_initialize_itself_does_not_matter"),
    ),
    38: row(
        "a capability is announced that does nothing",
        (CLIENTS, "every_capability_that_is_announced_works_and_no_other_does"),
        (CLIENTS, "resources_that_are_announced_as_subscribed_to_are"),
    ),
    40: row(
        "a 401 sends clients looking for an authorization server that is not there",
        (CLIENTS, "no_metadata_is_promised_where_there_is_no_authorization_server"),
        (HOSTILE, "an_unknown_path_is_404_in_json"),
    ),
    41: row(
        "a closed stream does not cancel a stateless call, or loses a session's result",
        (MODERN, "a_client_that_closes_its_response_has_cancelled_its_call"),
        (CALLS, "a_cut_does_not_cancel_a_call"),
    ),
    43: row(
        "clients that split at empty lines alone, or parse each chunk, find half an event",
        ("server/http/test_following.py", "an_event_is_its_id_and_one_line_of_data_with_lf_alone"),
        (STREAMS, "each_event_comes_whole_in_one_chunk"),
    ),
    44: row(
        "headers are believed without a look at the body, or errors have the wrong status",
        (GUARD, "a_refused_origin_is_403_on_the_endpoint_and_on_rest_and_is_not_repeated"),
        (REQUEST, "a_meta_that_is_missing_or_malformed_is_refused_before_anything_else"),
        (REQUEST, "the_version_header_must_repeat_the_version_once"),
        (REQUEST, "a_version_that_is_not_served_is_refused_with_those_that_are"),
        (REQUEST, "the_method_header_must_repeat_the_method_once"),
        (REQUEST, "the_name_header_must_repeat_what_is_named"),
        (REQUEST, "a_declared_parameter_must_stand_in_its_header"),
        (REQUEST, "each_code_has_its_status"),
        (MODERN, "a_method_that_is_gone_is_404_with_the_requests_id"),
        (HEADER, "values_are_case_sensitive_and_stand_once"),
        (HEADER, "a_malformed_value_means_nothing"),
        (HEADER, "a_value_without_both_markers_is_literal"),
        (HEADER, "a_header_that_says_something_else_is_refused"),
    ),
}
