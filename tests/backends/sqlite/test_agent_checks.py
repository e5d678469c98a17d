"""What agents' rows can have wrong with themselves: planted, found and mended."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from msgspec import structs

from codesynapse.contracts.agent_recall import PRECISIONS
from codesynapse.contracts.agent_work import StoreCheck
from codesynapse.contracts.agents import Kind
from codesynapse.contracts.suite.keepers import Keeper
from codesynapse.contracts.suite.worlds import NOW, unique

Connect = Callable[[], sqlite3.Connection]


PLANTED = [
    (StoreCheck.INDEX_MISSING, "INSERT INTO agent_memory_index (agent_memory_index) VALUES ('delete-all')"),
    (StoreCheck.COUNTS_WRONG, "UPDATE agents SET terms = terms + 5, memories = 0"),
    (StoreCheck.COUNTS_WRONG, "UPDATE agent_memories SET term_count = 999 WHERE content = 'tea'"),
    (StoreCheck.COUNTS_WRONG, "UPDATE agent_episodes SET term_count = 0"),
    (StoreCheck.COUNTS_WRONG, "UPDATE agent_tenants SET agents = 99"),
    (StoreCheck.COUNTS_WRONG, "UPDATE agent_tenants SET tasks = 44"),
    (StoreCheck.KEYS_WRONG, "UPDATE agent_memories SET content_key = 'x' WHERE content = 'tea'"),
    (StoreCheck.TASKS_LOST, "UPDATE agent_tasks SET agent_id = 'gone'"),
    (StoreCheck.DETAILS_UNREADABLE, "UPDATE agent_memories SET source = 'junk' WHERE content = 'tea'"),
    (StoreCheck.DETAILS_UNREADABLE, "UPDATE agent_memories SET metadata = '[1]'"),
    (
        StoreCheck.DETAILS_UNREADABLE,
        "UPDATE agent_memories SET source = '', metadata = '{\"a\":1' WHERE content = 'tea'",
    ),
]
KEY_WRONG = dict(PLANTED)[StoreCheck.KEYS_WRONG]


@pytest.mark.parametrize(("check", "statement"), PLANTED)
async def test_a_planted_fault_is_found_and_mended(
    keeper: Keeper, another: Connect, check: StoreCheck, statement: str
) -> None:
    another().execute(statement)
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
    another().execute(KEY_WRONG)
    assert await keeper.agents.check(other.scope, StoreCheck.KEYS_WRONG, now_ms=NOW) == 0


async def test_what_cannot_be_read_of_a_memory_is_served_as_empty_and_the_rest_as_it_was(
    keeper: Keeper, another: Connect
) -> None:
    before = {each.content: each for each in await keeper.memories()}
    another().execute("UPDATE agent_memories SET source = 'junk', metadata = '7' WHERE content = 'tea'")
    after = {each.content: each for each in await keeper.memories()}
    assert after == {**before, "tea": structs.replace(before["tea"], source={}, metadata={})}
    assert await keeper.agents.contents(keeper.scope, [(Kind.MEMORY, before["tea"].id)]) == [after["tea"]]


async def test_a_mended_memory_keeps_what_could_be_read_of_it(keeper: Keeper, another: Connect) -> None:
    await keeper.store("milk", source="ana")
    another().execute("UPDATE agent_memories SET metadata = 'junk' WHERE content = 'milk'")
    assert await keeper.agents.mend(keeper.scope, StoreCheck.DETAILS_UNREADABLE, now_ms=NOW) == 1
    (milk,) = await keeper.memories(source="ana")
    assert (milk.content, milk.source, milk.metadata) == ("milk", {"type": "User", "id": "ana"}, {})


@pytest.mark.parametrize("tuning", ["junk", "[]", '{"beta": "x"}', ""])
async def test_a_tuning_that_cannot_be_read_stops_no_recall_and_can_be_replaced(
    keeper: Keeper, another: Connect, tuning: str
) -> None:
    another().execute("UPDATE agents SET tuning = ?", (tuning,))
    found = await keeper.agents.tuning(keeper.scope)
    assert (found.precision in PRECISIONS, found.revision) == (False, 0)
    kept = await keeper.agents.set_tuning(keeper.scope, structs.replace(found, precision="strict"), now_ms=NOW)
    assert await keeper.agents.tuning(keeper.scope) == kept
