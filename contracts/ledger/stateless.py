"""Promises about the stateless revision 2026-07-28, of the issue "MCP complete"."""

from __future__ import annotations

from codesynapse.contracts.ledger import Requirement

SOURCE = "issue MCP complete"
ERA = "tests/server/mcp/test_era.py::"
REQUEST = "tests/server/mcp/test_request.py::"
HTTP = "tests/server/http/test_modern.py::"
ANSWERING = "tests/server/http/test_answering.py::"
SERVICE = "tests/server/modern/test_service.py::"
STATE = "tests/server/mcp/test_state.py::"
LISTENING = "tests/server/modern/test_listening.py::"
TASKS = "tests/server/modern/test_tasks.py::"
LINES = "tests/server/modern/test_lines.py::"
CLIENTS = "tests/integration/test_modern_clients.py::"

ROWS: tuple[Requirement, ...] = (
    Requirement(
        id="era:once",
        promise="The era of a message is decided once, by its `_meta` or its version header and by nothing before it.",
        source=SOURCE,
        tests=(
            ERA + "test_a_header_alone_is_modern_from_the_first_stateless_revision_on",
            ERA + "test_a_version_in_meta_makes_a_message_modern_whatever_it_is",
            ERA + "test_a_meta_without_a_version_is_not_modern",
        ),
    ),
    Requirement(
        id="era:same-url",
        promise="Both eras are served on one URL, and `initialize` in either era's words gets that era's answer.",
        source=SOURCE,
        tests=(
            HTTP + "test_initialize_in_the_words_of_either_era_gets_that_eras_answer",
            HTTP + "test_a_live_session_is_left_alone_by_a_stateless_request_that_names_it",
        ),
    ),
    Requirement(
        id="era:same-process",
        promise="A stdio process speaks both eras for its whole life, whatever was sent on it before.",
        source=SOURCE,
        tests=(
            LINES + "test_a_client_that_discovers_and_then_initializes_is_served_in_both_eras_for_good",
            LINES + "test_a_stateless_call_needs_nothing_before_it_and_leaves_nothing_behind",
            LINES + "test_a_refusal_leaves_the_process_as_it_was",
        ),
    ),
    Requirement(
        id="era:clients",
        promise="The official client at 2026-07-28 remembers and recalls by every way, through a kill -9.",
        source=SOURCE,
        tests=(
            (CLIENTS + "test_a_client_without_a_session_remembers_and_recalls_and_finds_it_again_after_kill_9"),
            CLIENTS + "test_a_client_goes_on_through_a_restart_in_the_midst_of_its_calls",
            CLIENTS + "test_every_way_and_era_finds_what_another_has_remembered",
        ),
    ),
    Requirement(
        id="stateless:identity",
        promise="A stateless request runs under its own two execution headers alone, checked for it as for any other.",
        source=SOURCE,
        tests=(
            HTTP + "test_credential_comes_before_execution_before_what_was_sent",
            HTTP + "test_without_execution_headers_lists_are_answered_and_nothing_else",
            HTTP + "test_a_foreign_session_is_refused_on_every_request_for_itself",
        ),
    ),
    Requirement(
        id="stateless:no-session",
        promise="A stateless request opens, echoes and uses no transport session; GET and DELETE are 405 there.",
        source=SOURCE,
        tests=(
            HTTP + "test_a_discovery_opens_nothing_and_names_every_revision",
            HTTP + "test_a_transport_session_means_nothing_here",
        ),
    ),
    Requirement(
        id="stateless:checks",
        promise=(
            "A stateless request is checked in one order: `_meta` -32602, headers -32020, version -32022 with those "
            "that are served, method -32601 with 404."
        ),
        source=SOURCE,
        tests=(
            REQUEST + "test_a_meta_that_is_missing_or_malformed_is_refused_before_anything_else",
            REQUEST + "test_a_client_that_disagrees_with_itself_hears_that_before_it_hears_of_versions",
            REQUEST + "test_a_version_that_is_not_served_is_refused_with_those_that_are",
            REQUEST + "test_a_method_that_is_gone_or_never_was_does_not_exist",
            HTTP + "test_a_method_that_is_gone_is_404_with_the_requests_id",
            HTTP + "test_what_is_no_request_of_this_era_is_refused_with_400",
        ),
    ),
    Requirement(
        id="stateless:headers",
        promise="Headers that repeat the body say the same as it, in their plain or their Base64 form, once each.",
        source=SOURCE,
        tests=(
            REQUEST + "test_the_version_header_must_repeat_the_version_once",
            REQUEST + "test_the_method_header_must_repeat_the_method_once",
            REQUEST + "test_the_name_header_must_repeat_what_is_named",
            REQUEST + "test_a_declared_parameter_must_stand_in_its_header",
            "tests/server/mcp/test_header.py::test_a_malformed_value_means_nothing",
        ),
    ),
    Requirement(
        id="stateless:results",
        promise="Every stateless result says its type and its server; what can be cached says how long, and privately.",
        source=SOURCE,
        tests=(
            "tests/server/mcp/test_result.py::test_what_can_be_cached_is_private_and_says_for_how_long",
            HTTP + "test_lists_are_the_same_for_every_request_and_say_how_long_they_hold",
        ),
    ),
    Requirement(
        id="stateless:streams",
        promise="A stateless call is answered by JSON, or by a stream where something comes first or it takes long.",
        source=SOURCE,
        tests=(
            ANSWERING + "test_a_quick_call_is_plain_json_even_where_a_stream_would_be_taken",
            ANSWERING + "test_what_comes_before_the_answer_makes_it_a_stream_whose_last_event_is_the_answer",
            ANSWERING + "test_a_silent_call_becomes_a_stream_with_comments_after_a_while",
        ),
    ),
    Requirement(
        id="stateless:logs",
        promise="Without a log level in a stateless request there are no logs, and with one they go to it alone.",
        source=SOURCE,
        tests=(
            ANSWERING + "test_without_a_level_and_a_token_a_talkative_tool_is_answered_in_json",
            ANSWERING + "test_what_comes_before_the_answer_makes_it_a_stream_whose_last_event_is_the_answer",
        ),
    ),
    Requirement(
        id="stateless:cancel",
        promise="A client that closes its response has cancelled its call; what was committed stays whole.",
        source=SOURCE,
        tests=(
            HTTP + "test_a_client_that_closes_its_response_has_cancelled_its_call",
            HTTP + "test_a_call_that_is_cut_off_in_its_commit_has_written_all_or_nothing",
            CLIENTS + "test_the_client_cancels_by_going_away",
        ),
    ),
    Requirement(
        id="stateless:ended",
        promise="Access that ends cuts running stateless calls, subscriptions and tasks within a second.",
        source=SOURCE,
        tests=(
            HTTP + "test_access_that_ends_cuts_a_running_call_and_a_subscription",
            TASKS + "test_a_revoked_session_takes_its_tasks_with_it",
            LINES + "test_after_a_revocation_no_change_of_a_resource_is_told",
        ),
    ),
    Requirement(
        id="stateless:input",
        promise="A call asks over several rounds by its answers, and nothing of them is kept by the server in between.",
        source=SOURCE,
        tests=(
            SERVICE + "test_a_tool_asks_over_several_rounds_and_then_answers",
            SERVICE + "test_an_answer_that_is_missing_or_does_not_fit_is_asked_for_again",
            SERVICE + "test_another_server_with_the_same_key_goes_on_where_the_first_has_asked",
        ),
    ),
    Requirement(
        id="stateless:state",
        promise="A request state is sealed, names nobody, and is good for its own execution, request and time alone.",
        source=SOURCE,
        tests=(
            STATE + "test_a_state_that_is_foreign_changed_or_expired_is_refused",
            STATE + "test_a_state_names_nobody",
            SERVICE + "test_a_state_is_good_for_its_own_session_request_and_time_alone",
        ),
    ),
    Requirement(
        id="stateless:capabilities",
        promise="A client is asked only for what it declared with this request; else the error names what it lacks.",
        source=SOURCE,
        tests=(SERVICE + "test_what_the_client_did_not_declare_with_this_request_is_not_asked",),
    ),
    Requirement(
        id="stateless:listen",
        promise="A subscription acknowledges first, then tells only what was asked for, each change once, tagged.",
        source=SOURCE,
        tests=(
            LISTENING + "test_only_what_was_asked_for_and_can_happen_is_honoured_and_told",
            LISTENING + "test_the_acknowledgement_comes_first_and_every_change_once",
            LISTENING + "test_a_closed_subscription_leaves_nothing_behind",
            LINES + "test_subscriptions_are_told_apart_by_their_ids_and_get_a_last_word",
        ),
    ),
    Requirement(
        id="stateless:tasks",
        promise="A call may go on as a task, which its own execution alone can see, answer and cancel.",
        source=SOURCE,
        tests=(
            TASKS + "test_a_call_becomes_a_task_whose_result_is_what_the_call_would_have_answered",
            TASKS + "test_a_task_exists_for_its_own_session_alone",
            TASKS + "test_a_task_asks_and_goes_on_with_what_it_is_told",
            TASKS + "test_a_cancelled_task_stops_and_stays_cancelled",
        ),
    ),
    Requirement(
        id="stateless:bounds",
        promise="Calls, subscriptions and tasks of a principal are bounded, and one's never take another's place.",
        source=SOURCE,
        tests=(
            HTTP + "test_too_many_calls_of_a_principal_are_told_to_wait",
            LISTENING + "test_subscriptions_of_a_principal_are_bounded",
            TASKS + "test_tasks_are_bounded_for_each_principal_and_forgotten_after_their_time",
        ),
    ),
)
