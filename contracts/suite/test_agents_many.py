"""Many records of an agent at once: exports, imports, merges, moves and purges are whole or not at all."""

from collections.abc import Iterator

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_work import (
    ChannelMove,
    EpisodeRecord,
    MergeMode,
    ProfileRecord,
    Record,
    TakenIn,
    Tally,
)
from codesynapse.contracts.agents import Episode, Memory, Profile, Tuning
from codesynapse.contracts.errors import AgentForbidden, Invalid, QuotaExceeded
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.gates import OnAgents
from codesynapse.contracts.suite.keepers import Keeper, episode, memory, records
from codesynapse.contracts.suite.worlds import NOW, later, unique

__all__ = ["TestMerging", "TestMovingAgents", "TestPurging"]

NOTHING = Tally()


class Stopped(Exception):
    """What an iterable raises in the middle."""


async def everything(keeper: Keeper) -> tuple[list[str], list[str], str]:
    """What an agent has."""
    profile = await keeper.agents.profile(keeper.scope)
    return await keeper.contents(), [each.summary for each in await keeper.episodes()], profile.text


async def filled(keeper: Keeper) -> None:
    """Two memories, one of them locked, an episode and a profile."""
    ids = await keeper.keep("tea", "milk")
    await keeper.lock(ids[0])
    await keeper.archive("tea was had")
    await keeper.agents.set_profile(keeper.scope, "Ana", now_ms=NOW)


