"""One round of cleaning up: what it removes, what it leaves, and that a failure waits for the next."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from codesynapse.backends.memory import open_memory
from codesynapse.contracts.agent_work import Once
from codesynapse.contracts.agents import AgentScope
from codesynapse.contracts.errors import StoreFault
from codesynapse.contracts.memory import scope_of
from codesynapse.contracts.suite.keepers import Keeper
from codesynapse.server.sessions.registry import Sessions
from codesynapse.server.work.retention import BATCH, Retention
from tests.server.world import REPO, World, triple, upsert, world


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with world() as made:
        yield made


def retention(here: World, memory: object | None = None) -> Retention:
    ports, store = here.ports, memory or here.ports.session_memory
    sessions = Sessions(ports.accounts, store, ports.vectors, here.clock)  # type: ignore[arg-type]
    return Retention(ports.accounts, store, ports.vectors, sessions, here.clock)  # type: ignore[arg-type]


class Failing:
    """A session memory whose removals fail until told otherwise; everything else is the real one's."""

    def __init__(self, inner: object) -> None:
        self._inner = inner
        self.failing = True

    def __getattr__(self, name: str) -> object:
        if self.failing and name in ("revoke", "sweep"):
            raise StoreFault
        return getattr(self._inner, name)


async def test_a_round_with_nothing_to_do_cleans_nothing(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.engine, execution, triple("Ana", "likes", "tea"))
    assert await retention(here).run() == 0
    assert len((await here.engine.snapshot(execution, REPO)).facts) == 1


async def test_expired_scopes_lose_their_content_also_where_there_are_many(here: World):
    ana = await here.user("ana")
    for number in range(BATCH + 1):
        await upsert(here.engine, await here.execution(ana, f"s{number}"), triple("Ana", "likes", "tea"))
    here.clock.advance(days=7)
    assert await retention(here).run() == BATCH + 1
    assert await retention(here).run() == 0


async def test_what_a_failed_cleanup_owes_is_done_by_a_later_round(here: World):
    ana = await here.user("ana")
    execution = await here.execution(ana, "s")
    await upsert(here.engine, execution, triple("Ana", "likes", "tea"))
    failing = Failing(here.ports.session_memory)
    await Sessions(here.ports.accounts, failing, None, here.clock).revoke(ana, "s")  # type: ignore[arg-type]
    assert await retention(here, failing).run() == 0
    assert len(await here.ports.accounts.cleanups_owed(limit=10)) == 1
    failing.failing = False
    assert await retention(here, failing).run() == 1
    assert await here.ports.accounts.cleanups_owed(limit=10) == []
    assert await here.ports.session_memory.revoke("acme", scope_of(execution.identity, REPO).session_id, now_ms=0) == 0


async def test_old_idempotency_keys_go_also_where_there_are_many(here: World):
    async with open_memory({}) as backend:
        assert backend.agents is not None
        keeper = Keeper(backend.agents, AgentScope(tenant_id="acme", subject_id="ana", agent_id="a"))
        for number in range(BATCH + 1):
            await keeper.archive("tea", once=Once(key=f"{number}", digest="d"), now_ms=here.clock())
        ports, memory = here.ports, here.ports.session_memory
        sessions = Sessions(ports.accounts, memory, ports.vectors, here.clock)
        cleaning = Retention(ports.accounts, memory, ports.vectors, sessions, here.clock, backend.agents)
        assert await cleaning.run() == 0
        here.clock.advance(days=1)
        assert await cleaning.run() == BATCH + 1
        assert await cleaning.run() == 0
