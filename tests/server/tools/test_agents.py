"""The one place in which the tools of agent memory are registered."""

from __future__ import annotations

from codesynapse.server.hints.gated import FINDINGS_TOOL, PAUSE_TOOLS, RECALL_TOOLS, SEED_KEYED, SEED_WRITERS
from codesynapse.server.hints.texts import CLAUSE, FULL, SHORT
from codesynapse.server.tools.cost import cost_of
from tests.documents import listed_tools, listed_toolsets

GRAPH_AND_SESSION = PAUSE_TOOLS | {
    *("recall_context", "upsert_graph_triples", "search_graph_nodes", "query_subgraph"),
    *("get_session_findings", "get_queue_status", "get_operating_context"),
}

WRITERS = {
    *("store", "archive_episode", "update_memory", "lock_memory", "unlock_memory", "delete_memory", "delete_episode"),
    *("delete_agent_data", "update_profile", "calibrate_threshold", "set_recall_precision", "migrate_channel_axis"),
    *("import_memories", "merge_memories", "check_health", "deep_check"),
}
"""The sixteen as seed 1 §5 writes them out."""
FIRST_STAGE = {"recall", "recall_with_context", "pause_persistence", "resume_persistence", "persistence_status"}
OURS = {"recall_context", "upsert_graph_triples"}
"""Decision 6; `offload_turns` and `promote_facts` join with their issue."""


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


async def test_the_three_toolsets_of_seed_1_offer_twelve_six_and_twelve():
    sets = await listed_toolsets()
    assert {name: len(tools) for name, tools in sets.items()} == {
        "graph": 4,
        "memory": 12,
        "session": 6,
        "maintenance": 12,
    }


async def test_the_sixteen_that_a_pause_stops_take_a_key_and_the_export_takes_none():
    keyed = {tool["name"] for tool in await listed_tools() if "session_key" in tool["inputSchema"]["properties"]}
    assert keyed >= SEED_WRITERS.keys()
    assert "export_memories" in {tool["name"] for tool in await listed_tools()} - keyed


async def test_of_the_seeds_thirty_exactly_22_carry_the_key_and_of_ours_those_of_decision_6():
    sets = await listed_toolsets()
    seeds = [tool for name in ("memory", "session", "maintenance") for tool in sets[name]]
    keyed = {tool["name"] for tool in seeds if "session_key" in tool["inputSchema"]["properties"]}
    assert (len(seeds), len(keyed), keyed) == (30, 22, SEED_KEYED)
    graph = {tool["name"] for tool in sets["graph"] if "session_key" in tool["inputSchema"]["properties"]}
    assert graph == {"recall_context", "upsert_graph_triples"}


async def test_the_tools_with_a_key_are_exactly_those_22_of_the_seed_and_two_of_ours():
    keyed = [tool["name"] for tool in await listed_tools() if "session_key" in tool["inputSchema"]["properties"]]
    seeds = WRITERS | FIRST_STAGE | {"get_session_findings"}
    assert (len(seeds), len(keyed)) == (22, 24)
    assert set(keyed) == seeds | OURS
    assert (SEED_WRITERS.keys(), RECALL_TOOLS | PAUSE_TOOLS) == (WRITERS, FIRST_STAGE)


async def test_one_full_text_is_on_the_two_recall_tools_and_one_short_text_elsewhere():
    for tool in await listed_tools():
        key = tool["inputSchema"]["properties"].get("session_key")
        if key is None:
            continue
        full, short = FULL in str(key), SHORT in str(key)
        assert full is (tool["name"] in RECALL_TOOLS)
        assert short is (tool["name"] not in RECALL_TOOLS | {FINDINGS_TOOL})
        assert (CLAUSE in str(key)) is (tool["name"] != FINDINGS_TOOL)
