"""The queue of agents' writes, idempotency keys, and what a store checks of itself."""

import asyncio

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_work import Kept, Once, ProfileRecord, QueueStatus, StoreCheck, Task
from codesynapse.contracts.agents import KEYS_KEPT_MS
from codesynapse.contracts.errors import AgentForbidden, IdempotencyConflict, Invalid, QuotaExceeded
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.gates import OnAgents
from codesynapse.contracts.suite.keepers import Keeper, episode
from codesynapse.contracts.suite.worlds import LONG_AGO, NOW, later, unique

__all__ = ["TestAgentChecks", "TestAgentQueue", "TestOnce"]

MANY = 100_000


async def enqueue(keeper: Keeper, payload: str = "{}", *, once: Once | None = None, now_ms: Millis = NOW) -> int:
    """Queue a task; its number."""
    kept = await keeper.agents.enqueue(keeper.scope, "archive", payload, once=once, now_ms=now_ms)
    assert kept.task_id is not None
    return kept.task_id


async def due(keeper: Keeper, now_ms: Millis = NOW) -> list[Task]:
    """The tasks of a keeper's tenant that are due."""
    tasks = await keeper.agents.due(now_ms=now_ms, limit=MANY)
    return [each for each in tasks if each.scope.tenant_id == keeper.scope.tenant_id]


