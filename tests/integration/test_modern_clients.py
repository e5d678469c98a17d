"""The official client at 2026-07-28: it discovers, remembers, is asked, listens and cancels, by both ways."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import mcp_types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from codesynapse.contracts.requirements import requirement
from tests.integration.harness import Process, environment, process, product, start
from tests.integration.load import move_out
from tests.integration.stateless import LATEST
from tests.integration.stdio_peer import stdio_environment
from tests.integration.test_clients import assert_recalled, registered, remembered_by
from tests.integration.tools import until
from tests.server.http.test_modern import register_held
from tests.server.modern.asking import register

Way = Callable[[Process, str, str], AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def over_http(server: Process, session_id: str, mode: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=server.owner.bound(session_id)) as http,
        Client(streamable_http_client(server.url, http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(server: Process, session_id: str, mode: str) -> AsyncIterator[Client]:
    env = {**stdio_environment(server.home, server.owner, session_id), "CODESYNAPSE_GRAPH": server.graph}
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "codesynapse.server", "stdio"], env=env)
    async with Client(stdio_client(parameters), mode=mode) as client:
        yield client


@asynccontextmanager
async def through_bridge(server: Process, session_id: str, mode: str) -> AsyncIterator[Client]:
    env = environment(server.home, CODESYNAPSE_API_KEY=server.key, CODESYNAPSE_SESSION_ID=session_id)
    arguments = ["-m", "codesynapse.server", "bridge", "--url", server.url]
    async with Client(
        stdio_client(StdioServerParameters(command=sys.executable, args=arguments, env=env)), mode=mode
    ) as client:
        yield client


WAYS = [over_http, over_stdio, through_bridge]


@requirement("survive:restart")
@pytest.mark.parametrize("mode", ["auto", LATEST])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_a_client_without_a_session_remembers_and_recalls_and_finds_it_again_after_kill_9(
    way: Way, mode: str, tmp_path: Path
) -> None:
    server = await start(tmp_path)
    try:
        await move_out(server)
        session_id = await registered(server)
        async with way(server, session_id, mode) as first:
            assert first.protocol_version == LATEST
            await remembered_by(first)
        await server.kill()
        server = await start(tmp_path, key=server.key, tenant=server.tenant)
        async with way(server, session_id, mode) as again:
            await assert_recalled(again)
    finally:
        await server.kill()


async def test_a_client_goes_on_through_a_restart_in_the_midst_of_its_calls(tmp_path: Path) -> None:
    server = await start(tmp_path)
    session_id = await registered(server)
    port = int(server.base.rpartition(":")[2])
    async with over_http(server, session_id, "auto") as client:
        await remembered_by(client)
        await server.kill()
        server = await start(tmp_path, port=port, key=server.key, tenant=server.tenant)
        try:
            # Nothing was agreed on that the restart could have lost.
            await assert_recalled(client)
        finally:
            await server.kill()


async def test_every_way_and_era_finds_what_another_has_remembered(tmp_path: Path) -> None:
    async with process(tmp_path) as server:
        session_id = await registered(server)
        async with over_http(server, session_id, "auto") as client:
            await remembered_by(client)
        for way in WAYS:
            for mode in ("legacy", LATEST):
                async with way(server, session_id, mode) as client:
                    await assert_recalled(client)


async def asked_by(context: object, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
    """A user who answers every question with it."""
    return mcp_types.ElicitResult(action="accept", content={"name": params.message})


async def test_the_client_answers_what_a_tool_asks_and_hears_its_progress() -> None:
    async with product() as running:
        gate = register(running)
        person = await running.person()
        session_id = await running.register(person)
        heard: list[float] = []

        async def progress(value: float, _: float | None, __: str | None) -> None:
            heard.append(value)

        async with (
            httpx2.AsyncClient(headers=person.bound(session_id)) as http,
            Client(
                streamable_http_client(running.url, http_client=http), mode="auto", elicitation_callback=asked_by
            ) as client,
        ):
            result = await client.call_tool("greet", {"text": "!"})
            assert (result.structured_content or {})["text"] == "Who? Colour? !"
            gate.opened.set()
            await client.call_tool("steps", {"count": 3}, progress_callback=progress)
            assert heard == [1, 2, 3]


async def test_the_client_cancels_by_going_away() -> None:
    async with product() as running:
        gate = register(running)
        cancelled = register_held(running, gate)
        person = await running.person()
        session_id = await running.register(person)
        async with (
            httpx2.AsyncClient(headers=person.bound(session_id)) as http,
            Client(streamable_http_client(running.url, http_client=http), mode="auto") as client,
        ):
            async with anyio.create_task_group() as group:

                async def call() -> None:
                    await client.call_tool("held", {})

                group.start_soon(call)
                await gate.entries(1)
                group.cancel_scope.cancel()
            await until(running, lambda: len(cancelled) == 1)
            assert len(running.server.exchanges) == 0


async def test_the_client_listens_and_hears_that_the_tools_changed() -> None:
    async with product() as running:
        running.services.toolbox.catalog.changing.add("tools")
        person = await running.person()
        session_id = await running.register(person)
        async with (
            httpx2.AsyncClient(headers=person.bound(session_id)) as http,
            Client(streamable_http_client(running.url, http_client=http), mode="auto") as client,
            client.listen(tools_list_changed=True) as subscription,
        ):
            running.services.toolbox.changed()
            async for event in subscription:
                assert type(event).__name__ == "ToolsListChanged"
                break
