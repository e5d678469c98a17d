"""Hostile input ("It must show" 7): each answer is a clear error in JSON that repeats nothing; the server lives."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.integration.harness import Product, Transport, messages_of, product
from tests.integration.logs import logged
from tests.integration.raw import MARK, exchanged, request
from tests.integration.tools import call, register_tools, status_of, stream

LIMIT = 4 * 1024 * 1024
REST = "/api/v1/repos/default/session-memory"
SEPARATORS = "a\u2028b\u2029c\u0085d\U0001f600é"


@pytest.fixture(autouse=True)
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing that is logged holds the mark."""
    with logged(monkeypatch) as text:
        yield
        assert "listening" in text.getvalue()
        assert MARK not in text.getvalue()


@pytest.fixture
async def running(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[Product]:
    """The server, by default on the memory store; afterwards it serves a good call, and its metrics hold no mark."""
    async with product(store=getattr(request, "param", "memory"), home=tmp_path) as made:
        register_tools(made.services).opened.set()
        yield made
        await is_well(made)


async def is_well(running: Product) -> None:
    transport = await running.open(await running.person())
    await transport.remember(("Ana", "likes", "tea"))
    assert (await transport.recall("tea"))["facts"][0]["object"] == "tea"
    async with running.http.get(running.base + "/metrics") as answer:
        assert MARK not in await answer.text()


async def answered(running: Product, transport: Transport, body: bytes, **headers: str) -> tuple[int, Any]:
    """The status and JSON of a raw body on the endpoint; no error repeats the mark."""
    asked = {**transport.all_headers(), "Accept": "application/json", **headers}
    async with running.http.post(running.url, data=io.BytesIO(body), headers=asked) as answer:
        raw = await answer.read()
        assert answer.content_type == "application/json"
        assert answer.status == 200 or MARK.encode() not in raw
        return answer.status, json.loads(raw)


async def chunks(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // 65_536):
        yield b" " * 65_536


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("path", ["/mcp", REST, "/api/v1/execution/sessions"])
async def test_a_body_of_ten_megabytes_is_413_and_names_the_limit(running: Product, path: str, declared: bool):
    transport = await running.open(await running.person())
    body = io.BytesIO(b" " * (10 * 1024 * 1024)) if declared else chunks(10 * 1024 * 1024)
    async with running.http.post(running.base + path, data=body, headers=transport.all_headers()) as answer:
        told = await answer.json()
        assert answer.status == 413
    refusal = told["error"]["data"] if path == "/mcp" else told
    assert (refusal["code"], refusal["limit"]) == ("body_too_large", LIMIT)


async def test_a_body_of_ten_megabytes_without_a_credential_is_401(running: Product):
    async with running.http.post(running.url, data=chunks(10 * 1024 * 1024)) as answer:
        assert (answer.status, answer.content_type) == (401, "application/json")


async def test_a_body_that_unpacks_to_ten_megabytes_is_413(running: Product):
    transport = await running.open(await running.person())
    packed = gzip.compress(b" " * (10 * 1024 * 1024))
    status, told = await answered(running, transport, packed, **{"Content-Encoding": "gzip"})
    assert (status, told["error"]["data"]["limit"]) == (413, LIMIT)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_body_that_does_not_unpack_is_an_error_of_the_sender(running: Product, encoding: str):
    transport = await running.open(await running.person())
    status, told = await answered(running, transport, MARK.encode() * 10, **{"Content-Encoding": encoding})
    assert 400 <= status < 500
    assert told


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":'])
async def test_a_hundred_thousand_brackets_are_refused_with_the_limit(running: Product, opening: bytes):
    transport = await running.open(await running.person())
    deep = opening * 100_000
    for body in (deep, b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + deep + b"}}"):
        status, told = await answered(running, transport, body)
        assert (status, told["error"]["code"], "Limit: 64" in told["error"]["message"]) == (400, -32600, True)
    async with running.http.post(running.base + REST, data=deep, headers=transport.all_headers()) as answer:
        refusal = await answer.json()
        assert (answer.status, refusal["field"], refusal["limit"]) == (422, "body", "depth 64")


async def test_brackets_behind_a_string_without_an_end_are_refused_at_once(running: Product):
    transport = await running.open(await running.person())
    body = b'{"params":' + b"[" * 60 + b'"' + b'\\"[' * 1_000_000
    status, told = await answered(running, transport, body)
    assert (status, told["error"]["code"]) == (400, -32700)


IDS = [
    *("null", "1.5", "1e2", "true", "false", "{}", "[]", '{"q7MARKq7":1}', '["q7MARKq7"]'),
    *('"' + MARK * 200 + '"', "9" * 400, "-" + "9" * 40),
]


@pytest.mark.parametrize("raw_id", IDS)
async def test_an_id_that_is_none_is_400_without_an_id(running: Product, raw_id: str):
    transport = await running.open(await running.person())
    body = '{"jsonrpc":"2.0","id":' + raw_id + ',"method":"ping"}'
    status, told = await answered(running, transport, body.encode())
    assert (status, told["id"], told["error"]["code"]) == (400, None, -32600)
    assert "1024" in told["error"]["message"]


@pytest.mark.parametrize("raw_id", ["1", "-1", "0", '""', '"x"', '"\\u0000"', '"a\\r\\n\\r\\ndata: x"', "9" * 18])
async def test_an_id_of_a_request_is_answered_as_it_came(running: Product, raw_id: str):
    transport = await running.open(await running.person())
    for method in ("ping", "nothing"):
        body = '{"jsonrpc":"2.0","id":' + raw_id + ',"method":"' + method + '"}'
        _, told = await answered(running, transport, body.encode())
        assert told["id"] == json.loads(raw_id)
    async with stream(transport, call(json.loads(raw_id), "say")) as events:
        ((_, priming), (_, data)) = await events.rest()
        assert (priming, json.loads(data)["id"]) == ("", json.loads(raw_id))


on_each_store = pytest.mark.parametrize("running", ["memory", "sqlite"], indirect=True)

MALFORMED = [
    b"",
    b"\x00",
    b"\xff\xfe{\x00}\x00",
    MARK.encode(),
    b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"\\udc00q7MARKq7"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"q7MARKq7":"\xc0\x80"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"q7MARKq7":"\xed\xa0\x80"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"pi\x00ng"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
]


@pytest.mark.parametrize("body", MALFORMED)
async def test_what_is_not_json_in_utf_8_is_a_parse_error(running: Product, body: bytes):
    transport = await running.open(await running.person())
    status, told = await answered(running, transport, body)
    assert (status, told["id"], told["error"]["code"]) == (400, None, -32700)


async def test_of_a_repeated_key_the_last_one_counts(running: Product):
    transport = await running.open(await running.person())
    body = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"nothing","method":"ping"}'
    assert await answered(running, transport, body) == (200, {"jsonrpc": "2.0", "id": 2, "result": {}})


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_separators_that_end_lines_for_some_make_the_round_trip_in_ascii(running: Product, accept: str):
    transport = await running.open(await running.person())
    transport.accept = accept
    body = json.dumps(call(1, "say", text=SEPARATORS), ensure_ascii=False).encode()
    async with transport.post(body) as answer:
        assert (await answer.read()).isascii()
        (message,) = await messages_of(answer)
    assert message["result"]["structuredContent"]["text"] == SEPARATORS
    assert json.loads(message["result"]["content"][0]["text"])["text"] == SEPARATORS


async def test_a_text_cannot_pose_as_an_event(running: Product):
    transport = await running.open(await running.person())
    text = "x\n\ndata: {}\n\nid: 7\r\n\r\nevent: y\r\r"
    async with stream(transport, call(1, "say", text=text)) as events:
        (_, (_, data)) = await events.rest()
    assert json.loads(data)["result"]["structuredContent"]["text"] == text


ARGUMENTS: list[tuple[str, str, str]] = [
    ("recall_context", '{"query":"\\ud800q7MARKq7"}', "arguments"),
    ("recall_context", '{"query":"x","limit":"q7MARKq7"}', "limit"),
    ("recall_context", '{"query":"x","q7MARKq7":1}', "arguments"),
    ("recall_context", '{"query":"x","q7MARKq7` - at `$.q7MARKq7":1}', "arguments"),
    ("recall_context", '{"query":"x","repo":"q7MARKq7\\u0000"}', "repo"),
    ("recall_context", '{"query":"x","memory_scope":"q7MARKq7"}', "memory_scope"),
    ("recall_context", '{"query":"x","session_key":"' + MARK * 40 + '"}', "session_key"),
    (
        "upsert_graph_triples",
        '{"triples":[{"subject":"q7MARKq7\\u0000","predicate":"is","object":"x"}]}',
        "triples[0].subject",
    ),
    (
        "upsert_graph_triples",
        '{"triples":[{"subject":"x","predicate":"Q7MARKq7","object":"x"}]}',
        "triples[0].predicate",
    ),
    (
        "upsert_graph_triples",
        '{"triples":[{"subject":"x","predicate":"is","object":"' + MARK * 40 + '"}]}',
        "triples[0].object",
    ),
    ("upsert_graph_triples", '{"triples":[]}', "triples"),
    ("upsert_graph_triples", '{"triples":[' + ",".join(["{}"] * 51) + "]}", "triples"),
    ("search_graph_nodes", '{"query":"x","cursor":"q7MARKq7"}', "cursor"),
    ("search_graph_nodes", '{"query":"x","labels":["q7MARKq7"]}', "labels"),
    ("query_subgraph", '{"nodes":["q7MARKq7"],"depth":1e99}', "depth"),
    ("query_subgraph", '{"nodes":["q7MARKq7"],"limit":' + "9" * 30 + "}", "limit"),
]


@on_each_store
@pytest.mark.parametrize(("tool", "arguments", "field"), ARGUMENTS)
async def test_a_wrong_argument_is_a_result_that_names_its_field(
    running: Product, tool: str, arguments: str, field: str
):
    transport = await running.open(await running.person())
    body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}'
    status, told = await answered(running, transport, body.encode())
    if field == "arguments" and "ud800" in arguments:
        assert (status, told["error"]["code"]) == (400, -32700)
        return
    refusal = told["result"]["structuredContent"]
    assert (status, told["result"]["isError"], refusal["ok"], refusal["code"]) == (200, True, False, "invalid")
    assert refusal["field"].startswith(field)
    assert refusal["limit"]
    assert MARK not in json.dumps(told)


