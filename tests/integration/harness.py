"""The product for tests: the real server on a free loopback port, people with keys, and chat sessions of theirs.

In this process for what needs a moved clock or a look inside (`product`), as a process of its own for what is killed
or shared (`process`).
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp

from codesynapse.contracts.accounts import Level
from codesynapse.server.app import Server, running
from codesynapse.server.cli.first import issue_key
from codesynapse.server.clock import Clock, ManualClock
from codesynapse.server.services import Services
from codesynapse.server.settings import load

START_MS = 1_800_000_000_000
LATEST = "2025-11-25"
BOTH = "application/json, text/event-stream"


def fresh(prefix: str = "s") -> str:
    """A name that no other test has."""
    return f"{prefix}-{uuid4().hex}"


@dataclass(kw_only=True)
class Person:
    """A user with a key."""

    tenant: str
    subject: str
    key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def bound(self, session_id: str) -> dict[str, str]:
        """Credential and both execution headers."""
        return {
            **self.headers,
            "X-CodeSynapse-Session": session_id,
            "X-CodeSynapse-Parent-Session": session_id,
        }


@dataclass(kw_only=True)
class Product:
    """A running server of this process."""

    server: Server
    url: str
    http: aiohttp.ClientSession
    clock: Clock

    @property
    def services(self) -> Services:
        return self.server.services

    @property
    def base(self) -> str:
        return self.url.removesuffix("/mcp")

    async def organization(self, name: str | None = None, *, repository: str = "default") -> str:
        """A new organisation with one repository."""
        name = name or fresh("org")
        accounts = self.services.ports.accounts
        await accounts.create_organization(name, now_ms=self.clock())
        await accounts.create_repository(name, repository, now_ms=self.clock())
        return name

    async def person(
        self, tenant: str | None = None, *, subject: str | None = None, level: Level | None = Level.ADMIN
    ) -> Person:
        """A new user of an organisation (a new one by default), with a key and a grant on `default`."""
        tenant = tenant or await self.organization()
        accounts, subject = self.services.ports.accounts, subject or fresh("user")
        await accounts.create_user(subject, now_ms=self.clock())
        await accounts.set_member(tenant, subject, member=True, now_ms=self.clock())
        if level is not None:
            await accounts.set_grant(tenant, "default", subject, level, now_ms=self.clock())
        return Person(tenant=tenant, subject=subject, key=await self.key(tenant, subject))

    async def key(self, tenant: str, subject: str) -> str:
        """Another key of a user."""
        return await issue_key(self.services.ports.accounts, self.clock, tenant, subject)

    async def register(self, person: Person, session_id: str | None = None) -> str:
        """Register a chat session over REST."""
        session_id = session_id or fresh()
        body = {"session_id": session_id}
        async with self.http.post(
            self.base + "/api/v1/execution/sessions", json=body, headers=person.headers
        ) as answer:
            assert answer.status in (200, 201), await answer.text()
        return session_id

    async def open(self, person: Person, session_id: str | None = None, *, version: str = LATEST) -> "Transport":
        """An initialised protocol session, bound to a (new) chat session."""
        session_id = session_id or await self.register(person)
        transport = Transport(http=self.http, url=self.url, headers=person.bound(session_id), version=version)
        await transport.initialize()
        return transport


@dataclass(kw_only=True)
class Transport:
    """A plain MCP peer over HTTP: it sends exactly what a test says."""

    http: aiohttp.ClientSession
    url: str
    headers: dict[str, str]
    version: str = LATEST
    id: str | None = None
    requests: int = 0
    accept: str = BOTH
    extra: dict[str, str] = field(default_factory=dict)
    capabilities: dict[str, Any] = field(default_factory=dict)

    def all_headers(self) -> dict[str, str]:
        """Everything a request carries once the session is open."""
        headers = {**self.headers, "Accept": self.accept, "Content-Type": "application/json", **self.extra}
        if self.id is not None:
            headers |= {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": self.version}
        return headers

    async def initialize(self) -> dict[str, Any]:
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": self.version, "capabilities": self.capabilities, "clientInfo": client}
        async with self.http.post(
            self.url, json=self.message("initialize", params), headers=self.all_headers()
        ) as answer:
            body = await answer.json()
            assert answer.status == 200, body
            self.id = answer.headers["Mcp-Session-Id"]
        status = await self.notify("notifications/initialized")
        assert status == 202, status
        return body["result"]  # type: ignore[no-any-return]

    def message(self, method: str, params: object = None) -> dict[str, Any]:
        """The next request."""
        self.requests += 1
        return {"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params or {}}

    def post(self, body: object) -> Any:
        """POST a body as it is; an async context manager of the answer."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.http.post(self.url, data=data, headers=self.all_headers())

    async def notify(self, method: str, params: object = None) -> int:
        body = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        async with self.post(body) as answer:
            return int(answer.status)

    async def request(self, method: str, params: object = None) -> dict[str, Any]:
        """A request and its whole response message."""
        message = self.message(method, params)
        async with self.post(message) as answer:
            messages = await messages_of(answer)
        return next(each for each in messages if each.get("id") == message["id"])

    async def call(self, tool: str, arguments: object = None) -> dict[str, Any]:
        """A tool call's result."""
        answer = await self.request("tools/call", {"name": tool, "arguments": arguments or {}})
        assert "result" in answer, answer
        return answer["result"]  # type: ignore[no-any-return]

    async def remember(self, *triples: tuple[str, str, str], scope: str = "session") -> dict[str, Any]:
        """Upsert triples; the structured answer."""
        sent = [{"subject": s, "predicate": p, "object": o} for s, p, o in triples]
        result = await self.call("upsert_graph_triples", {"triples": sent, "memory_scope": scope})
        return result["structuredContent"]  # type: ignore[no-any-return]

    async def recall(self, query: str, **arguments: object) -> dict[str, Any]:
        """The structured answer of a recall."""
        result = await self.call("recall_context", {"query": query, **arguments})
        return result["structuredContent"]  # type: ignore[no-any-return]


