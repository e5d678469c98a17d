"""What the table of refusals stands on: somebody's open session, the ways to ask for it, and all that was said."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import pytest
from multidict import CIMultiDict

from codesynapse.contracts.accounts import Level
from tests.integration.harness import Person, Product, Transport, events_in, fresh, messages_of, product

OUR_HEADERS = ("Authorization", "X-CodeSynapse-Session", "X-CodeSynapse-Parent-Session", "Mcp-Session-Id")


@dataclass(kw_only=True)
class Ask:
    """One HTTP request, as a value that a case can spoil."""

    method: str
    path: str
    headers: CIMultiDict[str]
    body: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back. A stream's body is left unread."""

    status: int
    headers: tuple[tuple[str, str], ...]
    raw: bytes
    body: dict[str, Any]

    @property
    def refusal(self) -> dict[str, Any]:
        """The `{ok, code, …}` of a refusal, wherever it stands; empty for what was permitted."""
        if "error" in self.body and isinstance(self.body["error"], dict):
            return self.body["error"].get("data", self.body["error"])  # type: ignore[no-any-return]
        result = self.body.get("result")
        if isinstance(result, dict):
            return result["structuredContent"] if result.get("isError") else {}
        return self.body if self.body.get("ok") is False else {}


@dataclass(kw_only=True)
class World:
    """An owner with a session, and other people. Its seats are transports: one for the refusal, one for the twin."""

    running: Product
    owner: Person
    session: str
    seats: dict[str, Transport] = field(default_factory=dict)
    offered: list[str] = field(default_factory=list)

    async def seat(self, name: str) -> Transport:
        """A transport bound to the owner's session, opened when it is first asked for."""
        if name not in self.seats:
            self.seats[name] = await self.running.open(self.owner, self.session)
        return self.seats[name]

    def offer(self, prefix: str = "marker") -> str:
        """A distinctive identifier that no answer, log line or metric may hold."""
        return self.offering(fresh(prefix))

    def offering(self, identifier: str) -> str:
        self.offered.append(identifier)
        return identifier

    @property
    def accounts(self) -> Any:
        return self.running.services.ports.accounts

    @property
    def now_ms(self) -> Any:
        return self.running.clock()

    async def colleague(self) -> Person:
        """Another user of the owner's organisation."""
        return await self.running.person(self.owner.tenant)

    async def stranger(self) -> Person:
        """A user of another organisation."""
        return await self.running.person()

    async def session_of(self, person: Person, state: str = "live") -> str:
        """A session that somebody registered: live, revoked or expired."""
        session_id = await self.running.register(person, self.offer())
        if state == "revoked":
            await self.accounts.revoke(person.tenant, session_id, subject_id=person.subject, now_ms=self.now_ms)
        if state == "expired":
            # Everybody's sessions end with it.
            self.running.clock.advance(days=7)  # type: ignore[attr-defined]
        return session_id

    async def send(self, ask: Ask) -> Answer:
        """Send a request as it is."""
        data = None if ask.body is None else json.dumps(ask.body).encode()
        async with self.running.http.request(
            ask.method, self.running.base + ask.path, headers=ask.headers, data=data
        ) as answer:
            streams = ask.method == "GET" and "event-stream" in answer.headers.get("Content-Type", "")
            raw = b"" if streams else await answer.read()
            messages = [] if streams or not raw else await messages_of(answer)
            body = messages[0] if messages and isinstance(messages[0], dict) else {}
            headers = tuple((name, value) for name, value in answer.headers.items() if name != "Date")
            return Answer(status=answer.status, headers=headers, raw=raw, body=body)


