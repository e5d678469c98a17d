"""A TCP proxy that cuts, and a client that sees every byte: for what a broken line may and may not lose."""

import asyncio
import json
import os
import random
import socket
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.integration.harness import events_in

FULL = os.environ.get("CODESYNAPSE_FULL") == "1"
CHUNK = 64 * 1024


def dice(name: str) -> random.Random:
    """Random positions from a seed that is printed; CODESYNAPSE_SEED repeats a run."""
    seed = int(os.environ.get("CODESYNAPSE_SEED") or int.from_bytes(os.urandom(4)))
    print(f"{name}: CODESYNAPSE_SEED={seed}")
    return random.Random(seed)


@dataclass(frozen=True, kw_only=True)
class Cut:
    """How many bytes of the request and of the response pass before both directions end, by FIN or by RST.

    behind: ends them behind these bytes of the response.
    """

    request: int | None = None
    response: int | None = None
    behind: bytes = b""
    reset: bool = False

    def marked(self, part: bytes) -> int | None:
        """Where a part of the response is cut."""
        return part.index(self.behind) + len(self.behind) if self.behind and self.behind in part else None


@dataclass
class CuttingProxy:
    """Forwards to one port. A client's connection is cut as `plans` says for the client's own port.

    marker: for clients whose ports nobody knows. The connection that first answers with these bytes is cut behind them.
    """

    target: int
    plans: dict[int, Cut] = field(default_factory=dict)
    cuts: int = 0
    resets: int = 0
    port: int = 0
    marker: bytes = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection. The client tells its plan before it sends, so the first byte is waited for."""
        first = await reader.read(CHUNK)
        plan = self.plans.pop(writer.get_extra_info("peername")[1], Cut())
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
        pumps = {
            asyncio.create_task(pump(first, reader, up_writer, plan.request)),
            asyncio.create_task(
                pump(b"", up_reader, writer, plan.response, plan.marked if plan.behind else self.marked)
            ),
        }
        done, running = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        if any(each.result() for each in done):
            self.cuts += 1
            self.resets += plan.reset
        for each in running:
            each.cancel()
        for side in (writer, up_writer):
            end(side, reset=plan.reset)
        await asyncio.gather(*running, return_exceptions=True)

    def marked(self, part: bytes) -> int | None:
        """Where a part is cut; once."""
        if not self.marker or self.marker not in part:
            return None
        end_of_marker = part.index(self.marker) + len(self.marker)
        self.marker = b""
        return end_of_marker


def unmarked(_: bytes) -> int | None:
    return None


async def pump(
    first: bytes,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    limit: int | None,
    marked: Callable[[bytes], int | None] = unmarked,
) -> bool:
    """Forward at most `limit` bytes, or up to a marker; whether that ended it."""
    data, passed = first, 0
    with suppress(ConnectionError):
        while True:
            part = data if limit is None else data[: limit - passed]
            if (end_of_marker := marked(part)) is not None:
                writer.write(part[:end_of_marker])
                return True
            writer.write(part)
            passed += len(part)
            if limit is not None and passed >= limit:
                return True
            data = await reader.read(CHUNK)
            if not data:
                return False
    return False


def end(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    """End a connection; with RST, what is on its way back is thrown away as well."""
    if reset:
        sock = writer.get_extra_info("socket")
        with suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    else:
        writer.close()


@asynccontextmanager
async def cutting_proxy(url: str) -> AsyncIterator[CuttingProxy]:
    """A proxy in front of a server."""
    target = urlsplit(url).port
    assert target is not None
    proxy, tasks = CuttingProxy(target), set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        with suppress(ConnectionError):
            await proxy.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await asyncio.gather(*tasks, return_exceptions=True)


# --- The client. -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What came of an answer: its bytes, its whole events, and whether it came to its end."""

    raw: bytes
    events: list[tuple[str | None, str]]
    ended: bool

    @property
    def last_id(self) -> str | None:
        """The id of the last whole event."""
        ids = [event_id for event_id, _ in self.events if event_id is not None]
        return ids[-1] if ids else None

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(data) for _, data in self.events if data]


def heard(raw: bytes) -> Heard:
    """Read the bytes of a chunked answer, as far as they came."""
    head, mark, rest = raw.partition(b"\r\n\r\n")
    body, ended = b"", False
    if mark:
        assert head.startswith(b"HTTP/1.1 200 "), raw
        while b"\r\n" in rest:
            size_text, _, rest = rest.partition(b"\r\n")
            size = int(size_text, 16)
            ended = size == 0
            body += rest[:size]
            rest = rest[size + 2 :]
    return Heard(raw=raw, events=events_in(body), ended=ended)


def request_bytes(method: str, headers: Mapping[str, str], body: object = None) -> bytes:
    """One request on the MCP endpoint, to the byte."""
    data = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} /mcp HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


async def exchange(proxy: CuttingProxy, request: bytes, cut: Cut) -> Heard:
    """Send a request on a connection of its own, and hear what comes until it ends or is cut."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    proxy.plans[writer.get_extra_info("sockname")[1]] = cut
    raw = b""
    with suppress(ConnectionError):
        writer.write(request)
        while not heard(raw).ended and (data := await reader.read(CHUNK)):
            raw += data
    writer.close()
    return heard(raw)
