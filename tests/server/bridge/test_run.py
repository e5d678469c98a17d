"""A run of the launcher, as its client sees it."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from codesynapse.server.bridge import BridgeOptions, run, run_bridge
from codesynapse.server.bridge.refusal import PARSE_ERROR
from tests.server.bridge.fake import (
    INITIALIZE,
    KEY,
    SESSION,
    SESSIONS_PATH,
    Launched,
    answer_of,
    event,
    fake,
    launched,
    refuse,
    request,
    result,
    streaming,
    tool_call,
)


async def hang(http: web.Request, _: Any) -> web.StreamResponse:
    """A call that never answers."""
    response = await streaming(http)
    await response.write(event(None, "s.0"))
    await asyncio.Event().wait()
    return response


async def test_without_an_id_it_exits_2_names_the_variable_and_leaves_standard_input_alone() -> None:
    (stdin, into), (out, stdout), stderr = os.pipe(), os.pipe(), io.StringIO()
    os.write(into, b"unread")
    options = BridgeOptions(url="http://127.0.0.1:1/mcp", api_key=KEY)
    with os.fdopen(stdin, "rb", 0) as source, os.fdopen(stdout, "wb", 0) as sink:
        assert await run_bridge(options, source, sink, stderr) == 2
        assert source.read(6) == b"unread"
    assert os.read(out, 10) == b""
    assert "CODESYNAPSE_SESSION_ID" in stderr.getvalue()
    for descriptor in (into, out):
        os.close(descriptor)


async def test_a_made_up_id_is_one_for_the_process_and_another_for_the_next() -> None:
    async with fake() as server:
        for _ in range(2):
            async with launched(server.url, session_id=None, new_thread=True) as client:
                await client.open()
                await client.ask("ping")
                assert await client.ended() == 0
        registered_ids = [each.body["session_id"] for each in server.seen if each.path == SESSIONS_PATH]
        used_ids = [each.headers["X-CodeSynapse-Session"] for each in server.seen if each.path == "/mcp"]
    assert len(set(registered_ids)) == 2
    assert list(dict.fromkeys(used_ids)) == registered_ids


async def at_the_end_of_input(_: Launched) -> None:
    """It is closed by whoever waits for the end."""


async def by_a_signal(_: Launched) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("end", [at_the_end_of_input, by_a_signal])
async def test_a_session_that_it_made_up_is_revoked_at_the_end(end: Callable[[Launched], Awaitable[None]]) -> None:
    async with fake() as server:
        async with launched(server.url, session_id=None, new_thread=True) as client:
            await client.open()
            await end(client)
            assert await client.ended() == 0
        (registered,) = [each for each in server.seen if each.path == SESSIONS_PATH]
        (revoked,) = [each for each in server.seen if each.path == f"{SESSIONS_PATH}/revoke"]
    assert (revoked.verb, revoked.body) == ("POST", {"session_id": registered.body["session_id"]})
    assert revoked.headers["Authorization"] == f"Bearer {KEY}"


async def test_a_session_that_the_runtime_gave_is_never_revoked() -> None:
    async with fake() as server, launched(server.url, new_thread=True) as client:
        await client.open()
        assert await client.ended() == 0
    assert not [each for each in server.seen if each.path.endswith("/revoke")]


@pytest.mark.parametrize("code", ["revoked", "expired"])
async def test_a_session_that_has_ended_is_not_revoked_again(code: str) -> None:
    async with fake() as server:
        async with launched(server.url, session_id=None, new_thread=True) as client:
            await client.open()
            server.answers["ping"] = refuse(403, code)
            assert "error" in await client.ask("ping")
            assert await client.ended() == 0
        assert not [each for each in server.seen if each.path.endswith("/revoke")]


async def test_a_launcher_that_registered_nothing_revokes_nothing() -> None:
    async with fake() as server:
        async with launched(server.url, session_id=None, new_thread=True) as client:
            assert await client.ended() == 0
        assert server.seen == []


async def test_a_server_that_does_not_hear_the_farewell_does_not_hold_the_launcher() -> None:
    async def deaf(_: web.Request, __: Any) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async with fake() as server:
        async with launched(server.url, session_id=None, new_thread=True, finish_s=0.01) as client:
            await client.open()
            server.answers |= {"revoke": deaf, "DELETE": deaf}
            assert await client.ended() == 0
        assert [each for each in server.seen if each.path.endswith("/revoke")]


async def test_requests_run_beside_each_other() -> None:
    release = asyncio.Event()

    async def slow(_: web.Request, body: Any) -> web.StreamResponse:
        await release.wait()
        return result(body, {})

    async with fake() as server, launched(server.url) as client:
        await client.open()
        server.answers["tools/call"] = slow
        await client.send(tool_call("slow"))
        assert (await client.ask("ping", request_id="quick"))["id"] == "quick"
        release.set()
        assert (await client.read())["id"] == "slow"


async def test_what_follows_an_initialize_waits_for_the_session_that_it_opens() -> None:
    async with fake() as server, launched(server.url) as client:
        await client.send(request("initialize", INITIALIZE, 0))
        await client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await client.send(request("ping", request_id=1))
        assert [(await client.read())["id"] for _ in range(2)] == [0, 1]
        posts = [each for each in server.seen if each.path == "/mcp" and each.verb == "POST"]
        assert [each.method for each in posts] == ["initialize", "notifications/initialized", "ping"]
        assert [each.headers.get("Mcp-Session-Id") for each in posts] == [None, "transport-1", "transport-1"]


async def test_a_cancellation_is_forwarded_while_the_call_still_streams_and_nothing_answers_it() -> None:
    cancelled = asyncio.Event()

    async def until_cancelled(http: web.Request, _: Any) -> web.StreamResponse:
        response = await streaming(http)
        await response.write(event(None, "s.0"))
        await cancelled.wait()
        return response

    async def cancel(_: web.Request, __: Any) -> web.StreamResponse:
        cancelled.set()
        return web.Response(status=202)

    async with fake() as server, launched(server.url) as client:
        await client.open()
        server.answers |= {"tools/call": until_cancelled, "notifications/cancelled": cancel}
        await client.send(tool_call("c"))
        await server.until(1, method="tools/call")
        await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c"}})
        sent = await server.until(1, method="notifications/cancelled")
        assert sent[0].body["params"] == {"requestId": "c"}
        assert (await client.ask("ping"))["id"] == 1
        assert await client.ended() == 0


async def test_a_cancellation_follows_its_call_and_never_overtakes_it() -> None:
    taken = asyncio.Event()

    async def slowly_taken(http: web.Request, body: Any) -> web.StreamResponse:
        await taken.wait()
        return await hang(http, body)

    async with fake() as server, launched(server.url, finish_s=0.01) as client:
        await client.open()
        server.answers["tools/call"] = slowly_taken
        await client.send(tool_call("c"))
        await server.until(1, method="tools/call")
        await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c"}})
        await client.ask("ping")
        assert not [each for each in server.seen if each.method == "notifications/cancelled"]
        taken.set()
        await server.until(1, method="notifications/cancelled")


async def test_a_call_that_was_cancelled_before_the_server_got_it_is_never_sent() -> None:
    async with fake() as server, launched(server.url, unreachable_s=60.0) as client:
        await client.open()
        await server.until(1, "GET")
        port = await server.stop()
        await client.send(tool_call("c"))
        await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c"}})
        await client.write(b"no message\n")
        # Lines are taken in order, so the refusal of this one says that the cancellation was read.
        assert (await client.read())["error"]["code"] == PARSE_ERROR
        await client.send(request("ping"))
        await server.start(port)
        assert (await client.read())["id"] == 1
        assert await client.ended() == 0
        assert not [each for each in server.seen if each.method in ("tools/call", "notifications/cancelled")]


async def test_a_cancelled_request_without_session_has_its_stream_closed() -> None:
    closed = asyncio.Event()

    async def hanging(http: web.Request, body: Any) -> web.StreamResponse:
        try:
            return await hang(http, body)
        finally:
            closed.set()

    params = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}, "name": "t"}
    async with fake() as server, launched(server.url) as client:
        server.answers["tools/call"] = hanging
        await client.send(request("tools/call", params, "c"))
        await server.until(1, method="tools/call")
        await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c"}})
        await closed.wait()
        assert await client.ended() == 0
        assert not [each for each in server.seen if each.method == "notifications/cancelled"]


async def test_a_cancellation_of_something_unknown_is_forwarded() -> None:
    async with fake() as server, launched(server.url) as client:
        await client.open()
        await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}})
        await server.until(1, method="notifications/cancelled")


async def test_an_answer_of_the_client_is_forwarded() -> None:
    async with fake() as server, launched(server.url) as client:
        await client.open()
        await client.send({"jsonrpc": "2.0", "id": 9, "result": {"roots": []}})
        assert await client.ended() == 0
        assert server.seen[-2].body == {"jsonrpc": "2.0", "id": 9, "result": {"roots": []}}


async def test_the_end_of_input_waits_for_what_is_in_flight_and_says_farewell() -> None:
    release = asyncio.Event()

    async def slow(_: web.Request, body: Any) -> web.StreamResponse:
        await release.wait()
        return result(body, {"late": True})

    async with fake() as server, launched(server.url, finish_s=60.0) as client:
        await client.open()
        server.answers["tools/call"] = slow
        await client.send(tool_call())
        await server.until(1, method="tools/call")
        client.end_input()
        release.set()
        assert (await client.read())["result"] == {"late": True}
        assert await client.ended() == 0
        farewell = (await server.until(1, "DELETE"))[0]
        assert farewell.headers["Mcp-Session-Id"] == "transport-1"


async def test_what_is_still_in_flight_at_the_end_gets_an_error() -> None:
    async with fake() as server, launched(server.url, finish_s=0.01) as client:
        await client.open()
        server.answers["tools/call"] = hang
        await client.send(tool_call("h"))
        await server.until(1, method="tools/call")
        client.end_input()
        answer = await client.read()
        assert (answer["id"], answer["error"]["data"]["code"]) == ("h", "stopping")
        assert await client.ended() == 0


async def test_a_last_line_without_an_end_is_served() -> None:
    async with fake() as server, launched(server.url) as client:
        await client.write(json.dumps(request("ping")).encode())
        client.end_input()
        assert (await client.read())["result"] == {"echo": {}}
        assert await client.ended() == 0
        assert server.seen


async def test_sigterm_ends_it_as_the_end_of_input_does() -> None:
    async with fake() as server, launched(server.url, finish_s=0.01) as client:
        await client.open()
        os.kill(os.getpid(), signal.SIGTERM)
        assert await client.task == 0
        await server.until(1, "DELETE")


async def test_it_ends_when_nobody_reads_its_output() -> None:
    (stdin, into), (out, stdout) = os.pipe(), os.pipe()
    os.close(out)
    async with fake() as server:
        options = BridgeOptions(url=server.url, api_key=KEY, session_id=SESSION)
        with os.fdopen(stdin, "rb", 0) as source, os.fdopen(stdout, "wb", 0) as sink:
            os.write(into, json.dumps(request("ping")).encode() + b"\n")
            assert await run_bridge(options, source, sink, io.StringIO()) == 0
    os.close(into)


async def test_a_line_that_is_no_message_is_answered_and_the_next_is_served() -> None:
    async with fake() as server, launched(server.url, line_max_bytes=200) as client:
        await client.open()
        for line, request_id, code in (
            (b"not json", None, -32700),
            (b"7", None, -32600),
            (b'{"id":5,"method":7}', 5, -32600),
            (b'{"id":6,"method":"ping","params":{"a":"' + b"x" * 300 + b'"}}', 6, -32600),
        ):
            await client.write(line + b"\n")
            answer = await client.read()
            assert (answer["id"], answer["error"]["code"]) == (request_id, code)
        assert "200 bytes" in answer["error"]["message"]
        assert "result" in await client.ask("ping")


async def test_a_request_beyond_the_limit_of_those_in_flight_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async with fake() as server, launched(server.url, finish_s=0.01) as client:
        await client.open()
        await server.until(1, "GET")
        server.answers["tools/call"] = hang
        await client.ask("ping")
        await client.send(tool_call("h"))
        await server.until(1, method="tools/call")
        monkeypatch.setattr(run, "CALLS_MAX", 1)
        refused = await client.ask("ping", request_id="p")
        assert (refused["id"], refused["error"]["data"]["code"]) == ("p", "too_many_calls")
        client.end_input()
        assert (await client.read())["id"] == "h"


async def test_two_requests_of_one_id_both_get_their_answer() -> None:
    async def own(_: web.Request, body: Any) -> web.StreamResponse:
        return web.json_response(answer_of(body, body["params"]["arguments"]))

    async with fake() as server, launched(server.url) as client:
        await client.open()
        server.answers["tools/call"] = own
        await client.send(tool_call(1, n=1))
        await client.send(tool_call(1, n=2))
        assert sorted([(await client.read())["result"]["n"] for _ in range(2)]) == [1, 2]


async def test_standard_error_tells_neither_ids_nor_keys_nor_addresses() -> None:
    async with fake() as server, launched(server.url, unreachable_s=0.02) as client:
        await client.open()
        server.answers["tools/call"] = refuse(403, "revoked")
        await client.send(tool_call())
        await client.read()
        await client.send({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
        assert await client.ended() == 0
        said = client.stderr.getvalue()
    assert "the chat session has ended" in said
    assert "could not be delivered" in said
    for secret in (KEY, SESSION, "transport-1", server.url):
        assert secret not in said


async def test_a_call_that_is_sent_again_carries_the_id_of_its_first_try() -> None:
    async with fake() as server, launched(server.url, session_id=None, new_thread=True) as client:
        await client.open()
        server.answers["tools/call"] = refuse(404, "transport_unknown")
        await client.send(tool_call())
        await server.until(1, method="tools/call")
        del server.answers["tools/call"]
        assert "result" in await client.read()
        tries = await server.until(2, method="tools/call")
        named = {each.headers["X-CodeSynapse-Session"] for each in tries}
        assert named == {server.seen[0].body["session_id"]}
