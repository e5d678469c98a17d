"""What becomes of a message: cuts, restarts, refusals, and an answer for each."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from codesynapse.contracts.requirements import requirement
from codesynapse.server.bridge.exchange import header_safe
from tests.server.bridge.fake import (
    INITIALIZE,
    KEY,
    SESSION,
    answer_of,
    cut,
    event,
    fake,
    launched,
    not_allowed,
    opened,
    refuse,
    registered,
    request,
    result,
    streaming,
    tool_call,
)

NOTE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}


@requirement("bridge:forwards")
async def test_the_session_is_registered_first_and_every_request_carries_both_headers() -> None:
    async with fake() as server, launched(server.url) as client:
        await client.open()
        assert (await client.ask("tools/list"))["result"] == {"echo": {}}
        await server.until(1, "GET")
        assert await client.ended() == 0
    assert [(each.verb, each.body) for each in server.seen[:1]] == [("POST", {"session_id": SESSION})]
    assert {each.verb for each in server.seen} == {"POST", "GET", "DELETE"}
    for each in server.seen:
        assert each.headers["Authorization"] == f"Bearer {KEY}"
    for each in server.seen[1:]:
        sent = (each.headers["X-CodeSynapse-Session"], each.headers["X-CodeSynapse-Parent-Session"])
        assert sent == (SESSION, SESSION)


async def test_the_transport_session_and_its_version_are_sent_once_they_are_known() -> None:
    async with fake() as server, launched(server.url) as client:
        await client.open()
        await client.ask("ping")
        await client.ended()
        opening, *later = [each for each in server.seen if each.path == "/mcp"]
    assert "Mcp-Session-Id" not in opening.headers
    assert {each.method for each in later} >= {"notifications/initialized", "ping"}
    for each in later:
        assert (each.headers["Mcp-Session-Id"], each.headers["MCP-Protocol-Version"]) == ("transport-1", "2025-11-25")


async def test_a_stream_that_is_cut_is_resumed_behind_its_last_event_and_answers_once() -> None:
    async def first(http: web.Request, body: Any) -> web.StreamResponse:
        response = await streaming(http)
        await response.write(b"retry: 10\n" + event(None, "s.0") + event({**NOTE, "params": {"n": 1}}, "s.1"))
        await response.write(b"id: s.2\ndata: {")
        cut(http)
        return response

    async def rest(http: web.Request, _: Any) -> web.StreamResponse:
        response = await streaming(http)
        if http.headers.get("Last-Event-ID") == "s.1":
            await response.write(event({**NOTE, "params": {"n": 2}}, "s.2"))
            cut(http)
        elif http.headers.get("Last-Event-ID") == "s.2":
            await response.write(event({"jsonrpc": "2.0", "id": 1, "result": {"done": True}}, "s.3"))
        return response

    async with fake() as server, launched(server.url) as client:
        await client.ask("initialize", INITIALIZE, "init")
        server.answers |= {"tools/call": first, "GET": rest}
        await client.send(tool_call())
        read = [await client.read() for _ in range(3)]
        assert [each.get("params", each.get("result")) for each in read] == [{"n": 1}, {"n": 2}, {"done": True}]
        assert await client.ended() == 0
        assert len(await server.until(1, method="tools/call")) == 1


async def test_a_tool_call_that_is_cut_before_its_first_event_id_is_not_repeated() -> None:
    async def broken(http: web.Request, _: Any) -> web.StreamResponse:
        cut(http)
        return web.Response()

    async with fake() as server, launched(server.url) as client:
        await client.open()
        server.answers["tools/call"] = broken
        await client.send(tool_call())
        answer = await client.read()
        assert (answer["id"], answer["error"]["data"]["code"]) == (1, "answer_lost")
        assert len(await server.until(1, method="tools/call")) == 1


async def test_a_request_that_changes_nothing_is_repeated_after_a_cut() -> None:
    async def once_broken(http: web.Request, body: Any) -> web.StreamResponse:
        if len(await server.until(1, method="tools/list")) == 1:
            cut(http)
        return result(body, {"tools": []})

    async with fake() as server, launched(server.url) as client:
        await client.open()
        server.answers["tools/list"] = once_broken
        assert (await client.ask("tools/list"))["result"] == {"tools": []}


async def test_a_lost_transport_session_is_opened_anew_as_the_client_did_and_the_call_is_sent_again() -> None:
    async def only_second(http: web.Request, body: Any) -> web.StreamResponse:
        if http.headers["Mcp-Session-Id"] == "transport-1":
            return await refuse(404, "transport_unknown")(http, body)
        return result(body, {"transport": http.headers["Mcp-Session-Id"]})

    async with fake() as server, launched(server.url) as client:
        await client.open()
        server.answers["tools/call"] = only_second
        await asyncio.gather(*(client.send(tool_call(number)) for number in range(5)))
        answers = [await client.read() for _ in range(5)]
        assert {each["id"] for each in answers} == set(range(5))
        assert all(each["result"] == {"transport": "transport-2"} for each in answers)
        openings = await server.until(2, method="initialize")
        assert [each.body["params"] for each in openings] == [INITIALIZE, INITIALIZE]
        await server.until(2, method="notifications/initialized")


async def test_a_call_that_had_begun_when_its_transport_session_was_lost_is_not_sent_again() -> None:
    async def begun(http: web.Request, _: Any) -> web.StreamResponse:
        response = await streaming(http)
        await response.write(event(None, "s.0"))
        return response

    async with fake() as server, launched(server.url) as client:
        await client.open()
        server.answers |= {"tools/call": begun, "GET": refuse(404, "transport_unknown")}
        await client.send(tool_call())
        assert (await client.read())["error"]["data"]["code"] == "answer_lost"
        assert len(await server.until(1, method="tools/call")) == 1
        await server.until(2, method="initialize")


async def test_a_server_that_restarts_is_waited_for() -> None:
    async with fake() as server, launched(server.url) as client:
        await client.open()
        port = await server.stop()
        await client.send(tool_call())
        await client.send(request("tools/list", request_id=2))
        await server.start(port)
        assert {(await client.read())["id"] for _ in range(2)} == {1, 2}


async def test_a_call_runs_through_a_restart_of_its_server() -> None:
    async def begun(http: web.Request, _: Any) -> web.StreamResponse:
        response = await streaming(http)
        await response.write(b"retry: 1\n" + event(None, "s.0"))
        await asyncio.Event().wait()
        return response

    async def rest(http: web.Request, _: Any) -> web.StreamResponse:
        response = await streaming(http)
        if "Last-Event-ID" in http.headers:
            await response.write(event({"jsonrpc": "2.0", "id": 1, "result": {}}, "s.1"))
        return response

    async with fake() as server, launched(server.url) as client:
        await client.ask("initialize", INITIALIZE, "init")
        server.answers |= {"tools/call": begun, "GET": rest}
        await client.send(tool_call())
        await server.until(1, method="tools/call")
        await server.start(await server.stop())
        assert (await client.read())["result"] == {}


async def test_a_server_that_stays_away_becomes_an_error_for_each_request() -> None:
    async with fake() as server, launched(server.url, unreachable_s=0.1) as client:
        await client.open()
        await server.stop()
        await client.send([tool_call("a"), tool_call("b")])
        answers = [await client.read() for _ in range(2)]
        assert {each["id"] for each in answers} == {"a", "b"}
        assert {each["error"]["data"]["code"] for each in answers} == {"unreachable"}
        await server.start()


@requirement("bridge:no-switch")
@pytest.mark.parametrize("code", ["expired", "revoked"])
async def test_once_the_session_has_ended_every_call_gets_that_error_and_no_other_id_is_used(code: str) -> None:
    async with fake() as server, launched(server.url, session_id=None, new_thread=True) as client:
        await client.open()
        await server.until(1, "GET")
        server.answers["tools/call"] = refuse(403, code)
        await client.send(tool_call())
        assert (await client.read())["error"]["data"]["code"] == code
        arrived = len(server.seen)
        for method in ("tools/call", "ping", "initialize"):
            assert (await client.ask(method, INITIALIZE, 7))["error"]["data"]["code"] == code
        assert len(server.seen) == arrived
        ids = {each.headers["X-CodeSynapse-Session"] for each in server.seen if each.path == "/mcp"}
        assert ids == {server.seen[0].body["session_id"]}


async def test_a_session_that_ended_during_a_call_is_named_to_that_call() -> None:
    async def begun(http: web.Request, _: Any) -> web.StreamResponse:
        response = await streaming(http)
        await response.write(event(None, "s.0"))
        server.answers |= {"GET": refuse(404, "transport_unknown"), "initialize": refuse(403, "revoked")}
        return response

    async with fake() as server, launched(server.url) as client:
        await client.open()
        server.answers["tools/call"] = begun
        await client.send(tool_call())
        assert (await client.read())["error"]["data"]["code"] == "revoked"


async def test_a_refused_registration_is_told_to_each_request_and_tried_again_with_the_next() -> None:
    async def conflict(_: web.Request, __: Any) -> web.StreamResponse:
        return web.json_response({"ok": False, "code": "binding_conflict", "error": "Bound."}, status=409)

    async with fake() as server, launched(server.url) as client:
        server.answers["register"] = conflict
        refused = await client.ask("initialize", INITIALIZE)
        assert refused["error"] == {
            "code": -32600,
            "message": "Bound.",
            "data": {"ok": False, "code": "binding_conflict", "error": "Bound."},
        }
        server.answers["register"] = registered
        await client.open()


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (refuse(429, "too_many_calls"), "too_many_calls"),
        (refuse(502, "x"), "answer_lost"),
        (refuse(504, "x"), "answer_lost"),
        (refuse(413, "body_too_large"), "body_too_large"),
        (not_allowed, "http_status"),
    ],
)
async def test_a_refused_tool_call_gets_the_servers_error_and_its_own_id(answer: Any, code: str) -> None:
    async with fake() as server, launched(server.url) as client:
        await client.open()
        server.answers["tools/call"] = answer
        await client.send(tool_call("mine"))
        got = await client.read()
        assert (got["id"], got["error"]["data"]["code"]) == ("mine", code)
        assert len(await server.until(1, method="tools/call")) == 1


async def test_a_server_that_says_later_is_asked_later() -> None:
    async def full_once(http: web.Request, body: Any) -> web.StreamResponse:
        if len(await server.until(1, method="tools/call")) == 1:
            return await refuse(503, "server_full", {"Retry-After": "0"})(http, body)
        return result(body, {})

    async with fake() as server, launched(server.url) as client:
        await client.open()
        server.answers["tools/call"] = full_once
        await client.send(tool_call())
        assert (await client.read())["result"] == {}


async def test_a_redirect_is_not_followed_with_the_key() -> None:
    async def elsewhere(_: web.Request, __: Any) -> web.StreamResponse:
        raise web.HTTPTemporaryRedirect("/elsewhere")

    async with fake() as server, launched(server.url) as client:
        await client.open()
        server.answers["ping"] = elsewhere
        assert (await client.ask("ping"))["error"]["data"]["status"] == 307
        assert all(each.path in ("/mcp", "/api/v1/execution/sessions") for each in server.seen)


@pytest.mark.parametrize("body", [b"", b"{", b'"text"', b"\xff", b"[]", b"{}", b'[{"id":1}]'])
async def test_an_answer_that_is_none_becomes_an_error(body: bytes) -> None:
    async def nonsense(_: web.Request, __: Any) -> web.StreamResponse:
        return web.Response(body=body, content_type="application/json")

    async with fake() as server, launched(server.url) as client:
        await client.open()
        server.answers["ping"] = nonsense
        assert (await client.ask("ping"))["error"]["data"]["code"] == "no_answer"
        del server.answers["ping"]
        assert "result" in await client.ask("ping")


async def test_a_request_without_session_carries_its_revision_method_and_name() -> None:
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    async with fake() as server, launched(server.url) as client:
        await client.open()
        await client.ask("tools/call", {**meta, "name": "größe"})
        await client.ask("server/discover", meta, 2)
        call, discover = server.seen[-2:]
    assert "Mcp-Session-Id" not in call.headers
    assert (call.headers["MCP-Protocol-Version"], call.headers["Mcp-Method"]) == ("2026-07-28", "tools/call")
    assert call.headers["Mcp-Name"] == "=?base64?Z3LDtsOfZQ==?="
    assert (discover.headers["Mcp-Method"], "Mcp-Name" in discover.headers) == ("server/discover", False)


async def test_what_is_not_found_without_a_session_is_an_error_and_no_lost_session() -> None:
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    async with fake() as server, launched(server.url) as client:
        server.answers |= {"initialize": refuse(404, "no_endpoint"), "x": refuse(404, "no_method")}
        assert (await client.ask("initialize", INITIALIZE))["error"]["data"]["code"] == "no_endpoint"
        del server.answers["initialize"]
        await client.open()
        assert (await client.ask("x", meta))["error"]["data"]["code"] == "no_method"
        assert len(await server.until(2, method="initialize")) == 2


async def test_an_initialize_over_a_stream_opens_the_session_too() -> None:
    async def over_sse(http: web.Request, body: Any) -> web.StreamResponse:
        answer = opened(body, "transport-9")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Mcp-Session-Id": "transport-9"})
        await response.prepare(http)
        assert isinstance(answer, web.Response)
        assert isinstance(answer.body, bytes)
        await response.write(b"id: s.1\ndata: " + answer.body + b"\n\n")
        return response

    async with fake() as server, launched(server.url) as client:
        server.answers["initialize"] = over_sse
        await client.open()
        await client.ask("ping")
        assert server.seen[-1].headers["Mcp-Session-Id"] == "transport-9"


async def test_a_body_and_an_answer_of_a_megabyte_pass_as_one_line_of_ascii() -> None:
    async def echo(http: web.Request, body: Any) -> web.StreamResponse:
        response = await streaming(http)
        await response.write(
            event(answer_of(body, body["params"]["arguments"]), "s.1").replace(b"\\u2028", "\u2028".encode())
        )
        return response

    text = "\u2028é😀" + "x" * 1_500_000
    async with fake() as server, launched(server.url) as client:
        await client.open()
        server.answers["tools/call"] = echo
        await client.send(tool_call(text=text))
        assert (await client.read())["result"] == {"text": text}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("echo", "echo"),
        ("a b", "a b"),
        (" a", "=?base64?IGE=?="),
        ("a\nb", "=?base64?YQpi?="),
        ("=?base64?x", "=?base64?PT9iYXNlNjQ/eA==?="),
    ],
)
def test_a_header_value_that_http_cannot_carry_is_encoded(value: str, expected: str) -> None:
    assert header_safe(value) == expected
