"""Recall and lists along the axes: what each reach sees, what answers a question, and what nobody else's does."""

import pytest

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_recall import EPISODES_MAX, MEMORIES_MAX
from codesynapse.contracts.agents import EVERYWHERE, Kind, Memory, Reach
from codesynapse.contracts.errors import AgentForbidden
from codesynapse.contracts.suite.gates import OnAgents
from codesynapse.contracts.suite.keepers import Keeper, asking, records, terms_in
from codesynapse.contracts.suite.worlds import NOW, later, unique

__all__ = ["TestAgentIsolation", "TestAxes", "TestRecall"]

PLACES = {"shared": ("", ""), "p": ("p", ""), "a": ("", "a"), "p/a": ("p", "a"), "q/b": ("q", "b"), "p/b": ("p", "b")}

# Omitted (None), empty and named, along both axes, as the research describes them.
REACHES = [
    (Reach(), {"shared", "p", "a", "p/a", "q/b", "p/b"}),
    (Reach(project_id=""), {"shared", "a"}),
    (Reach(project_id="p"), {"shared", "a", "p", "p/a", "p/b"}),
    (Reach(channel=""), {"shared", "p", "a", "p/a", "q/b", "p/b"}),
    (Reach(channel="a"), {"shared", "p", "a", "p/a"}),
    (Reach(project_id="p", channel="a"), {"shared", "p", "a", "p/a"}),
    (Reach(project_id="", channel="a"), {"shared", "a"}),
    (Reach(project_id="q", channel="b"), {"shared", "q/b"}),
    (Reach(project_id="nowhere", channel="nowhere"), {"shared"}),
]
NAMES = ["omitted", "empty-project", "p", "empty-channel", "a", "p+a", "empty+a", "q+b", "unknown"]


class TestAxes(OnAgents):
    """Each reach sees its own buckets and the shared pool, in lists and in a recall alike."""

    @pytest.mark.parametrize(("reach", "seen"), REACHES, ids=NAMES)
    async def test_a_reach_sees_its_own_buckets(self, keeper: Keeper, reach: Reach, seen: set[str]) -> None:
        for name, (project, channel) in PLACES.items():
            # Of its own bucket: equal ones in the shared pool would be duplicates.
            await keeper.keep(f"tea {name}", project=project, channel=channel)
            await keeper.archive(f"tea {name} had", project=project, channel=channel)
        memories, episodes = {f"tea {name}" for name in seen}, {f"tea {name} had" for name in seen}
        assert set(await keeper.contents(reach)) == memories
        assert {each.summary for each in await keeper.episodes(reach)} == episodes
        assert set(await keeper.recall("tea", reach)) == memories | episodes

    async def test_values_of_an_axis_are_compared_exactly(self, keeper: Keeper) -> None:
        await keeper.keep("tea", project="p%", channel="Discord:1")
        for reach in (Reach(project_id="P%"), Reach(project_id="px"), Reach(channel="discord:1"), Reach(channel="%")):
            assert await keeper.contents(reach) == []
        assert await keeper.contents(Reach(project_id="p%", channel="Discord:1")) == ["tea"]

    @pytest.mark.parametrize(
        ("asked", "seen"),
        [
            ("", {"by ana", "by anabel", "by Ana", "by nobody"}),
            ("discord:ana", {"by ana"}),
            ("discord:", {"by ana", "by anabel", "by Ana"}),
            ("discord:an", set()),
            ("discord:%", set()),
            ("ana", set()),
        ],
    )
    async def test_a_source_is_compared_exactly_and_a_namespace_by_its_prefix(
        self, keeper: Keeper, asked: str, seen: set[str]
    ) -> None:
        for source, content in (("discord:ana", "ana"), ("discord:anabel", "anabel"), ("discord:Ana", "Ana")):
            await keeper.store(f"by {content}", source=source)
        await keeper.store("by nobody")
        assert set(await keeper.contents(source=asked)) == seen
        assert set(await keeper.recall("by", source=asked)) == seen

    async def test_a_source_leaves_episodes_out_unless_a_channel_is_named(self, keeper: Keeper) -> None:
        await keeper.store("tea", source="ana", channel="a")
        await keeper.archive("tea was had", channel="a")
        assert await keeper.recall("tea", source="ana") == ["tea"]
        assert set(await keeper.recall("tea", Reach(channel="a"), source="ana")) == {"tea", "tea was had"}


