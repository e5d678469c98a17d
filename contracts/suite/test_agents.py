"""Agent memory: who owns an agent, what a memory and an episode are, and how an agent recalls."""

import asyncio
from collections.abc import Sequence

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_work import Changed, Kept, Once, Verdict
from codesynapse.contracts.agents import (
    EVERYWHERE,
    AgentGrant,
    Bucket,
    Kind,
    Memory,
    NewEpisode,
    NewMemory,
    Principal,
    Profile,
    Tuning,
)
from codesynapse.contracts.errors import AgentForbidden, Invalid, NotFound, QuotaExceeded, RevisionConflict
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.gates import OnAgents
from codesynapse.contracts.suite.keepers import Keeper, passed, records
from codesynapse.contracts.suite.worlds import NOW, later, settled, unique

__all__ = ["TestAgentGrants", "TestAgentSettings", "TestForeseeing", "TestMemories"]

DONE = Changed(verdict=Verdict.DONE)
MISSING = Changed(verdict=Verdict.MISSING)


class TestAgentGrants(OnAgents):
    """Whoever first writes to an agent owns it; others need a grant, and nobody learns of what they may not use."""

    async def test_the_first_writer_owns_the_agent(self, keeper: Keeper) -> None:
        assert await keeper.agents.level(keeper.scope) is None
        await keeper.keep("tea")
        assert await keeper.agents.level(keeper.scope) is Level.ADMIN
        grant = AgentGrant(agent_id=keeper.scope.agent_id, subject_id=keeper.scope.subject_id, level=Level.ADMIN)
        assert await keeper.agents.agents(keeper.scope.tenant_id, keeper.scope.subject_id) == [grant]
        assert await keeper.agents.agents(keeper.scope.tenant_id) == [AgentGrant(agent_id=keeper.scope.agent_id)]

    async def test_of_two_first_writers_one_owns_it_and_the_other_is_refused(self, keeper: Keeper) -> None:
        writers = [keeper, *(keeper.another() for _ in range(4))]
        results = await asyncio.gather(*(passed(each.store("tea"), AgentForbidden) for each in writers))
        assert sorted(results) == [False, False, False, False, True]
        levels = [await each.agents.level(each.scope) for each in writers]
        assert [level is Level.ADMIN for level in levels] == results

    @pytest.mark.parametrize(
        ("level", "reads", "writes", "purges"),
        [(None, False, False, False), (Level.READ, True, False, False), (Level.WRITE, True, True, False)],
    )
    async def test_a_grant_allows_what_it_says(
        self, keeper: Keeper, level: Level | None, reads: bool, writes: bool, purges: bool
    ) -> None:
        await keeper.keep("tea")
        other = keeper.another() if level is None else await keeper.granted(level)
        assert await passed(other.memories(), AgentForbidden) == reads
        assert await passed(other.store("milk"), AgentForbidden) == writes
        assert await passed(other.agents.purge(other.scope, now_ms=NOW), AgentForbidden) == purges

    async def test_a_grant_that_is_withdrawn_is_gone_for_the_next_call(self, keeper: Keeper) -> None:
        await keeper.keep("tea")
        other = await keeper.granted(Level.ADMIN)
        await other.keep("milk")
        await keeper.agents.set_level(
            keeper.scope.tenant_id, keeper.scope.agent_id, other.scope.subject_id, None, now_ms=NOW
        )
        for call in (other.memories(), other.store("juice"), other.recall("tea")):
            with pytest.raises(AgentForbidden):
                await call
        assert await keeper.contents() == ["milk", "tea"]

    async def test_an_agent_that_is_not_there_is_like_one_without_a_grant(self, keeper: Keeper) -> None:
        await keeper.keep("tea")
        stranger = keeper.another()
        errors = []
        for each in (stranger, stranger.on(unique("agent"))):
            with pytest.raises(AgentForbidden) as refusal:
                await each.memories()
            errors.append(str(refusal.value))
        assert errors[0] == errors[1]

    async def test_a_grant_on_no_agent_is_refused(self, keeper: Keeper) -> None:
        with pytest.raises(NotFound):
            await keeper.agents.set_level(
                keeper.scope.tenant_id, unique("agent"), keeper.scope.subject_id, Level.READ, now_ms=NOW
            )

    async def test_an_unscoped_list_shows_readable_agents_alone(self, keeper: Keeper) -> None:
        mine, other = keeper.on(unique("agent")), keeper.another().on(unique("agent"))
        for each, text in ((keeper, "tea"), (mine, "milk"), (other, "secret")):
            await each.keep(text)
            await each.archive(text)
        agents, sight = keeper.agents, keeper.principal
        listed = await agents.memories(sight, reach=EVERYWHERE, source_id="", limit=9)
        assert [each.content for each in listed] == ["milk", "tea"]
        assert [each.summary for each in await agents.episodes(sight, reach=EVERYWHERE, limit=9)] == [
            "milk",
            "tea",
        ]
        assert (await agents.tally(sight)).memories == 2

    async def test_at_the_cap_no_agent_is_made_and_those_that_are_there_are_written_to(self, keeper: Keeper) -> None:
        await keeper.keep("tea")
        await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas(agents_max=1))
        with pytest.raises(QuotaExceeded) as refusal:
            await keeper.on(unique("agent")).store("milk")
        assert (refusal.value.field, refusal.value.limit) == ("agents", 1)
        await keeper.keep("milk")


