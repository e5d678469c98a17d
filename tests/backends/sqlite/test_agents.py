"""Agent memory in SQLite; what every store must do is tested by the contract suite."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

from codesynapse.backends.sqlite import open_sqlite
from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_recall import MEMORIES_MAX
from codesynapse.contracts.agent_work import StoreCheck
from codesynapse.contracts.agents import Bucket
from codesynapse.contracts.suite.keepers import Keeper, new_keeper, records
from codesynapse.contracts.suite.worlds import NOW

Connect = Callable[[], sqlite3.Connection]


async def test_agent_memory_is_there_after_closing(path: Path) -> None:
    async with open_sqlite({"path": str(path)}) as backend:
        assert backend.agents is not None
        keeper = new_keeper(backend.agents)
        await backend.agents.take_in(keeper.scope, records("tea", "milk", project="p"), dry_run=False, now_ms=NOW)
    async with open_sqlite({"path": str(path)}) as backend:
        assert backend.agents is not None
        again = Keeper(backend.agents, keeper.scope)
        assert await again.recall("tea") == ["tea"]
        assert {each.bucket for each in await again.memories()} == {Bucket(project_id="p")}
        assert await again.agents.level(again.scope) is Level.ADMIN


STORING = """
import asyncio, itertools, sys
from codesynapse.backends.sqlite import open_sqlite
from codesynapse.contracts.agents import AgentScope
from codesynapse.contracts.suite.keepers import Keeper

async def main(path, tenant, subject, agent):
    async with open_sqlite({"path": path}) as backend:
        keeper = Keeper(backend.agents, AgentScope(tenant_id=tenant, subject_id=subject, agent_id=agent))
        async def one(number):
            await keeper.store(f"fact {number}", message_id=f"m{number}")
            print(number, flush=True)
        for start in itertools.count(0, 20):
            await asyncio.gather(*(one(number) for number in range(start, start + 20)))

asyncio.run(main(*sys.argv[1:]))
"""


async def test_after_kill_9_every_acknowledged_memory_is_there_and_none_twice(
    keeper: Keeper, path: Path, start_python: Callable[..., subprocess.Popen[str]], many: Callable[[int], int]
) -> None:
    count, scope = many(200), keeper.scope
    process = start_python(STORING, str(path), scope.tenant_id, scope.subject_id, scope.agent_id)
    assert process.stdout is not None
    acknowledged = {int(process.stdout.readline()) for _ in range(count)}
    process.kill()
    acknowledged |= {int(line) for line in process.stdout.read().split("\n") if line}
    kept = [each.content for each in await keeper.memories(limit=100_000) if each.content.startswith("fact")]
    assert len(acknowledged) >= count
    assert len(kept) == len(set(kept))
    assert {f"fact {number}" for number in acknowledged} <= set(kept)
    for check in StoreCheck:
        assert await keeper.agents.check(scope, check, now_ms=NOW) == 0
    for number in range(max(acknowledged) + 1):
        await keeper.store(f"fact {number}", message_id=f"m{number}")
    stored = {each.content for each in await keeper.memories(limit=100_000) if each.content.startswith("fact")}
    found = await keeper.candidates("fact")
    assert (found.frequencies, len(found.rows)) == ({"fact": len(stored)}, min(len(stored), MEMORIES_MAX))
