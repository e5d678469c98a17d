"""Results of writes read back by their call's seed, from the memory that the call wrote to."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import msgspec
import pytest
from msgspec import Raw, structs

from codesynapse.contracts.identity import CommitIds, Execution
from codesynapse.server.features.reading_back import ReadBack
from codesynapse.server.mcp.connection import Run
from codesynapse.server.mcp.messages import OFF_LOOP_BYTES, RequestId
from codesynapse.server.mcp.naming import NOWHERE, REPOSITORY, SESSION, UNKNOWN, Place, place
from codesynapse.server.tools.graph import GraphTools, register_graph_tools
from codesynapse.server.tools.registry import Toolbox
from tests.server.world import REPO, World, triple, world

SEED, ID = b"s" * 16, RequestId(b'"seven"')
TEA = triple("Ana", "likes", "tea")


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with world() as made:
        yield made


def read_back(here: World) -> ReadBack:
    toolbox = Toolbox()
    register_graph_tools(toolbox, GraphTools(here.sessions, here.engine, here.repository, here.recall, here.hints))
    return ReadBack(toolbox, here.ports.accounts, here.engine, here.repository, here.clock)


def run_of(name: str, **arguments: object) -> Run:
    params = Raw(msgspec.json.encode({"name": name, "arguments": arguments}))
    return Run(ID, "tools/call", params, name, None)


async def written(here: World, kind: int) -> Execution:
    """A call that has committed."""
    execution = structs.replace(await here.execution(await here.user("ana"), "s"), commits=CommitIds(SEED))
    engine = here.engine if kind == SESSION else here.repository
    await engine.upsert(execution, REPO, (TEA,), source=None, expected_revision=None)
    return execution


def test_a_request_writes_where_its_tool_says(here: World) -> None:
    back = read_back(here)
    assert back.place(run_of("upsert_graph_triples", triples=[])) == place(REPOSITORY, "default")
    assert back.place(run_of("upsert_graph_triples", memory_scope="session", repo="r")) == place(SESSION, "r")
    assert back.place(run_of("recall_context", query="x")) == NOWHERE
    assert back.place(structs.replace(run_of("upsert_graph_triples"), method="prompts/get")) == NOWHERE


@pytest.mark.parametrize("arguments", [{"repo": 5}, {"repo": "r", "pad": "x" * OFF_LOOP_BYTES}])
def test_what_will_be_refused_or_is_too_large_is_looked_for_nowhere(here: World, arguments: dict[str, object]) -> None:
    assert read_back(here).place(run_of("upsert_graph_triples", **arguments)) == UNKNOWN


@pytest.mark.parametrize("kind", [SESSION, REPOSITORY])
async def test_a_committed_write_is_told_as_it_was_recorded(here: World, kind: int) -> None:
    execution = await written(here, kind)
    payload = await read_back(here).response(execution, place(kind, REPO), SEED, ID, "2025-11-25")
    assert payload is not None
    told = json.loads(payload)
    result = told["result"]
    assert (told["id"], result["isError"]) == ("seven", False)
    assert (result["structuredContent"]["added"], result["structuredContent"]["revision"]) == (1, 1)
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert result["_meta"]["codesynapse/read_back"] is True
    assert len(result["structuredContent"]["facts"]) == (1 if kind == SESSION else 0)
    assert len(result["_meta"].get("codesynapse/fact_ids", [])) == (0 if kind == SESSION else 1)


@pytest.mark.parametrize(
    ("where", "seed"),
    [
        (NOWHERE, SEED),
        (UNKNOWN, SEED),
        (place(REPOSITORY, REPO), SEED),
        (place(SESSION, "other"), SEED),
        (place(SESSION, REPO), b"t" * 16),
    ],
)
async def test_nothing_else_is_told_as_done(here: World, where: Place, seed: bytes) -> None:
    execution = await written(here, SESSION)
    assert await read_back(here).response(execution, where, seed, ID, "2025-11-25") is None


async def test_another_session_reads_nothing_back(here: World) -> None:
    await written(here, SESSION)
    other = await here.execution(await here.user("bob"), "t")
    assert await read_back(here).response(other, place(SESSION, REPO), SEED, ID, "2025-11-25") is None


async def test_a_session_whose_memory_has_ended_reads_nothing_back(here: World) -> None:
    execution = await written(here, SESSION)
    await here.ports.session_memory.revoke("acme", "s", now_ms=here.clock())
    assert await read_back(here).response(execution, place(SESSION, REPO), SEED, ID, "2025-11-25") is None


async def test_a_revision_without_structured_content_gets_the_text_alone(here: World) -> None:
    execution = await written(here, SESSION)
    payload = await read_back(here).response(execution, place(SESSION, REPO), SEED, ID, "2025-03-26")
    assert payload is not None
    assert "structuredContent" not in json.loads(payload)["result"]