class TestForeseeing(OnAgents):
    """What a write would answer can be asked without writing: for calls that a pause keeps from it."""

    async def test_a_memory_that_is_there_is_foreseen_as_a_store_would_answer(self, keeper: Keeper) -> None:
        await keeper.store("tea", source="ana")
        for source in ("ana", "bob"):
            assert await keeper.foresee("tea", source=source) == await keeper.store("tea", source=source)
        assert (await keeper.foresee("tea", source="bob")) != (await keeper.foresee("tea", source="ana"))
        assert await keeper.foresee("milk") is None
        assert await keeper.foresee() is None

    async def test_looking_ahead_writes_nothing(self, keeper: Keeper) -> None:
        assert await keeper.foresee("tea", once=Once(key="k", digest="d")) is None
        assert await keeper.agents.agents(keeper.scope.tenant_id) == []
        (first,) = await keeper.keep("tea")
        assert await keeper.foresee("milk", once=Once(key="k", digest="d")) is None
        assert await keeper.contents() == ["tea"]
        kept = await keeper.store("juice", once=Once(key="k", digest="e"))
        assert (kept.id, kept.replayed) == (first + 1, False)

    async def test_at_a_cap_what_would_be_repeated_is_foreseen_all_the_same(self, keeper: Keeper) -> None:
        (memory_id,) = await keeper.keep("tea")
        await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas(agent_memories_max=1, agent_keys_max=1))
        assert await keeper.foresee("tea") == Kept(id=memory_id, created=False, duplicate="content")
        assert await keeper.foresee("milk", once=Once(key="k", digest="d")) is None

    async def test_who_may_not_write_may_not_look_ahead(self, keeper: Keeper) -> None:
        await keeper.keep("tea")
        for other in (keeper.another(), await keeper.granted(Level.READ)):
            with pytest.raises(AgentForbidden):
                await other.foresee("tea")
            with pytest.raises(AgentForbidden):
                await other.foresee()
        stranger = keeper.another(tenant=unique("tenant"))
        assert await stranger.foresee("tea") is None
        assert await (await keeper.granted(Level.WRITE)).foresee("tea") is not None


