"""Agent memory in dicts; what every store must do is tested by the contract suite."""

from codesynapse.backends.memory.agents import DictAgents
from codesynapse.contracts.suite.keepers import new_keeper
from codesynapse.contracts.suite.worlds import unique


async def test_tenants_of_one_store_are_apart() -> None:
    agents = DictAgents()
    keeper = new_keeper(agents)
    await keeper.keep("tea")
    await keeper.another(tenant=unique("tenant")).keep("milk")
    assert len(agents.tenants) == 2
    assert [len(tenant.agents) for tenant in agents.tenants.values()] == [1, 1]


async def test_a_record_that_goes_leaves_nothing_behind() -> None:
    agents = DictAgents()
    keeper = new_keeper(agents)
    (one,) = await keeper.keep("green tea")
    await keeper.delete(one)
    agent = agents.tenants[keeper.scope.tenant_id].agents[keeper.scope.agent_id]
    assert (agent.index, agent.by_content, agent.by_message, agent.total_terms) == ({}, {}, {}, 0)
