"""Records of agents in SQLite: duplicates that no process can write."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from codesynapse.contracts.suite.keepers import Keeper

Connect = Callable[[], sqlite3.Connection]


@pytest.mark.parametrize("index", ["agent_memories_by_content", "agent_memories_by_message", "agent_memories_by_id"])
async def test_a_duplicate_cannot_be_written_past_the_adapter(keeper: Keeper, another: Connect, index: str) -> None:
    await keeper.store("with an id", message_id="m")
    connection = another()
    columns = "tenant_id, agent, id, project_id, channel, source_id, created_at_ms, term_count, locked, revision"
    columns += ", recalled, message_id, content_key, terms, timestamp, source, metadata, content"
    values = {
        "agent_memories_by_content": columns.replace(", id,", ", 1000,").replace("message_id", "''"),
        "agent_memories_by_message": columns.replace(", id,", ", 1000,").replace("content_key", "'other'"),
        "agent_memories_by_id": columns.replace("content_key", "'other'").replace("message_id", "''"),
    }[index]
    copied = f"INSERT INTO agent_memories ({columns}) SELECT {values} FROM agent_memories WHERE message_id = 'm'"
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(copied)


async def test_two_processes_that_store_the_same_keep_it_once(
    keeper: Keeper, path: Path, start_python: Callable[..., subprocess.Popen[str]]
) -> None:
    program = """
import asyncio, sys
from codesynapse.backends.sqlite import open_sqlite
from codesynapse.contracts.agents import AgentScope
from codesynapse.contracts.suite.keepers import Keeper

async def main(path, tenant, subject, agent):
    async with open_sqlite({"path": path}) as backend:
        keeper = Keeper(backend.agents, AgentScope(tenant_id=tenant, subject_id=subject, agent_id=agent))
        kept = await asyncio.gather(*(keeper.store(f"shared {number}") for number in range(50)))
        print(sum(each.created for each in kept))

asyncio.run(main(*sys.argv[1:]))
"""
    scope = keeper.scope
    arguments = (str(path), scope.tenant_id, scope.subject_id, scope.agent_id)
    processes = [start_python(program, *arguments) for _ in range(2)]
    created = [int(process.communicate(timeout=60)[0]) for process in processes]
    assert sum(created) == 50
    assert len(await keeper.memories()) == 52