class TestAgentQueue(OnAgents):
    """A task is done once: whoever removes its row in the transaction of its effect has done it."""

    async def test_a_task_waits_as_it_was_queued(self, keeper: Keeper) -> None:
        task_id = await enqueue(keeper, '{"summary": "茶"}')
        (task,) = await due(keeper)
        assert task == Task(
            task_id=task_id,
            scope=keeper.scope,
            kind="archive",
            payload='{"summary": "茶"}',
            enqueued_at_ms=NOW,
            due_at_ms=NOW,
        )
        assert await due(keeper, later(NOW, -1)) == []
        assert await keeper.agents.level(keeper.scope) is Level.ADMIN

    async def test_tasks_come_in_the_order_in_which_they_were_queued(self, keeper: Keeper) -> None:
        other = keeper.on(unique("agent"))
        queued = [await enqueue(each) for each in (keeper, other, keeper)]
        assert [task.task_id for task in await due(keeper)] == queued == sorted(set(queued))
        assert len(await keeper.agents.due(now_ms=NOW, limit=1)) == 1
        assert await keeper.agents.due(now_ms=NOW, limit=0) == []

    async def test_twenty_claims_at_once_write_one_episode(self, keeper: Keeper) -> None:
        await enqueue(keeper)
        (task,) = await due(keeper)
        claims = [keeper.agents.claim(task, episode("tea was had"), now_ms=NOW) for _ in range(20)]
        results = await asyncio.gather(*claims)
        (done,) = [each for each in results if each is not None]
        assert [each.id for each in await keeper.episodes()] == [done.id]
        assert await due(keeper) == []

    async def test_a_claim_that_is_refused_leaves_the_task_and_no_effect(self, keeper: Keeper) -> None:
        await keeper.archive("first")
        await enqueue(keeper)
        (task,) = await due(keeper)
        await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas(agent_episodes_max=1))
        with pytest.raises(QuotaExceeded):
            await keeper.agents.claim(task, episode("second"), now_ms=NOW)
        assert await due(keeper) == [task]
        assert [each.summary for each in await keeper.episodes()] == ["first"]
        await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas())
        assert await keeper.agents.claim(task, episode("second"), now_ms=NOW) is not None

    async def test_a_task_is_done_under_the_grants_that_its_principal_has_then(self, keeper: Keeper) -> None:
        await keeper.keep("tea")
        writer = await keeper.granted(Level.WRITE)
        await enqueue(writer)
        (task,) = await due(keeper)
        await keeper.agents.set_level(
            keeper.scope.tenant_id, keeper.scope.agent_id, writer.scope.subject_id, Level.READ, now_ms=NOW
        )
        with pytest.raises(AgentForbidden):
            await keeper.agents.claim(task, episode("tea was had"), now_ms=NOW)
        assert await keeper.episodes() == []

    async def test_a_claim_may_write_a_profile(self, keeper: Keeper) -> None:
        await enqueue(keeper)
        (task,) = await due(keeper)
        assert await keeper.agents.claim(task, ProfileRecord(text="Ana"), now_ms=NOW) is not None
        assert (await keeper.agents.profile(keeper.scope)).text == "Ana"
        assert await keeper.agents.claim(task, ProfileRecord(text="Bo"), now_ms=NOW) is None
        assert (await keeper.agents.profile(keeper.scope)).text == "Ana"

    async def test_a_discarded_task_is_never_done(self, keeper: Keeper) -> None:
        await enqueue(keeper)
        (task,) = await due(keeper)
        assert await keeper.agents.discard(task)
        assert not await keeper.agents.discard(task)
        assert await keeper.agents.claim(task, episode("tea was had"), now_ms=NOW) is None
        assert await keeper.episodes() == []

    async def test_a_purge_ends_a_task_that_is_under_way(self, keeper: Keeper) -> None:
        await enqueue(keeper)
        (task,) = await due(keeper)
        await keeper.agents.purge(keeper.scope, now_ms=NOW)
        assert await keeper.agents.claim(task, episode("tea was had"), now_ms=NOW) is None
        assert not await keeper.agents.failed(task, retry_at_ms=NOW)
        assert await keeper.episodes() == []

    async def test_a_task_is_tried_three_times_and_then_counted(self, keeper: Keeper) -> None:
        await enqueue(keeper)
        for tries in range(3):
            moment = later(NOW, tries * 30_000)
            (task,) = await due(keeper, moment)
            assert task.tries == tries
            assert await keeper.agents.failed(task, retry_at_ms=later(moment, 30_000)) == (tries < 2)
            assert await due(keeper, moment) == []
        status = await keeper.agents.queue_status(keeper.scope)
        assert status == QueueStatus(pending=0, discarded=1)

    async def test_a_status_counts_readable_agents_alone(self, keeper: Keeper) -> None:
        await enqueue(keeper)
        other = keeper.another().on(unique("agent"))
        await enqueue(other)
        stranger = keeper.another(tenant=unique("tenant"))
        assert (await keeper.agents.queue_status(keeper.principal)).pending == 1
        assert (await keeper.agents.queue_status(stranger.principal)).pending == 0
        with pytest.raises(AgentForbidden):
            await keeper.agents.queue_status(keeper.on(other.scope.agent_id).scope)

    async def test_of_some_tasks_those_that_are_alive_are_told(self, keeper: Keeper) -> None:
        first, second = await enqueue(keeper), await enqueue(keeper)
        (task, _) = await due(keeper)
        await keeper.agents.discard(task)
        agents, tenant = keeper.agents, keeper.scope.tenant_id
        assert await agents.alive(tenant, [first, second, 10**12]) == [second]
        assert await agents.alive(unique("tenant"), [second]) == []
        assert await agents.alive(tenant, []) == []

    async def test_a_queue_is_bounded(self, keeper: Keeper) -> None:
        await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas(agent_tasks_max=1))
        await enqueue(keeper)
        with pytest.raises(QuotaExceeded):
            await enqueue(keeper)
        with pytest.raises(Invalid):
            await keeper.agents.enqueue(keeper.scope, "", "{}", once=None, now_ms=NOW)


