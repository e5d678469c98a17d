"""A loopback proxy that adds headers to every request, and passes all else as it came, Host and Origin included.

The conformance suite and the auditor cannot send the headers that say who calls. The server has no switch to do without
them, so they are added on the way: to each head of a connection, since one connection carries many requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

HEAD_MAX = 256 * 1024
CHUNK = 64 * 1024
Headers = Callable[[], Mapping[str, str]]


class HeadUnreadable(Exception):
    """A request's head cannot be followed, so nothing behind it can be told apart."""


def with_headers(head: bytes, headers: Mapping[str, str]) -> bytes:
    """A request's head, which ends with an empty line, with these headers behind all that it has."""
    added = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return head[:-2] + added.encode("ascii") + b"\r\n"


def body_length(head: bytes) -> int | None:
    """How many bytes of body follow a head; None for one in chunks. Raises HeadUnreadable."""
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"transfer-encoding":
            return None
        if name.strip().lower() == b"content-length":
            if not value.strip().isdigit():
                raise HeadUnreadable
            length = int(value)
    return length


async def forward_requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: Headers) -> None:
    """Pass a connection's requests on until it ends. Raises HeadUnreadable."""
    while True:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            writer.write(error.partial)
            return
        except asyncio.LimitOverrunError as error:
            raise HeadUnreadable from error
        writer.write(with_headers(head, headers()))
        length = body_length(head)
        await (_forward_chunks(reader, writer) if length is None else _forward(reader, writer, length))


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int) -> None:
    while length > 0:
        part = await reader.read(min(CHUNK, length))
        if not part:
            return
        length -= len(part)
        writer.write(part)
        await writer.drain()


async def _forward_chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on a body in chunks, and its trailer."""
    size = 1
    while size > 0:
        line = await reader.readuntil(b"\r\n")
        writer.write(line)
        size = int(line.partition(b";")[0], 16)
        if size > 0:
            await _forward(reader, writer, size + 2)
    while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
        writer.write(line)
    writer.write(line)


async def _forward_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(CHUNK):
        writer.write(part)
        await writer.drain()


@asynccontextmanager
async def adding(url: str, headers: Headers) -> AsyncIterator[str]:
    """A proxy before a server; yields the URL that leads through it. headers: asked once a request."""
    target = urlsplit(url)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, HeadUnreadable, asyncio.IncompleteReadError):
            await _connect(reader, writer, headers, target.hostname or "127.0.0.1", target.port or 80)
        writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task of our own: one that asyncio starts for a connection is reported as failed where it is cancelled.
        task = asyncio.create_task(serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=HEAD_MAX)
    port = server.sockets[0].getsockname()[1]
    try:
        yield urlunsplit(target._replace(netloc=f"127.0.0.1:{port}"))
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _connect(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: Headers, host: str, port: int
) -> None:
    """Both directions of one connection; the end of either ends it, as a cut does."""
    up_reader, up_writer = await asyncio.open_connection(host, port)
    sides = [
        asyncio.create_task(forward_requests(reader, up_writer, headers)),
        asyncio.create_task(_forward_all(up_reader, writer)),
    ]
    try:
        await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for side in sides:
            side.cancel()
        await asyncio.gather(*sides, return_exceptions=True)
        up_writer.close()
