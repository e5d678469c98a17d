"""Many records at once, in dicts."""

from itertools import count

from codesynapse.backends.memory import agent_moving
from codesynapse.backends.memory.agent_state import Agent
from codesynapse.contracts.agent_work import Tally
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.keepers import records


def test_a_move_takes_what_it_copied_away() -> None:
    ids = count(1).__next__
    source, target = Agent("a"), Agent("b")
    agent_moving.take_in(source, records("tea", "milk"), ids, Quotas(), Millis(1))
    agent_moving.take_in(target, records("milk"), ids, Quotas(), Millis(1))
    taken = agent_moving.merge(source, target, ids, Quotas(), Millis(1), move=True)
    assert (taken.added, taken.skipped, taken.removed) == (Tally(memories=1), Tally(memories=1), Tally(memories=1))
    assert [each.content for each in source.memories.values()] == ["milk"]