class TestOnce(OnAgents):
    """A key answers what it answered first, for a day; other content under it is an error."""

    async def test_a_repeated_key_answers_alike_and_writes_nothing(self, keeper: Keeper) -> None:
        once = Once(key="k", digest="d")
        first = await keeper.archive("tea was had", once=once)
        again = await keeper.archive("tea was had", once=once, now_ms=later(NOW, KEYS_KEPT_MS - 1))
        assert again == Kept(id=first.id, created=True, replayed=True)
        assert len(await keeper.episodes()) == 1

    async def test_other_content_under_a_key_is_an_error(self, keeper: Keeper) -> None:
        await keeper.store("tea", once=Once(key="k", digest="d"))
        with pytest.raises(IdempotencyConflict) as refusal:
            await keeper.store("milk", once=Once(key="k", digest="e"))
        assert refusal.value.field == "idempotency_key"
        assert await keeper.contents() == ["tea"]

    async def test_after_a_day_a_key_is_new(self, keeper: Keeper) -> None:
        await keeper.archive("one", once=Once(key="k", digest="d"))
        kept = await keeper.archive("two", once=Once(key="k", digest="e"), now_ms=later(NOW, KEYS_KEPT_MS))
        assert (kept.created, kept.replayed) == (True, False)
        assert len(await keeper.episodes()) == 2

    async def test_a_key_belongs_to_one_agent(self, keeper: Keeper) -> None:
        once = Once(key="k", digest="d")
        for each in (keeper, keeper.on(unique("agent")), keeper.another(tenant=unique("tenant"))):
            assert not (await each.archive("tea was had", once=once)).replayed

    async def test_what_was_refused_leaves_its_key_unused(self, keeper: Keeper) -> None:
        await keeper.archive("one")
        await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas(agent_episodes_max=1))
        with pytest.raises(QuotaExceeded):
            await keeper.archive("two", once=Once(key="k", digest="d"))
        await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas())
        assert not (await keeper.archive("three", once=Once(key="k", digest="e"))).replayed

    async def test_twenty_requests_with_one_key_at_once_write_one_episode(self, keeper: Keeper) -> None:
        once = Once(key="k", digest="d")
        results = await asyncio.gather(*(keeper.archive("tea was had", once=once) for _ in range(20)))
        assert len({each.id for each in results}) == 1
        assert sorted(each.replayed for each in results) == [False] + [True] * 19
        assert len(await keeper.episodes()) == 1

    async def test_a_queued_write_is_repeated_by_its_key(self, keeper: Keeper) -> None:
        once = Once(key="k", digest="d")
        assert await enqueue(keeper, once=once) == await enqueue(keeper, once=once)
        assert len(await due(keeper)) == 1

    @pytest.mark.parametrize("ending", ["discarded", "given up", "done"])
    async def test_the_key_of_a_task_that_will_never_be_done_is_free_again(self, keeper: Keeper, ending: str) -> None:
        other, once = Once(key="l", digest="d"), Once(key="k", digest="d")
        await keeper.archive("kept", once=other)
        first = await enqueue(keeper, once=once)
        (task,) = await due(keeper)
        match ending:
            case "discarded":
                await keeper.agents.discard(task)
            case "given up":
                while await keeper.agents.failed(task, retry_at_ms=NOW):
                    assert (await enqueue(keeper, once=once)) == first
            case _:
                await keeper.agents.claim(task, episode("tea was had"), now_ms=NOW)
        again = await enqueue(keeper, once=once)
        assert (again == first) == (ending == "done")
        assert len(await due(keeper)) == (ending != "done")
        assert (await keeper.archive("kept", once=other)).replayed

    async def test_keys_are_bounded(self, keeper: Keeper) -> None:
        await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas(agent_keys_max=1))
        await keeper.archive("one", once=Once(key="k", digest="d"))
        with pytest.raises(QuotaExceeded):
            await keeper.archive("two", once=Once(key="l", digest="d"))
        assert (await keeper.archive("one", once=Once(key="k", digest="d"))).replayed

    async def test_a_kept_answer_can_be_foreseen_for_a_day_and_other_content_is_an_error(self, keeper: Keeper) -> None:
        once, other = Once(key="k", digest="d"), Once(key="k", digest="e")
        for kept in (
            await keeper.store("tea", once=once),
            await keeper.archive("tea was had", once=Once(key="l", digest="d")),
        ):
            assert kept.created
        assert await keeper.foresee("tea", once=once) == await keeper.store("tea", once=once)
        assert await keeper.foresee(once=once) == await keeper.foresee("milk", once=once)
        with pytest.raises(IdempotencyConflict):
            await keeper.foresee("milk", once=other)
        with pytest.raises(IdempotencyConflict):
            await keeper.foresee(once=other)
        assert await keeper.foresee("milk", once=other, now_ms=later(NOW, KEYS_KEPT_MS)) is None
        assert await keeper.foresee(once=Once(key="l", digest="d")) is not None

    async def test_old_keys_are_swept_and_no_others(self, keeper: Keeper) -> None:
        for key, moment in (("a", -9), ("b", -8), ("c", 0)):
            await keeper.archive(key, once=Once(key=key, digest="d"), now_ms=later(LONG_AGO, moment))
        now_ms = later(LONG_AGO, KEYS_KEPT_MS - 5)
        assert await keeper.agents.check(keeper.scope, StoreCheck.KEYS_EXPIRED, now_ms=now_ms) == 2
        assert await keeper.agents.sweep(now_ms=now_ms, limit=0) == 0
        while await keeper.agents.sweep(now_ms=now_ms, limit=1):
            pass
        assert await keeper.agents.check(keeper.scope, StoreCheck.KEYS_EXPIRED, now_ms=now_ms) == 0
        again = await keeper.archive("c", once=Once(key="c", digest="d"), now_ms=LONG_AGO)
        assert again.replayed


