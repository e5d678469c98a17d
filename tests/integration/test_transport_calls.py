"""Calls in flight: whose answer is whose, cancellation, progress, logs, pages and the most at once."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from codesynapse.server.tools.registry import Tool
from tests.integration.harness import messages_of, product
from tests.integration.tools import (
    Words,
    asking,
    call,
    live_of,
    primed,
    register_tools,
    status_of,
    stream,
    until,
)


async def test_requests_of_one_id_in_flight_each_get_their_own_answer():
    async with product() as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())

        async def ask(request_id: object, text: str) -> tuple[object, str]:
            async with transport.post(call(request_id, "wait", text=text)) as answer:
                (message,) = await messages_of(answer)
                return message["id"], message["result"]["structuredContent"]["text"]

        asked = [(1, "a"), ("1", "b"), (1, "c"), (5, "d"), ("5", "e")]
        for accept in ("application/json", "application/json, text/event-stream"):
            transport.accept, before = accept, gate.entered
            gate.opened.clear()
            asking_all = [asyncio.create_task(ask(*each)) for each in asked]
            await gate.entries(before + len(asked))
            gate.opened.set()
            assert await asyncio.gather(*asking_all) == asked
        assert await ask(1, "again") == (1, "again")


async def test_a_call_cancelled_before_its_commit_writes_nothing_and_is_not_answered():
    async with product() as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, call(9, "write", text="tea")) as events:
            await primed(events)
            await gate.entries(1)
            assert await transport.notify("notifications/cancelled", {"requestId": 9}) == 202
            assert await events.rest() == []
        gate.opened.set()
        recalled = await transport.recall("tea")
        assert (recalled["facts"], recalled["revision"]) == ([], 0)


async def test_a_call_that_is_not_cancelled_writes():
    async with product() as running:
        register_tools(running.services).opened.set()
        transport = await running.open(await running.person())
        await transport.call("write", {"text": "tea"})
        assert [fact["object"] for fact in (await transport.recall("tea"))["facts"]] == ["tea"]


@pytest.mark.parametrize("params", [{"requestId": "9"}, {"requestId": 8}, {"requestId": None}, {}, {"requestId": [9]}])
async def test_a_cancellation_of_another_id_changes_nothing(params: dict[str, Any]):
    async with product() as running:
        gate = register_tools(running.services)
        transport, other = await running.open(await running.person()), await running.open(await running.person())
        async with stream(transport, call(9, "wait")) as events:
            await primed(events)
            await gate.entries(1)
            assert await transport.notify("notifications/cancelled", params) == 202
            assert await other.notify("notifications/cancelled", {"requestId": 9}) == 202
            gate.opened.set()
            assert (await events.message())["id"] == 9


async def test_a_json_client_whose_call_was_cancelled_is_told_that_nothing_follows():
    async with product() as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        transport.accept = "application/json"

        async def ask() -> tuple[int, bytes]:
            async with transport.post(call(9, "wait")) as answer:
                return answer.status, await answer.read()

        waiting = asyncio.create_task(ask())
        await gate.entries(1)
        await transport.notify("notifications/cancelled", {"requestId": 9})
        assert await waiting == (202, b"")


async def test_a_cut_does_not_cancel_a_call():
    async with product() as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, call(1, "write", text="tea")) as events:
            await primed(events)
            await gate.entries(1)
        gate.opened.set()
        await asyncio.gather(*running.server.lives.tasks)
        assert (await transport.recall("tea"))["revision"] == 1


@pytest.mark.parametrize("token", ["t", 7, 2**70])
async def test_progress_rises_and_is_sent_only_to_who_asked(token: object):
    async with product() as running:
        register_tools(running.services).opened.set()
        transport = await running.open(await running.person())
        async with stream(transport, asking(1, "steps", token, count=3, text="m")) as events:
            messages = [json.loads(data) for _, data in await events.rest() if data]
        progress = [each["params"] for each in messages if each.get("method") == "notifications/progress"]
        assert [each["progress"] for each in progress] == [1, 2, 3]
        assert all(each["progressToken"] == token for each in progress)
        assert messages[-1]["id"] == 1
        async with stream(transport, call(2, "steps", count=3)) as events:
            assert "progress" not in json.dumps(await events.rest())


@pytest.mark.parametrize(("level", "heard"), [("debug", 8), ("info", 7), ("error", 4), ("emergency", 1)])
async def test_logs_are_heard_from_the_chosen_level_on(level: str, heard: int):
    async with product() as running:
        register_tools(running.services).opened.set()
        transport = await running.open(await running.person())
        assert (await transport.request("logging/setLevel", {"level": level}))["result"] == {}
        async with stream(transport, call(1, "steps")) as events:
            messages = [json.loads(data) for _, data in await events.rest() if data]
        assert len([each for each in messages if each.get("method") == "notifications/message"]) == heard
        assert (await transport.request("logging/setLevel", {"level": "loud"}))["error"]["code"] == -32602


async def test_ping_is_answered_at_once_while_calls_run():
    async with product() as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, call(1, "wait")) as events:
            await primed(events)
            assert await transport.request("ping") == {"jsonrpc": "2.0", "id": 2, "result": {}}
            gate.opened.set()


async def say(_: object, words: Words, __: object) -> Words:
    return words


async def test_more_than_a_hundred_tools_come_in_pages_and_bad_cursors_are_invalid():
    async with product() as running:
        own = len(running.services.toolbox.catalog.visible(None))
        for number in range(250):
            running.services.toolbox.register(
                Tool(
                    name=f"t{number:03}",
                    title="T",
                    description="D",
                    toolset="many",
                    arguments=Words,
                    answer=Words,
                    handler=say,
                    read_only=True,
                )
            )
        transport = await running.open(await running.person())
        names: list[str] = []
        sizes: list[int] = []
        params: dict[str, Any] = {}
        while True:
            page = (await transport.request("tools/list", params))["result"]
            sizes.append(len(page["tools"]))
            names += [tool["name"] for tool in page["tools"]]
            if "nextCursor" not in page:
                break
            params = {"cursor": page["nextCursor"]}
        assert sizes == [100, 100, 50 + own]
        assert len(set(names)) == len(names) == 250 + own
        for cursor in ("x", "", 5, base64.b64encode(b"tools:300").decode(), base64.b64encode(b"tools:-1").decode()):
            assert (await transport.request("tools/list", {"cursor": cursor}))["error"]["code"] == -32602


async def test_a_principals_65th_call_in_flight_is_refused_whatever_its_session():
    async with product() as running:
        gate = register_tools(running.services)
        person = await running.person()
        one, two = await running.open(person), await running.open(person)
        other = await running.open(await running.person())
        asking_all = [asyncio.create_task(each.call("wait")) for each in [one, two] * 32]
        await gate.entries(64)
        for accept in ("application/json", "text/event-stream"):
            two.accept = accept
            status, body = await status_of(running, "POST", two.all_headers(), call("x", "wait"))
            assert (status, body["id"], body["error"]["data"]["code"]) == (429, "x", "too_many_calls")
            assert body["error"]["data"]["limit"] == 64
        assert (await two.request("ping"))["result"] == {}
        later = asyncio.create_task(other.call("wait"))
        await gate.entries(65)
        gate.opened.set()
        await asyncio.gather(*asking_all, later)
        assert not (await two.call("wait"))["isError"]


async def test_at_the_budget_of_all_events_calls_are_refused_and_pings_are_not():
    async with product(events_bytes_max=65_536) as running:
        gate = register_tools(running.services)
        running.services.toolbox.tool("flood")
        transport, other = await running.open(await running.person()), await running.open(await running.person())
        async with stream(transport, asking(1, "flood", "t", count=2)) as events:
            await primed(events)
            await gate.entries(1)
            status, body = await status_of(running, "POST", other.all_headers(), call(1, "say"))
            assert (status, body["error"]["data"]["code"]) == (503, "events_full")
            assert body["error"]["data"]["limit"] == 65_536
            assert (await other.request("ping"))["result"] == {}
            gate.opened.set()
            await events.rest()
        # What is finished makes room for its own principal, and not for the other.
        status, _ = await status_of(running, "POST", other.all_headers(), call(1, "say"))
        assert status == 503
        assert not (await transport.call("say"))["isError"]
        assert not (await other.call("say"))["isError"]
        assert live_of(running, other).log.size_bytes > 0


async def test_one_principal_cannot_use_up_what_all_may_keep():
    async with product(events_bytes_max=4 * 65_536) as running:
        gate = register_tools(running.services)
        transport, other = await running.open(await running.person()), await running.open(await running.person())
        async with stream(transport, asking(1, "flood", "t", count=1)) as events:
            await primed(events)
            await gate.entries(1)
            status, body = await status_of(running, "POST", transport.all_headers(), call(2, "say"))
            assert (status, body["error"]["data"]["code"]) == (503, "events_full")
            assert body["error"]["data"]["limit"] == 65_536
            assert not (await other.call("say"))["isError"]
            gate.opened.set()
            await events.rest()
        assert not (await transport.call("say"))["isError"]


async def test_an_answer_beyond_the_sessions_bytes_is_let_go_once_it_was_read():
    async with product(session_bytes_max=8_192) as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        log = live_of(running, transport).log
        async with stream(transport, call(1, "say", text="x" * 9_000)) as events:
            first = await primed(events)
            assert "x" * 9_000 in (await events.rest())[-1][1]
        await until(running, lambda: log.size_bytes == 0)
        async with stream(transport, **{"Last-Event-ID": first}) as events:
            assert [json.loads(data)["error"]["data"]["code"] for _, data in await events.rest() if data] == [
                "response_gone"
            ]


async def test_an_answer_beyond_the_sessions_bytes_is_kept_until_it_was_read():
    async with product(session_bytes_max=8_192) as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        live = live_of(running, transport)
        async with stream(transport, call(1, "wait", text="x" * 9_000)) as events:
            first = await primed(events)
            await gate.entries(1)
        await until(running, lambda: not live.followers)
        gate.opened.set()
        await until(running, lambda: live.idle)
        async with stream(transport, **{"Last-Event-ID": first}) as events:
            assert "x" * 9_000 in (await events.rest())[-1][1]
