"""Official clients side by side on one HTTP server: whose writes a pause keeps back, and whose it must not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.integration.harness import Person, Product, product

AGENT = "bob"
TRIPLE = {"subject": "Ana", "predicate": "likes", "object": "tea"}
TWO_SUBJECTS = "two users of one organisation"
TWO_TENANTS = "two organisations"


@asynccontextmanager
async def official(running: Product, person: Person) -> AsyncIterator[ClientSession]:
    """The official client, in a chat session of its own."""
    session_id = await running.register(person)
    async with (
        httpx2.AsyncClient(headers=person.bound(session_id)) as http,
        streamable_http_client(running.url, http_client=http) as (reading, writing, *_),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()
        yield session


async def said(client: ClientSession, tool: str, **arguments: Any) -> dict[str, Any]:
    called = await client.call_tool(tool, arguments)
    assert not called.is_error, called
    return dict(called.structured_content or {})


class Writer:
    """A client that writes to an agent of its own and to the graph, under a key or none."""

    def __init__(self, client: ClientSession, name: str) -> None:
        self.client = client
        self.agent = f"{AGENT}-{name}"
        self.written = 0

    async def writes(self, key: str | None = None) -> bool:
        """Whether both writes went on."""
        self.written += 1
        declared = {} if key is None else {"session_key": key}
        text = f"{self.agent} {self.written}"
        stored = await said(self.client, "store", agent_id=self.agent, content=text, **declared)
        triple = {**TRIPLE, "object": text}
        upserted = await said(self.client, "upsert_graph_triples", triples=[triple], **declared)
        assert (stored["result"] == "stored") is (upserted["added"] == 1) is ("persisted" not in stored)
        return bool(stored["result"] == "stored")

    async def pauses(self, key: str | None = None) -> str:
        """Pause; the scope that the answer names."""
        declared = {} if key is None else {"session_key": key}
        return str((await said(self.client, "pause_persistence", **declared))["scope"])

    async def kept(self) -> int:
        """How many memories the agent has."""
        return int((await said(self.client, "list_memories", agent_id=self.agent))["count"])


@asynccontextmanager
async def writers(*names: str, who: str = "one user") -> AsyncIterator[list[Writer]]:
    """Clients of one server. who: what tells their principals apart."""
    async with product() as running, AsyncExitStack() as stack:
        first = await running.person()
        found = []
        for number, name in enumerate(names):
            person = first
            if number and who != "one user":
                person = await running.person(first.tenant if who == TWO_SUBJECTS else None)
            found.append(Writer(await stack.enter_async_context(official(running, person)), name))
        yield found


async def test_one_client_pauses_its_key_and_the_others_writes_go_on():
    async with writers("one", "two") as (one, two):
        assert await one.writes("one")
        assert await one.pauses("one") == "session"
        assert [await one.writes("one"), await two.writes("two"), await two.writes()] == [False, True, True]
        assert (await one.kept(), await two.kept()) == (1, 2)
        assert (await said(two.client, "resume_persistence", session_key="two"))["was_active"] is False
        assert not await one.writes("one")
        assert (await said(one.client, "resume_persistence", session_key="one"))["was_active"] is True
        assert await one.writes("one")


@pytest.mark.parametrize("who", [TWO_TENANTS, TWO_SUBJECTS])
async def test_the_same_key_of_another_principal_is_another_pause(who: str):
    async with writers("one", "two", who=who) as (one, two):
        await one.pauses("main")
        assert [await one.writes("main"), await two.writes("main")] == [False, True]
        assert (await said(two.client, "persistence_status", session_key="main"))["paused"] is False
        assert (await said(two.client, "resume_persistence", session_key="main"))["was_active"] is False
        assert not await one.writes("main")
        await two.pauses("main")
        assert (await said(one.client, "resume_persistence", session_key="main"))["was_active"] is True
        assert [await one.writes("main"), await two.writes("main")] == [True, False]


@pytest.mark.parametrize("who", [TWO_TENANTS, TWO_SUBJECTS])
async def test_a_keyless_pause_reaches_no_keyless_caller_of_another_principal(who: str):
    async with writers("one", "two", who=who) as (one, two):
        assert await one.pauses() == "process"
        assert [await one.writes(), await one.writes("declared"), await two.writes()] == [False, True, True]
        assert (await said(two.client, "persistence_status"))["paused"] is False


async def test_a_keyless_pause_reaches_every_keyless_client_of_its_principal():
    async with writers("one", "two") as (one, two):
        await one.pauses()
        assert [await one.writes(), await two.writes(), await two.writes("declared")] == [False, False, True]
        assert (await said(two.client, "resume_persistence"))["was_active"] is True
        assert [await one.writes(), await two.writes()] == [True, True]
