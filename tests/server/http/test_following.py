"""One response that carries a stream: its headers, its bytes, and who stops it."""

from __future__ import annotations

import asyncio
import json

import pytest

from codesynapse.contracts.identity import Execution
from codesynapse.server.http.following import Follower
from codesynapse.server.tools.registry import Tool, ToolContext
from tests.integration.harness import product
from tests.integration.tools import HANG_S, Words, asking, call, live_of, primed, register_tools, stream, until


async def test_an_event_is_its_id_and_one_line_of_data_with_lf_alone():
    async with product() as running:
        register_tools(running.services)
        transport = await running.open(await running.person(), version="2025-06-18")
        async with transport.post(call(1, "say", text="a\r\nb")) as answer:
            raw = await answer.read()
        assert b"\r" not in raw
        assert [line.partition(b":")[0] for line in raw.split(b"\n")] == [b"id", b"data", b"", b""]


async def test_a_stream_is_neither_cached_nor_changed_on_its_way():
    async with product() as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        async with transport.post(call(1, "say")) as answer:
            assert answer.content_type == "text/event-stream"
            assert answer.headers["Cache-Control"] == "no-cache, no-transform"
            assert answer.headers["X-Accel-Buffering"] == "no"
            assert "Access-Control-Allow-Origin" not in answer.headers
            await answer.read()


async def test_an_allowed_page_may_read_a_stream():
    async with product() as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        transport.extra = {"Origin": "http://localhost:1"}
        async with transport.post(call(1, "say")) as answer:
            assert answer.headers["Access-Control-Allow-Origin"] == "http://localhost:1"
            assert answer.headers["Vary"] == "Origin"
            await answer.read()


async def test_a_stream_follows_what_comes_after_it_was_opened():
    async with product() as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person(), version="2025-06-18")
        async with stream(transport, asking(1, "steps", "t", count=1)) as events:
            assert (await events.message())["method"] == "notifications/progress"
            gate.opened.set()
            assert json.loads((await events.rest())[-1][1])["id"] == 1


async def test_a_tool_that_lets_its_reader_go_at_once_leaves_it_an_id_to_come_back_with():
    async with product() as running:
        gate = register_tools(running.services)

        async def leave(_: Execution, words: Words, context: ToolContext) -> Words:
            context.close_stream()
            await gate.wait()
            return words

        running.services.toolbox.register(
            Tool(
                name="leave",
                title="Leave",
                description="For tests.",
                toolset="test",
                arguments=Words,
                answer=Words,
                handler=leave,
                read_only=True,
            )
        )
        transport = await running.open(await running.person())
        async with stream(transport, call(1, "leave", text="later")) as events:
            last = await primed(events)
            assert await events.rest() == []
        gate.opened.set()
        async with stream(transport, **{"Last-Event-ID": last}) as events:
            await primed(events)
            assert (await events.message())["result"]["structuredContent"]["text"] == "later"


async def test_a_client_that_went_away_is_no_reader_any_more():
    async with product() as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, call(1, "wait")) as events:
            await primed(events)
            live = live_of(running, transport)
            assert len(live.followers) == 1
        await until(running, lambda: not live.followers)
        assert len(live.calls) == 1
        gate.opened.set()


async def test_a_reader_that_waits_is_not_stuck():
    async with product() as running:
        transport = await running.open(await running.person())
        async with stream(transport) as events:
            await primed(events)
            (reader,) = live_of(running, transport).followers.values()
            assert isinstance(reader, Follower)
            reader.cut_if_stuck(asyncio.get_running_loop().time() + 10**6)
            assert (await transport.request("ping"))["result"] == {}
            assert list(live_of(running, transport).followers.values()) == [reader]


@pytest.mark.parametrize("version", ["2025-11-25", "2025-03-26"])
async def test_a_stopped_reader_ends_its_response_cleanly(version: str):
    async with product() as running:
        transport = await running.open(await running.person(), version=version)
        async with stream(transport) as events:
            await until(running, lambda: bool(live_of(running, transport).followers))
            (reader,) = live_of(running, transport).followers.values()
            reader.stop()
            async with asyncio.timeout(HANG_S):
                assert [data for _, data in await events.rest() if data] == []
