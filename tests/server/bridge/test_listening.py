"""What the server says outside of any answer."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from tests.server.bridge.fake import event, fake, launched, refuse, streaming

NOTE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}


async def test_what_the_server_says_by_itself_is_relayed_and_its_stream_is_resumed() -> None:
    async def standalone(http: web.Request, _: Any) -> web.StreamResponse:
        last = int(http.headers.get("Last-Event-ID", "s.0").partition(".")[2])
        response = await streaming(http)
        await response.write(b"retry: 1\n" + event({**NOTE, "params": {"n": last + 1}}, f"s.{last + 1}"))
        if last == 2:
            await asyncio.Event().wait()
        return response

    async with fake() as server, launched(server.url) as client:
        server.answers["GET"] = standalone
        await client.open()
        assert [(await client.read())["params"]["n"] for _ in range(3)] == [1, 2, 3]
        gets = await server.until(3, "GET")
        assert [each.headers.get("Last-Event-ID") for each in gets] == [None, "s.1", "s.2"]
        assert {each.headers["Accept"] for each in gets} == {"text/event-stream"}


async def test_a_standalone_stream_of_a_lost_transport_session_goes_on_in_a_new_one() -> None:
    async def standalone(http: web.Request, body: Any) -> web.StreamResponse:
        if http.headers["Mcp-Session-Id"] == "transport-1":
            return await refuse(404, "transport_unknown")(http, body)
        response = await streaming(http)
        await response.write(event(NOTE, "s.1"))
        await asyncio.Event().wait()
        return response

    async with fake() as server, launched(server.url) as client:
        server.answers["GET"] = standalone
        await client.open()
        assert (await client.read())["method"] == "notifications/message"
        gets = await server.until(2, "GET")
        assert [each.headers["Mcp-Session-Id"] for each in gets] == ["transport-1", "transport-2"]


async def test_a_server_without_a_standalone_stream_is_asked_once() -> None:
    async with fake() as server, launched(server.url) as client:
        await client.open()
        await server.until(1, "GET")
        for _ in range(3):
            await client.ask("ping")
        await client.ended()
        assert len(await server.until(1, "GET")) == 1