class TestRecall(OnAgents):
    """Records that share a term are found with the figures that rank them; equal ones come the newest first."""

    async def test_what_shares_more_and_rarer_terms_comes_first(self, keeper: Keeper) -> None:
        await keeper.keep("ana drinks green tea", "ana drinks milk", "bo drinks tea", "bo reads books")
        assert (await keeper.recall("ana green tea"))[0] == "ana drinks green tea"
        assert "bo reads books" not in await keeper.recall("ana green tea")

    async def test_a_question_that_shares_no_term_finds_nothing(self, keeper: Keeper) -> None:
        await keeper.keep("tea")
        for query in ("", "milk", "te", "teas", "tea*", '"tea"', "tea OR milk", "NOT"):
            expected = ["tea"] if "tea" in query.split() else []
            assert await keeper.recall(query) == expected

    @pytest.mark.parametrize(
        "word", ["茶", "tëa", "tea's", "c++", "a-b", "NEAR", '"', "*", "x:y", "\u017f", "\U0001d4af", "İ", "_"]
    )
    async def test_a_term_is_found_as_it_is_and_no_other(self, keeper: Keeper, word: str) -> None:
        term = terms_in(word)[0]
        await keeper.keep(f"{term} here", f"{term}x there", "tea elsewhere")
        assert await keeper.recall(term) == [f"{term} here"]

    async def test_the_figures_are_those_of_all_the_agent_has(self, keeper: Keeper) -> None:
        await keeper.keep("green tea tea", "milk", project="p")
        await keeper.archive("tea was had")
        await keeper.on(unique("agent")).keep("tea tea tea tea")
        found = await keeper.candidates("tea tea green water", Reach(project_id=""))
        assert (found.total, found.total_terms) == (3, 7)
        assert dict(found.frequencies) == {"tea": 2, "green": 1}
        assert [(row.kind, row.terms) for row in found.rows] == [(Kind.EPISODE, "tea was had")]

    async def test_of_equal_ones_the_newest_are_looked_at(self, keeper: Keeper) -> None:
        count = MEMORIES_MAX + 10
        many = records(*(f"tea {number}" for number in range(count)))
        await keeper.agents.take_in(keeper.scope, many, dry_run=False, now_ms=NOW)
        for number in range(EPISODES_MAX + 5):
            await keeper.archive(f"tea had {number}")
        rows = (await keeper.candidates("tea")).rows
        memories = [row.terms for row in rows if row.kind is Kind.MEMORY]
        assert memories == [f"tea {number}" for number in range(count - 1, 9, -1)]
        assert len(rows) - len(memories) == EPISODES_MAX

    async def test_a_record_that_carries_the_rare_term_is_not_lost_among_the_common(self, keeper: Keeper) -> None:
        await keeper.keep("tea oolong")
        many = records(*(f"tea common {number}" for number in range(MEMORIES_MAX + 10)))
        await keeper.agents.take_in(keeper.scope, many, dry_run=False, now_ms=NOW)
        assert (await keeper.recall("oolong tea common"))[0] == "tea oolong"

    async def test_equal_ones_come_the_newest_first(self, keeper: Keeper) -> None:
        await keeper.store("tea one", now_ms=later(NOW, 9))
        await keeper.keep("tea two", "tea six")
        assert await keeper.recall("tea") == ["tea one", "tea six", "tea two"]


class TestAgentIsolation(OnAgents):
    """Nothing of another tenant or of another agent is served, counted or changed, even where its id is known."""

    async def test_another_tenants_records_do_not_exist(self, keeper: Keeper) -> None:
        await keeper.keep("secret tea")
        episode = (await keeper.archive("secret tea was had")).id or 0
        await keeper.agents.set_profile(keeper.scope, "secret", now_ms=NOW)
        same_name = keeper.another(tenant=unique("tenant"))
        with pytest.raises(AgentForbidden):
            await same_name.memories()
        await same_name.keep("own tea")
        agents, scope, sight = keeper.agents, same_name.scope, same_name.principal
        assert await same_name.contents() == ["own tea"] == await same_name.recall("secret tea")
        assert (await same_name.candidates("secret tea")).total == 1
        refs = [(Kind.MEMORY, 1), (Kind.MEMORY, 2), (Kind.EPISODE, episode), (Kind.EPISODE, 1)]
        assert [_text(each) for each in await agents.contents(scope, refs)] == ["own tea"]
        assert [_text(each) for each in await agents.scan(scope, after=0, limit=9)] == ["own tea"]
        assert [each.agent_id for each in await agents.agents(same_name.scope.tenant_id)] == [scope.agent_id]
        assert (await agents.tally(sight)).episodes == 0
        assert (await agents.profile(scope)).text == ""

    async def test_a_user_of_two_tenants_sees_each_alone(self, agents: AgentMemory, keeper: Keeper) -> None:
        await keeper.keep("tea")
        scope = type(keeper.scope)(
            tenant_id=unique("tenant"), subject_id=keeper.scope.subject_id, agent_id=keeper.scope.agent_id
        )
        elsewhere = Keeper(agents, scope)
        await elsewhere.keep("milk")
        for each, own in ((keeper, "tea"), (elsewhere, "milk")):
            listed = await agents.memories(each.principal, reach=EVERYWHERE, source_id="", limit=9)
            assert [memory.content for memory in listed] == [own]

    async def test_another_tenants_records_cannot_be_changed(self, keeper: Keeper) -> None:
        (one,) = await keeper.keep("tea")
        episode = (await keeper.archive("tea was had")).id or 0
        other = keeper.another(tenant=unique("tenant"))
        await other.archive("one")
        await other.archive("two")
        agents = keeper.agents
        for sight in (other.scope, other.principal):
            for changed in (
                await agents.set_locked(sight, memory_id=one, locked=True, now_ms=NOW),
                await agents.delete_memory(sight, memory_id=one, now_ms=NOW),
                await agents.update(sight, memory_id=one, content="x", terms=(), read_revision=None, now_ms=NOW),
            ):
                assert not changed.done
        assert (await agents.delete_episode(other.principal, episode_id=episode, now_ms=NOW)).done
        await agents.note_recalls(other.scope, [one], now_ms=NOW)
        await agents.purge(other.scope, now_ms=NOW)
        (held,) = await keeper.memories()
        assert (held.content, held.locked, held.recalled) == ("tea", False, 0)
        assert len(await keeper.episodes()) == 1

    async def test_another_agents_records_are_not_served_or_changed_under_this_ones_name(self, keeper: Keeper) -> None:
        other = keeper.on(unique("agent"))
        (one,) = await keeper.keep("tea")
        await other.keep("milk")
        assert await other.contents() == ["milk"]
        assert await other.recall("tea") == []
        assert (await keeper.agents.candidates(other.scope, asking("tea"))).frequencies == {}
        assert not (await other.delete(one)).done
        assert not (await other.update(one, "x")).done
        assert not (await other.lock(one)).done
        assert await keeper.contents() == ["tea"]


def _text(record: object) -> str:
    return record.content if isinstance(record, Memory) else getattr(record, "summary", "")
