"""The queue in a dict."""

from codesynapse.backends.memory.agent_queue import Queue
from codesynapse.contracts.agents import AgentScope
from codesynapse.contracts.identity import Millis

SCOPE = AgentScope(tenant_id="t", subject_id="u", agent_id="a")


def test_a_number_is_given_once_in_its_tenant() -> None:
    queue = Queue()
    first = queue.add(SCOPE, "k", "", Millis(1))
    queue.remove(queue.due(Millis(1), 1)[0])
    assert queue.add(SCOPE, "k", "", Millis(1)) > first
    other = AgentScope(tenant_id="x", subject_id="u", agent_id="a")
    assert queue.add(other, "k", "", Millis(1)) == first


def test_a_purge_takes_the_tasks_of_one_agent_alone() -> None:
    queue = Queue()
    for agent_id in ("a", "b"):
        queue.add(AgentScope(tenant_id="t", subject_id="u", agent_id=agent_id), "k", "", Millis(1))
    queue.purge("t", "a")
    assert [task.scope.agent_id for task in queue.due(Millis(1), 9)] == ["b"]
    assert queue.held("t") == 1