class TestAgentChecks(OnAgents):
    """A sound store finds nothing wrong with itself; an agent without an owner is told, and left to the operator."""

    @pytest.mark.parametrize("check", StoreCheck)
    async def test_a_sound_agent_has_no_faults(self, keeper: Keeper, check: StoreCheck) -> None:
        one, two, _ = await keeper.keep("tea", "milk tea", "juice")
        await keeper.archive("tea was had", once=Once(key="k", digest="d"))
        await keeper.update(one, "green tea")
        await keeper.delete(two)
        await enqueue(keeper)
        assert await keeper.agents.check(keeper.scope, check, now_ms=NOW) == 0
        assert await keeper.agents.mend(keeper.scope, check, now_ms=NOW) == 0
        assert set(await keeper.recall("tea")) == {"green tea", "tea was had"}

    async def test_an_agent_without_an_owner_is_told(self, keeper: Keeper) -> None:
        await keeper.keep("tea")
        await keeper.agents.set_level(
            keeper.scope.tenant_id, keeper.scope.agent_id, keeper.scope.subject_id, Level.WRITE, now_ms=NOW
        )
        assert await keeper.agents.check(keeper.scope, StoreCheck.OWNERLESS, now_ms=NOW) == 1
        assert await keeper.agents.mend(keeper.scope, StoreCheck.OWNERLESS, now_ms=NOW) == 0

    async def test_expired_keys_are_removed(self, keeper: Keeper) -> None:
        await keeper.archive("tea was had", once=Once(key="k", digest="d"))
        moment = later(NOW, KEYS_KEPT_MS)
        assert await keeper.agents.mend(keeper.scope, StoreCheck.KEYS_EXPIRED, now_ms=moment) == 1
        assert await keeper.agents.check(keeper.scope, StoreCheck.KEYS_EXPIRED, now_ms=moment) == 0

    async def test_checks_and_repairs_need_their_grants(self, keeper: Keeper) -> None:
        await keeper.keep("tea")
        reader = await keeper.granted(Level.READ)
        await keeper.agents.check(reader.scope, StoreCheck.OWNERLESS, now_ms=NOW)
        with pytest.raises(AgentForbidden):
            await keeper.agents.mend(reader.scope, StoreCheck.OWNERLESS, now_ms=NOW)
        with pytest.raises(AgentForbidden):
            await keeper.agents.check(keeper.another().scope, StoreCheck.OWNERLESS, now_ms=NOW)

    async def test_a_probe_changes_nothing(self, agents: AgentMemory, keeper: Keeper) -> None:
        await keeper.keep("tea")
        before = await agents.tally(keeper.scope)
        await agents.probe()
        assert await agents.tally(keeper.scope) == before
