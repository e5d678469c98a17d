"""Promises of seed 0, session identity and inherited context, in the order of its sections."""

from __future__ import annotations

from codesynapse.contracts.ledger import Requirement

ROWS: tuple[Requirement, ...] = (
    Requirement(
        id="identity:supplied",
        promise=(
            "The calling runtime names the primary session before its first tool call, and the server registers "
            "exactly that id."
        ),
        source="seed 0, Primary session contract",
        tests=(
            (
                "tests/server/sessions/test_registry.py::"
                "test_registration_binds_the_callers_id_and_repeats_the_same_deadline"
            ),
            "tests/integration/test_bridge.py::test_what_one_launcher_remembers_another_of_the_same_session_recalls",
        ),
    ),
    Requirement(
        id="identity:never-generated",
        promise=(
            "Every place that creates a session row takes the id from its caller; the server makes none of its own."
        ),
        source="seed 0, Primary session contract; product.md, The two identities",
        tests=(
            (
                "tests/server/sessions/test_registry_ids.py::"
                "test_only_the_registry_creates_session_rows_and_passes_its_parameter_on"
            ),
            (
                "tests/server/sessions/test_registry_ids.py::"
                "test_the_registrys_id_is_the_callers_parameter_and_is_never_assigned"
            ),
            "tests/server/sessions/test_registry_ids.py::test_every_caller_of_the_registry_passes_an_id_that_nothing_made",
        ),
    ),
    Requirement(
        id="identity:no-substitute",
        promise=(
            "A request id, transport session id, timestamp, key hash or default is never accepted as a primary "
            "session id."
        ),
        source="seed 0, Primary session contract; product.md, The two identities",
        tests=(
            (
                "tests/integration/test_promises_identity.py::"
                "test_nothing_that_a_server_has_at_hand_stands_in_for_a_registered_id"
            ),
        ),
    ),
    Requirement(
        id="identity:stable:reconnect",
        promise=(
            "A client that comes back under its primary id, as after a cut or a compaction, finds the memory that it "
            "left."
        ),
        source="seed 0, Primary session contract; product.md, Who uses it",
        tests=(
            (
                "tests/integration/test_clients.py::"
                "test_twelve_facts_of_a_text_are_remembered_recalled_and_found_again_after_kill_9"
            ),
            "tests/integration/test_bridge.py::test_a_launcher_lives_through_a_killed_server_and_forgets_nothing",
        ),
    ),
    Requirement(
        id="identity:stable:retry",
        promise="A call that is tried again runs under the primary id of its first try.",
        source="seed 0, Primary session contract",
        tests=(
            "tests/server/bridge/test_run.py::test_a_call_that_is_sent_again_carries_the_id_of_its_first_try",
            "tests/server/memory/test_engine.py::test_where_another_writer_was_faster_both_changes_hold",
        ),
    ),
    Requirement(
        id="identity:fields",
        promise=(
            "An identity has a tenant, a subject, a primary and a parent session, and is refused when one of the four "
            "is missing."
        ),
        source="seed 0, Primary session contract",
        tests=(
            "tests/contracts/test_identity.py::test_an_identity_needs_all_four_fields",
            "tests/contracts/test_identity.py::test_a_bad_identity_cannot_be_built_directly",
        ),
    ),
    Requirement(
        id="identity:charset",
        promise=(
            "Each identifier is 1 to 128 ASCII letters, digits and signs . _ : - and nothing else, up to its very end."
        ),
        source="seed 0, Primary session contract",
        tests=(
            "tests/contracts/test_identity.py::test_an_identifier_has_1_to_128_letters_digits_or_four_signs",
            "tests/contracts/test_identity.py::test_anything_else_is_refused_to_its_very_end",
        ),
    ),
    Requirement(
        id="identity:parent-equal",
        promise="An identity whose parent session differs from its primary session is refused.",
        source="seed 0, Primary session contract",
        tests=(
            "tests/contracts/test_identity.py::test_the_parent_equals_the_session",
            "tests/server/sessions/test_registry.py::test_anything_else_is_a_fault_that_names_its_place",
        ),
    ),
    Requirement(
        id="identity:immutable",
        promise="No field of an identity or of a bound execution can be changed after it was made.",
        source="seed 0, Primary session contract",
        tests=(
            "tests/contracts/test_identity.py::test_every_value_of_the_law_is_immutable_and_named_by_keyword",
            "tests/contracts/test_identity.py::test_an_identity_cannot_be_changed",
        ),
    ),
    Requirement(
        id="execution:require",
        promise="Work is refused before it begins when its execution is missing, cancelled or past its deadline.",
        source="seed 0, Primary session contract",
        tests=(
            "tests/server/memory/test_services.py::test_without_an_execution_nothing_is_served",
            "tests/server/memory/test_services.py::test_a_cancelled_execution_is_refused",
            "tests/server/memory/test_services.py::test_an_execution_past_its_deadline_is_refused",
        ),
    ),
    Requirement(
        id="execution:every-service",
        promise="Every service function that reaches memory takes an execution as its argument.",
        source="seed 0, Primary session contract",
        tests=(
            "tests/server/memory/test_services.py::test_every_service_takes_an_execution_first",
            "tests/server/memory/test_services.py::test_every_service_is_called_here",
        ),
    ),
    Requirement(
        id="execution:apart-from-permission",
        promise="A valid execution opens no repository by itself; the repository's grant is asked for separately.",
        source="seed 0, Primary session contract",
        tests=(
            "tests/server/tools/test_graph.py::test_without_a_grant_no_tool_answers",
            "tests/server/sessions/test_registry.py::test_a_grant_allows_its_level_and_those_before",
        ),
    ),
    Requirement(
        id="transport:selects-no-memory",
        promise=(
            "Two transport sessions of one primary id share memory, and one transport session id never chooses what "
            "is read."
        ),
        source="seed 0, Primary session contract",
        tests=(
            (
                "tests/integration/test_promises_identity.py::"
                "test_transports_of_one_session_share_its_memory_and_one_of_another_session_reads_its_own"
            ),
        ),
    ),
    Requirement(
        id="correlation:selects-no-memory",
        promise="Request, trace, job and task ids only label work; none of them decides which memory is touched.",
        source="seed 0, Primary session contract",
        tests=(
            (
                "tests/integration/test_promises_identity.py::"
                "test_equal_request_trace_and_progress_ids_lead_two_sessions_to_their_own_memory"
            ),
        ),
    ),
    Requirement(
        id="binding:global",
        promise="A primary id belongs to exactly one user of exactly one organisation in the whole installation.",
        source="seed 0, Primary session contract",
        tests=(
            (
                "contracts/suite/test_registry.py::"
                "TestRegistration::test_no_other_participant_can_claim_an_id_live_or_tombstoned"
            ),
            (
                "contracts/suite/test_registry.py::"
                "TestRegistration::test_the_first_registration_binds_the_id_for_seven_days"
            ),
        ),
    ),
    Requirement(
        id="binding:idempotent",
        promise=(
            "Registering an id again as the same user in the same organisation changes nothing and returns the same "
            "binding."
        ),
        source="seed 0, Primary session contract",
        tests=(
            (
                "contracts/suite/test_registry.py::"
                "TestRegistration::test_a_repeated_registration_answers_the_same_binding"
            ),
            (
                "contracts/suite/test_registry.py::"
                "TestRegistration::test_another_key_of_the_same_user_is_the_same_participant"
            ),
        ),
    ),
    Requirement(
        id="binding:foreign",
        promise="Neither another user of the organisation nor a user of another one can register an id that is taken.",
        source="seed 0, Primary session contract",
        tests=(
            (
                "contracts/suite/test_registry.py::"
                "TestRegistration::test_no_other_participant_can_claim_an_id_live_or_tombstoned"
            ),
            (
                "tests/integration/test_refusals_alike.py::"
                "test_a_refused_registration_leaves_the_foreign_binding_as_it_is"
            ),
        ),
    ),
    Requirement(
        id="binding:race",
        promise="When two participants register one id at the same moment, exactly one of them owns it afterwards.",
        source="seed 0, Primary session contract",
        tests=(
            (
                "contracts/suite/test_registry.py::"
                "TestRegistration::test_of_two_users_that_register_one_id_at_once_exactly_one_wins"
            ),
        ),
    ),
    Requirement(
        id="binding:membership",
        promise="As soon as its user's membership is withdrawn, a session's next call gets 403, over REST and MCP.",
        source=(
            "seed 0, Primary session contract; seed 0, Retention, audit and verification; product.md, Who is refused "
            "how"
        ),
        tests=(
            "tests/integration/test_refusals.py::test_a_credential_that_does_not_work_is_refused",
            "contracts/suite/test_accounts.py::TestRecheck::test_withdrawn_access_is_refused_at_once",
        ),
    ),
    Requirement(
        id="binding:suspension",
        promise="While its user or its organisation is suspended, a session's calls get 403.",
        source="seed 0, Primary session contract; product.md, Who is refused how",
        tests=(
            "tests/integration/test_refusals.py::test_a_credential_that_does_not_work_is_refused",
            (
                "tests/server/cli/test_admin.py::"
                "test_what_the_command_line_ends_a_running_server_refuses_until_it_is_lifted"
            ),
        ),
    ),
    Requirement(
        id="binding:privilege",
        promise="A platform administrator without a registered session or without a grant reads and writes no memory.",
        source="seed 0, Primary session contract",
        tests=(
            (
                "tests/integration/test_promises_identity.py::"
                "test_an_administrator_without_a_session_or_without_a_grant_reads_and_writes_no_memory"
            ),
        ),
    ),
    Requirement(
        id="binding:expiry:seven-days",
        promise="A binding ends seven days after its registration.",
        source="seed 0, Primary session contract",
        tests=(
            (
                "contracts/suite/test_registry.py::"
                "TestRegistration::test_the_first_registration_binds_the_id_for_seven_days"
            ),
            (
                "tests/server/sessions/test_registry.py::"
                "test_a_session_resolves_for_its_owner_until_it_expires_or_is_revoked"
            ),
        ),
    ),
    Requirement(
        id="binding:expiry:fixed",
        promise="Using or registering a session again never moves its deadline: `expires_at` stays the same.",
        source="seed 0, Primary session contract; product.md, Shapes",
        tests=(
            "contracts/suite/test_registry.py::TestBindingTombstones::test_using_a_session_never_extends_it",
            (
                "tests/server/http/test_api.py::"
                "test_a_first_registration_is_201_a_repeated_one_200_with_the_same_deadline"
            ),
        ),
    ),
    Requirement(
        id="binding:tombstone",
        promise=(
            "A revoked id, or one seen expired, stays recorded for good, and registering it again does not reopen it."
        ),
        source="seed 0, Primary session contract",
        tests=(
            (
                "contracts/suite/test_registry.py::"
                "TestBindingTombstones::test_ones_own_revoked_session_cannot_be_registered_again"
            ),
            (
                "contracts/suite/test_registry.py::"
                "TestBindingTombstones::test_ones_own_expired_session_cannot_be_registered_again"
            ),
            (
                "contracts/suite/test_registry.py::"
                "TestBindingTombstones::test_an_expiry_that_was_seen_stands_when_the_clock_is_set_back"
            ),
        ),
    ),
    Requirement(
        id="binding:limit:active",
        promise="An organisation holds at most 1,024 active bindings unless its setting says otherwise.",
        source="seed 0, Primary session contract; decision 12",
        tests=(
            (
                "tests/contracts/test_binding.py::"
                "test_the_1024th_active_and_the_65536th_retained_binding_are_the_last_by_default"
            ),
            (
                "contracts/suite/test_registry.py::"
                "TestRegistryCaps::test_the_active_cap_refuses_and_a_revocation_makes_room"
            ),
        ),
    ),
    Requirement(
        id="binding:limit:retained",
        promise="An organisation keeps at most 65,536 bindings, tombstones counted, unless its setting says otherwise.",
        source="seed 0, Primary session contract; decision 12",
        tests=(
            (
                "tests/contracts/test_binding.py::"
                "test_the_1024th_active_and_the_65536th_retained_binding_are_the_last_by_default"
            ),
            "contracts/suite/test_registry.py::TestRegistryCaps::test_the_retained_cap_counts_tombstones",
        ),
    ),
    Requirement(
        id="binding:tombstones-stay",
        promise="Reaching the retained limit refuses registration and deletes no tombstone to make room.",
        source="seed 0, Primary session contract",
        tests=("contracts/suite/test_registry.py::TestRegistryCaps::test_at_the_retained_cap_no_tombstone_makes_room",),
    ),
    Requirement(
        id="binding:no-silent-switch",
        promise="When a session expires its calls are refused, and nothing goes on under another id.",
        source="seed 0, Primary session contract",
        tests=(
            (
                "tests/server/bridge/test_exchange.py::"
                "test_once_the_session_has_ended_every_call_gets_that_error_and_no_other_id_is_used"
            ),
            "tests/server/test_stdio.py::test_an_expiry_between_two_calls_refuses_the_second",
        ),
    ),
    Requirement(
        id="accounts:required",
        promise="The server does not start without an accounts store.",
        source="seed 0, Runtime integration; decision 9",
        tests=(
            "tests/server/test_services.py::test_a_backend_without_accounts_cannot_keep_them",
            "tests/server/test_services.py::test_stores_that_do_not_fit_are_refused",
        ),
    ),
    Requirement(
        id="register:route",
        promise=(
            "`POST /api/v1/execution/sessions` with a `session_id` registers it and answers with the validated "
            "identity."
        ),
        source="seed 0, Runtime integration",
        tests=("tests/server/http/test_api.py::test_a_registration_is_answered_with_the_identity_and_its_two_moments",),
    ),
    Requirement(
        id="register:key-organisation",
        promise="A personal API key alone decides in which organisation a session is registered.",
        source="seed 0, Runtime integration",
        tests=(
            (
                "tests/integration/test_promises_identity.py::"
                "test_the_key_alone_decides_in_which_organisation_a_session_is_registered"
            ),
        ),
    ),
    Requirement(
        id="register:browser-organisation",
        promise="A browser session names its organisation by the organisation header when it registers.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="register:control-plane",
        promise="Registration works without the two execution headers.",
        source="seed 0, Runtime integration",
        tests=("tests/server/http/test_api.py::test_a_registration_is_answered_with_the_identity_and_its_two_moments",),
    ),
    Requirement(
        id="headers:both",
        promise="Each execution request names session and inherited parent; one with either header missing gets 403.",
        source="seed 0, Primary session contract; seed 0, Runtime integration; product.md, Who is refused how",
        tests=(
            (
                "tests/integration/test_refusals.py::"
                "test_a_session_that_is_not_named_rightly_not_ones_own_or_over_is_refused"
            ),
            "tests/server/http/test_requests.py::test_a_fault_of_the_execution_headers_names_the_header",
        ),
    ),
    Requirement(
        id="headers:outside-arguments",
        promise=(
            "No tool schema has a field for tenant, subject, session or parent, and such an argument is refused as "
            "unknown."
        ),
        source="seed 0, Runtime integration; product.md, Shapes",
        tests=(
            "tests/server/tools/test_graph.py::test_every_argument_is_described_or_plain_and_none_is_an_identity",
            "tests/server/tools/test_graph.py::test_what_a_schema_allows_is_what_is_decoded",
        ),
    ),
    Requirement(
        id="headers:middleware",
        promise=(
            "A REST handler runs only after the caller was authenticated and the binding resolved, with an immutable "
            "execution."
        ),
        source="seed 0, Runtime integration",
        tests=(
            "tests/server/http/test_api.py::test_without_a_credential_every_route_is_401",
            "tests/server/http/test_api.py::test_without_the_execution_headers_memory_is_403",
            "tests/contracts/test_identity.py::test_every_value_of_the_law_is_immutable_and_named_by_keyword",
        ),
    ),
    Requirement(
        id="mcp:resolve:each-call",
        promise="The binding is resolved from the accounts before every single tool call.",
        source="seed 0, Runtime integration; product.md, The two identities",
        tests=(
            (
                "tests/integration/test_promises_identity.py::"
                "test_the_accounts_are_asked_for_the_binding_before_every_single_tool_call"
            ),
            (
                "tests/backends/sqlite/test_accounts.py::"
                "test_a_withdrawal_by_another_process_holds_for_the_very_next_request"
            ),
        ),
    ),
    Requirement(
        id="mcp:bind:once",
        promise="The first request with both headers binds a protocol session, and that binding never changes.",
        source="seed 0, Runtime integration; product.md, Who is refused how",
        tests=(
            "tests/server/mcp/test_connection.py::test_a_binding_is_written_once",
            (
                "tests/integration/test_transport.py::"
                "test_an_unbound_session_answers_only_what_needs_no_execution_until_it_is_bound_for_good"
            ),
        ),
    ),
    Requirement(
        id="mcp:bind:reconnect",
        promise="A new protocol session may be opened under a primary id that is still live.",
        source="seed 0, Runtime integration",
        tests=(
            "tests/integration/test_writers.py::test_64_writers_through_64_transports_of_one_session_lose_no_update",
            "tests/integration/test_clients.py::test_every_way_finds_what_another_has_remembered",
        ),
    ),
    Requirement(
        id="mcp:bind:no-switch",
        promise="A protocol session resumed or used under another primary id gets 403 and stays with its own.",
        source="seed 0, Runtime integration; seed 0, Retention, audit and verification; product.md, Who is refused how",
        tests=(
            (
                "tests/integration/test_refusals.py::"
                "test_a_session_that_is_not_named_rightly_not_ones_own_or_over_is_refused"
            ),
            "tests/integration/test_transport_streams.py::test_resuming_is_checked_as_a_call_is",
        ),
    ),
    Requirement(
        id="mcp:bind:everywhere",
        promise="Listening by GET, resuming by event id and ending by DELETE check the binding as a POST does.",
        source="seed 0, Runtime integration",
        tests=(
            (
                "tests/integration/test_refusals_alike.py::"
                "test_a_foreign_session_live_or_dead_is_answered_like_one_that_never_existed"
            ),
            "tests/integration/test_transport_streams.py::test_resuming_is_checked_as_a_call_is",
        ),
    ),
    Requirement(
        id="mcp:initialize-alone",
        promise="A client that has only URL and key can initialise, and no tool does any work for it.",
        source="seed 0, Runtime integration",
        tests=(
            (
                "tests/integration/test_transport.py::"
                "test_an_unbound_session_answers_only_what_needs_no_execution_until_it_is_bound_for_good"
            ),
            "tests/server/mcp/test_connection.py::test_anything_else_is_refused_before_the_binding",
        ),
    ),
    Requirement(
        id="stdio:credentials",
        promise="The stdio server needs a personal API key and both session variables when it starts.",
        source="seed 0, Runtime integration; product.md, Running it",
        tests=(
            "tests/integration/test_refusals_stdio.py::test_stdio_exits_with_2_and_names_the_variable_before_it_reads",
            "tests/server/cli/test_serving.py::test_stdio_exits_with_2_before_reading_and_names_the_variable",
        ),
    ),
    Requirement(
        id="stdio:one-chat",
        promise="One stdio process serves one session from its first line to its last.",
        source="seed 0, Runtime integration; product.md, Running it",
        tests=(
            (
                "tests/integration/test_promises_identity.py::"
                "test_a_session_of_stdio_is_one_whatever_its_client_or_its_environment_says_later"
            ),
        ),
    ),
    Requirement(
        id="stdio:environment-once",
        promise=(
            "A stdio process takes its ids from the environment at its start; a later change there changes nothing."
        ),
        source="seed 0, Runtime integration",
        tests=(
            (
                "tests/integration/test_promises_identity.py::"
                "test_a_session_of_stdio_is_one_whatever_its_client_or_its_environment_says_later"
            ),
        ),
    ),
    Requirement(
        id="session-free:control",
        promise="Authentication, health, accounts and grants work without a chat session.",
        source="seed 0, Runtime integration",
        tests=(
            "tests/server/http/test_health.py::test_it_says_that_it_lives_and_is_ready_without_a_credential",
            "tests/server/http/test_api.py::test_ones_own_sessions_are_listed_with_their_state",
            "tests/server/cli/test_admin.py::test_organisations_users_and_repositories_are_listed",
        ),
    ),
    Requirement(
        id="session-free:dashboard",
        promise="Ordinary reads of the dashboard work without a chat session.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="session-required:memory",
        promise="Every change of memory and every tool call is refused without a registered session.",
        source="seed 0, Runtime integration",
        tests=(
            (
                "tests/integration/test_refusals_alike.py::"
                "test_a_foreign_session_live_or_dead_is_answered_like_one_that_never_existed"
            ),
            (
                "tests/integration/test_promises_identity.py::"
                "test_an_administrator_without_a_session_or_without_a_grant_reads_and_writes_no_memory"
            ),
        ),
    ),
    Requirement(
        id="session-required:ingest",
        promise="Ingesting, attaching and synchronising a repository are refused without a registered session.",
        source="seed 0, Runtime integration",
        to_come="Code graph and ingest",
    ),
    Requirement(
        id="session-required:jobs",
        promise="AI tasks and fix jobs are refused without a registered session.",
        source="seed 0, Runtime integration",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="legacy:service-token",
        promise="A service token without an account authorises no memory, tool or job operation.",
        source="seed 0, Runtime integration",
        decision=9,
    ),
    Requirement(
        id="dashboard:proxy",
        promise="The web proxy passes on no execution header that a browser sent.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:cookie",
        promise="A request with a login cookie and no execution header runs in that login's own dashboard session.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:id",
        promise=(
            "A dashboard id is `web:` and a hash over the login's token hash, the organisation and the seven-day "
            "window."
        ),
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:own-browser",
        promise="Only the browser that signed in reaches its dashboard session, and nobody does after it signed out.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:as-any",
        promise="A dashboard session is registered, audited, limited, tombstoned and rechecked like every other.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:window",
        promise=(
            "A login that outlasts its window gets a new id at the boundary, while the old binding is still active."
        ),
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:pruned",
        promise="The memory of an unreachable dashboard session is removed once it has expired.",
        source="seed 0, Runtime integration",
        to_come="Retention and erasure",
    ),
    Requirement(
        id="dashboard:not-for-keys",
        promise="An API key or service token without execution headers never gets a dashboard session.",
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="dashboard:no-fallback",
        promise=(
            "A browser request that names an unregistered session is refused and does not fall back to the dashboard's."
        ),
        source="seed 0, Runtime integration",
        to_come="Dashboard and browser sessions",
    ),
    Requirement(
        id="propagation:retrieval",
        promise="Graph retrieval runs with the execution of the call that asked for it.",
        source="seed 0, Propagation and jobs",
        tests=(
            "tests/server/memory/test_services.py::test_every_service_takes_an_execution_first",
            "tests/server/memory/test_recall.py::test_a_revoked_session_recalls_nothing",
            "tests/server/memory/test_recall.py::test_another_session_of_the_same_user_recalls_none_of_it",
        ),
    ),
    Requirement(
        id="propagation:vectors",
        promise="Vector retrieval runs with the execution of the call that asked for it.",
        source="seed 0, Propagation and jobs",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="propagation:embedding",
        promise="Local embedding runs with the execution of the call that asked for it.",
        source="seed 0, Propagation and jobs",
        tests=(
            "tests/server/memory/test_models.py::test_nothing_is_embedded_for_an_execution_that_has_ended",
            "tests/server/memory/test_models.py::test_only_models_ask_an_embedder_so_that_each_text_has_an_execution",
        ),
    ),
    Requirement(
        id="propagation:model",
        promise=(
            "A model call without an execution is refused before a provider is looked up or the network is touched."
        ),
        source="seed 0, Propagation and jobs",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="propagation:runners",
        promise="AI and fix runners without an execution stop before they read any store.",
        source="seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="propagation:subprocess",
        promise=(
            "A subprocess gets the validated identity and no stray execution variable; the server's environment stays."
        ),
        source="seed 0, Propagation and jobs",
        to_come="Code graph and ingest",
    ),
    Requirement(
        id="jobs:identity",
        promise="A queued job holds a copy of the identity and the ids of its actor and key, and no bearer token.",
        source="seed 0, Propagation and jobs; seed 0, Retention, audit and verification",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="jobs:recheck",
        promise=(
            "A worker checks session, membership, key and grant again before its work and before it stores a result."
        ),
        source="seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="jobs:schedule",
        promise="A schedule keeps its identity through a restart, and one without an identity does not run.",
        source="seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="jobs:schedule:accountless",
        promise="A schedule does not run where there are no accounts.",
        source="seed 0, Propagation and jobs",
        decision=9,
    ),
    Requirement(
        id="jobs:same-session",
        promise="Delegated work, background work and each retry of a job run under the primary id that started it.",
        source="seed 0, Primary session contract; seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="jobs:durable",
        promise=(
            "A queued job outlives a restart, and an interrupted one is claimed again only after its lease has run out."
        ),
        source="seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="jobs:rebuild",
        promise="A job claimed again is rebuilt from its stored parameters after all checks have been repeated.",
        source="seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="jobs:fix-once",
        promise="A fix job that was interrupted is never started again.",
        source="seed 0, Propagation and jobs",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="offload:memory-only",
        promise="Offloaded turns lie in process memory alone; a shutdown drops them and no restart replays them.",
        source="seed 0, Propagation and jobs",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="offload:redacted",
        promise="Turns are redacted and bounded before they enter the queue.",
        source="seed 0, Propagation and jobs",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="offload:local-model",
        promise="Extraction from turns uses the local memory model and no other.",
        source="seed 0, Propagation and jobs",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="offload:recheck",
        promise="Extraction checks the authorisation again before it stores a fact.",
        source="seed 0, Propagation and jobs",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="offload:old-route",
        promise="The old offload route of a repository answers 410 and stores nothing.",
        source="seed 0, Propagation and jobs",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="scope:session:access",
        promise=(
            "Session memory opens to its own user, tenant and primary session in an authorised repository namespace "
            "only."
        ),
        source="seed 0, Session and repository memory",
        tests=(
            "contracts/suite/test_isolation.py::TestIsolation::test_another_scope_is_never_served_this_ones_memory",
            "tests/server/http/test_api.py::test_a_namespace_is_a_repository_that_one_may_read",
            "tests/server/memory/test_recall.py::test_another_session_of_the_same_user_recalls_none_of_it",
        ),
    ),
    Requirement(
        id="scope:session:separate",
        promise="Entities, facts and vectors of a session are kept apart from those of every other session.",
        source="seed 0, Session and repository memory",
        tests=(
            "contracts/suite/test_isolation.py::TestIsolation::test_the_same_names_in_two_sessions_are_two_memories",
            "contracts/suite/test_isolation.py::TestIsolation::test_writing_to_another_scope_changes_nothing_here",
            "contracts/suite/test_vectors.py::TestForeignHits::test_the_same_entity_in_two_scopes_is_two_vectors",
        ),
    ),
    Requirement(
        id="scope:repository:permission",
        promise="Repository memory opens by organisation and repository grant, to whichever session the caller is in.",
        source="seed 0, Session and repository memory",
        tests=(
            "tests/server/memory/test_recall.py::test_the_repository_is_recalled_by_who_did_not_write_it",
            "tests/server/tools/test_graph.py::test_a_read_grant_reads_all_and_writes_only_the_sessions_own_memory",
        ),
    ),
    Requirement(
        id="scope:repository:legacy",
        promise="A repository fact without an origin session is served without one; none is invented for it.",
        source="seed 0, Session and repository memory",
        tests=(
            "tests/backends/sqlite/test_repository.py::test_a_planted_fact_without_an_origin_is_served_without_one",
            (
                "contracts/suite/test_repository.py::"
                "TestRepositoryCommits::test_facts_say_which_session_wrote_them_and_planted_ones_say_nothing"
            ),
            "tests/server/memory/test_views.py::test_a_fact_shows_only_what_it_has",
        ),
    ),
    Requirement(
        id="promotion:explicit",
        promise="Promotion copies only the current session facts whose ids the caller names.",
        source="seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="promotion:write-grant",
        promise="Promotion needs a write grant on the repository.",
        source="seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="recall:default-session",
        promise="`recall_context` without a scope answers from session memory.",
        source="seed 0, Session and repository memory",
        tests=(
            "tests/integration/test_product.py::test_a_bound_session_remembers_and_recalls",
            "tests/server/test_stdio.py::test_a_client_initializes_remembers_and_recalls",
        ),
    ),
    Requirement(
        id="recall:repository",
        promise='`recall_context` with `memory_scope: "repository"` answers from durable memory.',
        source="seed 0, Session and repository memory",
        tests=(
            (
                "tests/server/tools/test_graph.py::"
                "test_memory_goes_to_the_repository_by_default_and_to_the_session_when_asked"
            ),
            (
                "tests/integration/test_promises_identity.py::"
                "test_the_id_of_the_headers_and_that_of_the_environment_arrive_at_the_stored_fact"
            ),
        ),
    ),
    Requirement(
        id="offload:session-only",
        promise="`offload_turns` stores into session memory and nowhere else.",
        source="seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="upsert:default-repository",
        promise="`upsert_graph_triples` without a scope writes repository memory.",
        source="seed 0, Session and repository memory",
        tests=(
            (
                "tests/server/tools/test_graph.py::"
                "test_memory_goes_to_the_repository_by_default_and_to_the_session_when_asked"
            ),
        ),
    ),
    Requirement(
        id="graph-tools:repository",
        promise="`search_graph_nodes` and `query_subgraph` read the repository's graph and nothing of a session.",
        source="seed 0, Session and repository memory",
        tests=(
            "tests/server/tools/test_graph.py::test_search_and_subgraph_read_the_repository_and_nothing_of_a_session",
        ),
    ),
    Requirement(
        id="origin:recorded",
        promise="Each new durable write records the session that it came from.",
        source="seed 0, Session and repository memory",
        tests=(
            "tests/server/memory/test_repository.py::test_every_fact_records_the_session_that_wrote_it",
            "tests/backends/sqlite/test_planting.py::test_each_commit_and_each_fact_names_the_session_that_wrote_it",
        ),
    ),
    Requirement(
        id="rest:memory:read",
        promise=(
            "`GET …/session-memory` lists this session's facts by optional `q` and `history`, 50 or up to 512 of them."
        ),
        source="seed 0, Session and repository memory; product.md, Shapes",
        tests=(
            "tests/server/http/test_api.py::test_a_read_takes_its_query_its_limit_and_history",
            "tests/server/http/test_api.py::test_a_read_without_a_limit_answers_fifty_facts_and_with_one_up_to_512",
            "tests/server/http/test_api.py::test_a_malformed_query_string_is_422_and_names_the_field",
        ),
    ),
    Requirement(
        id="rest:memory:shape",
        promise="A read of session memory answers with its facts, its revision and whether it is closed.",
        source="product.md, Shapes",
        tests=("tests/server/http/test_api.py::test_facts_are_written_read_recalled_and_cleared",),
    ),
    Requirement(
        id="rest:memory:write",
        promise="`POST …/session-memory` validates and upserts triples with an optional source.",
        source="seed 0, Session and repository memory",
        tests=(
            (
                "tests/server/http/test_api.py::"
                "test_triples_are_validated_and_keep_their_own_source_or_that_of_the_request"
            ),
        ),
    ),
    Requirement(
        id="rest:memory:clear",
        promise="`DELETE …/session-memory` empties and closes this session's namespace: `{closed: true, removed}`.",
        source="seed 0, Session and repository memory; product.md, Shapes",
        tests=("tests/server/http/test_api.py::test_facts_are_written_read_recalled_and_cleared",),
    ),
    Requirement(
        id="rest:memory:recall",
        promise="`POST …/session-memory/recall` answers a query from the current facts of this session.",
        source="seed 0, Session and repository memory",
        tests=(
            "tests/server/http/test_api.py::test_facts_are_written_read_recalled_and_cleared",
            "tests/server/memory/test_recall.py::test_only_what_holds_now_is_recalled_unless_history_is_asked_for",
        ),
    ),
    Requirement(
        id="rest:memory:offload",
        promise="`POST …/session-memory/offload` queues local extraction from turns.",
        source="seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="rest:memory:promote",
        promise="`POST …/session-memory/promote` copies 1 to 50 named facts into durable memory.",
        source="seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="rest:memory:index",
        promise="`POST …/memory/index` refreshes a bounded batch of durable embeddings under this session's execution.",
        source="seed 0, Graph and vector schema; seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="rest:memory:guarded",
        promise=(
            "Every session-memory route refuses a request without the headers or without a grant on the repository."
        ),
        source="seed 0, Session and repository memory",
        tests=(
            (
                "tests/integration/test_promises_identity.py::"
                "test_an_administrator_without_a_session_or_without_a_grant_reads_and_writes_no_memory"
            ),
            (
                "tests/integration/test_refusals_alike.py::"
                "test_a_repository_that_does_not_exist_is_answered_like_one_without_a_grant"
            ),
        ),
    ),
    Requirement(
        id="promotion:copies",
        promise="A promoted fact stays in session memory, and clearing that memory leaves the promoted one.",
        source="seed 0, Session and repository memory",
        to_come="Offload, promotion and indexing",
    ),
    Requirement(
        id="cleared:closed",
        promise=(
            "A cleared namespace stays closed through reconnects and restarts: reads are empty, writes "
            "`namespace_closed`."
        ),
        source="seed 0, Session and repository memory; product.md, Shapes",
        tests=(
            "tests/server/memory/test_engine.py::test_a_cleared_namespace_reads_empty_refuses_writes_and_stays_closed",
            "contracts/suite/test_reopening.py::TestReopening::test_tombstones_and_caps_are_there",
        ),
    ),
    Requirement(
        id="jobs:own-list",
        promise="Lists and details of memory jobs show only those of the asking execution identity.",
        source="seed 0, Session and repository memory",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="store:contract:graph-servers",
        promise="Neo4j and HugeGraph pass the same session-memory contract as the memory store.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/test_contract.py::test_the_suite_runs_here_on_every_store_that_is_shipped",
            "tests/backends/test_differential.py::test_all_stores_answer_as_the_law_does",
        ),
    ),
    Requirement(
        id="engine:scope",
        promise=(
            "A malformed scope, and an id that does not follow from its own parts, are refused before the commit."
        ),
        source="seed 0, Graph and vector schema",
        tests=(
            (
                "contracts/suite/test_content.py::"
                "TestMalformedSnapshots::test_a_malformed_snapshot_is_refused_and_writes_nothing"
            ),
            "tests/contracts/test_commit.py::test_malformed_content_is_refused_with_its_field",
            "tests/contracts/test_memory.py::test_a_scope_is_well_formed",
        ),
    ),
    Requirement(
        id="engine:endpoints",
        promise="A fact whose subject or object is not an entity of the same snapshot is refused.",
        source="seed 0, Graph and vector schema",
        tests=(
            (
                "contracts/suite/test_content.py::"
                "TestMalformedSnapshots::test_a_malformed_snapshot_is_refused_and_writes_nothing"
            ),
            "tests/contracts/test_commit.py::test_malformed_content_is_refused_with_its_field",
        ),
    ),
    Requirement(
        id="engine:predicates",
        promise="A fact with a malformed predicate is refused before the commit.",
        source="seed 0, Graph and vector schema",
        tests=(
            (
                "contracts/suite/test_content.py::"
                "TestMalformedSnapshots::test_a_malformed_snapshot_is_refused_and_writes_nothing"
            ),
            "tests/contracts/test_commit.py::test_malformed_content_is_refused_with_its_field",
        ),
    ),
    Requirement(
        id="store:revision-check",
        promise=(
            "A store refuses a stale revision in its own transaction, also from a writer that goes past the engine."
        ),
        source="seed 0, Graph and vector schema; decision 15",
        tests=(
            (
                "contracts/suite/test_memory.py::"
                "TestRevisions::test_another_revision_than_the_current_is_refused_with_the_current"
            ),
            "contracts/suite/test_memory.py::TestRacingCommits::test_of_many_commits_on_one_revision_exactly_one_wins",
        ),
    ),
    Requirement(
        id="store:quota-check",
        promise=(
            "A store refuses what exceeds a quota in its own transaction, also from a writer that goes past the engine."
        ),
        source="seed 0, Graph and vector schema",
        tests=(
            "contracts/suite/test_limits.py::TestQuotasUnderLoad::test_first_commits_at_once_reach_exactly_the_cap",
            "contracts/suite/test_limits.py::TestQuotasUnderLoad::test_growing_at_once_reaches_exactly_the_cap",
        ),
    ),
    Requirement(
        id="schema:scope",
        promise="A scope record has tenant, session, ns, bounded document, revision, expiry, tombstone and fact count.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/backends/neo4j/test_records.py::test_the_record_of_a_scope_has_its_place_document_revision_expiry_and_count",
            "tests/backends/hugegraph/test_records.py::test_the_record_of_a_scope_has_its_place_document_revision_expiry_and_count",
        ),
    ),
    Requirement(
        id="schema:entity",
        promise=(
            "An entity record has the scope's fields, its id as `id` or `eid`, a redacted document, expiry and "
            "embedding."
        ),
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/backends/neo4j/test_records.py::test_entities_and_facts_carry_the_place_of_their_scope_and_its_expiry",
            "tests/backends/hugegraph/test_records.py::test_entities_and_facts_carry_the_place_of_their_scope_and_its_expiry",
        ),
    ),
    Requirement(
        id="schema:fact",
        promise=(
            "A `SESSION_FACT` has the scope's fields on itself and both ends, a fact id, predicate, redacted document "
            "and expiry."
        ),
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/backends/neo4j/test_records.py::test_entities_and_facts_carry_the_place_of_their_scope_and_its_expiry",
            "tests/backends/hugegraph/test_records.py::test_entities_and_facts_carry_the_place_of_their_scope_and_its_expiry",
        ),
    ),
    Requirement(
        id="schema:tenant-lock",
        promise="Neo4j checks quotas of concurrent commits under one lock record a tenant.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/backends/neo4j/test_store.py::test_a_quota_is_checked_against_what_another_is_just_writing",
            "tests/backends/test_racing.py::test_writers_of_two_processes_reach_the_cap_of_each_tenant_and_do_not_pass_it",
        ),
    ),
    Requirement(
        id="schema:apart",
        promise="No session entity carries the code graph's label `Node`, and no session edge is a durable `FACT`.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/backends/neo4j/test_edges.py::test_no_session_entity_is_a_code_node_and_no_session_edge_a_durable_fact",
            "tests/backends/hugegraph/test_store.py::test_labels_are_the_seeds_and_never_those_of_the_code_graph",
        ),
    ),
    Requirement(
        id="schema:shared-code",
        promise="Two sessions on one repository read one code graph; it is not copied for each.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/backends/neo4j/test_records.py::test_sessions_on_one_repository_share_its_code_graph_and_copy_none_of_it",
            "tests/backends/hugegraph/test_records.py::test_sessions_on_one_repository_share_its_code_graph_and_copy_none_of_it",
        ),
    ),
    Requirement(
        id="schema:code-properties",
        promise="Session memory adds no property to the nodes of the code graph.",
        source="seed 0, Graph and vector schema",
        to_come="Code graph and ingest",
    ),
    Requirement(
        id="revocation:all-namespaces",
        promise="One revocation record closes every namespace of a session, also those that are opened later.",
        source="seed 0, Graph and vector schema",
        tests=(
            (
                "contracts/suite/test_endings.py::"
                "TestRevocation::test_it_covers_every_namespace_also_one_that_was_never_written"
            ),
            "contracts/suite/test_endings.py::TestRevocation::test_it_blocks_a_session_before_its_first_commit",
        ),
    ),
    Requirement(
        id="limits:facts",
        promise="A namespace holds at most 512 facts.",
        source="seed 0, Graph and vector schema",
        tests=("contracts/suite/test_content.py::TestSize::test_as_many_facts_as_a_namespace_may_hold_fit_by_number",),
    ),
    Requirement(
        id="limits:entities",
        promise="A namespace holds at most 1,024 entities.",
        source="seed 0, Graph and vector schema",
        tests=(
            "contracts/suite/test_content.py::TestSize::test_as_many_entities_as_a_namespace_may_hold_fit_by_number",
        ),
    ),
    Requirement(
        id="limits:snapshot",
        promise="A serialised snapshot has at most 24 KiB.",
        source="seed 0, Graph and vector schema",
        tests=(
            "contracts/suite/test_content.py::TestSize::test_exactly_24_kib_fit_and_come_back_whole",
            "contracts/suite/test_content.py::TestSize::test_one_byte_more_is_refused_with_the_limit_and_the_size",
        ),
    ),
    Requirement(
        id="limits:namespaces",
        promise="A session keeps at most 16 namespaces.",
        source="seed 0, Graph and vector schema",
        tests=("contracts/suite/test_limits.py::TestRetainedRoots::test_a_session_keeps_16_namespaces_by_default",),
    ),
    Requirement(
        id="limits:session-facts",
        promise="A session holds at most 2,048 live facts over all its namespaces.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/contracts/test_quotas.py::test_the_seeds_facts_and_roots_are_let_in_and_not_one_more",
            "contracts/suite/test_limits.py::TestQuotas::test_a_session_holds_so_many_facts_in_all_its_namespaces",
        ),
    ),
    Requirement(
        id="limits:tenant-roots",
        promise="A tenant keeps at most 2,048 scope roots.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/contracts/test_quotas.py::test_the_seeds_facts_and_roots_are_let_in_and_not_one_more",
            "contracts/suite/test_limits.py::TestRetainedRoots::test_a_tenant_keeps_so_many_roots",
        ),
    ),
    Requirement(
        id="limits:tenant-facts",
        promise="A tenant holds at most 65,536 live facts.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/contracts/test_quotas.py::test_the_seeds_facts_and_roots_are_let_in_and_not_one_more",
            "contracts/suite/test_limits.py::TestQuotas::test_a_tenant_holds_so_many_facts_in_all_its_sessions",
        ),
    ),
    Requirement(
        id="limits:dead-roots-count",
        promise="Cleared and expired roots go on counting towards the caps of namespaces and roots.",
        source="seed 0, Graph and vector schema",
        tests=(
            "contracts/suite/test_limits.py::TestRetainedRoots::test_closed_namespaces_count",
            "contracts/suite/test_limits.py::TestRetainedRoots::test_expired_roots_count_and_their_facts_do_not",
            "contracts/suite/test_limits.py::TestRetainedRoots::test_revoked_roots_count_and_their_facts_do_not",
        ),
    ),
    Requirement(
        id="limits:size-first",
        promise="A snapshot over 24 KiB is refused although its counts are within their limits.",
        source="seed 0, Graph and vector schema; decision 13",
        tests=("contracts/suite/test_content.py::TestSize::test_one_byte_more_is_refused_with_the_limit_and_the_size",),
    ),
    Requirement(
        id="limits:backend-request",
        promise="A snapshot over the backend's own request limit is refused clearly before anything is sent.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/backends/hugegraph/test_store.py::test_a_commit_that_is_too_long_for_the_server_is_refused_and_the_line_stays",
            "tests/backends/hugegraph/test_connection.py::test_the_longest_request_is_found_and_a_longer_one_is_refused_unsent",
        ),
    ),
    Requirement(
        id="limits:lifetime",
        promise="No sweep or clearing ever lowers the number of retained roots of a tenant.",
        source="seed 0, Graph and vector schema",
        tests=(
            "contracts/suite/test_limits.py::TestRetainedRoots::test_closed_namespaces_count",
            "contracts/suite/test_limits.py::TestRetainedRoots::test_expired_roots_count_and_their_facts_do_not",
        ),
    ),
    Requirement(
        id="hugegraph:serialised",
        promise=(
            "Commits on one HugeGraph server happen one by one, and the docs promise nothing of the kind for a cluster."
        ),
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/backends/hugegraph/test_session.py::test_of_many_plans_on_one_version_exactly_one_is_written",
            "tests/backends/hugegraph/test_store.py::test_of_writers_on_two_adapters_exactly_one_wins_each_revision",
            "tests/integration/test_docs.py::test_nothing_is_promised_of_a_cluster_of_hugegraph_servers",
        ),
    ),
    Requirement(
        id="read:scope-filters",
        promise=(
            "A snapshot is loaded by tenant, session and namespace together; a wrong one of the three finds nothing."
        ),
        source="seed 0, Graph and vector schema",
        tests=(
            "contracts/suite/test_isolation.py::TestIsolation::test_another_scope_is_never_served_this_ones_memory",
        ),
    ),
    Requirement(
        id="read:traversal-scope",
        promise="A traversal keeps tenant, session and namespace on both ends of each edge.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/backends/neo4j/test_edges.py::test_two_sessions_with_the_same_names_share_no_node",
            "tests/backends/hugegraph/test_store.py::test_the_seeds_traversal_serves_what_the_engine_serves",
        ),
    ),
    Requirement(
        id="queries:representative",
        promise="The seed's Cypher and Gremlin queries return from stored data what the engine returns.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/backends/neo4j/test_edges.py::test_the_query_of_the_seed_finds_exactly_what_is_served",
            "tests/backends/neo4j/test_edges.py::test_superseded_and_retracted_facts_leave_no_edge",
            "tests/backends/hugegraph/test_store.py::test_the_seeds_traversal_serves_what_the_engine_serves",
            "tests/backends/hugegraph/test_store.py::test_no_stale_edge_is_served_after_superseding_and_retracting",
        ),
    ),
    Requirement(
        id="queries:constant:graph",
        promise="Cypher and Gremlin scripts are constants, and values reach them only by parameters or bindings.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/backends/test_constant_queries.py::test_no_statement_of_a_graph_store_is_put_together_from_values",
            "tests/backends/hugegraph/test_connection.py::test_no_value_becomes_code",
            "tests/backends/test_hostile_strings.py::test_a_hostile_text_is_answered_alike_by_all_stores",
        ),
    ),
    Requirement(
        id="queries:constant:sql",
        promise="SQL statements are constants, and values reach them only by parameters.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/backends/sqlite/test_statements.py::test_every_statement_of_the_adapter_is_a_constant",
            "contracts/suite/test_memory.py::TestSnapshots::test_any_text_comes_back_as_it_was_with_the_same_digest",
        ),
    ),
    Requirement(
        id="read:dead",
        promise="Loading a snapshot of a revoked or expired session is refused although its rows are still there.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/contracts/test_commit.py::test_readable_is_what_is_neither_revoked_nor_expired",
            "contracts/suite/test_endings.py::TestExpiry::test_from_its_expiry_on_a_session_refuses_everything",
        ),
    ),
    Requirement(
        id="milvus:collections",
        promise="Session vectors have Milvus collections by model and dimension, with the tenant as partition key.",
        source="seed 0, Graph and vector schema",
        to_come="Milvus",
    ),
    Requirement(
        id="vectors:compound-ids",
        promise="The same logical id in two sessions gives two vectors; neither overwrites the other.",
        source="seed 0, Graph and vector schema",
        tests=(
            "contracts/suite/test_vectors.py::TestForeignHits::test_the_same_entity_in_two_scopes_is_two_vectors",
            "tests/contracts/test_vectors.py::test_the_physical_id_is_compound",
        ),
    ),
    Requirement(
        id="milvus:filter",
        promise=(
            "A Milvus search filters by tenant, session, namespace and expiry after the present millisecond, by "
            "parameters."
        ),
        source="seed 0, Graph and vector schema",
        to_come="Milvus",
    ),
    Requirement(
        id="vectors:recheck",
        promise="Each vector hit is checked again for tenant, session, namespace, expiry and a valid score.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/contracts/test_vectors.py::test_a_foreign_expired_unscored_or_forgotten_hit_is_dropped",
            (
                "contracts/suite/test_vectors.py::"
                "TestForeignHits::test_hits_pass_the_second_check_and_those_of_forgotten_entities_do_not"
            ),
        ),
    ),
    Requirement(
        id="vectors:hydrated",
        promise="A vector hit is answered only from a freshly loaded snapshot that still has it.",
        source="seed 0, Graph and vector schema",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="recall:lexical-fields",
        promise="Lexical session recall ranks by BM25 over names, aliases and types of the scope's entities.",
        source="seed 0, Graph and vector schema",
        tests=(
            "tests/server/memory/test_ranking.py::test_a_fact_is_found_by_names_types_aliases_and_predicate",
            "tests/server/memory/test_ranking.py::test_bm25_is_that_of_a_hand_computed_example",
        ),
    ),
    Requirement(
        id="recall:rank-fusion",
        promise="Session recall joins bounded BM25 and dense vectors by reciprocal ranks with equal weights.",
        source="seed 0, Graph and vector schema",
        decision=8,
    ),
    Requirement(
        id="recall:without-embeddings",
        promise="Entities without an embedding are still found by their words.",
        source="seed 0, Graph and vector schema",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="neo4j:exact-vectors",
        promise="Neo4j compares session vectors exactly, bounded, inside the selected scope.",
        source="seed 0, Graph and vector schema",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="embedding:refresh",
        promise=(
            "Embeddings are refreshed under the execution that changed session or durable memory, never without one."
        ),
        source="seed 0, Graph and vector schema",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="embedding:optional",
        promise="When refreshing embeddings fails, the write stands and lexical recall works.",
        source="seed 0, Graph and vector schema",
        to_come="Vectors and recall quality",
    ),
    Requirement(
        id="retention:expiry",
        promise=(
            "Every namespace of a session expires at its binding's deadline; a commit with another expiry is refused."
        ),
        source="seed 0, Graph and vector schema; seed 0, Retention, audit and verification; decision 12",
        tests=(
            "contracts/suite/test_endings.py::TestExpiry::test_a_commit_never_moves_the_expiry",
            "contracts/suite/test_endings.py::TestExpiry::test_the_expiry_is_equal_in_all_namespaces_of_a_session",
            "tests/server/memory/test_engine.py::test_a_fact_is_remembered_and_read_back",
        ),
    ),
    Requirement(
        id="retention:revoke:blocks",
        promise="A revocation blocks the session's next call at once.",
        source="seed 0, Retention, audit and verification",
        tests=(
            "tests/integration/test_refusals_alike.py::test_a_revoked_session_cannot_be_initialized_anew",
            "tests/server/test_stdio.py::test_a_revocation_between_two_calls_refuses_the_second",
            "tests/server/memory/test_engine.py::test_a_revoked_session_cannot_write_even_with_an_execution_of_before",
        ),
    ),
    Requirement(
        id="retention:revoke:cleans",
        promise="A revocation tries to remove the session's graph and vectors at once.",
        source="seed 0, Retention, audit and verification",
        tests=(
            (
                "tests/server/sessions/test_registry.py::"
                "test_a_revocation_lays_the_tombstone_then_tells_then_removes_the_memory"
            ),
            "tests/backends/sqlite/test_graph.py::test_the_vectors_of_a_scope_end_with_its_content",
        ),
    ),
    Requirement(
        id="retention:worker",
        promise="Every minute a worker retries cleaning up and removes expired sessions in bounded batches.",
        source="seed 0, Retention, audit and verification",
        to_come="Retention and erasure",
    ),
    Requirement(
        id="retention:on-access",
        promise="Access to an expired scope removes what is left of it.",
        source="seed 0, Retention, audit and verification",
        tests=(
            "contracts/suite/test_endings.py::TestExpiry::test_reading_an_expired_scope_removes_its_content",
            (
                "tests/backends/sqlite/test_graph.py::"
                "test_an_expired_scope_leaves_nothing_in_any_file_once_it_was_touched"
            ),
        ),
    ),
    Requirement(
        id="retention:old-workers",
        promise="A commit that began before a revocation or expiry cannot bring data back afterwards.",
        source="seed 0, Retention, audit and verification",
        tests=(
            "contracts/suite/test_endings.py::TestRevival::test_no_revision_revives_a_revoked_session",
            "contracts/suite/test_endings.py::TestRevival::test_a_swept_session_does_not_come_back",
            "contracts/suite/test_endings.py::TestRevival::test_commits_that_race_a_revocation_leave_nothing_behind",
        ),
    ),
    Requirement(
        id="retention:failure",
        promise="A cleanup that fails gives nobody access again.",
        source="seed 0, Retention, audit and verification",
        tests=("tests/server/sessions/test_registry.py::test_a_failed_removal_is_owed_and_restores_no_access",),
    ),
    Requirement(
        id="metrics:no-session-labels",
        promise="No metric label holds a primary or parent session id, or any offered one.",
        source="seed 0, Retention, audit and verification; product.md, Who is refused how",
        tests=(
            "tests/integration/test_refusals.py::test_what_is_granted_leaves_no_identifier_in_logs_and_metrics_either",
            "tests/server/test_telemetry.py::test_every_label_is_on_the_list_and_no_field_of_a_log_could_hold_an_id",
        ),
    ),
    Requirement(
        id="spans:no-session-ids",
        promise="No span holds a session id or any offered identifier.",
        source="product.md, Who is refused how",
        to_come="Observability",
    ),
    Requirement(
        id="audit:targets",
        promise="The audit may name a session as its target, and only those with access to the audit read it.",
        source="seed 0, Retention, audit and verification",
        tests=(
            "contracts/suite/test_accounts.py::TestDirectory::test_each_change_leaves_its_record_in_order",
            (
                "tests/server/test_app.py::"
                "test_the_routes_are_those_of_the_product_and_none_names_a_session_or_serves_the_audit"
            ),
        ),
    ),
    Requirement(
        id="errors:no-echo",
        promise="No answer or log line repeats an identifier that was offered and refused.",
        source="seed 0, Retention, audit and verification; product.md, Who is refused how",
        tests=(
            "tests/integration/test_refusals.py::test_what_is_granted_leaves_no_identifier_in_logs_and_metrics_either",
            "tests/integration/test_refusals.py::test_a_transport_session_that_is_not_this_credentials_own_is_refused",
            "tests/contracts/test_errors.py::test_no_refusal_repeats_what_was_offered",
        ),
    ),
    Requirement(
        id="telemetry:no-content",
        promise="Prompt text and raw turns reach no log, span or metric.",
        source="seed 0, Retention, audit and verification",
        to_come="Observability",
    ),
    Requirement(
        id="suite:conflicting-identity",
        promise="The contract suite refuses a second owner for a taken session on every store.",
        source="seed 0, Retention, audit and verification",
        tests=(
            (
                "contracts/suite/test_registry.py::"
                "TestRegistration::test_no_other_participant_can_claim_an_id_live_or_tombstoned"
            ),
        ),
    ),
    Requirement(
        id="suite:cross-reads",
        promise="The contract suite finds nothing of one tenant or session from another.",
        source="seed 0, Retention, audit and verification",
        tests=(
            "contracts/suite/test_isolation.py::TestIsolation::test_another_scope_is_never_served_this_ones_memory",
        ),
    ),
    Requirement(
        id="suite:guessed-ids",
        promise="The contract suite finds nothing by ids that were guessed.",
        source="seed 0, Retention, audit and verification",
        tests=(
            (
                "contracts/suite/test_isolation.py::"
                "TestIsolation::test_a_guessed_session_id_looks_like_one_that_never_was"
            ),
            "contracts/suite/test_accounts.py::TestAuthority::test_a_foreign_session_looks_like_an_unknown_one",
        ),
    ),
    Requirement(
        id="suite:duplicate-names",
        promise="The contract suite keeps equal names in different scopes apart.",
        source="seed 0, Retention, audit and verification",
        tests=(
            "contracts/suite/test_isolation.py::TestIsolation::test_the_same_names_in_two_sessions_are_two_memories",
            (
                "contracts/suite/test_repository.py::"
                "TestRepositoryIsolation::test_the_same_names_in_two_repositories_are_two_memories"
            ),
        ),
    ),
    Requirement(
        id="suite:dead-writes",
        promise="The contract suite sees writes to revoked and expired sessions refused.",
        source="seed 0, Retention, audit and verification",
        tests=(
            "contracts/suite/test_endings.py::TestRevocation::test_a_revoked_session_is_neither_read_nor_written",
            "contracts/suite/test_endings.py::TestExpiry::test_from_its_expiry_on_a_session_refuses_everything",
        ),
    ),
    Requirement(
        id="suite:revival",
        promise="The contract suite cannot revive a dead scope by calling the adapter directly.",
        source="seed 0, Retention, audit and verification",
        tests=(
            "contracts/suite/test_endings.py::TestRevival::test_a_new_expiry_does_not_revive_an_expired_session",
            (
                "contracts/suite/test_endings.py::"
                "TestRevival::test_a_replayed_commit_id_does_not_revive_a_revoked_session"
            ),
            (
                "contracts/suite/test_endings.py::"
                "TestRevival::test_what_was_read_before_a_clearing_does_not_reopen_the_namespace"
            ),
        ),
    ),
    Requirement(
        id="suite:immutable-expiry",
        promise="The contract suite cannot move the expiry of a scope.",
        source="seed 0, Retention, audit and verification",
        tests=(
            "contracts/suite/test_endings.py::TestExpiry::test_a_commit_never_moves_the_expiry",
            "contracts/suite/test_endings.py::TestExpiry::test_a_later_commit_does_not_extend_the_session",
        ),
    ),
    Requirement(
        id="suite:retained-roots",
        promise="The contract suite meets the cap on retained roots.",
        source="seed 0, Retention, audit and verification",
        tests=(
            "contracts/suite/test_limits.py::TestRetainedRoots::test_a_tenant_keeps_so_many_roots",
            "contracts/suite/test_limits.py::TestRetainedRoots::test_a_session_keeps_so_many_namespaces",
        ),
    ),
    Requirement(
        id="suite:foreign-vectors",
        promise="The contract suite sees planted foreign vector hits dropped.",
        source="seed 0, Retention, audit and verification",
        tests=(
            "contracts/suite/test_vectors.py::TestForeignHits::test_a_search_never_serves_another_scopes_vectors",
            (
                "contracts/suite/test_vectors.py::"
                "TestForeignHits::test_hits_pass_the_second_check_and_those_of_forgotten_entities_do_not"
            ),
        ),
    ),
    Requirement(
        id="verified:propagation",
        promise="Ids from HTTP headers and from a stdio process's environment arrive at the stored fact unchanged.",
        source="seed 0, Retention, audit and verification",
        tests=(
            (
                "tests/integration/test_promises_identity.py::"
                "test_the_id_of_the_headers_and_that_of_the_environment_arrive_at_the_stored_fact"
            ),
        ),
    ),
    Requirement(
        id="cancelled:writes-nothing",
        promise="A call that is cancelled before its commit stores nothing.",
        source="seed 0, Retention, audit and verification",
        tests=(
            (
                "tests/integration/test_transport_calls.py::"
                "test_a_call_cancelled_before_its_commit_writes_nothing_and_is_not_answered"
            ),
            "tests/server/memory/test_engine.py::test_what_is_cancelled_before_its_commit_writes_nothing",
            "tests/backends/sqlite/test_lane.py::test_a_call_that_is_cancelled_before_its_turn_writes_nothing",
        ),
    ),
    Requirement(
        id="release:lint",
        promise="The checks before a release run the linter and the type checker over all packages.",
        source="seed 0, Retention, audit and verification",
        tests=(
            "tests/test_make.py::test_lint_runs_the_linter_the_type_checker_and_the_import_laws_over_all_packages",
            "tests/test_make.py::test_what_decides_whether_a_change_may_land_runs_the_checks_and_all_tests",
        ),
    ),
    Requirement(
        id="release:race-detector",
        promise="The checks before a release run the race detector and the vet tool of the original's language.",
        source="seed 0, Retention, audit and verification",
        not_testable="names another language's tools; here races are proved by transactions held open in the suite",
    ),
    Requirement(
        id="release:graph-servers",
        promise="The checks before a release run the contract on a real Neo4j and a real HugeGraph.",
        source="seed 0, Retention, audit and verification",
        tests=(
            "tests/test_make.py::test_what_decides_whether_a_change_may_land_runs_the_checks_and_all_tests",
            "tests/backends/test_differential.py::test_all_stores_answer_as_the_law_does",
        ),
    ),
    Requirement(
        id="release:postgres",
        promise="The checks before a release run the contract on a real PostgreSQL.",
        source="seed 0, Retention, audit and verification",
        to_come="PostgreSQL, jobs and schedules",
    ),
    Requirement(
        id="release:milvus",
        promise="The checks before a release run the contract on a real Milvus.",
        source="seed 0, Retention, audit and verification",
        to_come="Milvus",
    ),
)
