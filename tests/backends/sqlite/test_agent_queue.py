"""The queue in SQLite: a task and its effect are one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from codesynapse.contracts.errors import StoreFault
from codesynapse.contracts.suite.keepers import Keeper, episode
from codesynapse.contracts.suite.worlds import NOW

Connect = Callable[[], sqlite3.Connection]


async def test_a_claim_that_dies_between_the_effect_and_the_removal_leaves_the_task(
    keeper: Keeper, another: Connect
) -> None:
    (task,) = await keeper.agents.due(now_ms=NOW, limit=9)
    another().execute("CREATE TRIGGER dies BEFORE INSERT ON agent_episodes BEGIN SELECT raise(ABORT, 'x'); END")
    with pytest.raises(StoreFault):
        await keeper.agents.claim(task, episode("tea again"), now_ms=NOW)
    assert await keeper.agents.due(now_ms=NOW, limit=9) == [task]
    another().execute("DROP TRIGGER dies")
    assert await keeper.agents.claim(task, episode("tea again"), now_ms=NOW) is not None
    assert len(await keeper.episodes()) == 2