@on_each_store
@pytest.mark.parametrize(
    "text", ["\u0000", "%", "'; DROP TABLE x; --", "\\", "*", '"', "a" * 2_000, "\u202e", "(", "NEAR/1"]
)
async def test_a_query_is_text_and_nothing_else(running: Product, text: str):
    transport = await running.open(await running.person())
    await transport.remember(("Ana", "likes", "tea"), scope="repository")
    for scope in ("session", "repository"):
        assert "facts" in await transport.recall(text, memory_scope=scope)
    for tool, arguments in (("search_graph_nodes", {"query": text[:512]}), ("query_subgraph", {"nodes": [text[:256]]})):
        assert not (await transport.call(tool, arguments))["isError"]


@on_each_store
@pytest.mark.parametrize(
    "value", [b"\xed\xa0\x80q7MARKq7", b"q7MARKq7 x", b"\xff", b"", b"q7MARKq7" * 20, b"../q7MARKq7"]
)
async def test_a_malformed_execution_header_is_400_and_names_the_header(running: Product, value: bytes):
    person = await running.person()
    headers: dict[str, str | bytes] = {
        **person.headers,
        "X-CodeSynapse-Session": value,
        "X-CodeSynapse-Parent-Session": value,
    }
    for method, path in (("GET", REST), ("POST", "/mcp")):
        status, told = await exchanged(running, request(method, path, headers, b"{}" if method == "POST" else b""))
        refusal = told if path == REST else told["error"]["data"]
        assert (status, refusal["field"]) == (400, "X-CodeSynapse-Session")


