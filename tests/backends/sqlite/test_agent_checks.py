"""What agents' rows can have wrong with themselves: planted, found and mended."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from codesynapse.contracts.agent_work import StoreCheck
from codesynapse.contracts.suite.keepers import Keeper
from codesynapse.contracts.suite.worlds import NOW, unique

Connect = Callable[[], sqlite3.Connection]


PLANTED = {
    StoreCheck.INDEX_MISSING: "INSERT INTO agent_memory_index (agent_memory_index) VALUES ('delete-all')",
    StoreCheck.COUNTS_WRONG: "UPDATE agents SET terms = terms + 5, memories = 0",
    StoreCheck.KEYS_WRONG: "UPDATE agent_memories SET content_key = 'x' WHERE content = 'tea'",
    StoreCheck.TASKS_LOST: "UPDATE agent_tasks SET agent_id = 'gone'",
}


@pytest.mark.parametrize("check", PLANTED)
async def test_a_planted_fault_is_found_and_mended(keeper: Keeper, another: Connect, check: StoreCheck) -> None:
    another().execute(PLANTED[check])
    for each in StoreCheck:
        found = await keeper.agents.check(keeper.scope, each, now_ms=NOW)
        assert (found > 0) == (each is check)
    mended = await keeper.agents.mend(keeper.scope, check, now_ms=NOW)
    assert mended > 0
    assert await keeper.agents.check(keeper.scope, check, now_ms=NOW) == 0
    assert await keeper.agents.mend(keeper.scope, check, now_ms=NOW) == 0
    assert set(await keeper.recall("tea")) == {"tea", "green tea", "tea was had"}
    assert (await keeper.store("tea")).duplicate == "content"


async def test_a_record_that_was_removed_past_the_adapter_is_an_orphan_of_the_index(
    keeper: Keeper, another: Connect
) -> None:
    another().execute("DELETE FROM agent_memories WHERE content = 'green tea'")
    assert await keeper.recall("tea") == ["tea", "tea was had"]
    assert await keeper.agents.check(keeper.scope, StoreCheck.INDEX_ORPHANS, now_ms=NOW) == 1
    assert await keeper.agents.mend(keeper.scope, StoreCheck.INDEX_ORPHANS, now_ms=NOW) == 1
    assert await keeper.agents.check(keeper.scope, StoreCheck.INDEX_ORPHANS, now_ms=NOW) == 0
    assert (await keeper.candidates("tea")).frequencies == {"tea": 2}


async def test_one_agents_fault_is_none_of_anothers(keeper: Keeper, another: Connect) -> None:
    other = keeper.on(unique("agent"))
    await other.keep("milk")
    another().execute(PLANTED[StoreCheck.KEYS_WRONG])
    assert await keeper.agents.check(other.scope, StoreCheck.KEYS_WRONG, now_ms=NOW) == 0