class TestMemories(OnAgents):
    """What was stored is served as it was; ids are the tenant's; a change keeps what it does not change."""

    async def test_what_was_stored_is_served_as_it_was(self, keeper: Keeper) -> None:
        new = NewMemory(
            content="Ana’s tea\u2028is 茶",
            bucket=Bucket(project_id="p", channel="discord:1"),
            message_id="m-1",
            source={"type": "User", "id": "discord:ana", "name": "Ana", "deep": [1, {"x": None}]},
            timestamp="2026-11-30T10:00:00+01:00",
            metadata={"n": 1.5},
            locked=True,
            terms=("ana", "tea", "茶", "tea"),
        )
        kept = await keeper.agents.store(keeper.scope, new, once=None, now_ms=NOW)
        assert kept == Kept(id=kept.id, created=True)
        (served,) = await keeper.memories()
        assert isinstance(served, Memory)
        assert {name: getattr(served, name) for name in NewMemory.__struct_fields__} == {
            name: getattr(new, name) for name in NewMemory.__struct_fields__
        }
        assert (served.id, served.agent_id, served.created_at_ms) == (kept.id, keeper.scope.agent_id, NOW)
        assert (served.revision, served.recalled, served.recalled_at_ms) == (1, 0, None)

    async def test_what_was_archived_is_served_as_it_was(self, keeper: Keeper) -> None:
        new = NewEpisode(
            summary="Tea was had",
            bucket=Bucket(project_id="p"),
            keywords="tea, cup",
            start_time="2026-11-30T10:00:00Z",
            end_time="2026-11-30T11:00:00Z",
            resolved=True,
            terms=("tea",),
        )
        kept = await keeper.agents.archive(keeper.scope, new, once=None, now_ms=NOW)
        (served,) = await keeper.episodes()
        assert {name: getattr(served, name) for name in NewEpisode.__struct_fields__} == {
            name: getattr(new, name) for name in NewEpisode.__struct_fields__
        }
        assert (served.id, served.created_at_ms) == (kept.id, NOW)

    async def test_the_newest_come_first_and_of_one_moment_the_last(self, keeper: Keeper) -> None:
        await keeper.store("late", now_ms=later(NOW, 5))
        await keeper.keep("one", "two", "three")
        assert await keeper.contents() == ["late", "three", "two", "one"]
        assert [each.content for each in await keeper.memories(limit=2)] == ["late", "three"]
        assert await keeper.memories(limit=0) == []

    async def test_ids_grow_and_are_never_given_again(self, keeper: Keeper) -> None:
        first, second = await keeper.keep("one", "two")
        assert await keeper.delete(second) == DONE
        archived = await keeper.archive("three")
        (fourth,) = await keeper.keep("four")
        assert first < second < (archived.id or 0) < fourth

    async def test_ids_of_one_tenant_say_nothing_of_another(self, keeper: Keeper) -> None:
        await keeper.keep("one", "two", "three")
        other = keeper.another(tenant=unique("tenant"))
        assert await other.keep("one") == [1]

    async def test_contents_come_in_the_order_of_their_references_and_only_the_agents_own(self, keeper: Keeper) -> None:
        first, second = await keeper.keep("one", "two")
        third = (await keeper.archive("three")).id or 0
        (foreign,) = await keeper.on(unique("agent")).keep("four")
        refs = [(Kind.EPISODE, third), (Kind.MEMORY, second), (Kind.MEMORY, foreign), (Kind.MEMORY, 10**12)]
        refs += [(Kind.EPISODE, first), (Kind.MEMORY, third), (Kind.MEMORY, first)]
        found = await keeper.agents.contents(keeper.scope, refs)
        assert [each.id for each in found] == [third, second, first]

    async def test_an_update_changes_the_content_alone(self, keeper: Keeper) -> None:
        kept = await keeper.store("tea", message_id="m", source="ana", project="p")
        (before,) = await keeper.memories()
        assert await keeper.update(before.id, "green tea") == DONE
        (after,) = await keeper.memories()
        assert (after.id, after.content, after.revision) == (kept.id, "green tea", 2)
        assert (after.message_id, after.source, after.bucket) == (before.message_id, before.source, before.bucket)
        assert await keeper.recall("green") == ["green tea"]
        assert await keeper.update(before.id, "milk") == DONE
        assert await keeper.recall("green tea") == []

    async def test_the_same_content_again_changes_nothing(self, keeper: Keeper) -> None:
        (one,) = await keeper.keep("tea")
        assert await keeper.update(one, "tea") == DONE
        assert [each.revision for each in await keeper.memories()] == [1]

    async def test_an_update_of_what_has_changed_meanwhile_is_stale(self, keeper: Keeper) -> None:
        (one,) = await keeper.keep("tea")
        assert await keeper.update(one, "milk", read_revision=1) == DONE
        assert await keeper.update(one, "juice", read_revision=1) == Changed(verdict=Verdict.STALE)
        assert await keeper.contents() == ["milk"]

    async def test_a_text_that_another_memory_holds_is_refused_with_its_holder(self, keeper: Keeper) -> None:
        one, two = await keeper.keep("tea", "milk")
        assert await keeper.update(two, "tea") == Changed(verdict=Verdict.DUPLICATE, holder=one)
        assert await keeper.contents() == ["milk", "tea"]

    async def test_a_change_by_id_reaches_own_agents_without_naming_one(self, keeper: Keeper) -> None:
        (one,) = await keeper.keep("tea")
        agents, sight = keeper.agents, keeper.principal
        stranger = keeper.another().principal
        assert await agents.delete_memory(stranger, memory_id=one, now_ms=NOW) == MISSING
        assert await agents.set_locked(stranger, memory_id=one, locked=True, now_ms=NOW) == MISSING
        assert await agents.delete_memory(sight, memory_id=one, now_ms=NOW) == DONE
        assert await agents.delete_memory(sight, memory_id=one, now_ms=NOW) == MISSING

    async def test_a_reader_changes_nothing_by_id(self, keeper: Keeper) -> None:
        (one,) = await keeper.keep("tea")
        episode = (await keeper.archive("tea was had")).id or 0
        reader = await keeper.granted(Level.READ)
        agents, sight = keeper.agents, reader.principal
        assert await agents.delete_memory(sight, memory_id=one, now_ms=NOW) == MISSING
        assert await agents.delete_episode(sight, episode_id=episode, now_ms=NOW) == MISSING
        with pytest.raises(AgentForbidden):
            await reader.delete(one)

    async def test_a_deleted_record_is_found_by_nothing(self, keeper: Keeper) -> None:
        one, two = await keeper.keep("green tea", "black tea")
        episode = (await keeper.archive("tea was had")).id or 0
        assert await keeper.delete(one) == DONE
        assert await keeper.agents.delete_episode(keeper.scope, episode_id=episode, now_ms=NOW) == DONE
        assert await keeper.agents.delete_episode(keeper.scope, episode_id=two, now_ms=NOW) == MISSING
        assert (await keeper.contents(), await keeper.recall("tea")) == (["black tea"], ["black tea"])
        assert await keeper.episodes() == []
        assert (await keeper.candidates("tea")).frequencies == {"tea": 1}
        await keeper.keep("green tea")

    async def test_a_recall_is_noted(self, keeper: Keeper) -> None:
        one, _two = await keeper.keep("tea", "milk")
        for moment in (3, 7):
            await keeper.agents.note_recalls(keeper.scope, [one, 10**12], now_ms=later(NOW, moment))
        counted = [(each.recalled, each.recalled_at_ms) for each in await keeper.memories()]
        assert counted == [(0, None), (2, later(NOW, 7))]

    @pytest.mark.parametrize("cap", ["agent_memories_max", "agent_episodes_max"])
    async def test_at_a_cap_nothing_more_is_kept_and_what_repeats_is_still_answered(
        self, keeper: Keeper, cap: str
    ) -> None:
        await keeper.keep("tea")
        await keeper.archive("tea was had")
        await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas().changed({cap: 1}))
        call = keeper.store("milk") if cap == "agent_memories_max" else keeper.archive("milk")
        with pytest.raises(QuotaExceeded) as refusal:
            await call
        assert (refusal.value.field, refusal.value.limit) == (cap.removesuffix("_max"), 1)
        assert (await keeper.store("tea")).duplicate == "content"
        assert (await keeper.contents(), len(await keeper.episodes())) == (["tea"], 1)

    async def test_a_refused_first_write_makes_no_agent(self, keeper: Keeper) -> None:
        await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas(agent_memories_max=1))
        other = keeper.on(unique("agent"))
        with pytest.raises(QuotaExceeded):
            await other.agents.take_in(other.scope, records("a", "b"), dry_run=False, now_ms=NOW)
        assert await keeper.agents.level(other.scope) is None


