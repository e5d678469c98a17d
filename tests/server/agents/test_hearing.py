"""A store that tells of each write: whichever call changed an agent's memory, and none that changed nothing."""

from __future__ import annotations

import inspect

from codesynapse.backends.memory.agents import DictAgents
from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_work import ChannelMove, MergeMode, StoreCheck
from codesynapse.contracts.agents import AgentScope, Tuning
from codesynapse.contracts.suite.keepers import Keeper, episode, memory, new_keeper, records, terms_in
from codesynapse.contracts.suite.worlds import NOW
from codesynapse.server.agents.hearing import CHANGING, heard

CALLS = {name for name, each in vars(AgentMemory).items() if inspect.isfunction(each) and name[0] != "_"}
# Who may use an agent, how it recalls, what waits, what was served, and what is only looked at.
SILENT = {
    *("level", "set_level", "agents", "set_quotas", "foresee", "set_tuning", "note_recalls"),
    *("candidates", "contents", "memories", "episodes", "scan", "profile", "tuning", "tally", "export"),
    *("enqueue", "due", "discard", "failed", "alive", "queue_status", "check", "sweep", "probe"),
}


class Listener:
    """Hears of changes. said: the agents that were told of since it was last asked."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.keeper = new_keeper(heard(DictAgents(), lambda scope: self.heard.append(scope.agent_id)))
        self.agents = self.keeper.agents

    @property
    def said(self) -> list[str]:
        said, self.heard = self.heard, []
        return said


def test_each_call_of_the_port_is_told_or_changes_nothing_that_is_remembered() -> None:
    assert SILENT | CHANGING.keys() == CALLS
    assert SILENT.isdisjoint(CHANGING)


async def test_every_change_is_told_once_with_its_agent() -> None:
    here = Listener()
    keeper, scope = here.keeper, here.keeper.scope
    mine = [scope.agent_id]
    await keeper.keep("tea", "milk")
    assert here.said == mine * 2
    await keeper.archive("a talk")
    await here.agents.set_profile(scope, "Ana", now_ms=NOW)
    await keeper.update(1, "green tea")
    await keeper.lock(2)
    assert here.said == mine * 4
    await here.agents.move_channels(
        scope, [ChannelMove(memory_id=1, from_channel="", to_channel="c")], dry_run=False, now_ms=NOW
    )
    await here.agents.take_in(scope, records("juice"), dry_run=False, now_ms=NOW)
    assert here.said == mine * 2
    other = keeper.on("other")
    await here.agents.merge(scope, other.scope, mode=MergeMode.COPY, dry_run=False, now_ms=NOW)
    assert here.said == [*mine, "other"]
    await here.agents.enqueue(scope, "archive_episode", "{}", once=None, now_ms=NOW)
    assert here.said == []
    (task,) = await here.agents.due(now_ms=NOW, limit=1)
    await here.agents.claim(task, episode("another talk"), now_ms=NOW)
    await keeper.delete(1)
    await here.agents.delete_episode(scope, episode_id=3, now_ms=NOW)
    await here.agents.purge(scope, now_ms=NOW)
    assert here.said == mine * 4


async def test_a_change_by_number_alone_is_told_of_each_agent_of_the_caller() -> None:
    here = Listener()
    other = here.keeper.on("other")
    await here.keeper.keep("tea")
    await other.keep("milk")
    assert here.said == [here.keeper.scope.agent_id, "other"]
    await here.agents.delete_memory(here.keeper.principal, memory_id=1, now_ms=NOW)
    assert sorted(here.said) == sorted([here.keeper.scope.agent_id, "other"])


async def test_what_changes_nothing_is_not_told() -> None:
    here = Listener()
    keeper, scope = here.keeper, here.keeper.scope
    await keeper.keep("tea")
    here.heard.clear()
    await keeper.store("tea")
    await keeper.delete(99)
    await here.agents.take_in(scope, records("tea"), dry_run=False, now_ms=NOW)
    await here.agents.take_in(scope, records("milk"), dry_run=True, now_ms=NOW)
    await here.agents.mend(scope, StoreCheck.KEYS_EXPIRED, now_ms=NOW)
    await here.agents.set_tuning(scope, Tuning(precision="strict"), now_ms=NOW)
    await here.agents.set_level(scope.tenant_id, scope.agent_id, "bo", Level.READ, now_ms=NOW)
    await here.agents.note_recalls(scope, [1], now_ms=NOW)
    assert here.said == []
    empty = keeper.on("empty")
    await empty.keep("x")
    await empty.delete(2)
    here.heard.clear()
    await here.agents.purge(empty.scope, now_ms=NOW)
    assert here.said == []


async def test_calls_answer_as_the_store_does() -> None:
    here = Listener()
    scope: AgentScope = here.keeper.scope
    kept = await here.agents.store(scope, memory("tea"), once=None, now_ms=NOW)
    assert (kept.id, kept.created) == (1, True)
    assert await here.keeper.contents() == ["tea"]
    assert [each.terms for each in await here.keeper.memories()] == [terms_in("tea")]
    assert isinstance(here.keeper, Keeper)
