"""What one agent has, in dicts."""

from codesynapse.backends.memory.agent_state import Agent, asked_for, newest
from codesynapse.contracts.agent_recall import Question
from codesynapse.contracts.agents import Bucket, NewMemory, Reach, memory_of
from codesynapse.contracts.identity import Millis


def test_a_snapshot_is_not_reached_by_later_changes() -> None:
    agent = Agent("a")
    agent.add(memory_of(NewMemory(content="tea", terms=("tea",)), id=1, agent_id="a", now_ms=Millis(1)))
    before = agent.snapshot()
    agent.add(memory_of(NewMemory(content="milk", terms=("tea",)), id=2, agent_id="a", now_ms=Millis(1)))
    agent.drop(1)
    assert (list(before.memories), before.index, len(before.by_content)) == ([1], {"tea": {1}}, 1)
    assert (list(agent.memories), agent.index) == ([2], {"tea": {2}})


def test_a_record_under_an_id_that_is_there_replaces_it() -> None:
    agent = Agent("a")
    for content in ("tea", "milk"):
        agent.add(memory_of(NewMemory(content=content, terms=(content,)), id=1, agent_id="a", now_ms=Millis(1)))
    assert (agent.index, agent.total_terms) == ({"milk": {1}}, 1)
    assert agent.drop(2) is None


def test_the_own_bucket_is_looked_at_before_the_shared_pool() -> None:
    agent = Agent("a")
    for number, bucket in enumerate((Bucket(), Bucket(project_id="p", channel="c")), start=1):
        agent.add(memory_of(NewMemory(content="tea", bucket=bucket), id=number, agent_id="a", now_ms=Millis(1)))
    held = agent.of_content(Bucket(project_id="p", channel="c"), "tea")
    assert held is not None
    assert held.id == 2


def test_lists_are_newest_first_and_a_question_has_bounds() -> None:
    memories = [
        memory_of(NewMemory(content=f"{number}"), id=number, agent_id="a", now_ms=Millis(moment))
        for number, moment in ((1, 5), (2, 9), (3, 5))
    ]
    assert [each.id for each in newest(memories)] == [2, 3, 1]
    assert asked_for(memories[0], Question(terms=()))
    assert not asked_for(memories[0], Question(terms=(), source_id="ana"))
    assert asked_for(memories[0], Question(terms=(), reach=Reach(project_id="p")))
