"""The graph tools: their grants, their defaults, and schemas that hold what they promise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.errors import CodeSynapseError, GrantInsufficient, NotConfirmed, RepositoryForbidden
from codesynapse.contracts.identity import Execution
from codesynapse.server.tools.arguments import decode_arguments
from codesynapse.server.tools.graph import GraphTools, register_graph_tools
from codesynapse.server.tools.registry import (
    SILENT,
    InputRequest,
    Toolbox,
    ToolContext,
    listed,
    no_log,
    no_progress,
)
from tests.server.world import REPO, TENANT, World, world

TRIPLE = {"subject": "Ana", "predicate": "likes", "object": "tea"}
CALLS: dict[str, dict[str, Any]] = {
    "recall_context": {"query": "tea"},
    "upsert_graph_triples": {"triples": [TRIPLE]},
    "search_graph_nodes": {"query": "ana"},
    "query_subgraph": {"nodes": ["Ana"]},
}
IDENTITY_WORDS = ("tenant", "subject_id", "session_id", "parent", "user", "actor")


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with world() as made:
        yield made


def toolbox(here: World) -> Toolbox:
    made = Toolbox()
    register_graph_tools(made, GraphTools(here.sessions, here.engine, here.repository, here.recall, here.hints))
    return made


async def call(
    here: World, execution: Execution, name: str, context: ToolContext = SILENT, **arguments: Any
) -> dict[str, Any]:
    tool = toolbox(here).tool(name)
    checked = decode_arguments(msgspec.json.encode({**CALLS[name], **arguments}), tool.arguments)
    answer = msgspec.json.decode(msgspec.json.encode(await tool.handler(execution, checked, context)))
    Draft202012Validator(listed(tool)["outputSchema"]).validate(answer)
    found: dict[str, Any] = answer
    return found


async def test_the_four_are_listed_in_their_order(here: World):
    assert [tool["name"] for tool in toolbox(here).catalog.visible(None)] == list(CALLS)


async def test_every_argument_is_described_or_plain_and_none_is_an_identity(here: World):
    for tool in toolbox(here).catalog.visible(None):
        schema = tool["inputSchema"]
        Draft202012Validator.check_schema(schema)
        Draft202012Validator.check_schema(tool["outputSchema"])
        assert schema["additionalProperties"] is False
        assert not [name for name in schema["properties"] if any(word in name for word in IDENTITY_WORDS)]


@pytest.mark.parametrize("name", CALLS)
async def test_what_a_schema_allows_is_what_is_decoded(here: World, name: str):
    tool = toolbox(here).tool(name)
    validator = Draft202012Validator(listed(tool)["inputSchema"])
    assert validator.is_valid(CALLS[name])
    for wrong in ({**CALLS[name], "session_id": "s"}, {}, {**CALLS[name], "repo": ""}):
        assert not validator.is_valid(wrong)
        with pytest.raises(CodeSynapseError):
            decode_arguments(msgspec.json.encode(wrong), tool.arguments)


async def test_memory_goes_to_the_repository_by_default_and_to_the_session_when_asked(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await call(here, execution, "upsert_graph_triples")
    assert (await here.engine.snapshot(execution, REPO)).facts == ()
    assert (await call(here, execution, "recall_context", memory_scope="repository"))["facts"][0]["object"] == "tea"
    await call(here, execution, "upsert_graph_triples", memory_scope="session")
    assert len((await here.engine.snapshot(execution, REPO)).facts) == 1
    assert (await call(here, execution, "recall_context"))["facts"][0]["object"] == "tea"


async def test_the_declared_key_changes_nothing_that_is_stored_or_found(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await call(here, execution, "upsert_graph_triples", memory_scope="session", session_key="one")
    recalled = await call(here, execution, "recall_context", session_key="two")
    assert [fact["object"] for fact in recalled["facts"]] == ["tea"]


@pytest.mark.parametrize("name", CALLS)
async def test_without_a_grant_no_tool_answers(here: World, name: str):
    execution = await here.execution(await here.user("ana", level=None), "s")
    with pytest.raises(RepositoryForbidden):
        await call(here, execution, name)
    with pytest.raises(RepositoryForbidden):
        await call(here, execution, name, repo="nothing")


async def test_a_read_grant_reads_all_and_writes_only_the_sessions_own_memory(here: World):
    execution = await here.execution(await here.user("ana", level=Level.READ), "s")
    for name in ("recall_context", "search_graph_nodes", "query_subgraph"):
        await call(here, execution, name)
    await call(here, execution, "upsert_graph_triples", memory_scope="session")
    with pytest.raises(GrantInsufficient):
        await call(here, execution, "upsert_graph_triples")


async def test_a_grant_withdrawn_between_two_calls_holds_for_the_second(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await call(here, execution, "recall_context")
    await here.ports.accounts.set_grant(TENANT, REPO, "ana", None, now_ms=here.clock())
    with pytest.raises(RepositoryForbidden):
        await call(here, execution, "recall_context")


async def test_found_nodes_and_edges_have_their_shapes(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await call(here, execution, "upsert_graph_triples")
    (node,) = (await call(here, execution, "search_graph_nodes"))["nodes"]
    assert set(node) == {"id", "name", "type", "labels", "aliases"}
    around = await call(here, execution, "query_subgraph")
    assert [set(edge) for edge in around["edges"]] == [{"id", "source", "target", "predicate"}]
    assert around["truncated"] is False


def answering(action: str, questions: list[str]) -> ToolContext:
    """A context whose user answers each question so."""

    async def ask(requests: Mapping[str, InputRequest]) -> dict[str, dict[str, Any]]:
        questions.extend(each.params["message"] for each in requests.values())
        return {key: {"action": action} for key in requests}

    declared = {"elicitation": {"form": {}}}
    return ToolContext(progress=no_progress, log=no_log, ask=ask, capabilities=declared)


@pytest.mark.parametrize("memory_scope", ["session", "repository"])
async def test_what_is_retracted_is_confirmed_first_and_the_answer_says_what_ended(here: World, memory_scope: str):
    execution = await here.execution(await here.user("ana"), "s")
    asked: list[str] = []
    arguments: dict[str, Any] = {"memory_scope": memory_scope}
    remembered = await call(here, execution, "upsert_graph_triples", answering("decline", asked), **arguments)
    assert ("ended" in remembered, asked) == (False, [])
    arguments["triples"] = [{**TRIPLE, "retract": True}, {**TRIPLE, "object": "rain"}]
    with pytest.raises(NotConfirmed):
        await call(here, execution, "upsert_graph_triples", answering("decline", asked), **arguments)
    assert (await call(here, execution, "recall_context", memory_scope=memory_scope))["revision"] == 1
    answer = await call(here, execution, "upsert_graph_triples", answering("accept", asked), **arguments)
    assert (answer["retracted"], answer["added"]) == (1, 1)
    assert [(fact["object"], fact["valid_to"] is None) for fact in answer["ended"]] == [("tea", False)]
    assert len(asked) == 2
    assert "Ana likes tea" in asked[0]
    assert "rain" not in asked[0]


async def test_a_superseded_fact_is_among_those_that_ended(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    lives = {"subject": "Ana", "predicate": "lives_in", "functional": True}
    await call(here, execution, "upsert_graph_triples", triples=[{**lives, "object": "Graz"}])
    answer = await call(here, execution, "upsert_graph_triples", triples=[{**lives, "object": "Linz"}])
    assert [fact["object"] for fact in answer["ended"]] == ["Graz"]


async def test_a_client_that_cannot_be_asked_retracts_at_once(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await call(here, execution, "upsert_graph_triples")
    answer = await call(here, execution, "upsert_graph_triples", triples=[{**TRIPLE, "retract": True}])
    assert answer["retracted"] == 1


async def test_a_question_names_the_first_statements_and_how_many_more(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    asked: list[str] = []
    triples = [{**TRIPLE, "object": f"tea {number}", "retract": True} for number in range(7)]
    await call(here, execution, "upsert_graph_triples", answering("accept", asked), triples=triples)
    assert asked[0].endswith("tea 4; and 2 more?")
    assert asked[0].startswith("Retract from the repository's shared memory: ")


def described(member: dict[str, Any]) -> bool:
    """Whether a parameter says what it means; one that may be absent says so in its type."""
    kinds = [kind for kind in member.get("anyOf", []) if kind != {"type": "null"}]
    return bool(member.get("description")) or (bool(kinds) and all(kind.get("description") for kind in kinds))


async def test_every_tool_has_a_title_annotations_and_a_description_of_itself_and_each_parameter(here: World):
    for tool in toolbox(here).catalog.visible(None):
        assert tool["title"]
        assert tool["description"]
        assert {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} <= set(tool["annotations"])
        parts = [tool["inputSchema"], *tool["inputSchema"].get("$defs", {}).values()]
        assert [part["additionalProperties"] for part in parts] == [False] * len(parts)
        members = [(name, member) for part in parts for name, member in part["properties"].items()]
        assert [name for name, member in members if not described(member)] == []


# Tool, argument, its default (None: it is required), and what it may be.
NUMBERS = [
    ("recall_context", "limit", 10, 1, 50),
    ("search_graph_nodes", "limit", 20, 1, 100),
    ("query_subgraph", "limit", 100, 1, 300),
    ("query_subgraph", "depth", 1, 1, 3),
]
LISTS = [("query_subgraph", "nodes", ["Ana"], 20), ("upsert_graph_triples", "triples", [TRIPLE], 50)]


@pytest.mark.parametrize(("name", "argument", "default", "least", "most"), NUMBERS)
async def test_a_number_has_the_promised_default_and_bounds(
    here: World, name: str, argument: str, default: int, least: int, most: int
):
    kind = toolbox(here).tool(name).arguments
    assert getattr(decode_arguments(msgspec.json.encode(CALLS[name]), kind), argument) == default
    for good in (least, most):
        decode_arguments(msgspec.json.encode({**CALLS[name], argument: good}), kind)
    for bad in (least - 1, most + 1):
        with pytest.raises(CodeSynapseError, match=f"Field: {argument}"):
            decode_arguments(msgspec.json.encode({**CALLS[name], argument: bad}), kind)


@pytest.mark.parametrize(("name", "argument", "one", "most"), LISTS)
async def test_a_list_has_at_least_one_member_and_at_most_the_promised_number(
    here: World, name: str, argument: str, one: list[Any], most: int
):
    kind = toolbox(here).tool(name).arguments
    for good in (one, one * most):
        decode_arguments(msgspec.json.encode({**CALLS[name], argument: good}), kind)
    for bad in ([], one * (most + 1)):
        with pytest.raises(CodeSynapseError, match=f"Field: {argument}"):
            decode_arguments(msgspec.json.encode({**CALLS[name], argument: bad}), kind)


async def test_without_a_limit_ten_facts_are_recalled(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    triples = [{**TRIPLE, "object": f"tea {number}"} for number in range(12)]
    await call(here, execution, "upsert_graph_triples", memory_scope="session", triples=triples)
    recalled = await call(here, execution, "recall_context")
    assert (len(recalled["facts"]), recalled["revision"]) == (10, 1)


async def test_search_and_subgraph_read_the_repository_and_nothing_of_a_session(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await call(here, execution, "upsert_graph_triples", memory_scope="session")
    assert (await call(here, execution, "search_graph_nodes"))["nodes"] == []
    assert (await call(here, execution, "query_subgraph"))["edges"] == []
    await call(here, execution, "upsert_graph_triples")
    assert [node["name"] for node in (await call(here, execution, "search_graph_nodes"))["nodes"]] == ["Ana"]
    assert len((await call(here, execution, "query_subgraph"))["edges"]) == 1
