"""The defects: what is changed in which file, and the test whose name says what is wrong then.

The first seven are seed 1's, in its order; the others are those that its readers would fear next.
"""

from __future__ import annotations

from dataclasses import dataclass

from codesynapse.server.hints.gated import GATED

HINTS = "server/hints"
TESTS = "tests/server/hints"
OUTAGE = "tests/integration/test_outage.py"
KEYLESS = "tests/integration/test_keyless.py"
GATE = "tests/server/tools/test_gate.py"
MAINTENANCE = "tests/server/tools/test_maintenance.py"
MEMORY = "tests/server/tools/test_memory.py"
RECORDS = "server/tools/maintenance_records.py"
MOVING = "server/tools/maintenance_moving.py"
WRITING = "server/tools/memory_writing.py"


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """One defect. old: stands once in the file. test: a pytest id that fails with `new` in its place."""

    name: str
    file: str
    old: str
    new: str
    test: str


SEED = (
    Mutation(
        name="the strip() is gone",
        file=f"{HINTS}/session_key.py",
        old="stripped = declared.strip()",
        new="stripped = declared",
        test=f"{TESTS}/test_session_key.py::test_a_declared_key_counts_without_the_blanks_around_it",
    ),
    Mutation(
        name="the guard against empty keys is gone",
        file=f"{HINTS}/session_key.py",
        old="if stripped and stripped != TRANSPORT_KEY:",
        new="if stripped != TRANSPORT_KEY:",
        test=f"{TESTS}/test_session_key.py::test_no_key_a_blank_one_and_the_shared_buckets_own_name_are_undeclared",
    ),
    Mutation(
        name="the cap of the told keys is gone",
        file=f"{HINTS}/advisories.py",
        old="if self._map.count(bucket.principal) > self._per_principal_max:",
        new="if False:",
        test=f"{TESTS}/test_advisories.py::test_a_client_that_rotates_keys_grows_the_map_to_its_cap_only",
    ),
    Mutation(
        name="the cap of the pauses is gone",
        file=f"{HINTS}/pauses.py",
        old="evicted = self._map.get(bucket) is None and self._make_room(bucket, now_ms)",
        new="evicted = False",
        test=f"{TESTS}/test_pauses.py::test_a_client_that_rotates_keys_holds_no_more_than_its_cap",
    ),
    Mutation(
        name="a pause is looked up without the session",
        file="server/tools/gate.py",
        old="bucket = bucket_of(execution.identity, arguments.session_key)",
        new="bucket = bucket_of(execution.identity, None)",
        test="tests/server/tools/test_gate.py"
        "::test_every_tool_of_the_table_writes_under_another_key_and_under_none"
        " tests/server/tools/test_gate.py::test_no_tool_of_the_table_writes_under_its_own_pause",
    ),
    Mutation(
        name="the reason of a skipped write does not say what is left",
        file=f"{HINTS}/pauses.py",
        old="({left_label(pause.left_ms)})",
        new="(for a while)",
        test=f"{TESTS}/test_pauses.py"
        "::test_the_reason_of_a_skipped_write_names_the_tool_whose_pause_and_what_is_left_of_it",
    ),
    Mutation(
        name="the queue does not look up who queued a task",
        file=f"{HINTS}/attribution.py",
        old="known = self._buckets.get((principal[0], task_id))",
        new="known = None",
        test=f"{TESTS}/test_attribution.py"
        "::test_a_task_is_dropped_when_the_key_that_queued_it_pauses_and_kept_when_another_does",
    ),
)

