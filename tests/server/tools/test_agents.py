"""The one place in which the tools of agent memory are registered."""

from __future__ import annotations

from codesynapse.server.hints.gated import PAUSE_TOOLS, RECALL_TOOLS
from codesynapse.server.tools.cost import cost_of
from tests.documents import listed_tools

GRAPH_AND_SESSION = PAUSE_TOOLS | {
    *("recall_context", "upsert_graph_triples", "search_graph_nodes", "query_subgraph"),
    *("get_session_findings", "get_queue_status", "get_operating_context"),
}


async def test_a_server_lists_all_tools_of_agent_memory_behind_those_of_the_graph():
    names = [tool["name"] for tool in await listed_tools()]
    assert names.index("query_subgraph") < names.index("store") < names.index("update_profile")
    assert names.index("update_profile") < names.index("pause_persistence")


async def test_the_two_recall_tools_and_the_three_pause_tools_accept_a_key():
    keyed = {tool["name"] for tool in await listed_tools() if "session_key" in tool["inputSchema"]["properties"]}
    assert keyed >= RECALL_TOOLS | PAUSE_TOOLS


async def test_the_list_stays_within_what_a_model_shall_read():
    cost = cost_of(await listed_tools())
    assert cost.characters < 36_000
    graph = [tool for tool in await listed_tools() if tool["name"] in GRAPH_AND_SESSION]
    assert cost_of(graph).characters < 9_000
