"""kill -9 in the midst of streamed calls: a committed write is reported, once, and what was not is named."""

import asyncio
import json
import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from codesynapse.contracts.memory import Scope
from codesynapse.contracts.repository import RepositoryScope
from codesynapse.contracts.requirements import requirement
from codesynapse.server.clock import system_clock
from codesynapse.server.services import open_ports
from codesynapse.server.settings import load
from tests.integration.cutting import FULL, dice
from tests.integration.harness import Process, Transport, environment, fresh, start
from tests.integration.test_kill import register
from tests.integration.tools import Events, call, primed, stream

KILLS = 10 if FULL else 1
SESSIONS = 8
CALLS_EACH = 25
"""Of one session; a namespace keeps the results of its last 32 commits."""
ROOM = {"CODESYNAPSE_CALLS_IN_FLIGHT_MAX": "400"}


@dataclass(kw_only=True)
class Sent:
    """A call on its way. reads: its client listens on; else it stops behind the first event. answers: what came."""

    transport: Transport
    message: dict[str, Any]
    kind: str
    name: str
    reads: bool
    last_id: str | None = None
    answers: list[dict[str, Any]]

    async def run(self, answered: asyncio.Queue[None]) -> None:
        """Until it is answered, which it tells, or the server dies."""
        with suppress(aiohttp.ClientError, ConnectionError):
            async with stream(self.transport, self.message) as events:
                self.last_id = await primed(events)
                if self.reads:
                    await self.hear(events)
                    answered.put_nowait(None)
                else:
                    await asyncio.Event().wait()

    async def hear(self, events: Events) -> None:
        while (event := await events.next()) is not None:
            self.take(event)

    def take(self, event: tuple[str | None, str]) -> None:
        event_id, data = event
        self.last_id = event_id or self.last_id
        if data:
            self.answers.append(json.loads(data))

    async def resume(self, url: str) -> None:
        """Come back to a server; it must end the stream by itself."""
        self.transport.url = url
        assert self.last_id is not None
        async with stream(self.transport, None, **{"Last-Event-ID": self.last_id}) as events:
            await self.hear(events)


def prepared(transport: Transport, number: int, chance: random.Random) -> Sent:
    """One call, of any kind; a few to the repository, so that its last 32 commits hold them all."""
    kind = "repository" if number < 3 else chance.choice(["session", "session", "read"])
    name = fresh("w")
    if kind == "read":
        message = call(number, "recall_context", query=name)
    else:
        triples = [{"subject": name, "predicate": "is", "object": "there"}]
        message = call(number, "upsert_graph_triples", triples=triples, memory_scope=kind)
    return Sent(transport=transport, message=message, kind=kind, name=name, reads=chance.random() < 0.5, answers=[])


async def opened(server: Process, http: aiohttp.ClientSession) -> Transport:
    session_id = await register(server, http, fresh())
    transport = Transport(http=http, url=server.url, headers=server.owner.bound(session_id))
    await transport.initialize()
    return transport


async def killed_among(server: Process, sent: list[Sent], acknowledgements: int) -> None:
    """Send all at once; the process dies after so many answers."""
    answered = asyncio.Queue[None]()
    tasks = [asyncio.create_task(each.run(answered)) for each in sent]
    async with asyncio.timeout(60):
        for _ in range(acknowledgements):
            await answered.get()
    await server.kill()
    for task, each in zip(tasks, sent, strict=True):
        if not each.reads:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def present(home: Path, sent: list[Sent], tenant: str) -> set[str]:
    """Which writes are on the disk."""
    settings = await asyncio.to_thread(load, environment(home))
    found: set[str] = set()
    async with open_ports(settings) as ports:
        scope = RepositoryScope(tenant_id=tenant, repository="default")
        found |= {each.name for each in await ports.repository.named(scope, [each.name for each in sent])}
        for session in {each.transport.headers["X-CodeSynapse-Session"] for each in sent}:
            at = Scope(tenant_id=tenant, session_id=session, ns="default")
            snapshot = await ports.session_memory.load(at, now_ms=system_clock())
            found |= {each.name for each in snapshot.entities}
    return found


def check(sent: list[Sent], there: set[str]) -> Counter[str]:
    """Each resumable call has one answer, and it is true."""
    seen: Counter[str] = Counter()
    for each in sent:
        if each.last_id is None:
            seen["never heard of its stream"] += 1
            continue
        (answer,) = each.answers
        assert answer["id"] == each.message["id"]
        if "result" in answer:
            assert each.kind == "read" or each.name in there
            assert answer["result"]["isError"] is False
            if each.kind != "read":
                assert answer["result"]["structuredContent"]["added"] == 1
            back = answer["result"]["_meta"].get("codesynapse/read_back", False)
            seen["read back" if back else "answered"] += 1
        else:
            assert answer["error"]["data"]["code"] == "interrupted"
            assert each.kind == "read" or each.name not in there
            seen[f"interrupted {each.kind}"] += 1
    return seen


@requirement("survive:kill-streams")
async def test_after_kill_9_every_committed_write_is_reported_once_and_everything_else_is_named(tmp_path: Path) -> None:
    chance = dice("kill -9 among streamed calls")
    server, total = await start(tmp_path, **ROOM), Counter[str]()
    try:
        for _ in range(KILLS):
            connector = aiohttp.TCPConnector(limit=0)
            async with aiohttp.ClientSession(connector=connector) as http:
                transports = [await opened(server, http) for _ in range(SESSIONS)]
                sent = [prepared(each, number, chance) for each in transports for number in range(CALLS_EACH)]
                chance.shuffle(sent)
                await killed_among(server, sent, chance.randrange(1, 60))
                there = await present(tmp_path, sent, server.tenant)
                server = await start(tmp_path, key=server.key, tenant=server.tenant, **ROOM)
                for each in sent:
                    if each.last_id is not None and not each.answers:
                        await each.resume(server.url)
                total += check(sent, there)
        assert total["read back"] > 0
        assert total["interrupted read"] > 0
    finally:
        if server.child.returncode is None:
            await server.kill()
    print(f"{KILLS} kills among {SESSIONS * CALLS_EACH} streamed calls each: {dict(total)}")