MORE = (
    Mutation(
        name="a bucket without its tenant",
        file=f"{HINTS}/session_key.py",
        old="principal=(identity.tenant_id, identity.subject_id)",
        new='principal=("", identity.subject_id)',
        test=f"{TESTS}/test_pauses.py::test_a_pause_never_leaves_its_tenant_and_subject",
    ),
    Mutation(
        name="a bucket without its subject",
        file=f"{HINTS}/session_key.py",
        old="principal=(identity.tenant_id, identity.subject_id)",
        new='principal=(identity.tenant_id, "")',
        test=f"{TESTS}/test_pauses.py::test_a_pause_never_leaves_its_tenant_and_subject",
    ),
    Mutation(
        name="an attribution outlives its row",
        file=f"{HINTS}/attribution.py",
        old="bucket = self._buckets.pop((tenant_id, task_id), None)",
        new="bucket = None",
        test=f"{TESTS}/test_attribution.py::test_an_entry_goes_with_its_row",
    ),
    Mutation(
        name="rows that are gone are not reconciled",
        file=f"{HINTS}/attribution.py",
        old="self.forget(tenant_id, set(asked) - set(there))",
        new="pass",
        test=f"{TESTS}/test_attribution.py::test_rows_that_others_took_away_are_forgotten_when_the_store_is_asked",
    ),
    Mutation(
        name="a paused call is answered before it is checked",
        file="server/tools/gate.py",
        old="await tool.hold.check(execution, arguments)",
        new="None",
        test="tests/server/tools/test_gate.py::test_what_the_tool_would_refuse_is_refused_even_while_paused",
    ),
    Mutation(
        name="the gate lets everything through",
        file="server/tools/gate.py",
        old="if pause is None or",
        new="if True or",
        test="tests/server/tools/test_gate.py::test_no_tool_of_the_table_writes_under_its_own_pause",
    ),
    Mutation(
        name="identity_shared is decided from what was sent instead of what it resolves to",
        file="server/tools/session.py",
        old="shared=context.shared,",
        new="shared=context.shared and not arguments.session_key,",
        test="tests/server/tools/test_session.py"
        "::test_the_findings_own_up_to_a_shared_identity_over_http_and_never_over_stdio",
    ),
    Mutation(
        name="a cache hit counts as a recovery",
        file=f"{HINTS}/health.py",
        old="if cached or health.condition",
        new="if health.condition",
        test=f"{TESTS}/test_health.py::test_a_cache_hit_is_no_recovery_and_no_health",
    ),
    Mutation(
        name="a pause may be evicted from another principal",
        file=f"{HINTS}/pauses.py",
        old="raise TooManyPauses(limit=self._most)",
        new="self._map.remove(self._map.oldest())",
        test=f"{TESTS}/test_pauses.py::test_a_full_process_refuses_and_takes_no_pause_from_anybody",
    ),
    Mutation(
        name="a key's length is counted after its blanks went",
        file=f"{HINTS}/session_key.py",
        old="if len(declared) > KEY_MAX:",
        new="if len(declared.strip()) > KEY_MAX:",
        test=f"{TESTS}/test_session_key.py::test_a_key_has_256_characters_at_most_counted_before_the_blanks_go",
    ),
    Mutation(
        name="a keyless remote caller is told in short during an outage",
        file=f"{HINTS}/advisories.py",
        old="        full = True\n",
        new="        pass\n",
        test=f"{TESTS}/test_advisories.py::test_a_keyless_remote_caller_is_told_in_full_every_time_during_a_fault",
    ),
    Mutation(
        name="the queue does a write in spite of its key's pause",
        file="server/work/queue.py",
        old="        if dropped(hints",
        new="        if False and dropped(hints",
        test="tests/server/work/test_queue.py"
        "::test_a_task_is_dropped_by_the_pause_of_its_own_key_and_done_under_any_other",
    ),
    Mutation(
        name="a task that is tried again forgets its key",
        file="server/work/queue.py",
        old="if await self._over(task, self._clock()):",
        new="if await self._over(task, self._clock()) or True:",
        test="tests/server/work/test_queue.py::test_a_task_that_failed_keeps_its_key_until_its_row_is_gone",
    ),
    Mutation(
        name="a worker may find a row before its key is noted",
        file="server/work/queue.py",
        old="""            async with self._noting:
                tasks""",
        new="""            if True:
                tasks""",
        test="tests/server/work/test_queue.py::test_no_worker_here_sees_a_row_before_its_key_is_noted",
    ),
    Mutation(
        name="two tenants' tasks of one number share a key",
        file=f"{HINTS}/attribution.py",
        old="self._buckets[bucket.principal[0], task_id] = bucket",
        new='self._buckets["", task_id] = bucket',
        test=f"{TESTS}/test_attribution.py::test_tasks_of_two_tenants_may_have_one_number",
    ),
    Mutation(
        name="a recall is counted in spite of the pause",
        file="server/tools/memory_reading.py",
        old="counting=not self._hints.paused(execution.identity, arguments.session_key, self._clock()),",
        new="counting=True,",
        test="tests/server/agents/test_recalling.py"
        "::test_a_recall_is_counted_at_its_memories_but_not_under_the_pause_of_its_key",
    ),
    Mutation(
        name="a repeated question heals a dead embedder",
        file="server/memory/models.py",
        old="self._hints.embedded(cached=True)",
        new="self._hints.embedded()",
        test=f"{OUTAGE}::test_what_is_answered_without_the_embedder_tells_of_the_fault_and_does_not_end_it",
    ),
    Mutation(
        name="a wrong configuration looks like a dead embedder",
        file="server/memory/models.py",
        old="self._failed(Cause.CONFIGURATION, error)",
        new="self._failed(Cause.ENDPOINT, error)",
        test=f"{OUTAGE}::test_a_wrong_configuration_is_told_apart_from_a_dead_endpoint_and_no_secret_is_repeated",
    ),
    Mutation(
        name="the first failure is an outage already",
        file=f"{HINTS}/health.py",
        old="FAILURES_A_FAULT = 2",
        new="FAILURES_A_FAULT = 1",
        test=f"{OUTAGE}::test_an_embedder_that_dies_and_comes_back_is_told_to_each_caller_as_the_table_says",
    ),
    Mutation(
        name="a recovery does not re-arm the notices",
        file=f"{HINTS}/advisories.py",
        old="if episode != self._episode:",
        new="if False:",
        test=f"{OUTAGE}::test_an_embedder_that_dies_and_comes_back_is_told_to_each_caller_as_the_table_says",
    ),
    Mutation(
        name="a recall is lost to an embedder that hangs",
        file="server/memory/models.py",
        old="        except TimeoutError:",
        new="        except ZeroDivisionError:",
        test="tests/server/memory/test_models.py::test_an_embedder_that_hangs_is_one_that_does_not_answer",
    ),
    Mutation(
        name="a paused repair repairs",
        file="server/tools/gate.py",
        old="structs.replace(arguments, **{name: value})",
        new="structs.replace(arguments)",
        test=f"{MAINTENANCE}::test_a_paused_repair_looks_changes_nothing_and_says_so",
    ),
    Mutation(
        name="a pause keeps a preview from looking",
        file="server/tools/gate.py",
        old="(row.harmless is not None and getattr(arguments, row.harmless[0]) is row.harmless[1])",
        new="False",
        test=f"{MAINTENANCE}::test_a_paused_call_that_was_harmless_anyway_is_the_same_as_without_a_pause",
    ),
    Mutation(
        name="a pause stops the previews of imports and merges instead of the writes",
        file=f"{HINTS}/gated.py",
        old='_PREVIEWED = Gated(harmless=("dry_run", True))',
        new='_PREVIEWED = Gated(harmless=("dry_run", False))',
        test=f"{MAINTENANCE}::test_a_paused_write_answers_with_the_keys_of_its_success_and_writes_nothing",
    ),
    Mutation(
        name="a tool without a key is not stopped by the keyless pause",
        file="server/tools/gate.py",
        old="row = GATED.get(tool.name)",
        new="row = GATED.get(tool.name) if tool.keyed else None",
        test=f"{KEYLESS}::test_a_keyless_sequence_gets_the_same_bytes_with_the_key_and_without_it_but_for_the_list",
    ),
    Mutation(
        name="a keyless answer has a member that it had not",
        file="server/tools/session.py",
        old="evicted_nearest=armed.evicted_nearest or UNSET,",
        new="evicted_nearest=armed.evicted_nearest,",
        test=f"{KEYLESS}::test_a_keyless_sequence_gets_the_bytes_that_were_recorded",
    ),
    Mutation(
        name="a process does the queued write of another that knows its key",
        file="server/work/queue.py",
        old="return own or self._clock() >= task.due_at_ms + GRACE_MS",
        new="return True",
        test="tests/server/work/test_queue.py"
        "::test_a_task_is_left_to_the_process_that_queued_it_so_that_its_pause_drops_it",
    ),
    Mutation(
        name="the key of a write that was given up answers for it",
        file="backends/memory/agents.py",
        old="agent.discarded += 1\n            agent.free_key(task.task_id)",
        new="agent.discarded += 1",
        test="tests/server/work/test_queue.py::test_what_was_given_up_can_be_sent_again_under_its_key",
    ),
    Mutation(
        name="under a pause an acknowledged write is told to be skipped",
        file="server/tools/gate.py",
        old="if answered is not None:",
        new="if False:",
        test=f"{MEMORY}::test_what_was_acknowledged_before_a_pause_is_acknowledged_again_under_it",
    ),
    Mutation(
        name="a pause hides that somebody else said it",
        file="server/agents/writing.py",
        old="require_source(kept)\n        if not kept.replayed:",
        new="if not kept.replayed:",
        test=f"{MEMORY}::test_what_collides_with_what_is_there_is_refused_alike_under_a_pause",
    ),
    Mutation(
        name="a pause hides that another memory has the text",
        file=WRITING,
        old="await self._writing.require_free(execution, found, arguments.content)",
        new="pass",
        test=f"{MEMORY}::test_what_collides_with_what_is_there_is_refused_alike_under_a_pause",
    ),
    Mutation(
        name="the queue works for a user who is out",
        file="server/work/queue.py",
        old="if not await self._stands(*principal):",
        new="if False:",
        test="tests/server/work/test_queue.py::test_what_a_user_queued_who_is_out_since_is_discarded_and_counted",
    ),
)


