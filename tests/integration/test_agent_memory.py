"""Agent memory end to end: over HTTP and stdio, many at once, and through kill -9."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from codesynapse.contracts.agents import EVERYWHERE, LISTED_MAX, AgentScope, Episode, Memory
from tests.integration.cutting import FULL, dice
from tests.integration.harness import Process, Transport, fresh, process, product, start
from tests.integration.load import opened
from tests.integration.stdio_peer import shell, stdio_process
from tests.integration.test_kill import calling as over_http
from tests.integration.test_kill import register
from tests.integration.test_session_key import caller

AGENT = "bob"
HISTORY = [{"role": "user", "content": "q7TURNq7", "timestamp": "2026-01-01T00:00:00Z"}] * 51
STORES = 2_000 if FULL else 200
CLIENTS = 8
KILLS = 4
HANG_S = 60
Call = Callable[..., Awaitable[dict[str, Any]]]


@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_what_is_stored_and_archived_is_recalled_and_what_is_wrong_is_refused_as_json(transport: str):
    async with product(embedder="hashing") as running:
        person = await running.person()
        async with talking(transport, running, person) as call:
            stored = await call("store", agent_id=AGENT, content="Ana drinks green tea", idempotency_key="k")
            assert stored == {"ok": True, "result": "stored", "id": 1, "embedded": True}
            assert await call("store", agent_id=AGENT, content="Ana drinks green tea", idempotency_key="k") == stored
            queued = await call("archive_episode", agent_id=AGENT, summary="A talk about tea", history=HISTORY)
            assert queued == {"ok": True, "queued": True, "task_id": 1, "episode_id": None}
            assert (await call("get_queue_status"))["pending"] in (0, 1)
            await running.services.work()
            assert (await call("get_queue_status"))["pending"] == 0
            said = await call("recall", agent_id=AGENT, query="tea", deep=True)
            assert {each["ref"] for each in said["messages"]} == {"mem:1", "ep:2"}
            wrong = await call("store", agent_id=AGENT, content=5)
            assert (wrong["ok"], wrong["code"], wrong["field"]) == (False, "invalid", "content")
            assert (await call("store", agent_id="", content="x"))["field"] == "agent_id"


@asynccontextmanager
async def talking(transport: str, running: Any, person: Any) -> AsyncIterator[Call]:
    if transport == "http":
        yield caller(await running.open(person))
    else:
        async with shell(running, person, await running.register(person)) as peer:
            await peer.initialize()
            yield caller(peer)


async def test_another_organisation_finds_nothing_under_the_same_name_and_numbers():
    async with product() as running:
        first, second = [caller(await running.open(await running.person())) for _ in range(2)]
        await first("store", agent_id=AGENT, content="a secret about tea")
        assert (await second("recall", agent_id=AGENT, query="tea"))["code"] == "agent_forbidden"
        assert (await second("delete_memory", memory_id=1))["code"] == "not_found"
        await second("store", agent_id=AGENT, content="coffee")
        assert (await second("recall", agent_id=AGENT, query="tea"))["messages"] == []
        assert (await second("get_contents", agent_id=AGENT, refs=["mem:2"]))["missing"] == ["mem:2"]
        assert (await first("list_memories"))["count"] == 1


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_two_hundred_equal_stores_at_once_leave_one_row(store: str, tmp_path: Path):
    async with product(store=store, home=tmp_path, calls_in_flight_max=200) as running:
        call = caller(await running.open(await running.person()))
        said = await asyncio.gather(*(call("store", agent_id=AGENT, content="tea") for _ in range(200)))
        assert Counter(each["result"] for each in said) == {"stored": 1, "skipped": 199}
        assert {each["id"] for each in said} == {1}
        assert (await call("list_memories", agent_id=AGENT))["count"] == 1


async def test_a_thread_over_stdio_works_off_what_it_queues_without_a_server_beside_it(tmp_path: Path):
    async with process(tmp_path) as server, aiohttp.ClientSession() as http:
        session_id = await register(server, http, fresh())
        owner = server.owner
    errors: list[str] = []
    async with stdio_process(tmp_path, owner, session_id, errors) as peer, asyncio.timeout(HANG_S):
        call = caller(peer)
        await call("archive_episode", agent_id=AGENT, summary="a talk", history=HISTORY)
        while (await call("get_queue_status"))["pending"]:
            await call("persistence_status")
        assert (await call("list_episodes"))["count"] == 1


class Load:
    """Stores or archives from several clients, each told apart by its text; what was acknowledged is written down."""

    def __init__(self, tool: str, field: str, more: dict[str, Any]) -> None:
        self.tool, self.field, self.more = tool, field, more
        self.sent = 0
        self.acknowledged: set[str] = set()

    async def write(self, call: Any, enough: asyncio.Event, most: int) -> None:
        with suppress(aiohttp.ClientError, ConnectionError):
            while not enough.is_set():
                self.sent += 1
                text = f"number {self.sent}"
                said = await call(self.tool, {"agent_id": AGENT, self.field: text, **self.more})
                assert said["ok"] is True
                self.acknowledged.add(text)
                if len(self.acknowledged) >= most:
                    enough.set()


async def killed_under(server: Process, load: Load, most: int) -> None:
    """Write from all sides until so many are acknowledged; then kill -9 with the others in flight."""
    async with aiohttp.ClientSession() as http:
        calls = []
        for _ in range(CLIENTS):
            headers = server.owner.bound(await register(server, http, fresh()))
            transport = Transport(http=http, url=server.url, headers=headers)
            await transport.initialize()
            calls.append(over_http(transport))
        enough = asyncio.Event()
        tasks = [asyncio.create_task(load.write(call, enough, most)) for call in calls]
        async with asyncio.timeout(10 * HANG_S):
            await enough.wait()
        await server.kill()
        await asyncio.gather(*tasks)


async def records(home: Path) -> list[Memory | Episode]:
    """All that the agent has."""
    scope, found = AgentScope(tenant_id="home", subject_id="owner", agent_id=AGENT), list[Memory | Episode]()
    async with opened(home) as ports:
        assert ports.agents is not None
        assert len(await ports.agents.memories(scope, reach=EVERYWHERE, source_id="", limit=1)) <= 1
        while batch := await ports.agents.scan(scope, after=found[-1].id if found else 0, limit=LISTED_MAX):
            found += batch
    return found


async def test_every_acknowledged_store_survives_kill_9_and_none_is_there_twice(tmp_path: Path):
    load, chance = Load("store", "content", {}), dice("kill -9 during stores")
    server = await start(tmp_path)
    try:
        for number in range(1, KILLS + 1):
            await killed_under(server, load, STORES * number // KILLS - chance.randrange(CLIENTS))
            server = await start(tmp_path, key=server.key)
        counted = Counter(each.content for each in await records(tmp_path) if isinstance(each, Memory))
    finally:
        if server.child.returncode is None:
            await server.kill()
    assert load.acknowledged <= counted.keys()
    assert set(counted.values()) == {1}
    assert len(counted) <= load.sent
    print(f"{KILLS} kills: {load.sent} stores tried, {len(load.acknowledged)} acknowledged, {len(counted)} there")


async def test_every_acknowledged_archive_survives_kill_9_between_queue_and_claim_and_none_is_there_twice(
    tmp_path: Path,
):
    load = Load("archive_episode", "summary", {"history": HISTORY})
    server = await start(tmp_path)
    try:
        for number in range(1, KILLS + 1):
            await killed_under(server, load, 20 * number)
            server = await start(tmp_path, key=server.key)
        async with aiohttp.ClientSession() as http, asyncio.timeout(HANG_S):
            headers = server.owner.bound(await register(server, http, fresh()))
            transport = Transport(http=http, url=server.url, headers=headers)
            await transport.initialize()
            call = over_http(transport)
            while (await call("get_queue_status", {}))["pending"]:
                await call("persistence_status", {})
        counted = Counter(each.summary for each in await records(tmp_path) if isinstance(each, Episode))
    finally:
        if server.child.returncode is None:
            await server.kill()
    assert load.acknowledged <= counted.keys()
    assert set(counted.values()) == {1}