async def messages_of(answer: aiohttp.ClientResponse) -> list[dict[str, Any]]:
    """All messages of an answer, JSON or SSE, read to its end."""
    if "text/event-stream" not in answer.headers.get("Content-Type", ""):
        body = await answer.json()
        return body if isinstance(body, list) else [body]
    return [json.loads(data) for _, data in events_in(await answer.read()) if data]


def events_in(raw: bytes) -> list[tuple[str | None, str]]:
    """(id, data) of each whole event in an SSE text; comments and the torso after the last blank line are left out."""
    events = []
    for block in raw.decode().split("\n\n")[:-1]:
        event_id, data = None, []
        for line in block.split("\n"):
            name, _, value = line.partition(": ")
            if name == "id":
                event_id = value
            elif name == "data" or line == "data:":
                data.append(value)
        if event_id is not None or data:
            events.append((event_id, "\n".join(data)))
    return events


@asynccontextmanager
async def product(
    *, store: str = "memory", home: Path | None = None, clock: Clock | None = None, **overrides: object
) -> AsyncIterator[Product]:
    """The server in this process. Its clock is one that a test moves, unless another is given."""
    environment = {"CODESYNAPSE_HOME": str(home or "unused"), "CODESYNAPSE_PORT": "0", "CODESYNAPSE_LOG_LEVEL": "error"}
    settings = await asyncio.to_thread(load, environment, {"graph": store, "accounts": store, **overrides})
    clock = clock or ManualClock(START_MS)
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        running(settings, clock=clock) as (server, url),
        aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=60)) as http,
    ):
        yield Product(server=server, url=url, http=http, clock=clock)


@dataclass(kw_only=True)
class Process:
    """The server as a process of its own. tenant, key: its owner's. graph: what CODESYNAPSE_GRAPH says."""

    home: Path
    child: asyncio.subprocess.Process
    url: str
    key: str
    tenant: str = "home"
    graph: str = "sqlite"

    @property
    def base(self) -> str:
        return self.url.removesuffix("/mcp")

    @property
    def owner(self) -> Person:
        return Person(tenant=self.tenant, subject="owner", key=self.key)

    async def kill(self) -> None:
        """kill -9."""
        self.child.kill()
        await self.child.wait()


def environment(home: Path, **more: str) -> dict[str, str]:
    """A child's environment: nothing of ours but what a test says."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CODESYNAPSE_")}
    return {**kept, "CODESYNAPSE_HOME": str(home), **more}


async def start(home: Path, *, port: int = 0, key: str = "", tenant: str = "home", **more: str) -> Process:
    """Start `codesynapse serve`; the key is taken from its first start."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "codesynapse.server", "serve", "--port", str(port)),
        env=environment(home, **more),
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    while line := (await child.stdout.readline()).decode():
        if line.startswith("CODESYNAPSE_API_KEY="):
            key = line.strip().partition("=")[2]
        if found := re.match(r"listening on (\S+)", line):
            graph = more.get("CODESYNAPSE_GRAPH", "sqlite")
            return Process(home=home, child=child, url=found[1], key=key, tenant=tenant, graph=graph)
    raise AssertionError(f"the server ended with {await child.wait()} before it listened")


@asynccontextmanager
async def process(home: Path, **more: Any) -> AsyncIterator[Process]:
    """A server process that is ended with the test."""
    started = await start(home, **more)
    try:
        yield started
    finally:
        if started.child.returncode is None:
            started.child.terminate()
            await started.child.wait()


async def command(
    home: Path, *arguments: str, env: Mapping[str, str] | None = None, folder: Path | None = None
) -> tuple[int, str, str]:
    """Run a command line to its end: exit code, standard output, standard error. folder: where; here, unless given."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "codesynapse.server", *arguments),
        env=environment(home, **(env or {})),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await child.communicate()
    return child.returncode or 0, out.decode(), err.decode()
