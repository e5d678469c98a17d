"""A plain peer of the stateless revision over HTTP: every request says everything, unless a test says less."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.integration.harness import BOTH, Person, Product, messages_of
from tests.integration.tools import Events

LATEST = "2026-07-28"
KEY = "io.modelcontextprotocol/"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
TASKS = {"extensions": {KEY + "tasks": {}}}


@dataclass(kw_only=True)
class Stateless:
    """headers: of the credential and the execution. capabilities, meta: what goes with every request."""

    http: aiohttp.ClientSession
    url: str
    headers: dict[str, str]
    capabilities: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    accept: str = BOTH
    requests: int = 0

    def message(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The next request."""
        self.requests += 1
        meta = {KEY + "protocolVersion": LATEST, KEY + "clientCapabilities": self.capabilities, **self.meta}
        return {"jsonrpc": "2.0", "id": self.requests, "method": method, "params": {"_meta": meta, **(params or {})}}

    def headers_of(self, message: dict[str, Any]) -> dict[str, str]:
        """The headers that belong to a message."""
        method, params = message["method"], message.get("params", {})
        headers = {**self.headers, "Accept": self.accept, "Content-Type": "application/json"}
        headers |= {"MCP-Protocol-Version": LATEST, "Mcp-Method": method}
        member = "taskId" if method.startswith("tasks/") else NAMED.get(method)
        if member is not None and isinstance(params.get(member), str):
            headers["Mcp-Name"] = params[member]
        return headers

    def post(self, message: dict[str, Any], **changed: str | None) -> Any:
        """POST a message with its headers, some of them changed, or left out where None."""
        headers = self.headers_of(message) | {name.replace("_", "-"): value for name, value in changed.items()}
        sent = {name: value for name, value in headers.items() if value is not None}
        return self.http.post(self.url, data=json.dumps(message).encode(), headers=sent)

    async def answer(self, message: dict[str, Any], **changed: str | None) -> tuple[int, dict[str, Any]]:
        """The status and the response."""
        async with self.post(message, **changed) as answer:
            assert "Mcp-Session-Id" not in answer.headers
            (*_, response) = await messages_of(answer)
            return answer.status, response

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of a request."""
        status, response = await self.answer(self.message(method, params))
        assert status == 200, response
        result: dict[str, Any] = response["result"]
        assert result["_meta"][KEY + "serverInfo"]["name"] == "codesynapse"
        return result

    async def fails(self, method: str, params: dict[str, Any] | None = None) -> tuple[int, int, Any]:
        """The status, the code and the data of an error."""
        message = self.message(method, params)
        status, response = await self.answer(message)
        assert response["id"] == message["id"]
        return status, response["error"]["code"], response["error"].get("data")

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call."""
        return await self.ask("tools/call", {"name": tool, "arguments": arguments})

    @asynccontextmanager
    async def stream(self, method: str, params: dict[str, Any] | None = None) -> AsyncIterator[Events]:
        """The stream that a request is answered with."""
        async with self.post(self.message(method, params)) as answer:
            assert answer.status == 200, await answer.text()
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            assert answer.headers["X-Accel-Buffering"] == "no"
            yield Events(answer)


async def stateless(running: Product, person: Person | None = None, session_id: str | None = None) -> Stateless:
    """A peer bound to a (new) chat session of a (new) person."""
    person = person or await running.person()
    session_id = session_id or await running.register(person)
    return Stateless(http=running.http, url=running.url, headers=person.bound(session_id))