class TestMovingAgents(OnAgents):
    """An export is one snapshot; an import adds what is not there, all of it or nothing."""

    async def test_an_export_gives_the_profile_and_every_record_in_order(self, keeper: Keeper) -> None:
        await filled(keeper)
        await keeper.on(unique("agent")).keep("other")
        given: list[Memory | Episode | Profile] = []
        assert await keeper.agents.export(keeper.scope, given.append) == Tally(memories=2, episodes=1, profiles=1)
        assert given[0] == Profile(text="Ana", updated_at_ms=NOW)
        assert given[1:] == await keeper.agents.scan(keeper.scope, after=0, limit=9)
        assert [type(each) for each in given[1:]] == [Memory, Memory, Episode]

    async def test_a_sink_that_raises_ends_the_export(self, keeper: Keeper) -> None:
        await keeper.keep("tea")

        def full(_: object) -> None:
            raise Stopped

        with pytest.raises(Stopped):
            await keeper.agents.export(keeper.scope, full)
        await keeper.keep("milk")

    async def test_a_scan_goes_on_behind_an_id_and_no_further_than_its_limit(self, keeper: Keeper) -> None:
        await keeper.keep("one", "two")
        await keeper.archive("three")
        seen, after = [], 0
        while batch := await keeper.agents.scan(keeper.scope, after=after, limit=2):
            seen += [each.id for each in batch]
            after = batch[-1].id
        assert seen == sorted(seen)
        assert len(seen) == 3

    async def test_what_is_taken_in_is_there_as_it_was(self, keeper: Keeper) -> None:
        (record,) = records("green tea")
        moved = type(record)(  # type: ignore[call-arg]  # of a record, the kind of a memory
            memory=memory("green tea", message_id="m", source="ana"),
            created_at_ms=later(NOW, -5),
            recalled=3,
            recalled_at_ms=later(NOW, -1),
        )
        incoming: list[Record] = [moved, EpisodeRecord(episode=episode("tea was had"), created_at_ms=later(NOW, -4))]
        incoming.append(ProfileRecord(text="Ana"))
        taken = await keeper.agents.take_in(keeper.scope, incoming, dry_run=False, now_ms=NOW)
        assert taken == TakenIn(added=Tally(memories=1, episodes=1, profiles=1), skipped=NOTHING)
        (held,) = await keeper.memories()
        assert (held.created_at_ms, held.recalled, held.recalled_at_ms) == (later(NOW, -5), 3, later(NOW, -1))
        assert await everything(keeper) == (["green tea"], ["tea was had"], "Ana")
        assert await keeper.recall("green") == ["green tea"]

    async def test_what_is_there_already_is_skipped_and_stays(self, keeper: Keeper) -> None:
        await filled(keeper)
        again: list[Record] = [*records("tea", "juice", "juice"), ProfileRecord(text="Bo")]
        again.append(EpisodeRecord(episode=episode("tea was had"), created_at_ms=NOW))
        again.append(EpisodeRecord(episode=episode("tea was had", project="p"), created_at_ms=NOW))
        taken = await keeper.agents.take_in(keeper.scope, again, dry_run=False, now_ms=NOW)
        assert taken == TakenIn(added=Tally(memories=1, episodes=1), skipped=Tally(memories=2, episodes=1, profiles=1))
        assert (await everything(keeper))[2] == "Ana"
        assert [each.locked for each in await keeper.memories() if each.content == "tea"] == [True]

    async def test_a_dry_run_answers_alike_and_changes_nothing(self, keeper: Keeper) -> None:
        await filled(keeper)
        before, incoming = await everything(keeper), [*records("tea", "juice", "juice"), ProfileRecord(text="Bo")]
        tried = await keeper.agents.take_in(keeper.scope, incoming, dry_run=True, now_ms=NOW)
        assert await everything(keeper) == before
        assert await keeper.recall("juice") == []
        assert await keeper.agents.take_in(keeper.scope, incoming, dry_run=False, now_ms=NOW) == tried

    async def test_an_import_that_stops_in_the_middle_leaves_nothing(self, keeper: Keeper) -> None:
        def stopping() -> Iterator[Record]:
            yield from records("tea", "milk")
            raise Stopped

        with pytest.raises(Stopped):
            await keeper.agents.take_in(keeper.scope, stopping(), dry_run=False, now_ms=NOW)
        assert await keeper.agents.level(keeper.scope) is None
        await keeper.keep("juice")
        with pytest.raises(Stopped):
            await keeper.agents.take_in(keeper.scope, stopping(), dry_run=False, now_ms=NOW)
        assert await everything(keeper) == (["juice"], [], "")
        assert (await keeper.candidates("tea juice")).frequencies == {"juice": 1}

    async def test_an_import_past_a_cap_leaves_nothing(self, keeper: Keeper) -> None:
        await keeper.keep("juice")
        await keeper.agents.set_quotas(keeper.scope.tenant_id, Quotas(agent_memories_max=2))
        with pytest.raises(QuotaExceeded):
            await keeper.agents.take_in(keeper.scope, records("a", "b"), dry_run=False, now_ms=NOW)
        assert await keeper.contents() == ["juice"]

    async def test_a_memory_is_moved_to_a_channel_where_its_text_is_not(self, keeper: Keeper) -> None:
        one, two, three = await keeper.keep("tea", "milk", "juice", channel="old")
        await keeper.keep("milk", channel="new")
        moves = [
            ChannelMove(memory_id=each, from_channel=was, to_channel="new")
            for each, was in ((one, "old"), (two, "old"), (three, "other"), (10**12, "old"))
        ]
        assert await keeper.agents.move_channels(keeper.scope, moves, dry_run=True, now_ms=NOW) == [one]
        assert {each.bucket.channel for each in await keeper.memories() if each.id == one} == {"old"}
        assert await keeper.agents.move_channels(keeper.scope, moves, dry_run=False, now_ms=NOW) == [one]
        placed = {each.content: each.bucket.channel for each in await keeper.memories() if each.id != two}
        assert placed == {"tea": "new", "milk": "new", "juice": "old"}
        assert not (await keeper.store("tea", channel="new")).created
        assert (await keeper.store("tea", channel="old")).created