@asynccontextmanager
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A server that never looks for revocations by itself.

    Each request must be refused on its own; that streams close, too, is another test's.
    """
    monkeypatch.setattr("codesynapse.server.app.POLL_S", 3_600)
    async with product() as running:
        owner = await running.person()
        yield World(running=running, owner=owner, session=await running.register(owner))


# --- The ways to ask. Each builds the request that is right. -----------------------------------------------------

Way = Callable[[World, str], Awaitable[Ask]]
TRIPLE = {"subject": "Ana", "predicate": "likes", "object": "tea"}


async def _mcp(world: World, seat: str, method: str, body: dict[str, Any] | None = None, **more: str) -> Ask:
    transport = await world.seat(seat)
    return Ask(method=method, path="/mcp", headers=CIMultiDict(transport.all_headers() | more), body=body)


def message(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 77, "method": method, "params": params}


async def post(world: World, seat: str) -> Ask:
    call = {"name": "recall_context", "arguments": {"query": "What does Ana like?"}}
    return await _mcp(world, seat, "POST", message("tools/call", call))


async def write(world: World, seat: str) -> Ask:
    arguments = {"triples": [dict(TRIPLE)], "memory_scope": "repository"}
    call = {"name": "upsert_graph_triples", "arguments": arguments}
    return await _mcp(world, seat, "POST", message("tools/call", call))


async def get(world: World, seat: str) -> Ask:
    return await _mcp(world, seat, "GET")


async def resume(world: World, seat: str) -> Ask:
    """The rest of the stream of a call that was answered."""
    transport = await world.seat(seat)
    call = message("tools/call", {"name": "recall_context", "arguments": {"query": "anything"}})
    async with transport.post(call) as answer:
        first, _ = events_in(await answer.read())[0]
    assert first is not None
    return await _mcp(world, seat, "GET", **{"Last-Event-ID": first})


async def delete(world: World, seat: str) -> Ask:
    return await _mcp(world, seat, "DELETE")


async def initialize(world: World, seat: str) -> Ask:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    fresh_transport = Transport(http=world.running.http, url="", headers=world.owner.bound(world.session))
    headers = CIMultiDict(fresh_transport.all_headers())
    return Ask(method="POST", path="/mcp", headers=headers, body=message("initialize", params))


def _rest(world: World, method: str, path: str, body: dict[str, Any] | None = None, *, bound: bool) -> Ask:
    headers = world.owner.bound(world.session) if bound else world.owner.headers
    return Ask(method=method, path="/api/v1/" + path, headers=CIMultiDict(headers), body=body)


async def read(world: World, seat: str) -> Ask:
    return _rest(world, "GET", "repos/default/session-memory", bound=True)


async def remember(world: World, seat: str) -> Ask:
    return _rest(world, "POST", "repos/default/session-memory", {"triples": [dict(TRIPLE)]}, bound=True)


async def recall(world: World, seat: str) -> Ask:
    return _rest(world, "POST", "repos/default/session-memory/recall", {"query": "tea"}, bound=True)


async def clear(world: World, seat: str) -> Ask:
    return _rest(world, "DELETE", "repos/default/session-memory", bound=True)


async def register(world: World, seat: str) -> Ask:
    return _rest(world, "POST", "execution/sessions", {"session_id": fresh()}, bound=False)


async def listed(world: World, seat: str) -> Ask:
    return _rest(world, "GET", "execution/sessions", bound=False)


async def revoke(world: World, seat: str) -> Ask:
    session_id = await world.running.register(world.owner)
    return _rest(world, "POST", "execution/sessions/revoke", {"session_id": session_id}, bound=False)


TRANSPORT: tuple[Way, ...] = (post, get, resume, delete)
MEMORY: tuple[Way, ...] = (read, remember, recall, clear)
EXECUTION: tuple[Way, ...] = (*TRANSPORT, initialize, *MEMORY)
CONTROL: tuple[Way, ...] = (register, listed, revoke)
ALL: tuple[Way, ...] = (*EXECUTION, *CONTROL)


# --- The form of the table. --------------------------------------------------------------------------------------

Spoil = Callable[[World, Ask], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One way to be wrong. lasting: it changed the world, so that the right request is refused from then on as well."""

    name: str
    ways: tuple[Way, ...]
    status: int
    code: str
    spoil: Spoil
    field: str | None = None
    lasting: bool = False


# --- What must not be heard. -------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Overheard:
    """Everything that the server logged in a test, at the lowest level."""

    lines: StringIO
    records: pytest.LogCaptureFixture

    def text(self) -> str:
        return self.lines.getvalue() + self.records.text


def identifiers(world: World, ask: Ask) -> set[str]:
    """All that a request offers: its credential, ids in headers, and what the case marked."""
    values = {value for name in OUR_HEADERS for value in ask.headers.getall(name, [])}
    values |= set(ask.headers.getall("Last-Event-ID", []))
    bare = {value.rpartition(" ")[2] for value in values} | set(world.offered)
    return {value for value in bare if len(value) >= 8}


async def assert_unheard(world: World, ask: Ask, answer: Answer, overheard: Overheard) -> None:
    """Neither the answer nor a log line nor a metric holds what was offered."""
    async with world.running.http.get(world.running.base + "/metrics") as metrics:
        shown = await metrics.text()
    assert "codesynapse_http_requests" in shown
    said = answer.raw.decode() + repr(answer.headers) + overheard.text() + shown
    assert [identifier for identifier in identifiers(world, ask) if identifier in said] == []


async def grant(world: World, level: Level | None) -> None:
    """Change the owner's grant on `default`."""
    await world.accounts.set_grant(world.owner.tenant, "default", world.owner.subject, level, now_ms=world.now_ms)
