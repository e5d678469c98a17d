"""Reads of agents go along an index, and see one state."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable

import pytest

from codesynapse.backends.sqlite import agent_reading
from codesynapse.contracts.agents import Reach
from codesynapse.contracts.suite.keepers import Keeper, records
from codesynapse.contracts.suite.worlds import NOW

WITHIN = {"tenant": "t", "places": "[1]", "agent": 1, "limit": 5, "prefix": 0, "length": 0, "source": ""}
AXES = {"all_projects": 0, "project": "p", "all_channels": 0, "channel": "c"}
PLANS = {
    "_MEMORY_CANDIDATES": (("t", 1, "[1]"), "INTEGER PRIMARY KEY"),
    "_EPISODE_CANDIDATES": (("t", 1, "[1]"), "INTEGER PRIMARY KEY"),
    "_MEMORIES_WITHIN": ({**WITHIN, **AXES}, "INTEGER PRIMARY KEY"),
    "_EPISODES_WITHIN": ({**WITHIN, **AXES}, "INTEGER PRIMARY KEY"),
    "_MEMORIES": ({**WITHIN, **AXES}, "agent_memories_newest"),
    "_EPISODES": ({**WITHIN, **AXES}, "agent_episodes_newest"),
    "_MEMORIES_BY_ID": (("t", 1, "[1]"), "agent_memories_by_id (tenant_id=? AND id=?)"),
    "_EPISODES_BY_ID": (("t", 1, "[1]"), "agent_episodes_by_id (tenant_id=? AND id=?)"),
    "_MEMORIES_BEHIND": (("t", 1, 0, 5), "agent_memories_by_id (tenant_id=? AND id>?)"),
    "_EPISODES_BEHIND": (("t", 1, 0, 5), "agent_episodes_by_id (tenant_id=? AND id>?)"),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_read_goes_along_its_index_and_sorts_nothing(
    name: str, keeper: Keeper, another: Callable[[], sqlite3.Connection]
) -> None:
    given, index = PLANS[name]
    plan = [row[3] for row in another().execute(f"EXPLAIN QUERY PLAN {getattr(agent_reading, name)}", given)]
    assert any(index in step for step in plan[:2])
    assert not [step for step in plan if "TEMP B-TREE" in step or step.startswith("SCAN agent")]


async def test_reads_beside_an_import_see_all_of_it_or_nothing(keeper: Keeper) -> None:
    many = records(*(f"tea {number}" for number in range(300)))
    task = asyncio.create_task(keeper.agents.take_in(keeper.scope, many, dry_run=False, now_ms=NOW))
    seen = set()
    while not task.done():
        tally, found = await asyncio.gather(keeper.agents.tally(keeper.scope), keeper.candidates("tea"))
        seen |= {tally.memories, found.total - 1}
    await task
    assert seen <= {2, 302}
    assert (await keeper.agents.tally(keeper.scope)).memories == 302


async def test_a_frequent_term_within_a_reach_is_not_cut_before_it_is_filtered(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_reading, "POSTINGS_MAX", 3)
    await keeper.keep("rose", project="p")
    await keeper.agents.take_in(
        keeper.scope, records(*(f"rose {number}" for number in range(9)), project="q"), dry_run=False, now_ms=NOW
    )
    assert await keeper.recall("rose", Reach(project_id="p")) == ["rose"]
    assert len((await keeper.candidates("rose")).rows) == 3
