"""Tools of tests, registered as anybody's would be, and a reader of streams that stops where a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from msgspec import Struct

from codesynapse.contracts.identity import Execution
from codesynapse.contracts.triples import Triple
from codesynapse.server.mcp.connection import LOG_LEVELS
from codesynapse.server.services import Services
from codesynapse.server.tools.registry import Tool, ToolContext
from tests.integration.harness import Product, Transport

HANG_S = 60


class Words(Struct, forbid_unknown_fields=True, kw_only=True):
    """Arguments of the tools, and their answer."""

    text: str = ""
    count: int = 0


@dataclass
class Gate:
    """A tool's work waits here; `entered` counts how often it came."""

    entered: int = 0
    came: asyncio.Condition = field(default_factory=asyncio.Condition)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> None:
        async with self.came:
            self.entered += 1
            self.came.notify_all()
        await self.opened.wait()

    async def entries(self, count: int) -> None:
        """Wait until so many calls came."""
        async with asyncio.timeout(HANG_S), self.came:
            await self.came.wait_for(lambda: self.entered >= count)


def register_tools(services: Services) -> Gate:
    """`say` answers its text, `wait` when the gate opens; `write` then remembers it; `steps` and `flood` tell more."""
    gate = Gate()
    for handler in (*_quiet(services, gate), *_telling(gate)):
        services.toolbox.register(
            Tool(
                name=handler.__name__,
                title=handler.__name__,
                description="For tests.",
                toolset="test",
                arguments=Words,
                answer=Words,
                handler=handler,
                read_only=True,
            )
        )
    return gate


def _quiet(services: Services, gate: Gate) -> tuple[Any, ...]:
    async def say(_: Execution, words: Words, __: ToolContext) -> Words:
        return words

    async def wait(_: Execution, words: Words, __: ToolContext) -> Words:
        await gate.wait()
        return words

    async def write(execution: Execution, words: Words, _: ToolContext) -> Words:
        await gate.wait()
        triple = Triple(subject="Ana", predicate="likes", object=words.text)
        await services.engine.upsert(execution, "default", (triple,), source=None, expected_revision=None)
        return words

    return say, wait, write


def _telling(gate: Gate) -> tuple[Any, ...]:
    async def steps(_: Execution, words: Words, context: ToolContext) -> Words:
        for step in range(words.count):
            context.progress(step + 1, words.count, words.text)
            context.progress(step + 1, None, "again")
        for level in LOG_LEVELS:
            context.log(level, level)
        await gate.wait()
        return words

    async def flood(_: Execution, words: Words, context: ToolContext) -> Words:
        for step in range(words.count):
            context.progress(step, None, "x" * 65_536)
            await asyncio.sleep(0)
        await gate.wait()
        return words

    return steps, flood


def call(request_id: object, tool: str, **arguments: Any) -> dict[str, Any]:
    """A tools/call message."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def asking(request_id: object, tool: str, token: object, **arguments: Any) -> dict[str, Any]:
    """A tools/call message that asks for progress."""
    message = call(request_id, tool, **arguments)
    message["params"]["_meta"] = {"progressToken": token}
    return message


@dataclass
class Events:
    """The events of one response, one at a time."""

    answer: aiohttp.ClientResponse

    async def next(self) -> tuple[str | None, str] | None:
        """(id, data) of the next event, None at the end of the stream. Comments are passed over."""
        event_id, data = None, None
        async with asyncio.timeout(HANG_S):
            while line := (await self.answer.content.readline()).decode():
                name, _, value = line.rstrip("\n").partition(":")
                if name == "id":
                    event_id = value.strip()
                elif name == "data":
                    data = value.removeprefix(" ")
                elif line == "\n" and data is not None:
                    return event_id, data
        return None

    async def message(self) -> Any:
        """The next event's message."""
        event = await self.next()
        assert event is not None, "the stream has ended"
        return json.loads(event[1])

    async def rest(self) -> list[tuple[str | None, str]]:
        """All events up to the end."""
        events = []
        while (event := await self.next()) is not None:
            events.append(event)
        return events


@asynccontextmanager
async def stream(transport: Transport, body: object = None, **headers: str) -> AsyncIterator[Events]:
    """The stream of a POST with this body, or of a GET without one."""
    asked = {**transport.all_headers(), **headers}
    data = None if body is None else json.dumps(body).encode()
    method = "GET" if body is None else "POST"
    async with transport.http.request(method, transport.url, data=data, headers=asked) as answer:
        assert answer.status == 200, await answer.text()
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        yield Events(answer)


async def primed(events: Events) -> str:
    """The id of the priming event."""
    event = await events.next()
    assert event is not None
    assert event[1] == ""
    assert event[0] is not None
    return event[0]


async def replayed(transport: Transport, event_id: str) -> list[str]:
    """What comes to a client that resumes behind something: on a fresh stream it is nothing, until it is taken over."""
    async with stream(transport, None, **{"Last-Event-ID": event_id}) as events:
        await primed(events)
        async with stream(transport):
            return [data for _, data in await events.rest()]


async def status_of(running: Product, method: str, headers: dict[str, str], body: object = None) -> tuple[int, Any]:
    """The status and the JSON of a request to the endpoint."""
    data = None if body is None else json.dumps(body).encode()
    headers = headers if data is None else {"Content-Type": "application/json", **headers}
    async with running.http.request(method, running.url, headers=headers, data=data) as answer:
        raw = await answer.read()
        return answer.status, json.loads(raw) if raw else None


def live_of(running: Product, transport: Transport) -> Any:
    """The server's own state of a transport session."""
    assert transport.id is not None
    (live,) = [each for each in running.server.lives._table.values() if each.id == transport.id]
    return live


async def until(running: Product, done: Callable[[], bool]) -> None:
    """Give the server turns until something shows, each by an answered request."""
    async with asyncio.timeout(HANG_S):
        while not done():
            async with running.http.get(running.base + "/healthz") as answer:
                assert answer.status == 200