@pytest.mark.parametrize(
    "name", ["Mcp-Session-Id", "Last-Event-ID", "MCP-Protocol-Version", "X-CodeSynapse-Toolsets", "Origin"]
)
@pytest.mark.parametrize(
    "value", [b"\xed\xa0\x80q7MARKq7", b"q7MARKq7", b"\xffq7MARKq7", b"http://localhost/\xffq7MARKq7"]
)
async def test_no_header_breaks_the_server_or_is_repeated(running: Product, name: str, value: bytes):
    transport = await running.open(await running.person())
    headers: dict[str, str | bytes] = {**transport.all_headers(), name: value, "Accept": "application/json"}
    body = json.dumps(transport.message("tools/list")).encode()
    status, _ = await exchanged(running, request("POST", "/mcp", headers, body))
    assert status in (200, 400, 403, 404)


@pytest.mark.parametrize(
    "value", [b"Bearer \xed\xa0\x80", b"Bearer csk_q7MARKq7", b"Basic q7MARKq7", b"Bearer", b"\xff"]
)
async def test_a_malformed_credential_is_401(running: Product, value: bytes):
    status, told = await exchanged(running, request("POST", "/mcp", {"Authorization": value}, b"{}"))
    assert (status, told["error"]["data"]["code"]) == (401, "unauthenticated")