def ungated(name: str) -> Mutation:
    """A write tool that lost its row in the table."""
    seed = name not in ("upsert_graph_triples", "offload_turns", "promote_facts")
    test = "test_each_of_the_sixteen_is_gated_as_the_seed_says" if seed else "test_each_graph_tool_that_writes_is_gated"
    return Mutation(
        name=f"a pause does not stop {name}",
        file=f"{HINTS}/gated.py",
        old="GATED: Final[Mapping[str, Gated]] = {**SEED_WRITERS, **GRAPH_WRITERS}",
        new="GATED: Final[Mapping[str, Gated]] = {**SEED_WRITERS, **GRAPH_WRITERS}\n"
        f'GATED = {{each: row for each, row in GATED.items() if each != "{name}"}}',
        test=f"{TESTS}/test_gated.py::{test}[{name}]",
    )


CHECKED = {
    "lock_memory": (RECORDS, "handler=tools.lock,\n            hold=Hold(check=tools.check_lock)"),
    "unlock_memory": (RECORDS, "handler=tools.unlock,\n            hold=Hold(check=tools.check_lock)"),
    "delete_agent_data": (RECORDS, "check=tools.check_delete_agent,"),
    "calibrate_threshold": (RECORDS, "check=tools.check_calibrate)"),
    "set_recall_precision": (RECORDS, "check=tools.check_set_precision,"),
    "import_memories": (MOVING, "check=tools.check_import,"),
    "merge_memories": (MOVING, "check=tools.check_merge,"),
    "store": (WRITING, "check=tools.check_store)"),
    "archive_episode": (WRITING, "check=tools.check_archive)"),
    "update_memory": (WRITING, "check=tools.check_update)"),
    "delete_memory": (WRITING, "check=tools.check_delete_memory)"),
    "delete_episode": (WRITING, "check=tools.check_delete_episode)"),
    "update_profile": (WRITING, "check=tools.check_update_profile)"),
    "upsert_graph_triples": ("server/tools/graph.py", "check=tools.check_upsert)"),
}
"""Where each tool that a pause skips says how its calls are checked all the same."""
REFUSED = "test_what_is_wrong_is_refused_as_json_and_a_pause_changes_no_byte_of_it"
REFUSING = {
    RECORDS: f"{MAINTENANCE}::{REFUSED}",
    MOVING: f"{MAINTENANCE}::{REFUSED}",
    WRITING: f"{MEMORY}::{REFUSED}",
    "server/tools/graph.py": f"{GATE}::test_a_pause_hides_no_missing_grant_and_no_impossible_statement",
}


def unchecked(name: str) -> Mutation:
    """A tool whose refusals a pause hides: its call is answered as skipped, whatever it says."""
    file, old = CHECKED[name]
    before, _, check = old.rpartition("tools.")
    return Mutation(
        name=f"a pause hides what {name} would refuse",
        file=file,
        old=old,
        new=f'{before}lambda *_: __import__("asyncio").sleep(0){check[-1]}',
        test=REFUSING[file],
    )


MUTATIONS = (
    *SEED,
    *MORE,
    *map(ungated, GATED),
    *map(unchecked, CHECKED),
)
