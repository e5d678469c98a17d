"""Moving house around all stores and back, also by a copy that is killed in the middle: the same digests."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from pathlib import Path

from codesynapse.backends import open_backend
from codesynapse.contracts.errors import SessionRevoked
from codesynapse.contracts.memory import Scope
from codesynapse.contracts.ports import Backend, Portable
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import RepositoryScope
from codesynapse.contracts.requirements import requirement
from codesynapse.contracts.suite.worlds import NOW, Chat, Library, filled, numbered, settled, triple, unique
from codesynapse.server.cli.moving import copy, inventory
from codesynapse.server.clock import ManualClock
from tests.servers.running import Record

SCOPES = 2_000 if os.environ.get("CODESYNAPSE_FULL") == "1" else 200


@asynccontextmanager
async def opened(name: str, **options: str) -> AsyncIterator[Backend]:
    async with await asyncio.to_thread(open_backend, name, options) as backend:
        yield backend


def portable(backend: Backend) -> Portable:
    assert backend.portable is not None
    return backend.portable


async def furnish(backend: Backend, tenant: str, scopes: int) -> None:
    """A tenant with so many scopes, closed, revoked, full and ordinary ones, and with repositories."""
    memory, graph = backend.session_memory, backend.repository
    assert memory is not None
    assert graph is not None
    await memory.set_quotas(tenant, Quotas(tenant_roots_max=scopes))
    for number in range(scopes):
        scope = Scope(tenant_id=tenant, session_id=f"session{number // 2:05}", ns=f"ns{number % 2}")
        chat = Chat(memory, scope)
        if number % 50 == 0:
            await chat.propose(filled(scope, Quotas().snapshot_bytes_max, character="ж"), 0)
            continue
        await chat.remember(triple("ána lives_in Bern", functional=True), f"ana knows {number} 🍵")
        await chat.remember(triple("ána lives_in Thun", functional=True))
        if number % 20 == 3:
            await chat.clear()
    for number in (7, scopes):
        await memory.revoke(tenant, f"session{number:05}", now_ms=NOW)
    for repository in ("books", "songs"):
        library = Library(graph, RepositoryScope(tenant_id=tenant, repository=repository))
        for start in range(0, 150, 50):
            await library.remember(*numbered(50, start=start))
        await library.remember(triple("ana lives_in Bern", functional=True))
        await library.remember(triple("ana lives_in Thun", functional=True))


async def moved(source: Backend, target: Backend, tenant: str) -> None:
    """Copy a tenant, wholly, and find it equal."""
    steps = await copy(portable(source), portable(target), tenant_id=tenant, clock=ManualClock(NOW))
    assert {step.state for step in steps} == {"copied"}
    again = await copy(portable(source), portable(target), tenant_id=tenant, clock=ManualClock(NOW))
    assert {step.state for step in again} == {"equal"}
    assert len(again) == len(steps)


@requirement("store:moving")
async def test_all_memory_moves_around_all_stores_and_back_with_the_same_digests(
    tmp_path: Path, neo4j_server: Record, hugegraph_server: Record
) -> None:
    tenant = unique("tenant")
    async with AsyncExitStack() as stack:
        stores = [
            await stack.enter_async_context(opened(name, **options))
            for name, options in (
                ("memory", {}),
                ("sqlite", {"path": str(tmp_path / "one.db")}),
                ("neo4j", neo4j_server.options),
                ("hugegraph", hugegraph_server.options),
                ("sqlite", {"path": str(tmp_path / "two.db")}),
            )
        ]
        await furnish(stores[0], tenant, SCOPES)
        for source, target in pairwise(stores):
            await moved(source, target, tenant)
        first, last = [await inventory(portable(store), tenant) for store in (stores[0], stores[-1])]
        assert first.digests == last.digests
        assert len(first.digests) == SCOPES + 2 + 2 + 1
        assert stores[-1].session_memory is not None
        chat = Chat(stores[-1].session_memory, Scope(tenant_id=tenant, session_id="session00007", ns="ns0"))
        assert isinstance(await settled(chat.load(), SessionRevoked), SessionRevoked)


# A copy that is killed, with what is under way, when it is about to restore its item of a kind with this number.
KILLED = """
import asyncio, os, signal, sys, json
from codesynapse.backends import open_backend
from codesynapse.server.cli.moving import copy
from codesynapse.server.clock import system_clock

path, name, options, tenant, kind, left = sys.argv[1:]

class Killing:
    def __init__(self, inner):
        self.scan, self.inner, self.left = inner.scan, inner, int(left)

    async def restore(self, item, *, now_ms):
        if type(item).__name__ == kind:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        await self.inner.restore(item, now_ms=now_ms)

async def main():
    async with open_backend("sqlite", {"path": path}) as old, open_backend(name, json.loads(options)) as new:
        await copy(old.portable, Killing(new.portable), tenant_id=tenant, clock=system_clock)

asyncio.run(main())
"""


async def ran(home: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """A Python process to its end, with a home of its own and no other setting."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CODESYNAPSE_")}
    environment |= {"CODESYNAPSE_HOME": str(home), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, *arguments]
    return await asyncio.to_thread(subprocess.run, command, env=environment, capture_output=True)


async def killed_and_repeated(tmp_path: Path, name: str, server: Record) -> None:
    tenant, file = unique("tenant"), tmp_path / "source.db"
    async with opened("sqlite", path=str(file)) as source, opened(name, **server.options) as target:
        await furnish(source, tenant, SCOPES)
        whole = (await inventory(portable(source), tenant)).digests
        held: dict[tuple[str, ...], str] = {}
        for kind, number, unfinished in (("HeldScope", SCOPES // 2, 0), ("Rows", 4, 2), ("Head", 1, 2)):
            arguments = (str(file), name, json.dumps(server.options), tenant, kind, str(number))
            assert (await ran(tmp_path, "-c", KILLED, *arguments)).returncode == -signal.SIGKILL
            found = await inventory(portable(target), tenant)
            assert held.items() <= found.digests.items() < whole.items()
            assert len(found.unfinished) == unfinished
            held = found.digests
            assert held
        command = ("-m", "codesynapse.server", "store", "copy", "--from", f"sqlite://{file}", "--to", server.url)
        done = await ran(tmp_path, *command, "--org", tenant)
        assert (done.returncode, done.stderr) == (0, b"")
        summary = json.loads(done.stdout)
        assert sum(summary["equal"].values()) == len(held)
        assert sum(summary["copied"].values()) == len(whole) - len(held)
        assert (await inventory(portable(target), tenant)).digests == whole


@requirement("store:moving")
async def test_a_copy_into_neo4j_that_was_killed_goes_on_and_ends_equal(tmp_path: Path, neo4j_server: Record) -> None:
    await killed_and_repeated(tmp_path, "neo4j", neo4j_server)


@requirement("store:moving")
async def test_a_copy_into_hugegraph_that_was_killed_goes_on_and_ends_equal(
    tmp_path: Path, hugegraph_server: Record
) -> None:
    await killed_and_repeated(tmp_path, "hugegraph", hugegraph_server)
