"""JSON or a stream: what decides, and what either looks like on the wire (mcp.md, §4.3.18 and 19)."""

from __future__ import annotations

import asyncio
import json

import pytest
from msgspec.structs import replace

from codesynapse.contracts.identity import Execution
from codesynapse.server.http.answering import event
from codesynapse.server.tools.registry import ToolContext
from tests.integration.harness import product
from tests.integration.stateless import KEY, stateless
from tests.integration.tools import Words, register_tools, until
from tests.server.modern.asking import register

TOLD = {"progressToken": "t", KEY + "logLevel": "warning"}


async def test_a_quick_call_is_plain_json_even_where_a_stream_would_be_taken():
    async with product() as running:
        register_tools(running.services)
        peer = await stateless(running)
        async with peer.post(peer.message("tools/call", {"name": "say", "arguments": {}})) as answer:
            assert (answer.status, answer.content_type) == (200, "application/json")


async def test_what_comes_before_the_answer_makes_it_a_stream_whose_last_event_is_the_answer():
    async with product() as running:
        gate = register_tools(running.services)
        peer = await stateless(running)
        peer.meta = TOLD
        async with peer.stream("tools/call", {"name": "steps", "arguments": {"count": 2}}) as events:
            await gate.entries(1)
            told = [await events.message() for _ in range(7)]
            gate.opened.set()
            (last,) = await events.rest()
        progress = [each["params"] for each in told[:2]]
        assert [each["progress"] for each in progress] == [1, 2]
        assert {each["progressToken"] for each in progress} == {"t"}
        # Warning and all above it; a level below, or no level at all, is not told.
        assert [each["params"]["level"] for each in told[2:]] == ["warning", "error", "critical", "alert", "emergency"]
        assert last[0] is None
        answer = json.loads(last[1])
        assert (answer["id"], answer["result"]["resultType"]) == (peer.requests, "complete")


async def test_without_a_level_and_a_token_a_talkative_tool_is_answered_in_json():
    async with product() as running:
        gate = register_tools(running.services)
        gate.opened.set()
        peer = await stateless(running)
        async with peer.post(peer.message("tools/call", {"name": "steps", "arguments": {"count": 2}})) as answer:
            assert answer.content_type == "application/json"


@pytest.mark.parametrize("accept", ["application/json", "*/*", "application/json, text/event-stream;q=0"])
async def test_a_client_that_did_not_name_streams_gets_the_answer_alone(accept: str):
    async with product(stream_after_ms=1) as running:
        gate = register_tools(running.services)
        peer = await stateless(running)
        peer.accept, peer.meta = accept, TOLD
        calling = asyncio.ensure_future(peer.answer(peer.message("tools/call", {"name": "steps"})))
        await gate.entries(1)
        gate.opened.set()
        status, answer = await calling
        assert (status, answer["result"]["isError"]) == (200, False)


async def test_a_silent_call_becomes_a_stream_with_comments_after_a_while():
    async with product(stream_after_ms=1, heartbeat_ms=1) as running:
        gate = register_tools(running.services)
        peer = await stateless(running)
        async with peer.stream("tools/call", {"name": "wait"}) as events:
            assert await events.answer.content.readline() == b": \n"
            assert await events.answer.content.readline() == b"\n"
            gate.opened.set()
            (last,) = await events.rest()
            assert "result" in json.loads(last[1])


async def test_an_error_behind_the_head_of_a_stream_is_its_last_event():
    async with product(stream_after_ms=1) as running:
        gate = register(running)
        peer = await stateless(running)
        async with peer.stream("tools/call", {"name": "broken"}) as events:
            gate.opened.set()
            (last,) = await events.rest()
            message = json.loads(last[1])
            assert (message["id"], message["error"]["code"]) == (peer.requests, -32603)


async def test_an_answer_is_ascii_on_one_line_whatever_it_holds():
    async with product() as running:
        register_tools(running.services)
        peer = await stateless(running)
        text = "a\u2028b\u2029c\u0085d\U0001f600"
        async with peer.post(peer.message("tools/call", {"name": "say", "arguments": {"text": text}})) as answer:
            raw = await answer.read()
        assert raw.isascii()
        assert json.loads(raw)["result"]["structuredContent"]["text"] == text


async def test_progress_beyond_what_a_reader_takes_is_dropped_and_the_answer_is_not():
    async with product(events_max=4) as running:
        gate = register_tools(running.services)
        gate.opened.set()
        peer = await stateless(running)
        peer.meta = TOLD
        async with peer.stream("tools/call", {"name": "steps", "arguments": {"count": 100}}) as events:
            messages = [json.loads(data) for _, data in await events.rest()]
        assert len(messages) <= 5
        assert messages[-1]["result"]["structuredContent"]["count"] == 100


async def test_a_reader_that_does_not_read_is_cut_off_and_its_call_ends():
    async with product(send_timeout_ms=50) as running:
        gate = register_tools(running.services)
        peer = await stateless(running)
        peer.meta = TOLD
        async with peer.stream("tools/call", {"name": "flood", "arguments": {"count": 1_000}}) as events:
            await until(running, lambda: len(running.server.exchanges) == 0)
            assert gate.entered <= 1
            events.answer.close()
        await peer.call("say")


async def test_a_reader_that_does_not_take_the_last_event_gives_its_call_back():
    async with product(send_timeout_ms=50) as running:
        register_tools(running.services)

        async def say_much(_: Execution, __: Words, context: ToolContext) -> Words:
            context.progress(1, None, None)
            return Words(text="x" * 8_000_000)

        toolbox = running.services.toolbox
        toolbox._tools["say"] = replace(toolbox.tool("say"), handler=say_much)
        peer = await stateless(running)
        peer.meta = TOLD
        async with peer.stream("tools/call", {"name": "say", "arguments": {}}) as events:
            await until(running, lambda: len(running.server.exchanges) == 0)
            assert not running.server.lives.tasks
            events.answer.close()


async def test_a_server_that_stops_answers_what_runs_and_ends_what_listens():
    async with product() as running:
        gate = register_tools(running.services)
        peer = await stateless(running)
        async with peer.stream("subscriptions/listen", {"notifications": {}}) as events:
            await events.message()
            calling = asyncio.ensure_future(peer.answer(peer.message("tools/call", {"name": "wait"})))
            await gate.entries(1)
            stopping = asyncio.ensure_future(running.server._stop(running.server.application))
            ended = await events.message()
            assert ended["result"]["_meta"][KEY + "subscriptionId"] == ended["id"]
            assert await events.next() is None
            gate.opened.set()
            assert "result" in (await calling)[1]
            await stopping


def test_an_event_is_one_line_of_data():
    assert event(b"{}") == b"data: {}\n\n"
