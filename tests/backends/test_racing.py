"""Two processes with an adapter each on one graph server: no update is lost, and no quota is passed by one fact."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from codesynapse.backends import open_backend
from codesynapse.contracts.ports import SessionMemory
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.requirements import requirement
from codesynapse.contracts.suite.worlds import Chat, new_scope, unique
from codesynapse.server.services import backend_of
from tests.backends.racing import SHARED, Told, session_of
from tests.integration.cutting import FULL
from tests.servers.running import Record

ROOT = Path(__file__).parents[2]
NAMES = ("one", "two")
WRITERS = 64 if FULL else 16
TENANTS, SESSIONS, CAP = (8, 16, 100) if FULL else (2, 8, 20)


async def race(server: Record, work: str, count: int, *tenants: str) -> list[Told]:
    """Two processes that share out so many writers; what each was told."""
    place = (backend_of(server.url), server.url)
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.backends.racing", *place, work, name, str(count // 2), *tenants),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name in NAMES
    ]
    for process in processes:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
    printed = [out for out, _ in await asyncio.gather(*(process.communicate(b"go\n") for process in processes))]
    assert [process.returncode for process in processes] == [0, 0]
    return [msgspec.json.decode(text, type=Told) for text in printed]


@asynccontextmanager
async def looking(server: Record) -> AsyncIterator[SessionMemory]:
    """The session memory of a third process, this one."""
    async with open_backend(backend_of(server.url), server.options) as backend:
        assert backend.session_memory is not None
        yield backend.session_memory


@requirement("growing:one-graph")
async def test_writers_of_two_processes_on_one_namespace_lose_no_update(
    graph_server: Record, capfd: pytest.CaptureFixture[str]
) -> None:
    tenant = unique("tenant")
    told = await race(graph_server, "namespace", WRITERS, tenant)
    # Each has a revision of its own, and none was left out.
    assert sorted(told[0].revisions + told[1].revisions) == list(range(1, WRITERS + 1))
    async with looking(graph_server) as memory:
        snapshot = await Chat(memory, new_scope(tenant=tenant, session=SHARED)).load()
        assert (snapshot.revision, len(snapshot.facts)) == (WRITERS, WRITERS)
    with capfd.disabled():
        conflicts, store = sum(each.conflicts for each in told), backend_of(graph_server.url)
        print(f"{store}: {WRITERS} writers in two processes, {conflicts} conflicts were reported and tried again")


@requirement("growing:one-graph")
async def test_writers_of_two_processes_reach_the_cap_of_each_tenant_and_do_not_pass_it(
    graph_server: Record,
) -> None:
    tenants = [unique("tenant") for _ in range(TENANTS)]
    async with looking(graph_server) as memory:
        for tenant in tenants:
            await memory.set_quotas(tenant, Quotas(tenant_facts_max=CAP))
        told = await race(graph_server, "tenants", SESSIONS, *tenants)
        assert {tenant: sum(each.facts[tenant] for each in told) for tenant in tenants} == dict.fromkeys(tenants, CAP)
        sessions = [session_of(name, number) for name in NAMES for number in range(SESSIONS // 2)]
        for tenant in tenants:
            chats = [Chat(memory, new_scope(tenant=tenant, session=session)) for session in sessions]
            assert sum([await chat.facts() for chat in chats]) == CAP
