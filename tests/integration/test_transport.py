"""Streamable HTTP: negotiation, sessions, methods, headers and batches."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from tests.integration.harness import BOTH, LATEST, Product, Transport, messages_of, product
from tests.integration.tools import call, register_tools, status_of

REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26")


def initialize(**params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def opening(version: object = LATEST) -> dict[str, Any]:
    return initialize(protocolVersion=version, capabilities={}, clientInfo={"name": "t", "version": "1"})


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [*((each, each) for each in REVISIONS), ("1900-01-01", LATEST), ("2026-07-28", LATEST), ("2024-11-05", LATEST)],
)
async def test_a_known_revision_is_agreed_on_and_the_newest_offered_for_any_other(asked: str, agreed: str):
    async with product() as running:
        person = await running.person()
        status, body = await status_of(running, "POST", person.headers, opening(asked))
        assert (status, body["result"]["protocolVersion"]) == (200, agreed)


@pytest.mark.parametrize("params", [{}, {"protocolVersion": LATEST}, {"capabilities": {}, "clientInfo": {}}])
async def test_initialize_without_its_parameters_is_invalid_and_opens_no_session(params: dict[str, object]):
    async with product() as running:
        status, body = await status_of(running, "POST", (await running.person()).headers, initialize(**params))
        assert (status, body["id"], body["error"]["code"]) == (200, 1, -32602)
        assert len(running.server.lives) == 0


@pytest.mark.parametrize("version", [None, *REVISIONS, "garbage"])
async def test_the_version_header_of_initialize_itself_does_not_matter(version: str | None):
    async with product() as running:
        headers = (await running.person()).headers
        if version is not None:
            headers["MCP-Protocol-Version"] = version
        assert (await status_of(running, "POST", headers, opening()))[0] == 200


async def test_initialize_comes_once_in_a_session():
    async with product() as running:
        transport = await running.open(await running.person())
        status, body = await status_of(running, "POST", transport.all_headers(), opening())
        assert (status, body["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_both_spellings_of_the_path_serve_without_a_redirect(path: str):
    async with product() as running:
        person = await running.person()
        session_id = await running.register(person)
        transport = Transport(http=running.http, url=running.base + path, headers=person.bound(session_id))
        await transport.initialize()
        assert (await transport.request("ping"))["result"] == {}
        async with running.http.post(running.base + path, json=opening(), allow_redirects=False) as answer:
            assert answer.status == 401


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD", "PATCH"])
async def test_without_a_session_only_post_is_allowed_and_nothing_is_allocated(method: str):
    async with product() as running:
        person = await running.person()
        for _ in range(50):
            assert (await status_of(running, method, person.headers))[0] == 405
        assert len(running.server.lives) == 0


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
async def test_an_unknown_session_and_anothers_are_404_alike(method: str):
    async with product() as running:
        ana, ben = await running.person(), await running.person()
        foreign = await running.open(ben)
        own = await running.open(ana)
        body = own.message("ping") if method == "POST" else None
        answers = []
        for transport_id in (foreign.id, "x" * 43):
            headers = {**own.all_headers(), "Mcp-Session-Id": str(transport_id)}
            answers.append(await status_of(running, method, headers, body))
        assert answers[0] == answers[1]
        assert (answers[0][0], answers[0][1]["error"]["data"]["code"]) == (404, "transport_unknown")
        assert (await foreign.request("ping"))["result"] == {}


async def test_another_key_of_the_same_user_does_not_find_the_session():
    async with product() as running:
        person = await running.person()
        transport = await running.open(person)
        other = await running.key(person.tenant, person.subject)
        transport.headers["Authorization"] = f"Bearer {other}"
        status, _ = await status_of(running, "POST", transport.all_headers(), transport.message("ping"))
        assert status == 404


async def test_a_request_without_a_session_is_told_to_initialize_and_allocates_nothing():
    async with product() as running:
        person = await running.person()
        status, body = await status_of(running, "POST", person.headers, call(3, "say"))
        assert (status, body["id"], body["error"]["code"]) == (400, 3, -32600)
        assert len(running.server.lives) == 0


async def test_a_deleted_session_is_404_from_then_on():
    async with product() as running:
        transport = await running.open(await running.person())
        assert (await status_of(running, "DELETE", transport.all_headers()))[0] == 204
        for method, body in (("POST", transport.message("ping")), ("GET", None), ("DELETE", None)):
            assert (await status_of(running, method, transport.all_headers(), body))[0] == 404
        assert len(running.server.lives) == 0


@pytest.mark.parametrize("version", ["2025-06-18", "2025-03-26", "garbage", "", "q7MARKq7"])
async def test_a_version_header_that_is_not_the_sessions_is_400_and_names_the_header(version: str):
    async with product() as running:
        transport = await running.open(await running.person())
        headers = {**transport.all_headers(), "MCP-Protocol-Version": version}
        for method, body in (("POST", transport.message("ping")), ("GET", None)):
            status, answer = await status_of(running, method, headers, body)
            assert (status, answer["error"]["data"]["field"]) == (400, "MCP-Protocol-Version")
            assert "q7MARKq7" not in json.dumps(answer)


async def test_without_a_version_header_the_sessions_own_is_known():
    async with product() as running:
        transport = await running.open(await running.person())
        headers = {name: value for name, value in transport.all_headers().items() if name != "MCP-Protocol-Version"}
        assert (await status_of(running, "POST", headers, transport.message("ping")))[0] == 200


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("APPLICATION/JSON", 200),
        (None, 200),
        ("text/plain", 400),
        ("application/x-www-form-urlencoded", 400),
        ("application/jsonx", 400),
    ],
)
async def test_a_body_of_another_type_is_400_and_names_the_header(content_type: str | None, status: int):
    async with product() as running:
        transport = await running.open(await running.person())
        headers = {**transport.all_headers(), "Content-Type": content_type or ""}
        skipped = () if content_type else ("Content-Type",)
        headers = {name: value for name, value in headers.items() if name not in skipped}
        async with aiohttp.ClientSession(skip_auto_headers=["Content-Type"]) as http:
            data = json.dumps(transport.message("ping")).encode()
            async with http.post(running.url, data=data, headers=headers) as answer:
                body = await answer.json()
                assert answer.status == status
                assert status == 200 or body["error"]["data"]["field"] == "Content-Type"


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (BOTH, "text/event-stream"),
        ("text/event-stream", "text/event-stream"),
        ("application/json", "application/json"),
        ("*/*", "application/json"),
        ("application/json, text/event-stream;q=0", "application/json"),
        ("application/*", "application/json"),
        ("", "application/json"),
    ],
)
async def test_a_call_is_streamed_to_who_names_streams_and_json_otherwise(accept: str, kind: str):
    async with product() as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        transport.accept = accept
        async with transport.post(call(7, "say", text="x")) as answer:
            assert (answer.status, answer.content_type) == (200, kind)
            (message,) = await messages_of(answer)
            assert (message["id"], message["result"]["structuredContent"]["text"]) == (7, "x")


async def test_lists_and_pings_are_json_whatever_is_accepted():
    async with product() as running:
        transport = await running.open(await running.person())
        for method in ("ping", "tools/list"):
            async with transport.post(transport.message(method)) as answer:
                assert (answer.status, answer.content_type) == (200, "application/json")


async def test_a_get_that_rules_streams_out_is_405():
    async with product() as running:
        transport = await running.open(await running.person())
        headers = {**transport.all_headers(), "Accept": "application/json"}
        assert (await status_of(running, "GET", headers))[0] == 405


async def test_notifications_and_responses_are_accepted_without_a_body():
    async with product() as running:
        transport = await running.open(await running.person())
        for message in ({"jsonrpc": "2.0", "method": "x"}, {"jsonrpc": "2.0", "id": 1, "result": {}}):
            async with transport.post(message) as answer:
                assert (answer.status, await answer.read()) == (202, b"")


async def batch(running: Product, version: str, items: object, accept: str = BOTH) -> tuple[int, list[dict[str, Any]]]:
    transport = await running.open(await running.person(), version=version)
    transport.accept = accept
    async with transport.post(items) as answer:
        return answer.status, await messages_of(answer) if answer.status != 202 else []


@pytest.mark.parametrize("accept", [BOTH, "application/json"])
async def test_a_batch_at_the_first_revision_answers_each_of_its_requests(accept: str):
    async with product() as running:
        register_tools(running.services)
        ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
        items = [
            call(1, "say", text="a"),
            ping,
            {"jsonrpc": "2.0", "method": "x"},
            5,
            call("1", "say", text="b"),
            opening(),
        ]
        status, messages = await batch(running, "2025-03-26", items, accept)
        assert status == 200
        by_id = {json.dumps(each["id"]): each for each in messages if "result" in each}
        assert sorted(by_id) == ['"1"', '"p"', "1"]
        assert json.loads(by_id["1"]["result"]["content"][0]["text"])["text"] == "a"
        assert sorted(str(each["id"]) for each in messages if "error" in each) == ["1", "None"]


async def test_a_batch_of_notifications_is_accepted():
    async with product() as running:
        assert (await batch(running, "2025-03-26", [{"jsonrpc": "2.0", "method": "x"}])) == (202, [])


@pytest.mark.parametrize("count", [0, 51])
async def test_an_empty_or_a_long_batch_is_refused_with_the_limit(count: int):
    async with product() as running:
        items = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * count
        status, (error,) = await batch(running, "2025-03-26", items)
        assert (status, "50" in error["error"]["message"]) == (400, True)


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_a_batch_at_a_later_revision_is_refused(version: str):
    async with product() as running:
        status, (error,) = await batch(running, version, [{"jsonrpc": "2.0", "id": 1, "method": "ping"}])
        assert (status, error["error"]["code"]) == (400, -32600)


async def test_an_unbound_session_answers_only_what_needs_no_execution_until_it_is_bound_for_good():
    async with product() as running:
        person = await running.person()
        transport = Transport(http=running.http, url=running.url, headers=dict(person.headers))
        await transport.initialize()
        assert (await transport.request("ping"))["result"] == {}
        assert (await transport.request("tools/list"))["result"]["tools"]
        status, body = await status_of(running, "POST", transport.all_headers(), call(1, "recall_context", query="x"))
        assert (status, body["error"]["data"]["code"]) == (403, "execution_missing")
        assert (await status_of(running, "GET", transport.all_headers()))[0] == 403
        transport.headers = person.bound(await running.register(person))
        assert not (await transport.call("recall_context", {"query": "x"}))["isError"]
        transport.headers = person.bound(await running.register(person))
        status, body = await status_of(running, "POST", transport.all_headers(), call(1, "recall_context", query="x"))
        assert (status, body["error"]["data"]["code"]) == (403, "rebind_refused")


async def test_toolsets_are_chosen_by_header_or_query_and_a_hidden_tool_is_unknown():
    async with product() as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        transport.extra = {"X-CodeSynapse-Toolsets": "test"}
        names = {tool["name"] for tool in (await transport.request("tools/list"))["result"]["tools"]}
        assert names == {"say", "wait", "write", "steps", "flood"}
        hidden = await transport.request("tools/call", {"name": "recall_context", "arguments": {"query": "x"}})
        assert hidden["error"]["code"] == -32602
        transport.extra, transport.url = {}, running.url + "?toolsets=graph"
        assert len((await transport.request("tools/list"))["result"]["tools"]) == 4
        transport.url = running.url + "?toolsets=q7MARKq7"
        async with transport.post(transport.message("tools/list")) as answer:
            assert answer.status == 400
            assert "q7MARKq7" not in await answer.text()
