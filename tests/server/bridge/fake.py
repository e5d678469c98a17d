"""A server that a test scripts, and the launcher between two pipes."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from codesynapse.server.bridge import BridgeOptions, run_bridge

KEY = "csk_secret-of-the-test"
SESSION = "chat-17"
SESSIONS_PATH = "/api/v1/execution/sessions"
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}

Answer = Callable[[web.Request, Any], Awaitable[web.StreamResponse]]


@dataclass
class Seen:
    """A request that arrived."""

    verb: str
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def method(self) -> str:
        return self.body.get("method", "") if isinstance(self.body, dict) else ""


@dataclass
class Fake:
    """Answers as the table says, by JSON-RPC method or HTTP verb; records all that arrives."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)
    openings: int = 0
    runner: web.AppRunner | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        text = await request.read()
        body = json.loads(text) if text else None
        seen = Seen(request.method, request.path, {**request.headers}, body)
        async with self.arrived:
            self.seen.append(seen)
            self.arrived.notify_all()
        if request.path == SESSIONS_PATH:
            return await self.answers.get("register", registered)(request, body)
        if request.path == f"{SESSIONS_PATH}/revoke":
            return await self.answers.get("revoke", revoked)(request, body)
        if request.method != "POST":
            return await self.answers.get(request.method, not_allowed)(request, body)
        if seen.method in self.answers:
            return await self.answers[seen.method](request, body)
        if seen.method == "initialize":
            self.openings += 1
            return opened(body, f"transport-{self.openings}")
        if isinstance(body, dict) and "id" in body and "method" in body:
            return result(body, {"echo": body.get("params")})
        return web.Response(status=202)

    async def start(self, port: int = 0) -> None:
        """Listen, on the port of before where one is given."""
        application = web.Application(client_max_size=1 << 26)
        application.router.add_route("*", "/{path:.*}", self.handle)
        self.runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", port, reuse_address=True).start()
        self.url = f"http://127.0.0.1:{self.runner.addresses[0][1]}/mcp"

    async def stop(self) -> int:
        """Close every connection; the port, to start on again."""
        assert self.runner is not None
        port: int = self.runner.addresses[0][1]
        await self.runner.cleanup()
        return port

    async def until(self, count: int, verb: str = "POST", method: str = "") -> list[Seen]:
        """Wait until so many such requests have arrived."""

        def such() -> list[Seen]:
            return [each for each in self.seen if each.verb == verb and (not method or each.method == method)]

        async with self.arrived:
            await self.arrived.wait_for(lambda: len(such()) >= count)
        return such()


@dataclass
class Launched:
    """The launcher, seen from the client."""

    into: int
    out: asyncio.StreamReader
    stderr: io.StringIO
    task: asyncio.Task[int]

    async def write(self, line: bytes) -> None:
        """Bytes into its standard input; a pipe holds less than a large line."""
        await asyncio.to_thread(_write_all, self.into, line)

    async def send(self, message: Any) -> None:
        await self.write(json.dumps(message).encode() + b"\n")

    async def read(self) -> Any:
        """The next message, which must be one line of ASCII."""
        line = await self.out.readline()
        assert line.endswith(b"\n")
        assert line.isascii()
        return json.loads(line)

    async def ask(self, method: str, params: Any = None, request_id: Any = 1) -> Any:
        """Send a request and read one message."""
        await self.send(request(method, params, request_id))
        return await self.read()

    async def open(self) -> None:
        """The handshake."""
        assert "result" in await self.ask("initialize", INITIALIZE, "init")
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def end_input(self) -> None:
        """Close its standard input."""
        if self.into >= 0:
            os.close(self.into)
            self.into = -1

    async def ended(self) -> int:
        """Its exit status, and that nothing is left on standard output."""
        self.end_input()
        status = await self.task
        assert await self.out.read() == b""
        return status


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def request(method: str, params: Any = None, request_id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}


def tool_call(request_id: Any = 1, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", {"name": "t", "arguments": arguments}, request_id)


@asynccontextmanager
async def fake() -> AsyncIterator[Fake]:
    """A scripted server on a free port."""
    server = Fake()
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def launched(url: str, **changes: Any) -> AsyncIterator[Launched]:
    """The launcher in this process, with short pauses."""
    quick = {"pause_s": 0.01, "unreachable_s": 20.0, "finish_s": 1.2}
    options = BridgeOptions(**{"url": url, "api_key": KEY, "session_id": SESSION, **quick, **changes})
    stdin, into = os.pipe()
    out, stdout = os.pipe()
    reader = asyncio.StreamReader(limit=1 << 26)
    loop = asyncio.get_running_loop()
    pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(out, "rb", 0))
    stderr = io.StringIO()

    async def run() -> int:
        with os.fdopen(stdin, "rb", 0) as source, os.fdopen(stdout, "wb", 0) as sink:
            return await run_bridge(options, source, sink, stderr)

    client = Launched(into, reader, stderr, asyncio.create_task(run()))
    try:
        yield client
    finally:
        client.end_input()
        pipe.close()
        with contextlib.suppress(OSError):
            await client.task


# --- Answers -------------------------------------------------------------------------------------------------------


async def registered(_: web.Request, body: Any) -> web.StreamResponse:
    return web.json_response({"session_id": body["session_id"]}, status=201)


async def revoked(_: web.Request, __: Any) -> web.StreamResponse:
    return web.json_response({"revoked": True})


async def not_allowed(_: web.Request, __: Any) -> web.StreamResponse:
    return web.Response(status=405, headers={"Allow": "POST"})


def opened(body: Any, transport: str) -> web.StreamResponse:
    found = {"protocolVersion": body["params"]["protocolVersion"], "capabilities": {}, "serverInfo": {}}
    return result(body, found, {"Mcp-Session-Id": transport})


def result(body: Any, found: Any, headers: dict[str, str] | None = None) -> web.StreamResponse:
    return web.json_response({"jsonrpc": "2.0", "id": body["id"], "result": found}, headers=headers)


def refuse(status: int, code: str, headers: dict[str, str] | None = None) -> Answer:
    """An HTTP refusal with a JSON-RPC error, as the server sends it."""

    async def answer(_: web.Request, __: Any) -> web.StreamResponse:
        error = {"code": -32600, "message": "Refused.", "data": {"ok": False, "code": code}}
        return web.json_response({"jsonrpc": "2.0", "id": None, "error": error}, status=status, headers=headers)

    return answer


async def streaming(request: web.Request) -> web.StreamResponse:
    """An open event stream."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    return response


def event(message: Any, event_id: str = "") -> bytes:
    """One event; without a message a priming one."""
    data = json.dumps(message) if message is not None else ""
    return (f"id: {event_id}\n" if event_id else "").encode() + f"data: {data}\n\n".encode()


def answer_of(body: Any, found: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": body["id"], "result": found or {}}


def cut(request: web.Request) -> None:
    """Break the connection without a word."""
    assert request.transport is not None
    request.transport.abort()
