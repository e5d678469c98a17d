"""A plain MCP peer over standard input and output: of the shell in this process, or of `codesynapse stdio`."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codesynapse.server.stdio import StdioShell
from tests.integration.harness import LATEST, Person, Product, environment

LINE_MAX = 8 * 1024 * 1024


@dataclass(kw_only=True)
class StdioPeer:
    """Sends what a test says, one message a line."""

    write: Callable[[bytes], Coroutine[Any, Any, None]]
    reader: asyncio.StreamReader
    requests: int = 0

    async def message(self, method: str, params: object = None) -> int:
        """Send the next request; its id."""
        self.requests += 1
        body = {"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params or {}}
        await self.write(json.dumps(body).encode() + b"\n")
        return self.requests

    async def next(self) -> dict[str, Any]:
        """The next message of the server."""
        line = await self.reader.readline()
        assert line, "the server's output ended"
        return json.loads(line)  # type: ignore[no-any-return]

    async def request(self, method: str, params: object = None) -> dict[str, Any]:
        """A request and its answer, with nothing else in flight."""
        request_id = await self.message(method, params)
        answer = await self.next()
        assert answer["id"] == request_id, answer
        return answer

    async def initialize(self) -> dict[str, Any]:
        params = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        answer = await self.request("initialize", params)
        notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self.write(json.dumps(notification).encode() + b"\n")
        return answer

    async def call(self, tool: str, arguments: object = None) -> dict[str, Any]:
        """A tool call's whole answer, a result or an error."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments or {}})

    async def remember(self, *triples: tuple[str, str, str], scope: str = "session") -> dict[str, Any]:
        """Upsert triples; the structured answer."""
        sent = [{"subject": s, "predicate": p, "object": o} for s, p, o in triples]
        answer = await self.call("upsert_graph_triples", {"triples": sent, "memory_scope": scope})
        return answer["result"]["structuredContent"]  # type: ignore[no-any-return]


@asynccontextmanager
async def shell(running: Product, person: Person, session_id: str) -> AsyncIterator[StdioPeer]:
    """The stdio shell over the services of a product of this process, and so under its clock."""
    services = running.services
    served = StdioShell(
        sessions=services.sessions,
        calls=services.calls,
        modern=services.modern,
        info=services.info,
        limits=services.limits,
        clock=services.clock,
        toolsets=services.toolsets,
        key=person.key,
        session_id=session_id,
    )
    await served.open()
    (its_input, our_output), (our_input, its_output) = os.pipe(), os.pipe()
    serving = asyncio.create_task(served.serve(its_input, its_output))
    reader = asyncio.StreamReader(limit=LINE_MAX)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(our_input, "rb")
    )

    async def write(data: bytes) -> None:
        os.write(our_output, data)

    try:
        yield StdioPeer(write=write, reader=reader)
    finally:
        os.close(our_output)
        await serving
        transport.close()
        os.close(its_input)
        os.close(its_output)


def stdio_environment(home: Path, person: Person, session_id: str, **more: str) -> dict[str, str]:
    """What a launcher gives to `codesynapse stdio`."""
    return environment(
        home,
        **more,
        CODESYNAPSE_API_KEY=person.key,
        CODESYNAPSE_SESSION_ID=session_id,
        CODESYNAPSE_PARENT_SESSION_ID=session_id,
    )


@asynccontextmanager
async def stdio_process(
    home: Path, person: Person, session_id: str, errors: list[str], **more: str
) -> AsyncIterator[StdioPeer]:
    """`codesynapse stdio` as a process, initialised. What it says on standard error is added to `errors`."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "codesynapse.server", "stdio"),
        env=stdio_environment(home, person, session_id, **more),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=LINE_MAX,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    stdin = child.stdin

    async def write(data: bytes) -> None:
        stdin.write(data)
        await stdin.drain()

    peer = StdioPeer(write=write, reader=child.stdout)
    await peer.initialize()
    try:
        yield peer
    finally:
        out, err = await child.communicate(b"")  # Which ends its input.
        errors.append(err.decode())
        assert (child.returncode, out) == (0, b""), err.decode()
