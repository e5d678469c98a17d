"""Many records at once in SQLite: a purge leaves nothing that can be asked for or read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from codesynapse.contracts.agent_work import Tally
from codesynapse.contracts.suite.keepers import Keeper
from codesynapse.contracts.suite.worlds import NOW

Connect = Callable[[], sqlite3.Connection]


async def test_after_a_purge_no_question_reaches_what_the_index_still_holds(keeper: Keeper, another: Connect) -> None:
    (before,) = another().execute("SELECT salt FROM agents").fetchone()
    assert await keeper.agents.purge(keeper.scope, now_ms=NOW) == Tally(memories=2, episodes=1, tasks=1)
    (after,) = another().execute("SELECT salt FROM agents").fetchone()
    assert (len(after), before == after) == (16, False)
    for table in ("agent_memory_terms", "agent_episode_terms", "agent_keys", "agent_tasks", "agent_memories"):
        assert another().execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
