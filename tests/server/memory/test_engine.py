"""Session memory through its engine: what changes, what conflicts, what is retried, what is settled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import structs

from codesynapse.contracts.errors import (
    ExecutionCancelled,
    NamespaceClosed,
    RevisionConflict,
    SessionExpired,
    SessionRevoked,
    SnapshotTooLarge,
    StoreBusy,
)
from codesynapse.contracts.identity import CommitIds
from codesynapse.contracts.memory import CommitId
from codesynapse.contracts.quotas import Quotas
from codesynapse.server.memory.engine import ATTEMPTS, SessionEngine, Turns, check_expected, new_commit_id
from tests.server.world import REPO, TENANT, World, triple, upsert, world

TEA, MILK = triple("Ana", "likes", "tea"), triple("Ana", "likes", "milk")


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with world() as made:
        yield made


class Racing:
    """The real store, with something done just before each commit, and perhaps a lost acknowledgement."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.before: list[Any] = []
        self.commits = 0
        self.lose_acknowledgement = False
        self.never_commit = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def commit(self, *arguments: Any, **more: Any) -> Any:
        self.commits += 1
        if self.before:
            await self.before.pop(0)()
        if self.never_commit:
            raise StoreBusy
        committed = await self._inner.commit(*arguments, **more)
        if self.lose_acknowledgement:
            raise StoreBusy
        return committed


