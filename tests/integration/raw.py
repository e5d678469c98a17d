"""Bytes over a connection of their own, for what no client library would send."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

from tests.integration.harness import Product

MARK = "q7MARKq7"
"""Stands in what is sent, and must stand in nothing that is answered, logged or counted."""
HOST = b"Host: localhost\r\n"
HANG_S = 60


async def exchanged(running: Product, sent: bytes) -> tuple[int, dict[str, Any]]:
    """The status and the JSON of the first answer, which does not repeat the mark."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(running.base.rpartition(":")[2]))
    writer.write(sent)
    async with asyncio.timeout(HANG_S):
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"content-type: application/json" in head.lower()
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
    writer.close()
    assert MARK.encode() not in head + body
    found: dict[str, Any] = json.loads(body)
    return int(head.split()[1]), found


def request(method: str, path: str, headers: dict[str, str | bytes], body: bytes = b"") -> bytes:
    """An HTTP request whose header values may be any bytes."""
    lines = [f"{method} {path} HTTP/1.1\r\n".encode(), HOST]
    for name, value in {**headers, "Content-Length": str(len(body))}.items():
        lines.append(name.encode() + b": " + (value if isinstance(value, bytes) else value.encode()) + b"\r\n")
    return b"".join(lines) + b"\r\n" + body


async def connected_unread(running: Product, headers: dict[str, str]) -> socket.socket:
    """A connection that has sent a GET for a stream, and never reads."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, ("127.0.0.1", int(running.base.rpartition(":")[2])))
    await loop.sock_sendall(connection, request("GET", "/mcp", dict(headers)))
    return connection
