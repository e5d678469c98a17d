"""A plain MCP peer without an SDK, so that a benchmark measures the server and not its client."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from yarl import URL

VERSION_META = "io.modelcontextprotocol/protocolVersion"
INFO_META = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_META = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO = {"name": "mcp-load", "version": "1.0"}
BOTH = "application/json, text/event-stream"
NEWEST = {"legacy": "2025-11-25", "modern": "2026-07-28"}


class PeerError(Exception):
    """The server did not answer as it should."""


@dataclass(kw_only=True, frozen=True)
class Target:
    """Whom to speak to, and how. era: `legacy` (with sessions) or `modern` (without).

    arguments: JSON; a `{n}` in it becomes the number of the request, so that no two writes are the same.
    progress: whether calls want to hear how far they are.
    """

    url: str
    era: str = "legacy"
    protocol: str = NEWEST["legacy"]
    headers: Mapping[str, str] = field(default_factory=dict)
    accept: str = BOTH
    tool: str = "echo"
    arguments: str = '{"text": "hello"}'
    progress: bool = False
    delete: bool = True


async def read_answer(lines: AsyncIterable[bytes], wanted: int) -> tuple[dict[str, Any] | None, int]:
    """The response to a request out of an event stream, and how many other messages came with it.

    Reads to the end of the stream, so that the connection can be used again.
    """
    data: list[bytes] = []
    found, others = None, 0
    async for raw in lines:
        line = raw.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line:
            text, data = b"\n".join(data), []
            if not text:
                continue
            message = json.loads(text)
            if message.get("id") == wanted and "method" not in message:
                found = message
            else:
                others += 1
    return found, others


class Peer:
    """One peer; in the legacy era one protocol session."""

    def __init__(self, http: aiohttp.ClientSession, target: Target) -> None:
        self._http = http
        self._target = target
        self._last_id = 0
        self._session: str | None = None
        self.protocol = target.protocol
        self.streamed = 0
        self.dropped = False

    def _headers(self, method: str, name: str | None = None, *, body: bool = True) -> dict[str, str]:
        headers = {"Accept": self._target.accept if body else "text/event-stream", **self._target.headers}
        if body:
            headers["Content-Type"] = "application/json"
        if self._target.era == "modern":
            headers |= {"MCP-Protocol-Version": self.protocol, "Mcp-Method": method}
            if name:
                headers["Mcp-Name"] = name
        elif method != "initialize":
            headers["MCP-Protocol-Version"] = self.protocol
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        return headers

    def _body(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._last_id += 1
        meta: dict[str, Any] = {}
        if self._target.era == "modern":
            meta = {VERSION_META: self.protocol, INFO_META: CLIENT_INFO, CAPABILITIES_META: {}}
        if self._target.progress and method == "tools/call":
            meta["progressToken"] = self._last_id
        params = {**params, "_meta": meta} if meta else dict(params)
        return {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}

    async def request(self, method: str, params: Mapping[str, Any], name: str | None = None) -> dict[str, Any]:
        """The result of a request. Raises PeerError."""
        message = self._body(method, params)
        headers = self._headers(method, name)
        async with self._http.post(self._target.url, data=json.dumps(message), headers=headers) as response:
            if response.status != 200:
                raise PeerError(f"HTTP {response.status} {(await response.text())[:300]}")
            if method == "initialize":
                self._session = response.headers.get("Mcp-Session-Id")
            answer: dict[str, Any] | None
            if response.content_type == "text/event-stream":
                self.streamed += 1
                answer, _ = await read_answer(response.content, message["id"])
            else:
                answer = json.loads(await response.read())
        if answer is None:
            raise PeerError("the stream ended without the response")
        if "error" in answer:
            raise PeerError(json.dumps(answer["error"])[:300])
        result: dict[str, Any] = answer["result"]
        if result.get("isError"):
            raise PeerError(json.dumps(result)[:300])
        return result

    async def open(self) -> None:
        """The handshake, where the era has one."""
        if self._target.era == "modern":
            return
        asked = {"protocolVersion": self._target.protocol, "capabilities": {}, "clientInfo": CLIENT_INFO}
        self.protocol = (await self.request("initialize", asked))["protocolVersion"]
        message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        headers = self._headers("notifications/initialized")
        async with self._http.post(self._target.url, data=json.dumps(message), headers=headers) as response:
            await response.read()
            if response.status not in (200, 202, 204):
                raise PeerError(f"initialized: HTTP {response.status}")

    async def call(self, mode: str = "load") -> None:
        """One call of the target's tool; `tools/list` in mode `list`."""
        if mode == "list":
            await self.request("tools/list", {})
        else:
            arguments = self._target.arguments.replace("{n}", str(self._last_id))
            params = {"name": self._target.tool, "arguments": json.loads(arguments)}
            await self.request("tools/call", params, self._target.tool)

    async def ping(self) -> None:
        """The least that can be asked of a server."""
        if self._target.era == "modern":
            await self.request("server/discover", {})
        else:
            await self.request("ping", {})

    async def flood(self) -> socket.socket:
        """Call the tool `flood`, and never read what it says. Close what is returned."""
        message = self._body("tools/call", {"name": "flood", "arguments": {"text": "x" * 1_000}})
        message["params"]["_meta"] = {**message["params"].get("_meta", {}), "progressToken": 1}
        body = json.dumps(message).encode()
        url = URL(self._target.url)
        headers = {**self._headers("tools/call", "flood"), "Host": url.authority, "Content-Length": str(len(body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(connection, (url.host, url.port))
        await loop.sock_sendall(connection, f"POST {url.path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        return connection

    async def close(self) -> None:
        """End the protocol session."""
        if self._session and self._target.delete:
            async with self._http.delete(self._target.url, headers=self._headers("delete", body=False)) as response:
                await response.read()

    async def hold_stream(self, opened: asyncio.Future[bool], stop: asyncio.Event) -> None:
        """Open the long stream of the era and keep it until `stop`."""
        async with self._long_stream() as response:
            if response.status != 200 or response.content_type != "text/event-stream":
                raise PeerError(f"stream: HTTP {response.status} {response.content_type}")
            opened.set_result(True)
            stopping = asyncio.ensure_future(stop.wait())
            try:
                while not stop.is_set():
                    reading = asyncio.ensure_future(response.content.readany())
                    await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
                    if not reading.done():
                        reading.cancel()
                    elif not reading.result() and response.content.at_eof():
                        self.dropped = not stop.is_set()
                        break
            finally:
                stopping.cancel()
                response.close()

    def _long_stream(self) -> Any:
        if self._target.era == "legacy":
            return self._http.get(self._target.url, headers=self._headers("get", body=False))
        message = self._body("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        headers = self._headers("subscriptions/listen")
        return self._http.post(self._target.url, data=json.dumps(message), headers=headers)