class TestAgentSettings(OnAgents):
    """A profile is the last one written; how an agent recalls is changed only by who has read it."""

    async def test_a_profile_is_replaced_and_never_by_a_blank_one(self, keeper: Keeper) -> None:
        await keeper.keep("tea")
        assert await keeper.agents.profile(keeper.scope) == Profile()
        for text in ("Ana", "Ana, of tea"):
            await keeper.agents.set_profile(keeper.scope, text, now_ms=NOW)
        for blank in ("", "  \n"):
            with pytest.raises(Invalid):
                await keeper.agents.set_profile(keeper.scope, blank, now_ms=NOW)
        assert await keeper.agents.profile(keeper.scope) == Profile(text="Ana, of tea", updated_at_ms=NOW)

    async def test_a_tuning_is_kept_and_counted(self, keeper: Keeper) -> None:
        await keeper.keep("tea")
        assert await keeper.agents.tuning(keeper.scope) == Tuning()
        kept = await keeper.agents.set_tuning(
            keeper.scope, Tuning(precision="strict", beta=2.0, threshold=0.25, calibration="{}"), now_ms=NOW
        )
        assert kept == Tuning(precision="strict", beta=2.0, threshold=0.25, calibration="{}", revision=1)
        assert await keeper.agents.tuning(keeper.scope) == kept

    async def test_of_two_who_change_a_tuning_the_second_is_refused_and_nothing_is_lost(self, keeper: Keeper) -> None:
        await keeper.keep("tea")
        read = await keeper.agents.tuning(keeper.scope)
        changes: Sequence[Tuning] = [
            Tuning(precision="strict", beta=2.0, revision=read.revision),
            Tuning(threshold=0.4, revision=read.revision),
        ]
        results = [
            await settled(keeper.agents.set_tuning(keeper.scope, each, now_ms=NOW), RevisionConflict)
            for each in changes
        ]
        assert [isinstance(result, RevisionConflict) for result in results] == [False, True]
        assert await keeper.agents.tuning(keeper.scope) == results[0]

    async def test_settings_belong_to_the_agent_and_its_tenant(self, keeper: Keeper) -> None:
        others = [keeper.on(unique("agent")), keeper.another(tenant=unique("tenant"))]
        for each in (keeper, *others):
            await each.keep("tea")
        await keeper.agents.set_profile(keeper.scope, "Ana", now_ms=NOW)
        await keeper.agents.set_tuning(keeper.scope, Tuning(beta=2.0), now_ms=NOW)
        for each in others:
            assert await each.agents.profile(each.scope) == Profile()
            assert await each.agents.tuning(each.scope) == Tuning()

    async def test_an_empty_agent_is_none(self, agents: AgentMemory, keeper: Keeper) -> None:
        with pytest.raises(Invalid):
            keeper.on("")
        assert (
            await agents.memories(
                Principal(tenant_id=keeper.scope.tenant_id, subject_id="x"), reach=EVERYWHERE, source_id="", limit=1
            )
            == []
        )
