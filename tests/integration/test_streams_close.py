"""Access that another process ends: open streams close within a second, and no event follows."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import msgspec
import pytest
from msgspec import Struct

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.identity import Execution
from codesynapse.contracts.requirements import requirement
from codesynapse.server.clock import system_clock
from codesynapse.server.tools.registry import Tool, ToolContext
from tests.integration.harness import Person, Product, Transport, command, events_in, product

DEADLINE_S = 10
"""Ten times the promise."""


class Nothing(Struct):
    """No arguments, no answer."""


@dataclass
class Waiting:
    """A tool that says that it has begun, and ends when it is let go. late: what it says after that."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: int = 0

    async def run(self, _: Execution, __: Nothing, context: ToolContext) -> Nothing:
        context.log("info", "begun")
        self.begun.set()
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            context.log("info", "late")
            raise
        return Nothing()


@dataclass(kw_only=True)
class World:
    """A server with a person whose standalone stream and running call are open, and another whose are, too."""

    home: Path
    running: Product
    person: Person
    session: str
    key_id: str
    waiting: Waiting
    streams: list[aiohttp.ClientResponse]
    others: list[aiohttp.ClientResponse]


async def streams_of(running: Product, transport: Transport, waiting: Waiting) -> list[aiohttp.ClientResponse]:
    """An open GET stream, and the stream of a call that runs."""
    standalone = await running.http.get(transport.url, headers=transport.all_headers())
    waiting.begun.clear()
    call = await transport.post(transport.message("tools/call", {"name": "waiting"}))
    await waiting.begun.wait()
    assert [standalone.status, call.status] == [200, 200]
    return [standalone, call]


@asynccontextmanager
async def world(home: Path) -> AsyncIterator[World]:
    async with product(store="sqlite", home=home, clock=system_clock) as running:
        waiting = Waiting()
        running.services.toolbox.register(
            Tool(
                name="waiting",
                title="Wait",
                description="Waits.",
                toolset="graph",
                arguments=Nothing,
                answer=Nothing,
                handler=waiting.run,
                read_only=True,
            )
        )
        person = await running.person()
        (key,) = await running.services.ports.accounts.keys(person.tenant)
        session_id = await running.register(person)
        other = await running.person()
        yield World(
            home=home,
            running=running,
            person=person,
            session=session_id,
            key_id=key.key_id,
            waiting=waiting,
            streams=await streams_of(running, await running.open(person, session_id), waiting),
            others=await streams_of(running, await running.open(other), waiting),
        )
        waiting.let_go.set()


async def rest_of(stream: aiohttp.ClientResponse) -> bytes:
    """All that a stream still says until it ends, by a clean end or a cut."""
    said = b""
    try:
        async for part in stream.content.iter_any():
            said += part
    except aiohttp.ClientPayloadError:
        pass
    return said


# (what ends the access, as a command line)
ENDINGS: dict[str, Callable[[World], list[str]]] = {
    "the session is revoked": lambda w: ["session", "revoke", w.session, "--org", w.person.tenant],
    "the user is suspended": lambda w: ["user", "suspend", w.person.subject],
    "the organisation is suspended": lambda w: ["org", "suspend", w.person.tenant],
    "the key is revoked": lambda w: ["key", "revoke", w.key_id, "--org", w.person.tenant],
    "the membership is withdrawn": lambda w: [
        *("user", "member", w.person.subject, "--withdraw"),
        *("--org", w.person.tenant),
    ],
}


@requirement("streams:closed")
@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_command_beside_the_server_closes_open_streams_and_no_event_follows(
    ending: str, tmp_path: Path
) -> None:
    async with world(tmp_path) as here:
        code, _, err = await command(tmp_path, *ENDINGS[ending](here))
        assert code == 0, err
        async with asyncio.timeout(DEADLINE_S):
            standalone, call = await asyncio.gather(*(rest_of(stream) for stream in here.streams))
        # All that either stream ever said was said before.
        assert [data for _, data in events_in(standalone) if data] == []
        (heard,) = [msgspec.json.decode(data) for _, data in events_in(call) if data]
        assert heard["params"]["data"] == "begun"
        assert here.waiting.cancelled == 1
        # Beside it, whoever was not meant goes on, and gets the answer.
        assert not any(stream.content.is_eof() for stream in here.others)
        here.waiting.let_go.set()
        last = [data for _, data in events_in(await rest_of(here.others[1])) if data][-1]
        assert msgspec.json.decode(last)["result"]["isError"] is False
        for stream in (*here.streams, *here.others):
            stream.close()


async def listening(running: Product, person: Person) -> aiohttp.ClientResponse:
    """The open standalone stream of a fresh session."""
    transport = await running.open(person)
    stream = await running.http.get(transport.url, headers=transport.all_headers())
    assert stream.status == 200
    return stream


@requirement("streams:closed")
async def test_an_expiry_closes_open_streams_by_the_clock_alone() -> None:
    async with product() as running:
        ending = await listening(running, await running.person())
        running.clock.advance(days=6)  # type: ignore[attr-defined]
        # Six days later another one begins; a day after that, only the first one's seven days are over.
        going_on = await listening(running, await running.person())
        running.clock.advance(days=1)  # type: ignore[attr-defined]
        async with asyncio.timeout(DEADLINE_S):
            assert [data for _, data in events_in(await rest_of(ending)) if data] == []
        assert not going_on.content.is_eof()
        ending.close()
        going_on.close()


async def revoke_by_rest(running: Product, person: Person, session_id: str) -> None:
    url = running.base + "/api/v1/execution/sessions/revoke"
    async with running.http.post(url, json={"session_id": session_id}, headers=person.headers) as answer:
        assert answer.status == 200


async def test_a_revocation_over_rest_closes_streams_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the look for other processes' revocations: one's own are noticed by themselves.
    monkeypatch.setattr("codesynapse.server.app.POLL_S", 3_600)
    async with product() as running:
        person = await running.person()
        session_id = await running.register(person)
        transport = await running.open(person, session_id)
        stream = await running.http.get(transport.url, headers=transport.all_headers())
        assert stream.status == 200
        await revoke_by_rest(running, person, session_id)
        async with asyncio.timeout(DEADLINE_S):
            assert [data for _, data in events_in(await rest_of(stream)) if data] == []
        stream.close()


async def test_a_withdrawn_grant_closes_no_stream(tmp_path: Path) -> None:
    async with world(tmp_path) as here:
        accounts, person = here.running.services.ports.accounts, here.person
        await accounts.set_grant(person.tenant, "default", person.subject, None, now_ms=here.running.clock())
        await here.running.server.notice()
        assert not any(stream.content.is_eof() for stream in here.streams)
        await accounts.set_grant(person.tenant, "default", person.subject, Level.READ, now_ms=here.running.clock())
        here.waiting.let_go.set()
        assert b'"isError":false' in await rest_of(here.streams[1])
        for stream in (*here.streams, *here.others):
            stream.close()
