"""The checks that only a store can make of itself, planted in SQLite, found and mended through the engine."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codesynapse.backends import open_backend
from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_work import Once
from codesynapse.contracts.agents import NewMemory
from codesynapse.contracts.errors import AgentForbidden
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.quotas import DAY_MS
from codesynapse.contracts.suite.keepers import Keeper, new_keeper
from codesynapse.contracts.suite.worlds import NOW
from codesynapse.server.agents.checks import DEEP, HEALTH
from codesynapse.server.agents.doctor import Doctor
from codesynapse.server.agents.tuning import Tuner
from codesynapse.server.agents.wording import terms_of
from codesynapse.server.clock import ManualClock

PLANTED = {
    "index_missing": "INSERT INTO agent_memory_index (agent_memory_index) VALUES ('delete-all')",
    "index_orphans": "DELETE FROM agent_memories WHERE content = 'green tea'",
    "counts_wrong": "UPDATE agents SET terms = terms + 5, memories = 0",
    "keys_wrong": "UPDATE agent_memories SET content_key = 'x' WHERE content = 'tea'",
    "details_unreadable": "UPDATE agent_memories SET metadata = '[1]', source = 'junk'",
    "tuning_invalid": "UPDATE agents SET tuning = 'junk'",
    "ownerless": "UPDATE agent_grants SET level = 'write'",
    "tasks_lost": "UPDATE agent_tasks SET agent_id = 'gone'",
    "keys_expired": f"UPDATE agent_keys SET made_at_ms = {NOW - DAY_MS}",
}


class Place:
    def __init__(self, keeper: Keeper, path: Path) -> None:
        self.keeper = keeper
        self.path = path
        self.doctor = Doctor(keeper.agents, Tuner(keeper.agents, ManualClock(NOW)))

    def plant(self, statement: str) -> None:
        with sqlite3.connect(self.path) as connection:
            connection.execute(statement)
        connection.close()

    async def found(self, *names: str) -> dict[str, int]:
        examined = await self.doctor.examine(self.keeper.scope, names or list(HEALTH), NOW)
        return {name: each.count for name, each in examined.found.items() if each.count}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    path = tmp_path / "file.sqlite3"
    async with open_backend("sqlite", {"path": str(path)}) as backend:
        assert backend.agents is not None
        keeper = new_keeper(backend.agents)
        for content in ("tea", "green tea"):
            new = NewMemory(content=content, source={"id": "u"}, terms=terms_of(content))
            once = Once(key=content, digest="d")
            await keeper.agents.store(keeper.scope, new, once=once, now_ms=NOW)
        await keeper.agents.enqueue(keeper.scope, "archive", "{}", once=None, now_ms=NOW)
        yield Place(keeper, path)


async def test_nothing_is_wrong_before(place: Place) -> None:
    assert await place.found() == {}
    assert await place.found(*DEEP) == {}


@pytest.mark.parametrize("name", PLANTED)
async def test_a_fault_of_the_store_is_found_by_its_check_and_mended(place: Place, name: str) -> None:
    place.plant(PLANTED[name])
    found = await place.found()
    assert name in found
    assert found.keys() <= {name, *({"counts_wrong"} if name == "index_orphans" else set())}
    if name == "ownerless":
        await place.keeper.agents.set_level(
            place.keeper.scope.tenant_id,
            place.keeper.scope.agent_id,
            place.keeper.scope.subject_id,
            Level.WRITE,
            now_ms=NOW,
        )
    examined = await place.doctor.examine(place.keeper.scope, [name], NOW)
    done = await place.doctor.repair(examined, NOW)
    if not HEALTH[name].repairable:
        assert (done, await place.found(name)) == ({}, {name: 1})
        return
    assert done[name].fixed == found[name]
    assert await place.found(name) == {}


async def test_records_that_a_question_of_their_words_does_not_reach_are_indexed_anew(place: Place) -> None:
    place.plant(PLANTED["index_missing"])
    examined = await place.doctor.examine(place.keeper.scope, ["unreachable"], NOW)
    assert (examined.found["unreachable"].count, examined.found["unreachable"].refs) == (2, ["mem:1", "mem:2"])
    done = await place.doctor.repair(examined, NOW)
    assert (done["unreachable"].fixed, await place.found("unreachable")) == (2, {})


async def test_a_stranger_examines_nothing_and_a_reader_repairs_nothing(place: Place) -> None:
    stranger = place.keeper.another()
    with pytest.raises(AgentForbidden):
        await place.doctor.examine(stranger.scope, ["counts_wrong"], NOW)
    place.plant(PLANTED["counts_wrong"])
    reader = await place.keeper.granted(Level.READ)
    examined = await place.doctor.examine(reader.scope, ["counts_wrong"], NOW)
    with pytest.raises(AgentForbidden):
        await place.doctor.repair(examined, Millis(NOW))
    assert await place.found("counts_wrong") == {"counts_wrong": 1}