PATHS = [
    "/",
    "/q7MARKq7",
    "/.well-known/oauth-protected-resource",
    "/.well-known/q7MARKq7",
    "/mcp/q7MARKq7",
    "/register",
]
PATHS += [
    "/api/v1/q7MARKq7",
    "/%2e%2e/q7MARKq7",
    "/x%0d%0aX-A:%20q7MARKq7",
    "/%00q7MARKq7",
    "/api/v1/repos/a%2fq7MARKq7/x",
]


@pytest.mark.parametrize("path", PATHS)
async def test_an_unknown_path_is_404_in_json(running: Product, path: str):
    for method in ("GET", "POST", "DELETE", "PUT"):
        status, told = await exchanged(running, request(method, path, {}))
        assert (status, told["code"]) == (404, "not_found")
    async with running.http.head(running.base + "/nothing") as answer:
        assert (answer.status, await answer.read()) == (404, b"")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "OPTIONS", "HEAD"])
@pytest.mark.parametrize("path", ["/mcp", "/api/v1/execution/sessions/revoke"])
async def test_a_wrong_method_is_405_and_says_which_are_right(running: Product, method: str, path: str):
    async with running.http.request(method, running.base + path) as answer:
        assert (answer.status, answer.content_type) == (405, "application/json")
        assert "POST" in answer.headers["Allow"]


@on_each_store
@pytest.mark.parametrize(
    "repository", ["q7MARKq7", "%00q7MARKq7", "%ED%A0%80q7MARKq7", "q7MARKq7%0d%0a", "q7MARKq7" * 20]
)
async def test_a_hostile_repository_in_a_path_is_refused(running: Product, repository: str):
    transport = await running.open(await running.person())
    headers: dict[str, str | bytes] = dict(transport.headers)
    path = REST.replace("default", repository)
    status, told = await exchanged(running, request("GET", path, headers))
    assert (status, told["code"]) in ((403, "repository_forbidden"), (422, "invalid"))


async def test_a_request_that_allocates_nothing_leaves_no_session(running: Product):
    person = await running.person()
    for method, body in (("GET", None), ("DELETE", None), ("POST", {"jsonrpc": "2.0", "id": 1, "method": "ping"})):
        for transport_id in (None, "q7MARKq7"):
            headers = person.headers if transport_id is None else {**person.headers, "Mcp-Session-Id": transport_id}
            assert (await status_of(running, method, headers, body))[0] in (400, 404, 405)
    assert len(running.server.lives) == 0
