"""What aiohttp refuses before any handler is answered in JSON and repeated nowhere."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from io import StringIO
from typing import Any

import pytest
from aiohttp import web

from codesynapse.server.http.runner import FILES_KEPT, FULL_AGAIN_S, KEEPALIVE_S, Runner, connections_below
from codesynapse.server.limits import Limits
from tests.integration.harness import product
from tests.integration.logs import logged
from tests.integration.raw import HOST, exchanged
from tests.integration.raw import MARK as MARKED

MARK = MARKED.encode()


@pytest.fixture(autouse=True)
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[StringIO]:
    """Everything that is logged holds no mark."""
    with logged(monkeypatch) as text:
        yield text
        assert MARK.decode() not in text.getvalue()


@pytest.mark.parametrize(
    "sent",
    [
        MARK + b"\r\n\r\n",
        MARK + b" / HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /mcp HTTP/1.1\r\n" + HOST + b"X-A: " + MARK + b"\x00\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\n" + HOST + b"X A: " + MARK + b"\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\n" + HOST + b"Authorization: Bearer " + MARK * 2_000 + b"\r\n\r\n",
        b"GET /" + MARK * 2_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /" + MARK + b"\xff HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET http://[::" + MARK + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        b"POST /mcp HTTP/1.1\r\n" + HOST + b"Content-Length: " + MARK + b"\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n" + MARK,
        b"POST /mcp HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n" + MARK,
        b"POST /mcp HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + MARK,
        b"GET /mcp HTTP/1.1\r\n" + HOST + HOST + b"X: " + MARK + b"\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\nX: " + MARK + b"\r\n\r\n",
    ],
)
async def test_what_is_not_valid_http_is_400_in_json(sent: bytes):
    async with product() as running:
        status, body = await exchanged(running, sent)
        assert (status, body["code"]) == (400, "http_400")
        async with running.http.get(running.base + "/healthz") as answer:
            assert answer.status == 200


@pytest.mark.parametrize("path", [b"/mcp", b"/nothing"])
async def test_an_unknown_expectation_is_417_in_json(path: bytes):
    async with product() as running:
        status, body = await exchanged(
            running, b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"Expect: " + MARK + b"\r\n\r\n"
        )
        assert (status, body["code"]) == (417, "http_417")


async def test_the_expectation_that_curl_sends_is_met():
    async with product() as running:
        port = int(running.base.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /mcp HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        async with asyncio.timeout(30):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
            writer.write(b"{}")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 401 ")
        writer.close()


async def test_a_body_that_breaks_behind_its_refusal_is_no_fault_of_ours(logs: StringIO):
    head = b"POST /nothing HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    async with product() as running:
        assert (await exchanged(running, head + MARK + b"\r\n"))[0] in (400, 404)
    assert '"level": "error"' not in logs.getvalue()
    assert "request_unreadable" in logs.getvalue()


Connect = Callable[[bytes], Awaitable[asyncio.StreamReader]]
HEAD = b"POST /body HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\n\r\n"
PING = b"GET /ping HTTP/1.1\r\n" + HOST + b"\r\n"
PARTS = {"nothing": b"", "a part of a head": b"POST /mcp HTTP/1.1\r\nX-A: ", "a part of a body": HEAD + b"{"}


@asynccontextmanager
async def serving(most: int = 100) -> AsyncIterator[tuple[Runner, Connect]]:
    """A server that nothing sweeps but a test; yields it and what connects, sends, and waits until that was read."""
    reading = asyncio.Event()

    async def ping(_: web.Request) -> web.Response:
        return web.Response(text="pong")

    async def body(request: web.Request) -> web.Response:
        reading.set()
        return web.Response(body=await request.read())

    application = web.Application()
    application.add_routes([web.get("/ping", ping), web.post("/body", body)])
    runner = Runner(application, Limits(), most, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    writers: list[asyncio.StreamWriter] = []

    async def connect(sent: bytes) -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection(*runner.addresses[0][:2])
        writers.append(writer)
        writer.write(sent)
        if sent.startswith(HEAD):
            await reading.wait()
        return reader

    try:
        async with asyncio.timeout(30):
            yield runner, connect
    finally:
        for writer in writers:
            writer.close()
        await runner.cleanup()


async def answered(connect: Connect) -> asyncio.StreamReader:
    """A connection that was answered, and so is one that is known to the server; others before it are as well."""
    reader = await connect(PING)
    assert (await reader.readuntil(b"pong")).startswith(b"HTTP/1.1 200 ")
    return reader


def now() -> float:
    return asyncio.get_running_loop().time()


async def closed(reader: asyncio.StreamReader) -> bool:
    """Whether the server closed the connection; waits for it."""
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize(("sent", "after_s"), [(PARTS["nothing"], 10), (PARTS["a part of a head"], 10)])
async def test_a_head_that_does_not_come_in_time_ends_its_connection_and_nobody_elses(sent: bytes, after_s: int):
    async with serving() as (runner, connect):
        late = await connect(sent)
        await answered(connect)
        runner.sweep(now() + after_s - 5)
        assert len(open_connections(runner)) == 2
        runner.sweep(now() + after_s)
        assert await closed(late)
        assert len(open_connections(runner)) == 1


async def test_a_body_that_stands_still_ends_its_connection():
    async with serving() as (runner, connect):
        late = await connect(PARTS["a part of a body"])
        runner.sweep(now() + 25)
        assert len(open_connections(runner)) == 1
        runner.sweep(now() + 30)
        assert await closed(late)


async def test_a_connection_between_two_requests_stays_and_a_head_that_begins_then_has_its_time_as_well():
    async with serving() as (runner, connect):
        reader, writer = await asyncio.open_connection(*runner.addresses[0][:2])
        writer.write(PING)
        await reader.readuntil(b"pong")
        runner.sweep(now() + KEEPALIVE_S)
        writer.write(PING + PING[:5])
        await reader.readuntil(b"pong")
        writer.write(PING[5:] + PING)
        await reader.readuntil(b"pong")
        await reader.readuntil(b"pong")
        writer.write(PING[:5])
        await answered(connect)
        runner.sweep(now() + 10)
        assert await closed(reader)
        writer.close()


async def test_beyond_the_most_connections_the_next_is_closed_and_told_once_and_there_is_room_again(logs: StringIO):
    async with serving(most=1) as (runner, connect):
        first = await answered(connect)
        assert await closed(await connect(b""))
        assert await closed(await connect(b""))
        assert logs.getvalue().count("connections_full") == 1
        (connection,) = open_connections(runner)
        connection.force_close()
        assert await closed(first)
        await answered(connect)


async def test_that_connections_are_refused_is_told_again_after_a_while(logs: StringIO):
    async with serving(most=0) as (runner, connect):
        assert await closed(await connect(b""))
        server: Any = runner.server
        server.most = -1
        assert not server.admits(now())
        assert logs.getvalue().count("connections_full") == 1
        assert not server.admits(now() + FULL_AGAIN_S)
        assert logs.getvalue().count("connections_full") == 2


def open_connections(runner: Runner) -> list[web.RequestHandler]:
    assert runner.server is not None
    return [each for each in runner.server.connections if each.transport is not None]


@pytest.mark.parametrize(
    ("soft", "hard", "allowed", "raised"),
    [
        (100_000, 100_000, 12_000, None),
        (1_024, 524_288, 12_000, 12_000 + FILES_KEPT),
        (1_024, 4_096, 4_096 - FILES_KEPT, 4_096),
        (64, 64, 32, 64),
        (1_024, resource.RLIM_INFINITY, 12_000, 12_000 + FILES_KEPT),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 12_000, None),
    ],
)
def test_connections_stay_below_the_files_that_the_process_may_open(
    soft: int, hard: int, allowed: int, raised: int | None, monkeypatch: pytest.MonkeyPatch
):
    changed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: changed.append(limits))
    assert connections_below(12_000) == allowed
    assert changed == ([] if raised is None else [(raised, hard)])


async def test_the_product_looks_at_its_connections_by_itself():
    async with product(head_timeout_ms=1) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(running.base.rpartition(":")[2]))
        writer.write(PARTS["a part of a head"])
        async with asyncio.timeout(30):
            assert await closed(reader)
        writer.close()
