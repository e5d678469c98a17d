"""The official client, by every way: it registers, remembers twelve facts of a text, and finds three by a question."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from codesynapse.contracts.requirements import requirement
from tests.integration.cutting import cutting_proxy
from tests.integration.harness import Process, environment, fresh, process, start
from tests.integration.load import move_out
from tests.integration.stdio_peer import stdio_environment
from tests.integration.test_kill import register

# Ada Lovelace was born in London in 1815, the daughter of the poet Lord Byron, and was raised by her mother, Annabella
# Milbanke. Mary Somerville taught her mathematics and in 1833 introduced her to Charles Babbage, who was planning the
# Analytical Engine. In 1835 she married William King, with whom she had three children. She translated an article by
# Luigi Menabrea on the Engine, and her notes to it, printed in 1843, hold a method to compute the Bernoulli numbers.
# She died of cancer in Marylebone in 1852 and lies in Hucknall, beside her father.
FACTS = [
    ("Ada Lovelace", "born_in", "London"),
    ("Ada Lovelace", "born_in_year", "1815"),
    ("Ada Lovelace", "daughter_of", "Lord Byron"),
    ("Ada Lovelace", "raised_by", "Annabella Milbanke"),
    ("Mary Somerville", "taught_mathematics_to", "Ada Lovelace"),
    ("Charles Babbage", "planned", "Analytical Engine"),
    ("Ada Lovelace", "married", "William King"),
    ("Ada Lovelace", "translated_article_by", "Luigi Menabrea"),
    ("notes of Ada Lovelace", "printed_in_year", "1843"),
    ("notes of Ada Lovelace", "hold_method_to_compute", "Bernoulli numbers"),
    ("Ada Lovelace", "died_in", "Marylebone"),
    ("Ada Lovelace", "buried_in", "Hucknall"),
]
QUESTIONS = [
    ("Who taught mathematics to Ada?", FACTS[4]),
    ("Whom had Ada Lovelace married?", FACTS[6]),
    ("Where is Ada Lovelace buried?", FACTS[11]),
]
Client = Callable[[Process, str], AbstractAsyncContextManager[ClientSession]]


@asynccontextmanager
async def over_http(server: Process, session_id: str) -> AsyncIterator[ClientSession]:
    async with (
        httpx2.AsyncClient(headers=server.owner.bound(session_id)) as http,
        streamable_http_client(server.url, http_client=http) as (reading, writing, *_),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()
        yield session


@asynccontextmanager
async def over_pipes(env: dict[str, str], *arguments: str) -> AsyncIterator[ClientSession]:
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "codesynapse.server", *arguments], env=env)
    async with stdio_client(parameters) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        yield session


def over_stdio(server: Process, session_id: str) -> AbstractAsyncContextManager[ClientSession]:
    env = {**stdio_environment(server.home, server.owner, session_id), "CODESYNAPSE_GRAPH": server.graph}
    return over_pipes(env, "stdio")


def through_bridge(server: Process, session_id: str) -> AbstractAsyncContextManager[ClientSession]:
    env = environment(server.home, CODESYNAPSE_API_KEY=server.key, CODESYNAPSE_SESSION_ID=session_id)
    return over_pipes(env, "bridge", "--url", server.url)


async def remember(client: ClientSession) -> dict[str, Any]:
    """Remember all facts; the answer."""
    triples = [{"subject": s, "predicate": p, "object": o, "source": "a life of Ada"} for s, p, o in FACTS]
    called = await client.call_tool("upsert_graph_triples", {"triples": triples, "memory_scope": "session"})
    assert not called.is_error, called
    return dict(called.structured_content or {})


async def assert_recalled(client: ClientSession) -> None:
    """Each question finds its fact first."""
    for question, expected in QUESTIONS:
        called = await client.call_tool("recall_context", {"query": question})
        assert not called.is_error, called
        best = (called.structured_content or {})["facts"][0]
        assert (best["subject"], best["predicate"], best["object"]) == expected
        assert best["source"] == "a life of Ada"


async def registered(server: Process) -> str:
    """A session; by hand, though a bridge would do it by itself."""
    async with aiohttp.ClientSession() as http:
        return await register(server, http, fresh())


async def remembered_by(client: ClientSession) -> None:
    """The first call of a client: the tools are there, all facts are new, and the questions find theirs."""
    tools = [tool.name for tool in (await client.list_tools()).tools]
    assert {"upsert_graph_triples", "recall_context"} <= set(tools)
    remembered = await remember(client)
    assert (remembered["added"], remembered["revision"]) == (12, 1)
    await assert_recalled(client)


@requirement("reach:transports", "survive:restart")
@pytest.mark.parametrize("client", [over_http, over_stdio, through_bridge], ids=lambda client: client.__name__)
async def test_twelve_facts_of_a_text_are_remembered_recalled_and_found_again_after_kill_9(
    client: Client, graph: str, tmp_path: Path
) -> None:
    server = await start(tmp_path, CODESYNAPSE_GRAPH=graph)
    try:
        await move_out(server)
        session_id = await registered(server)
        async with client(server, session_id) as first:
            await remembered_by(first)
        # Cut, and come back: the same session on a fresh connection.
        async with client(server, session_id) as second:
            await assert_recalled(second)
        await server.kill()
        server = await start(tmp_path, key=server.key, tenant=server.tenant, CODESYNAPSE_GRAPH=graph)
        async with client(server, session_id) as third:
            await assert_recalled(third)
            repeated = await remember(third)
            assert (repeated["unchanged"], repeated["revision"]) == (12, 1)
    finally:
        await server.kill()


@pytest.mark.parametrize("client", [over_http, through_bridge], ids=lambda client: client.__name__)
async def test_twelve_facts_in_memory_alone_are_remembered_and_recalled_while_the_server_lives(
    client: Client, tmp_path: Path
) -> None:
    async with process(tmp_path, CODESYNAPSE_GRAPH="memory") as server:
        session_id = await registered(server)
        async with client(server, session_id) as first:
            await remembered_by(first)
        async with client(server, session_id) as second:
            await assert_recalled(second)


async def test_every_way_finds_what_another_has_remembered(tmp_path: Path) -> None:
    async with process(tmp_path) as server:
        session_id = await registered(server)
        async with through_bridge(server, session_id) as client:
            await remember(client)
        for way in (over_http, over_stdio):
            async with way(server, session_id) as client:
                await assert_recalled(client)


@requirement("survive:disconnect")
async def test_the_official_client_gets_its_answer_through_a_line_that_is_cut(tmp_path: Path) -> None:
    async with process(tmp_path, CODESYNAPSE_SSE_RETRY_MS="50") as server, cutting_proxy(server.url) as proxy:
        session_id = await registered(server)
        behind = replace(server, url=f"http://127.0.0.1:{proxy.port}/mcp")
        async with over_http(behind, session_id) as client:
            proxy.marker = b'"added":'  # In the middle of an upsert's answer.
            remembered = await remember(client)
            assert (remembered["added"], remembered["revision"]) == (12, 1)
            await assert_recalled(client)
        assert proxy.cuts == 1
