"""Agent memory under others who write: what is a duplicate, and what a lock holds."""

import asyncio

import pytest

from codesynapse.contracts.agent_work import Changed, Kept, Verdict
from codesynapse.contracts.agents import Memory
from codesynapse.contracts.suite.gates import OnAgents
from codesynapse.contracts.suite.keepers import Keeper
from codesynapse.contracts.suite.worlds import unique

__all__ = ["TestDuplicates", "TestLocks"]

DONE = Changed(verdict=Verdict.DONE)
MISSING = Changed(verdict=Verdict.MISSING)
LOCKED = Changed(verdict=Verdict.LOCKED)


class TestDuplicates(OnAgents):
    """The same message id, or the same content, is kept once: in its bucket, and beside what that bucket shares."""

    async def test_a_message_id_is_kept_once_in_its_project(self, keeper: Keeper) -> None:
        first = await keeper.store("tea", message_id="m", project="p", channel="a")
        again = await keeper.store("milk", message_id="m", project="p", channel="b")
        assert again == Kept(id=first.id, created=False, duplicate="message_id")
        assert (await keeper.store("milk", message_id="m", project="q")).created
        assert await keeper.contents() == ["milk", "tea"]

    async def test_a_content_is_kept_once_in_its_bucket(self, keeper: Keeper) -> None:
        first = await keeper.store("tea", project="p", channel="a")
        assert await keeper.store("tea", project="p", channel="a") == Kept(
            id=first.id, created=False, duplicate="content"
        )
        for project, channel in (("p", "b"), ("q", "a"), ("q", "b")):
            assert (await keeper.store("tea", project=project, channel=channel)).created

    @pytest.mark.parametrize(("project", "channel"), [("p", ""), ("", "a"), ("p", "a"), ("", "")])
    async def test_what_is_in_the_shared_pool_is_not_kept_beside_it(
        self, keeper: Keeper, project: str, channel: str
    ) -> None:
        first = await keeper.store("tea", message_id="m")
        assert (await keeper.store("tea", project=project, channel=channel)).id == first.id
        assert (await keeper.store("x", message_id="m", project=project, channel=channel)).id == first.id

    async def test_the_shared_pool_is_no_duplicate_of_a_bucket(self, keeper: Keeper) -> None:
        await keeper.store("tea", project="p", channel="a")
        assert (await keeper.store("tea")).created

    async def test_memories_without_a_message_id_have_none_in_common(self, keeper: Keeper) -> None:
        await keeper.keep("tea", "milk")

    async def test_another_source_of_the_same_text_is_told(self, keeper: Keeper) -> None:
        await keeper.store("tea", source="ana")
        assert (await keeper.store("tea", source="bo")).other_source
        assert not (await keeper.store("tea", source="ana")).other_source

    async def test_another_agent_may_keep_the_same(self, keeper: Keeper) -> None:
        for each in (keeper, keeper.on(unique("agent")), keeper.another(tenant=unique("tenant"))):
            assert (await each.store("tea", message_id="m")).created

    @pytest.mark.parametrize("key", ["content", "message_id"])
    async def test_of_equal_memories_at_once_one_is_kept(self, keeper: Keeper, key: str) -> None:
        await keeper.keep("already here")
        texts = ["tea"] * 20 if key == "content" else [f"tea {n}" for n in range(20)]
        message_id = "" if key == "content" else "m"
        results = await asyncio.gather(*(keeper.store(each, message_id=message_id) for each in texts))
        assert sorted(each.created for each in results) == [False] * 19 + [True]
        assert len({each.id for each in results}) == 1
        assert {each.duplicate for each in results} == {None, key}
        assert len(await keeper.memories()) == 2


class TestLocks(OnAgents):
    """A locked memory is neither updated nor deleted, whenever the lock came; a purge takes it along."""

    async def test_a_locked_memory_is_neither_updated_nor_deleted(self, keeper: Keeper) -> None:
        (one,) = await keeper.keep("tea")
        assert await keeper.lock(one) == DONE == await keeper.lock(one)
        assert await keeper.update(one, "milk") == LOCKED
        assert await keeper.delete(one) == LOCKED
        assert [(each.content, each.locked) for each in await keeper.memories()] == [("tea", True)]
        assert await keeper.lock(one, locked=False) == DONE
        assert await keeper.update(one, "milk") == DONE
        assert await keeper.delete(one) == DONE
        assert await keeper.lock(one) == MISSING

    @pytest.mark.parametrize("change", ["update", "delete"])
    async def test_a_lock_that_was_acknowledged_holds_against_what_runs_beside_it(
        self, keeper: Keeper, change: str
    ) -> None:
        ids = await keeper.keep(*(f"tea {n}" for n in range(10)))

        async def raced(memory_id: int) -> tuple[Changed, Changed]:
            other = keeper.update(memory_id, f"milk {memory_id}") if change == "update" else keeper.delete(memory_id)
            changed, locked = await asyncio.gather(other, keeper.lock(memory_id))
            return changed, locked

        results = await asyncio.gather(*(raced(each) for each in ids))
        held = {each.id: each for each in await keeper.memories()}
        for memory_id, (changed, locked) in zip(ids, results, strict=True):
            _whole(held.get(memory_id), changed, locked, change)
            assert await keeper.update(memory_id, f"late {memory_id}") in (LOCKED, MISSING)

    async def test_a_change_and_a_lock_at_once_are_as_one_after_the_other(self, keeper: Keeper) -> None:
        (one,) = await keeper.keep("tea")
        changes = [keeper.update(one, "milk"), keeper.lock(one), keeper.update(one, "juice"), keeper.lock(one)]
        await asyncio.gather(*changes)
        (held,) = await keeper.memories()
        assert held.locked
        assert held.revision == 1 + ("tea", "milk", "juice").index(held.content) or held.content == "juice"


def _whole(held: Memory | None, changed: Changed, locked: Changed, change: str) -> None:
    """A change and a lock that ran at once: whichever was first, what is there is what both were told."""
    if change == "delete" and changed == DONE:
        assert (held, locked) == (None, MISSING)
        return
    assert held is not None
    assert held.locked
    assert locked == DONE
    assert held.content.startswith("milk" if changed == DONE else "tea")
