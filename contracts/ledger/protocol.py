"""Promises of the issue "MCP complete", beyond what product.md says."""

from __future__ import annotations

from codesynapse.contracts.ledger import Requirement

SOURCE = "issue MCP complete"

ROWS: tuple[Requirement, ...] = (
    Requirement(
        id="features:resources",
        promise="This chat's memory and a repository's are bounded resources with templates; no URI names a session.",
        source=SOURCE,
        tests=(
            "tests/integration/test_features.py::test_a_client_lists_reads_completes_and_prompts_from_what_it_remembered",
            "tests/integration/test_features.py::test_what_is_not_there_is_an_error_of_the_protocol",
            "tests/server/features/test_resources.py::test_what_does_not_fit_is_left_out_and_said_so",
        ),
    ),
    Requirement(
        id="features:grants",
        promise="Resources, prompts and completion treat a repository without a grant as one that does not exist.",
        source=SOURCE,
        tests=(
            (
                "tests/server/features/test_resources.py::"
                "test_a_repository_without_a_grant_is_neither_listed_nor_read_nor_watched"
            ),
            (
                "tests/server/features/test_prompts.py::"
                "test_a_prompt_of_a_repository_without_a_grant_is_refused_like_one_that_does_not_exist"
            ),
            "tests/server/features/test_completion.py::test_only_repositories_with_a_grant_are_offered",
        ),
    ),
    Requirement(
        id="features:updated",
        promise="Who subscribed to a resource is told when it changed, in this process, while it may still be read.",
        source=SOURCE,
        tests=(
            "tests/integration/test_features.py::test_a_subscriber_hears_of_each_change_to_what_it_subscribed_to",
            "tests/server/features/test_subscriptions.py::test_after_a_grant_was_withdrawn_nothing_is_told_any_more",
        ),
    ),
    Requirement(
        id="features:prompts",
        promise="Three prompts answer from memory, remember, and tell what changed; memory stands in them as data.",
        source=SOURCE,
        tests=(
            "tests/integration/test_features.py::test_a_client_lists_reads_completes_and_prompts_from_what_it_remembered",
            "tests/server/features/test_prompts.py::test_what_is_planted_in_memory_stays_inside_one_line_of_data",
        ),
    ),
    Requirement(
        id="features:completion",
        promise="Names of repositories and entities are completed, at most 100, those that begin so first.",
        source=SOURCE,
        tests=(
            "tests/integration/test_features.py::test_a_client_lists_reads_completes_and_prompts_from_what_it_remembered",
            "tests/server/features/test_operations.py::test_completion_holds_at_most_100_values_and_says_that_there_are_more",
        ),
    ),
    Requirement(
        id="features:pages",
        promise="All four lists come in pages, and a cursor that this server did not give for this list is refused.",
        source=SOURCE,
        tests=(
            (
                "tests/server/features/test_operations.py::"
                "test_every_list_comes_in_pages_whose_cursors_are_its_own_and_ours"
            ),
        ),
    ),
    Requirement(
        id="features:confirm",
        promise="A retraction is confirmed by the user where the client can ask, and its result says what ended.",
        source=SOURCE,
        tests=("tests/integration/test_features.py::test_a_retraction_is_confirmed_by_the_user_and_says_what_ended",),
    ),
    Requirement(
        id="features:asking",
        promise="A session's client is asked on the call's own stream, and only its own answer to it counts.",
        source=SOURCE,
        tests=(
            (
                "tests/integration/test_asking.py::"
                "test_user_model_and_roots_are_asked_on_the_calls_stream_and_answered_apart"
            ),
            (
                "tests/integration/test_asking.py::"
                "test_an_answer_from_another_transport_session_is_ignored_even_of_the_same_person"
            ),
            "tests/server/features/test_asking.py::test_an_answer_to_a_foreign_question_or_a_second_one_is_ignored",
            "tests/server/features/test_asking.py::test_silence_ends_at_the_deadline_and_the_client_is_told",
        ),
    ),
    Requirement(
        id="features:progress",
        promise="Who asked for progress hears every second that a call still runs which says nothing itself.",
        source=SOURCE,
        tests=(
            "tests/integration/test_progress.py::test_a_silent_call_reports_that_it_runs_until_its_answer",
            "tests/server/features/test_reporting.py::test_it_is_reported_of_its_own_accord_until_the_call_is_over",
        ),
    ),
    Requirement(
        id="features:instructions",
        promise="The instructions say in under 900 characters when to recall and when to store.",
        source=SOURCE,
        tests=(
            (
                "tests/server/features/test_product.py::"
                "test_the_instructions_say_in_under_900_characters_when_to_recall_and_when_to_store"
            ),
        ),
    ),
    Requirement(
        id="conformance:proxy",
        promise="The suite runs through a proxy that adds the headers of the caller and passes all else as it came.",
        source=SOURCE,
        tests=(
            "tests/conformance/test_proxy.py::test_each_request_of_a_connection_gets_the_headers_and_keeps_its_own",
            (
                "tests/conformance/test_proxy.py::"
                "test_a_body_in_chunks_passes_with_its_trailer_and_the_next_request_follows"
            ),
        ),
    ),
    Requirement(
        id="conformance:judged",
        promise="A scenario passes where a check of it succeeded and none failed or warned; the docs name each other.",
        source=SOURCE,
        tests=(
            (
                "tests/conformance/test_judging.py::"
                "test_a_scenario_passes_where_a_check_succeeded_and_none_failed_or_warned"
            ),
            "tests/conformance/test_judging.py::test_the_docs_name_whatever_is_left_out",
        ),
    ),
    Requirement(
        id="conformance:clients",
        promise="People's clients register, remember, are cut and recall; at a session revision none notices the cut.",
        source=SOURCE,
        tests=(
            "tests/conformance/test_judging.py::test_a_client_that_tells_of_a_fault_has_failed",
            "tests/conformance/test_judging.py::test_a_client_that_was_not_cut_has_shown_nothing",
        ),
    ),
    Requirement(
        id="conformance:reported",
        promise="Every fault of other servers in the research's table of reports has tests that show ours without it.",
        source=SOURCE,
        tests=(
            "tests/integration/reported/test_rows.py::test_every_reported_fault_has_tests_and_each_of_them_is_there",
            "tests/integration/reported/test_rows.py::test_every_test_beside_the_table_stands_for_a_row",
        ),
    ),
    Requirement(
        id="streams:last-word",
        promise="A server that stops lets every subscription say its last word, and a tool that lets its reader go "
        "leaves it an id to come back with.",
        source=SOURCE,
        tests=(
            "tests/server/http/test_exchanges.py::test_the_end_waits_for_the_last_words_but_not_for_ever",
            (
                "tests/server/http/test_following.py::"
                "test_a_tool_that_lets_its_reader_go_at_once_leaves_it_an_id_to_come_back_with"
            ),
        ),
    ),
    Requirement(
        id="bridge:both-eras",
        promise="One launcher speaks both eras, to its client and to the server.",
        source=SOURCE,
        tests=(
            "tests/integration/test_bridge_ends.py::test_one_launcher_speaks_both_eras_to_its_client_and_to_the_server",
        ),
    ),
    Requirement(
        id="bridge:restart",
        promise="A read that the launcher was asked while its server restarts is answered.",
        source=SOURCE,
        tests=("tests/integration/test_bridge_ends.py::test_a_read_is_answered_through_a_restart_of_the_server",),
    ),
    Requirement(
        id="bridge:ends",
        promise="The launcher ends within two seconds of the end of its input, and answers every call before it.",
        source=SOURCE,
        tests=(
            (
                "tests/integration/test_bridge_ends.py::"
                "test_every_call_before_the_end_of_input_is_answered_and_no_write_is_lost"
            ),
            "tests/integration/test_bridge_ends.py::test_what_the_end_of_input_may_take_is_under_two_seconds",
        ),
    ),
    Requirement(
        id="bridge:stdout",
        promise="The launcher writes nothing but MCP to standard output.",
        source=SOURCE,
        tests=("tests/integration/test_bridge_ends.py::test_nothing_but_mcp_is_written_to_stdout_whatever_happens",),
    ),
    Requirement(
        id="bridge:light",
        promise="The launcher starts without the server, its stores and its protocol, so that it starts quickly.",
        source=SOURCE,
        tests=("tests/server/cli/test_lazy.py::test_the_bridge_imports_no_more_than_it_needs",),
    ),
    Requirement(
        id="protocol:idle-sessions-end",
        promise="A thousand sessions that nobody ended are gone after the idle time.",
        source=SOURCE,
        tests=(
            (
                "tests/integration/test_transport_endings.py::"
                "test_a_thousand_sessions_that_nobody_ended_are_gone_after_the_idle_time"
            ),
        ),
    ),
    Requirement(
        id="protocol:fuzzed",
        promise=(
            "Whatever bytes come to a reader of messages, headers, event ids or request states, each request has one "
            "answer that its revision's schema knows, and nothing is left behind."
        ),
        source=SOURCE,
        tests=("tests/fuzz/test_fuzz.py::test_whatever_is_drawn_is_answered_or_refused_and_leaves_nothing_behind",),
    ),
)