class TestMerging(OnAgents):
    """A copy leaves the source as it was; a move leaves there what the target had already."""

    @pytest.mark.parametrize("mode", MergeMode)
    async def test_what_the_target_has_not_is_added(self, keeper: Keeper, mode: MergeMode) -> None:
        target = keeper.on(unique("agent"))
        await filled(keeper)
        await target.keep("milk")
        before = await everything(keeper)
        merged = await keeper.agents.merge(keeper.scope, target.scope, mode=mode, dry_run=False, now_ms=NOW)
        added = Tally(memories=1, episodes=1, profiles=1)
        moved = mode is MergeMode.MOVE
        assert merged == TakenIn(added=added, skipped=Tally(memories=1), removed=added if moved else NOTHING)
        assert await everything(target) == (["tea", "milk"], ["tea was had"], "Ana")
        assert await everything(keeper) == ((["milk"], [], "") if moved else before)
        assert [each.locked for each in await target.memories()] == [True, False]
        assert await target.recall("tea") == ["tea", "tea was had"]

    async def test_a_dry_run_answers_alike_and_changes_nothing(self, keeper: Keeper) -> None:
        target = keeper.on(unique("agent"))
        await filled(keeper)
        before = await everything(keeper)
        arguments = (keeper.scope, target.scope)
        tried = await keeper.agents.merge(*arguments, mode=MergeMode.MOVE, dry_run=True, now_ms=NOW)
        assert await everything(keeper) == before
        assert await keeper.agents.level(target.scope) is None
        assert await keeper.agents.merge(*arguments, mode=MergeMode.MOVE, dry_run=False, now_ms=NOW) == tried

    async def test_profiles_that_collide_stay_where_they_are(self, keeper: Keeper) -> None:
        target = keeper.on(unique("agent"))
        await filled(keeper)
        await target.keep("milk")
        await target.agents.set_profile(target.scope, "Bo", now_ms=NOW)
        await keeper.agents.merge(keeper.scope, target.scope, mode=MergeMode.MOVE, dry_run=False, now_ms=NOW)
        assert ((await everything(keeper))[2], (await everything(target))[2]) == ("Ana", "Bo")

    async def test_a_merge_needs_grants_on_both(self, keeper: Keeper) -> None:
        await filled(keeper)
        reader = await keeper.granted(Level.READ)
        target = reader.on(unique("agent"))
        agents, arguments = keeper.agents, (reader.scope, target.scope)
        with pytest.raises(AgentForbidden):
            await agents.merge(*arguments, mode=MergeMode.MOVE, dry_run=False, now_ms=NOW)
        with pytest.raises(AgentForbidden):
            await agents.merge(target.scope, reader.scope, mode=MergeMode.COPY, dry_run=False, now_ms=NOW)
        await agents.merge(*arguments, mode=MergeMode.COPY, dry_run=False, now_ms=NOW)
        assert await everything(target) == await everything(keeper)

    async def test_an_agent_is_not_merged_with_itself_or_across_tenants(self, keeper: Keeper) -> None:
        await keeper.keep("tea")
        other = keeper.another(tenant=unique("tenant"))
        await other.keep("milk")
        for target in (keeper.scope, other.scope):
            with pytest.raises(Invalid):
                await keeper.agents.merge(keeper.scope, target, mode=MergeMode.COPY, dry_run=False, now_ms=NOW)


class TestPurging(OnAgents):
    """A purge takes everything but the agent's name and its grants."""

    async def test_a_purge_takes_locked_memories_and_queued_tasks_along(self, keeper: Keeper) -> None:
        await filled(keeper)
        other = keeper.on(unique("agent"))
        await filled(other)
        for each in (keeper, other):
            await each.agents.enqueue(each.scope, "archive", "{}", once=None, now_ms=NOW)
        await keeper.agents.set_tuning(keeper.scope, Tuning(beta=2.0), now_ms=NOW)
        gone = await keeper.agents.purge(keeper.scope, now_ms=NOW)
        assert gone == Tally(memories=2, episodes=1, profiles=1, tasks=1)
        assert await everything(keeper) == ([], [], "")
        assert (await keeper.recall("tea"), await keeper.agents.tally(keeper.scope)) == ([], NOTHING)
        assert await keeper.agents.tuning(keeper.scope) == Tuning()
        assert await keeper.agents.tally(other.scope) == gone
        assert await keeper.agents.level(keeper.scope) is Level.ADMIN

    async def test_after_a_purge_the_same_can_be_stored_and_has_new_ids(self, keeper: Keeper) -> None:
        before = await keeper.keep("tea", "milk")
        await keeper.agents.purge(keeper.scope, now_ms=NOW)
        after = await keeper.keep("tea", "milk")
        assert min(after) > max(before)
        assert await keeper.recall("tea") == ["tea"]
        found = await keeper.candidates("tea")
        assert (found.total, found.total_terms, dict(found.frequencies)) == (2, 2, {"tea": 1})

    async def test_what_lies_in_a_bucket_is_purged_too(self, keeper: Keeper) -> None:
        await keeper.keep("tea", project="p", channel="a")
        await keeper.archive("tea", project="p")
        await keeper.agents.purge(keeper.scope, now_ms=NOW)
        assert await everything(keeper) == ([], [], "")
