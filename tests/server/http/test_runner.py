"""What aiohttp refuses before any handler is answered in JSON and repeated nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.integration.harness import product
from tests.integration.logs import logged
from tests.integration.raw import HOST, exchanged
from tests.integration.raw import MARK as MARKED

MARK = MARKED.encode()


@pytest.fixture(autouse=True)
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything that is logged holds no mark."""
    with logged(monkeypatch) as text:
        yield
        assert "listening" in text.getvalue()
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
