"""The one place in which the tools of agent memory are registered."""

from __future__ import annotations

from tests.documents import listed_tools


async def test_a_server_lists_all_tools_of_agent_memory_behind_those_of_the_graph():
    names = [tool["name"] for tool in await listed_tools()]
    assert names.index("query_subgraph") < names.index("store") < names.index("update_profile")
    assert names.index("update_profile") < names.index("pause_persistence")
