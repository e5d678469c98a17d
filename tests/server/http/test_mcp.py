"""The endpoint itself: the order of its checks, and what each refusal looks like."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from codesynapse.server.http import mcp
from codesynapse.server.mcp.messages import OFF_LOOP_BYTES
from codesynapse.server.tools import dispatch
from tests.integration.harness import Product, Transport, fresh, messages_of, product
from tests.integration.tools import call, live_of, register_tools, status_of


async def refusal(running: Product, method: str, headers: dict[str, str], body: object = None) -> tuple[int, str]:
    """The status of a refusal and its code."""
    status, told = await status_of(running, method, headers, body)
    assert told["jsonrpc"] == "2.0"
    assert told["id"] is None
    return status, told["error"]["data"]["code"]


def without(headers: dict[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in names}


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_credential_comes_before_transport_before_execution(method: str):
    async with product() as running:
        person = await running.person()
        transport = await running.open(person)
        body = transport.message("ping") if method == "POST" else None
        everything_wrong = {
            **transport.all_headers(),
            "Authorization": "Bearer csk_" + "x" * 43,
            "Mcp-Session-Id": "x",
            "X-CodeSynapse-Session": "not registered",
        }
        assert await refusal(running, method, everything_wrong, body) == (401, "unauthenticated")
        known = {**everything_wrong, "Authorization": transport.headers["Authorization"]}
        assert await refusal(running, method, known, body) == (404, "transport_unknown")
        found = {**known, "Mcp-Session-Id": str(transport.id)}
        assert await refusal(running, method, found, body) == (400, "header_invalid")
        assert await refusal(running, method, {**found, **person.bound(fresh())}, body) == (
            403,
            "session_not_registered",
        )
        rebound = {**found, **person.bound(await running.register(person))}
        assert await refusal(running, method, rebound, body) == (403, "rebind_refused")
        missing = without(transport.all_headers(), "X-CodeSynapse-Session", "X-CodeSynapse-Parent-Session")
        assert await refusal(running, method, missing, body) == (403, "execution_missing")


async def test_a_session_that_is_opened_bound_is_bound_from_its_first_moment():
    async with product() as running:
        transport = await running.open(await running.person())
        (live,) = running.server.lives._table.values()
        assert live.connection.identity is not None
        assert live.connection.identity.session_id == transport.headers["X-CodeSynapse-Session"]
        assert live.deadline_ms == running.clock() + 7 * 86_400_000


async def test_initialize_under_a_session_that_is_not_ones_own_opens_nothing():
    async with product() as running:
        ana, ben = await running.person(), await running.person()
        session_id = await running.register(ana)
        transport = Transport(http=running.http, url=running.url, headers=ben.bound(session_id))
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}},
        }
        assert await refusal(running, "POST", transport.all_headers(), body) == (403, "session_not_registered")
        assert len(running.server.lives) == 0


@pytest.mark.parametrize("name", ["Mcp-Session-Id", "Last-Event-ID", "MCP-Protocol-Version", "X-CodeSynapse-Session"])
async def test_a_repeated_header_is_400_and_names_it(name: str):
    async with product() as running:
        transport = await running.open(await running.person())
        headers = [*transport.all_headers().items(), (name, "x"), (name, "x")]
        async with running.http.get(running.url, headers=headers) as answer:
            told = await answer.json()
            assert (answer.status, told["error"]["data"]["field"]) == (400, name)


@pytest.mark.parametrize(
    ("message", "status", "code"),
    [
        ({"jsonrpc": "2.0", "id": 1, "method": "nothing"}, 200, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nothing"}}, 200, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, 200, -32602),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 400, -32600),
        ({"id": 1}, 400, -32600),
    ],
)
async def test_what_was_understood_is_answered_with_200_and_what_was_not_with_400(
    message: dict[str, Any], status: int, code: int
):
    async with product() as running:
        transport = await running.open(await running.person())
        told = await status_of(running, "POST", transport.all_headers(), message)
        assert (told[0], told[1]["id"], told[1]["error"]["code"]) == (status, 1, code)


@pytest.mark.parametrize("size", [OFF_LOOP_BYTES - 1_000, OFF_LOOP_BYTES + 1_000, 1_000_000])
async def test_a_large_body_is_served_as_a_small_one_and_parsed_beside_the_loop(
    size: int, monkeypatch: pytest.MonkeyPatch
):
    parse, beside = mcp.parse, []

    def watched(body: bytes, *, deepest: int) -> Any:
        beside.append(threading.current_thread() is not threading.main_thread())
        return parse(body, deepest=deepest)

    async with product() as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        monkeypatch.setattr(mcp, "parse", watched)
        result = await transport.call("say", {"text": "x" * size})
        assert len(result["structuredContent"]["text"]) == size
        assert beside == [size > OFF_LOOP_BYTES]


@pytest.mark.parametrize("size", [1_000, OFF_LOOP_BYTES + 1_000])
async def test_large_arguments_and_a_large_batch_are_decoded_beside_the_loop(
    size: int, monkeypatch: pytest.MonkeyPatch
):
    beside: dict[str, bool] = {}

    def watch(module: Any, name: str) -> None:
        original = getattr(module, name)

        def watched(*arguments: Any, **named: Any) -> Any:
            beside[name] = threading.current_thread() is not threading.main_thread()
            return original(*arguments, **named)

        monkeypatch.setattr(module, name, watched)

    async with product() as running:
        register_tools(running.services)
        transport = await running.open(await running.person(), version="2025-03-26")
        watch(mcp, "parse_batch")
        watch(dispatch, "decode_arguments")
        async with transport.post([call(1, "say", text="x" * size)]) as answer:
            (message,) = await messages_of(answer)
        assert json.loads(message["result"]["content"][0]["text"])["text"] == "x" * size
        assert beside == dict.fromkeys(("parse_batch", "decode_arguments"), size > OFF_LOOP_BYTES)


async def test_nothing_is_kept_of_an_answer_that_went_out_as_plain_json():
    async with product() as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        transport.accept = "application/json"
        await transport.call("say", {"text": "x"})
        assert live_of(running, transport).log.size_bytes == 0
        transport.accept = "text/event-stream"
        await transport.call("say", {"text": "x"})
        assert live_of(running, transport).log.size_bytes > 0


async def test_a_large_body_whose_session_ends_while_it_is_parsed_is_not_run(monkeypatch: pytest.MonkeyPatch):
    async with product() as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        parse = running.server.lives.find

        def find_and_close(*arguments: Any) -> Any:
            live = parse(*arguments)
            running.server.lives.close(live)
            return live

        monkeypatch.setattr(running.server.lives, "find", find_and_close)
        body = call(1, "wait", text="x" * (OFF_LOOP_BYTES + 1_000))
        assert await refusal(running, "POST", transport.all_headers(), body) == (404, "transport_unknown")
        assert gate.entered == 0


async def test_the_servers_choice_of_toolsets_bounds_a_clients():
    async with product(toolsets="graph") as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        for chosen, count in (("", 4), ("all", 4), ("graph,test", 4), ("test", 0)):
            transport.extra = {"X-CodeSynapse-Toolsets": chosen}
            listed = (await transport.request("tools/list"))["result"]["tools"]
            assert len(listed) == count, chosen


async def test_toolsets_that_are_named_one_by_one_are_all_shown():
    async with product() as running:
        transport = await running.open(await running.person())
        counts = []
        for query in ("?toolsets=graph", "?toolsets=session", "?toolsets=graph&toolsets=session"):
            data = json.dumps(transport.message("tools/list"))
            async with running.http.post(running.url + query, data=data, headers=transport.all_headers()) as answer:
                said = (await answer.text()).split("data: ", 1)[-1]
                counts.append(said.count('"inputSchema"'))
        assert counts[0] + counts[1] == counts[2] > counts[0] > 0


async def test_an_unknown_toolset_is_refused_where_it_was_named():
    async with product() as running:
        transport = await running.open(await running.person())
        sent = {**transport.all_headers(), "X-CodeSynapse-Toolsets": "nothing"}
        for query, headers, field in (
            ("", sent, "X-CodeSynapse-Toolsets"),
            ("?toolsets=nothing", transport.all_headers(), "?toolsets"),
        ):
            data = json.dumps(transport.message("tools/list"))
            async with running.http.post(running.url + query, data=data, headers=headers) as answer:
                told = (await answer.json())["error"]["data"]
                assert (answer.status, told["code"], told["field"]) == (400, "header_invalid", field)


async def test_a_deleted_transport_leaves_the_chat_session_and_its_memory():
    async with product() as running:
        person = await running.person()
        session_id = await running.register(person)
        first = await running.open(person, session_id)
        await first.remember(("Ana", "likes", "tea"))
        async with running.http.delete(running.url, headers=first.all_headers()) as answer:
            assert (answer.status, await answer.read()) == (204, b"")
        second = await running.open(person, session_id)
        assert json.dumps((await second.recall("tea"))["facts"]).count('"tea"') == 1
