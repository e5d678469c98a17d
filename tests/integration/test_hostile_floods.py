"""Hostile input in numbers: anything at all, drawn by the thousand, and sessions that nobody uses."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integration.harness import Product, Transport, messages_of, product
from tests.integration.logs import logged
from tests.integration.raw import HANG_S, MARK
from tests.integration.tools import register_tools

FULL = os.environ.get("CODESYNAPSE_FULL") == "1"
EXAMPLES = 1_000 if FULL else 60
IDLE = 10_000 if FULL else 1_000


@pytest.fixture(autouse=True)
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing that is logged holds the mark, and nothing is logged as a fault."""
    with logged(monkeypatch) as text:
        yield
        assert MARK not in text.getvalue()
        assert "failed" not in text.getvalue()


async def drawn(strategy: st.SearchStrategy[Any], check: Callable[[Any], Awaitable[None]]) -> None:
    """Run a check in this loop on each of many drawn values."""
    loop = asyncio.get_running_loop()

    @settings(max_examples=EXAMPLES, deadline=None, database=None)
    @given(strategy)
    def attempt(value: Any) -> None:
        asyncio.run_coroutine_threadsafe(check(value), loop).result(HANG_S)  # type: ignore[arg-type]

    await asyncio.to_thread(attempt)


async def served(running: Product) -> None:
    transport = await running.open(await running.person())
    await transport.remember(("Ana", "likes", "tea"))
    assert (await transport.recall("tea"))["facts"][0]["object"] == "tea"
    async with running.http.get(running.base + "/metrics") as answer:
        assert MARK not in await answer.text()


def refusals(message: dict[str, Any]) -> Iterator[object]:
    """What a message says against something: an error, or a result that is one."""
    if "error" in message:
        yield message["error"]
    elif isinstance(message.get("result"), dict) and message["result"].get("isError"):
        yield message["result"]


async def check_answer(transport: Transport, body: bytes) -> None:
    async with transport.post(body) as answer:
        assert answer.status in (200, 202, 400, 403, 429)
        if answer.status == 202:
            assert await answer.read() == b""
            return
        for message in await messages_of(answer):
            for refusal in refusals(message):
                assert MARK not in json.dumps(refusal)
                assert "internal" not in json.dumps(refusal)


TEXT = st.text(max_size=10) | st.just(MARK) | st.sampled_from(["\x00", "\u2028", "..", "{}", "null"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
METHODS = ["ping", "tools/list", "tools/call", "logging/setLevel", "initialize", "server/discover"]
METHODS += ["notifications/cancelled", "notifications/initialized"]
TOOLS = ["recall_context", "upsert_graph_triples", "search_graph_nodes", "query_subgraph", "say", MARK]
FIELDS = [
    "query",
    "limit",
    "repo",
    "memory_scope",
    "triples",
    "nodes",
    "depth",
    "cursor",
    "labels",
    "session_key",
    "text",
]
CALLS = st.fixed_dictionaries(
    {"name": st.sampled_from(TOOLS) | JSON},
    optional={
        "arguments": st.dictionaries(st.sampled_from(FIELDS) | TEXT, JSON, max_size=4) | JSON,
        "_meta": st.fixed_dictionaries({}, optional={"progressToken": JSON}) | JSON,
        "cursor": JSON,
        "level": JSON,
        "requestId": JSON,
    },
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": st.integers(-5, 5) | st.just("x") | JSON,
        "method": st.sampled_from(METHODS) | JSON,
        "params": CALLS | JSON,
        "result": JSON,
        "error": JSON,
    },
)
LIKELY = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": st.integers(0, 3), "method": st.sampled_from(METHODS), "params": CALLS}
)


@pytest.mark.parametrize("version", ["2025-11-25", "2025-03-26"])
async def test_any_message_or_batch_is_answered_clearly_and_the_server_lives(version: str):
    async with product() as running:
        register_tools(running.services).opened.set()
        transport = await running.open(await running.person(), version=version)

        async def check(message: Any) -> None:
            await check_answer(transport, json.dumps(message).encode())

        await drawn(LIKELY | MESSAGES | JSON | st.lists(LIKELY | MESSAGES | JSON, max_size=4), check)
        await served(running)


async def test_any_bytes_are_answered_clearly_and_the_server_lives():
    async with product() as running:
        transport = await running.open(await running.person())
        valid = json.dumps(transport.message("tools/call", {"name": "recall_context", "arguments": {"query": MARK}}))
        broken = st.tuples(st.integers(0, len(valid)), st.binary(max_size=4)).map(
            lambda at: valid.encode()[: at[0]] + at[1] + valid.encode()[at[0] + len(at[1]) :]
        )

        async def check(body: bytes) -> None:
            await check_answer(transport, body)

        await drawn(st.binary(max_size=300) | broken, check)
        await served(running)


async def test_any_body_and_query_on_rest_is_answered_clearly_and_the_server_lives():
    async with product() as running:
        person = await running.person()
        headers = person.bound(await running.register(person))
        routes = ["/api/v1/execution/sessions", "/api/v1/execution/sessions/revoke"]
        routes += ["/api/v1/repos/default/session-memory", "/api/v1/repos/default/session-memory/recall"]
        bodies = st.dictionaries(st.sampled_from(["session_id", *FIELDS]) | TEXT, JSON, max_size=3) | JSON

        async def check(drawn_values: tuple[str, str, Any, dict[str, str]]) -> None:
            method, route, body, query = drawn_values
            sent = None if method == "GET" else json.dumps(body).encode()
            async with running.http.request(
                method, running.base + route, headers=headers, data=sent, params=query
            ) as answer:
                assert answer.content_type == "application/json"
                assert answer.status < 500
                assert answer.status < 400 or MARK not in await answer.text()

        keys = st.sampled_from(["q", "limit", "history"]) | TEXT
        queries = st.dictionaries(
            keys, st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.just(MARK), max_size=3
        )
        await drawn(st.tuples(st.sampled_from(["GET", "POST"]), st.sampled_from(routes), bodies, queries), check)
        await served(running)


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}},
}


async def test_sessions_that_nobody_uses_are_bounded_and_end_and_the_server_answers():
    cap = IDLE // 4
    async with product(transports_max=cap) as running:
        crowd = [await running.person() for _ in range(max(8, IDLE // 128))]
        statuses: dict[int, int] = {}

        async def initialize(number: int) -> None:
            person = crowd[number % len(crowd)]
            async with running.http.post(running.url, json=INITIALIZE, headers=person.headers) as answer:
                statuses[answer.status] = statuses.get(answer.status, 0) + 1
                assert answer.status == 200 or (await answer.json())["error"]["data"]["code"] == "server_full"

        for start in range(0, IDLE, 100):
            await asyncio.gather(*(initialize(number) for number in range(start, start + 100)))
            assert len(running.server.lives) <= min(cap, 64 * len(crowd))
        assert set(statuses) == {200, 503}
        assert sum(statuses.values()) == IDLE
        assert running.server.lives.budget.used == 0
        async with running.http.get(running.base + "/readyz") as answer:
            assert answer.status == 200
        running.clock.advance(seconds=60)  # type: ignore[attr-defined]
        await running.server._sweep()
        assert len(running.server.lives) == 0
        await served(running)
