"""The headers are added to every request, and all else passes as it came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.conformance.proxy import HeadUnreadable, adding, body_length, with_headers

HEADERS = {"Authorization": "Bearer k", "X-CodeSynapse-Session": "s"}
ADDED = b"Authorization: Bearer k\r\nX-CodeSynapse-Session: s\r\n"
HEAD = b"POST /mcp HTTP/1.1\r\nHost: EVIL.example:1\r\nOrigin:  null \r\n"
HANG_S = 60


@asynccontextmanager
async def listening(count: int) -> AsyncIterator[tuple[str, asyncio.Future[bytes]]]:
    """A server that waits for so many bytes, answers them with the same, and hangs up."""
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raw = await reader.readexactly(count)
        heard.set_result(raw)
        writer.write(raw)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp", heard


async def exchanged(sent: bytes, expected: bytes) -> None:
    """What was sent arrives as expected, and what is answered comes back as it is."""
    async with asyncio.timeout(HANG_S), listening(len(expected)) as (url, heard), adding(url, lambda: HEADERS) as ours:
        assert ours.endswith("/mcp")
        port = int(ours.removesuffix("/mcp").rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for at in range(0, len(sent), 7):
            writer.write(sent[at : at + 7])
            await writer.drain()
        assert await heard == expected
        assert await reader.read() == expected
        writer.close()


async def test_each_request_of_a_connection_gets_the_headers_and_keeps_its_own() -> None:
    first = HEAD + b"Content-Length: 4\r\n", b"\r\n\r\n"
    second = b"GET /mcp HTTP/1.1\r\nHost: x\r\n"
    await exchanged(
        first[0] + b"\r\n" + first[1] + second + b"\r\n",
        first[0] + ADDED + b"\r\n" + first[1] + second + ADDED + b"\r\n",
    )


async def test_a_body_in_chunks_passes_with_its_trailer_and_the_next_request_follows() -> None:
    head, body = HEAD + b"Transfer-Encoding: chunked\r\n", b"3;a=b\r\nabc\r\n0\r\nT: 1\r\n\r\n"
    await exchanged(head + b"\r\n" + body + HEAD + b"\r\n", head + ADDED + b"\r\n" + body + HEAD + ADDED + b"\r\n")


def test_the_headers_stand_behind_all_others() -> None:
    assert with_headers(HEAD + b"\r\n", HEADERS) == HEAD + ADDED + b"\r\n"


@pytest.mark.parametrize(
    ("line", "length"), [(b"", 0), (b"CONTENT-length:  12 \r\n", 12), (b"Transfer-Encoding: chunked\r\n", None)]
)
def test_the_length_of_a_body_is_read_from_its_head(line: bytes, length: int | None) -> None:
    assert body_length(HEAD + line + b"\r\n") == length


def test_a_length_that_is_none_is_not_guessed() -> None:
    with pytest.raises(HeadUnreadable):
        body_length(HEAD + b"Content-Length: x\r\n\r\n")
