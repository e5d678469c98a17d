"""Agent memory in SQLite; what every store must do is tested by the contract suite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from codesynapse.backends.sqlite import open_sqlite
from codesynapse.contracts.accounts import Level
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