async def test_a_fact_is_remembered_and_read_back(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    done = await upsert(here.engine, execution, TEA)
    assert (done.added, done.revision) == (1, 1)
    snapshot = await here.engine.snapshot(execution, REPO)
    assert (len(snapshot.facts), snapshot.expires_at_ms) == (1, execution.deadline_ms)


async def test_repeating_a_fact_costs_no_revision(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.engine, execution, TEA)
    again = await upsert(here.engine, execution, TEA)
    assert (again.added, again.unchanged, again.revision) == (0, 1, 1)
    assert [fact.object for fact in again.facts] == ["tea"]


async def test_one_sessions_memory_is_not_anothers(here: World):
    ana = await here.user("ana")
    one, two = await here.execution(ana, "s1"), await here.execution(ana, "s2")
    await upsert(here.engine, one, TEA)
    assert (await here.engine.snapshot(two, REPO)).facts == ()
    assert (await here.engine.snapshot(one, "other")).facts == ()


async def test_an_expected_revision_that_is_not_the_current_one_is_a_conflict_that_names_it(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.engine, execution, TEA, expected_revision=0)
    with pytest.raises(RevisionConflict) as caught:
        await upsert(here.engine, execution, MILK, expected_revision=0)
    assert caught.value.details == {"revision": 1}
    check_expected(None, caught.value.details["revision"])  # type: ignore[arg-type]


async def test_where_another_writer_was_faster_both_changes_hold(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    racing = Racing(here.ports.session_memory)
    engine = SessionEngine(racing, here.clock)  # type: ignore[arg-type]
    racing.before = [lambda: upsert(here.engine, execution, MILK)]
    done = await upsert(engine, execution, TEA)
    assert (done.revision, racing.commits) == (2, 2)
    assert len((await here.engine.snapshot(execution, REPO)).facts) == 2


async def test_a_race_with_an_expected_revision_is_told_and_not_retried(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    racing = Racing(here.ports.session_memory)
    racing.before = [lambda: upsert(here.engine, execution, MILK)]
    with pytest.raises(RevisionConflict):
        await upsert(SessionEngine(racing, here.clock), execution, TEA, expected_revision=0)  # type: ignore[arg-type]
    assert racing.commits == 1


async def test_a_conflict_is_reported_after_a_bounded_number_of_attempts(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    racing = Racing(here.ports.session_memory)
    racing.before = [
        lambda number=number: upsert(here.engine, execution, triple("Ana", "likes", f"drink {number}"))
        for number in range(ATTEMPTS + 5)
    ]
    with pytest.raises(RevisionConflict):
        await upsert(SessionEngine(racing, here.clock), execution, TEA)  # type: ignore[arg-type]
    assert racing.commits == ATTEMPTS


async def test_a_lost_acknowledgement_is_settled_by_the_commit_id(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    racing = Racing(here.ports.session_memory)
    racing.lose_acknowledgement = True
    done = await upsert(SessionEngine(racing, here.clock), execution, TEA)  # type: ignore[arg-type]
    assert (done.added, done.revision, racing.commits) == (1, 1, 1)


async def test_a_commit_that_did_not_happen_is_told(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    racing = Racing(here.ports.session_memory)
    racing.never_commit = True
    with pytest.raises(StoreBusy):
        await upsert(SessionEngine(racing, here.clock), execution, TEA)  # type: ignore[arg-type]
    assert (await here.engine.snapshot(execution, REPO)).facts == ()


async def test_many_writers_lose_no_update(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await asyncio.gather(
        *(upsert(here.engine, execution, triple("Ana", "likes", f"drink {number}")) for number in range(64))
    )
    snapshot = await here.engine.snapshot(execution, REPO)
    assert (len(snapshot.facts), snapshot.revision) == (64, 64)


async def test_a_cleared_namespace_reads_empty_refuses_writes_and_stays_closed(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.engine, execution, TEA, MILK)
    assert await here.engine.clear(execution, REPO) == 2
    assert await here.engine.clear(execution, REPO) == 0
    snapshot = await here.engine.snapshot(execution, REPO)
    assert (snapshot.facts, snapshot.closed) == ((), True)
    with pytest.raises(NamespaceClosed):
        await upsert(here.engine, execution, TEA)
    await upsert(here.engine, execution, TEA, ns="other")


async def test_clearing_goes_on_where_another_writer_was_faster(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.engine, execution, TEA)
    racing = Racing(here.ports.session_memory)
    racing.before = [lambda: upsert(here.engine, execution, MILK)]
    assert await SessionEngine(racing, here.clock).clear(execution, REPO) == 2  # type: ignore[arg-type]


async def test_what_is_cancelled_before_its_commit_writes_nothing(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    turns = here.engine._turns.of(await scope_of_commit(here, execution))
    async with turns:
        waiting = asyncio.create_task(upsert(here.engine, execution, TEA))
        await asyncio.sleep(0)
        execution.cancellation.cancel()
    with pytest.raises(ExecutionCancelled):
        await waiting
    fresh = await here.execution(await here.user("ben"), "s2")
    other = structs.replace(fresh, identity=execution.identity)
    assert (await here.engine.snapshot(other, REPO)).facts == ()


async def scope_of_commit(here: World, execution: Any) -> Any:
    return (await here.engine.snapshot(execution, REPO)).scope


async def test_a_revoked_session_cannot_write_even_with_an_execution_of_before(here: World):
    ana = await here.user("ana")
    execution = await here.execution(ana, "s")
    await here.sessions.revoke(ana, "s")
    with pytest.raises(SessionRevoked):
        await upsert(here.engine, execution, TEA)


async def test_the_store_refuses_an_expired_session_also_by_itself(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.engine, execution, TEA)
    here.clock.advance(days=7)
    longer = structs.replace(execution, deadline_ms=execution.deadline_ms + 1_000)
    with pytest.raises(SessionExpired):
        await upsert(here.engine, longer, MILK)


async def test_superseded_facts_go_first_when_a_commit_does_not_fit(here: World):
    await here.ports.session_memory.set_quotas(TENANT, Quotas(snapshot_bytes_max=700))
    execution = await here.execution(await here.user("ana"), "s")
    for number in range(20):
        here.clock.advance(seconds=1)
        await upsert(here.engine, execution, triple("Ana", "lives_in", f"city {number}", functional=True))
    snapshot = await here.engine.snapshot(execution, REPO)
    assert next(fact for fact in snapshot.facts if fact.live).object in {e.id for e in snapshot.entities}
    assert 1 <= len(snapshot.facts) < 20
    assert sum(fact.live for fact in snapshot.facts) == 1


async def test_where_only_live_facts_are_left_the_commit_is_refused_with_limit_and_size(here: World):
    await here.ports.session_memory.set_quotas(TENANT, Quotas(snapshot_bytes_max=300))
    execution = await here.execution(await here.user("ana"), "s")
    with pytest.raises(SnapshotTooLarge) as caught:
        await upsert(here.engine, execution, triple("Ana", "likes", "x" * 256))
    assert caught.value.limit == 300
    assert caught.value.details["size"] > 300


async def test_turns_are_forgotten_when_nobody_waits():
    turns = Turns()
    async with turns.of("a"):
        waiting = asyncio.create_task(hold(turns, "a"))
        await asyncio.sleep(0)
        async with turns.of("b"):
            assert set(turns._waiting) == {"a", "b"}
    await waiting
    assert turns._waiting == {}


async def hold(turns: Turns, scope: str) -> None:
    async with turns.of(scope):
        pass


async def test_a_turn_is_given_back_by_who_is_cancelled_while_waiting():
    turns = Turns()
    async with turns.of("a"):
        waiting = asyncio.create_task(hold(turns, "a"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert turns._waiting == {}


async def test_commit_ids_differ_and_those_of_a_call_follow_from_its_seed(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    assert len({new_commit_id(execution) for _ in range(1_000)}) == 1_000
    first, again = (structs.replace(execution, commits=CommitIds(b"seed")) for _ in range(2))
    ids = [new_commit_id(first) for _ in range(3)]
    assert len(set(ids)) == 3
    assert [new_commit_id(again) for _ in range(3)] == ids


async def test_the_result_of_a_call_is_read_back_by_its_commit_id(here: World):
    execution = structs.replace(await here.execution(await here.user("ana"), "s"), commits=CommitIds(b"seed"))
    commit_id = CommitId(CommitIds(b"seed").take())
    assert await here.engine.result(execution, "default", commit_id) is None
    done = await here.engine.upsert(execution, "default", (TEA,), source=None, expected_revision=None)
    assert await here.engine.result(execution, "default", commit_id) == done
    assert await here.engine.result(execution, "other", commit_id) is None


async def test_an_upsert_that_only_adds_an_alias_or_a_type_counts_as_unchanged_and_costs_a_revision(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.engine, execution, TEA)
    named = await upsert(here.engine, execution, triple("Ana", "likes", "tea", object_aliases=("chai",)))
    again = await upsert(here.engine, execution, triple("Ana", "likes", "tea", object_aliases=("chai",)))
    assert [(each.added, each.unchanged, each.revision) for each in (named, again)] == [(0, 1, 2), (0, 1, 2)]
