"""A proxy before Neo4j that loses the answer of a commit: the server has it, the client never hears."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

COMMIT = b"\x00\x02\xb0\x12\x00\x00"
"""Bolt's message COMMIT, in one chunk."""


class Proxy:
    """armed: how many commits are still to be cut. after: let the server answer first, or cut at once."""

    def __init__(self, port: int) -> None:
        self._upstream = port
        self.port = 0
        self.armed = 0
        self.after_answer = True
        self.cuts = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side ends it or a commit is cut."""
        upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", self._upstream)
        cutting = asyncio.Event()

        async def there() -> None:
            while data := await reader.read(65536):
                if self.armed and COMMIT in data:
                    self.armed -= 1
                    self.cuts += 1
                    cutting.set()
                upstream.write(data)
                await upstream.drain()
                if cutting.is_set() and not self.after_answer:
                    return

        async def back() -> None:
            while data := await upstream_reader.read(65536):
                if cutting.is_set():
                    return
                writer.write(data)
                await writer.drain()

        tasks = [asyncio.create_task(there()), asyncio.create_task(back())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for each in (upstream, writer):
                each.close()
                with suppress(OSError):
                    await each.wait_closed()


@asynccontextmanager
async def proxied(port: int) -> AsyncIterator[Proxy]:
    """A proxy before a port of loopback."""
    proxy = Proxy(port)
    connections: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.create_task(proxy.serve(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
