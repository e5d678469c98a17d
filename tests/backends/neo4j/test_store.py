"""Two writers at once, each in a transaction that is held open: what the second decides on is what the first wrote."""

import asyncio
from collections.abc import Awaitable, Callable

import neo4j as driver
import pytest

from codesynapse.backends.neo4j import queries
from codesynapse.backends.neo4j.connection import Database, open_database
from codesynapse.backends.neo4j.options import Options
from codesynapse.backends.neo4j.store import Neo4jSessionMemory
from codesynapse.contracts.errors import QuotaExceeded, RevisionConflict, SessionRevoked
from codesynapse.contracts.memory import Committed
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.worlds import NOW, Chat, names_of, new_scope, numbered, settled, unique
from tests.backends.neo4j.held import Held

Blocked = Callable[[str], Awaitable[None]]


@pytest.fixture
def held(database: Database) -> Held:
    return Held(database)


async def race(held: Held, options: Options, blocked: Blocked, chat: Chat) -> tuple[Committed | Exception, ...]:
    """A writer that is held open before its commit, and one of another adapter that comes in between."""
    first = Chat(Neo4jSessionMemory(held), chat.scope)  # type: ignore[arg-type]
    async with open_database(options) as other:
        second = Chat(Neo4jSessionMemory(other), chat.scope)
        ours = asyncio.create_task(settled(first.propose(first.first("ana was here"), 1), RevisionConflict))
        await held.written.wait()
        theirs = asyncio.create_task(settled(second.propose(second.first("bo was here"), 1), RevisionConflict))
        await blocked(chat.scope.tenant_id)
        held.release.set()
        return await ours, await theirs


async def test_a_commit_behind_one_that_is_held_open_sees_what_that_one_wrote(
    memory: Neo4jSessionMemory, held: Held, options: Options, blocked: Blocked
) -> None:
    chat = Chat(memory, new_scope())
    await chat.remember("ana likes tea")
    ours, theirs = await race(held, options, blocked, chat)
    assert isinstance(ours, Committed)
    assert isinstance(theirs, RevisionConflict)
    assert theirs.details == {"revision": 2}
    assert "ana" in names_of((await chat.load()).entities)


async def test_reading_before_the_lock_would_lose_the_update(
    memory: Neo4jSessionMemory, held: Held, options: Options, blocked: Blocked, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first writing statement then takes the lock: after everything that was decided on has been read.
    reading = queries.LOCK_AND_READ.removeprefix(queries.LOCK)
    assert reading != queries.LOCK_AND_READ
    unsafe = f"MATCH (t:SessionMemoryTenant {{tenant_id: $tenant}}) {reading}"
    chat = Chat(memory, new_scope())
    await chat.remember("ana likes tea")
    monkeypatch.setattr(queries, "LOCK_AND_READ", unsafe)
    ours, theirs = await race(held, options, blocked, chat)
    assert isinstance(ours, Committed)
    assert isinstance(theirs, Committed)
    assert ours.revision == theirs.revision == 2
    assert "ana" not in names_of((await chat.load()).entities)


CHECKED_ONCE = "MATCH (s:Probe {tenant: $tenant}) WHERE s.revision = 1 SET s.revision = 2 RETURN s.revision"
LOCKED_FIRST = (
    "MATCH (s:Probe {tenant: $tenant}) SET s.lock = $lock "
    "WITH s WHERE s.revision = 1 SET s.revision = 2 RETURN s.revision"
)


@pytest.mark.parametrize(("statement", "winners"), [(CHECKED_ONCE, 2), (LOCKED_FIRST, 1)], ids=["unsafe", "safe"])
async def test_a_condition_is_not_looked_at_again_behind_a_lock(
    bare: driver.AsyncDriver, blocked: Blocked, statement: str, winners: int
) -> None:
    tenant = unique("tenant")

    async def won(transaction: driver.AsyncTransaction, lock: int) -> bool:
        result = await transaction.run(statement, tenant=tenant, lock=lock)
        return await result.single() is not None

    async with bare.session(database="neo4j") as one, bare.session(database="neo4j") as two:
        await (await one.run("CREATE (:Probe {tenant: $tenant, revision: 1})", tenant=tenant)).consume()
        first, second = await one.begin_transaction(), await two.begin_transaction()
        results = [await won(first, 1)]
        waiting = asyncio.create_task(won(second, 2))
        await blocked(tenant)
        await first.commit()
        results.append(await waiting)
        await second.commit()
    assert sum(results) == winners


async def test_a_quota_is_checked_against_what_another_is_just_writing(
    memory: Neo4jSessionMemory, held: Held, options: Options, blocked: Blocked
) -> None:
    tenant = unique("tenant")
    await memory.set_quotas(tenant, Quotas(tenant_facts_max=5))
    first = Chat(Neo4jSessionMemory(held), new_scope(tenant=tenant))  # type: ignore[arg-type]
    async with open_database(options) as other:
        second = Chat(Neo4jSessionMemory(other), new_scope(tenant=tenant))
        ours = asyncio.create_task(first.propose(first.first(*numbered(3)), 0))
        await held.written.wait()
        theirs = asyncio.create_task(second.propose(second.first(*numbered(3)), 0))
        await blocked(tenant)
        held.release.set()
        await ours
        with pytest.raises(QuotaExceeded) as refusal:
            await theirs
        assert (refusal.value.field, refusal.value.limit) == ("tenant_facts", 5)
        await second.propose(second.first(*numbered(2)), 0)


async def test_a_commit_behind_a_revocation_that_is_held_open_is_refused(
    memory: Neo4jSessionMemory, held: Held, blocked: Blocked, options: Options
) -> None:
    chat = Chat(memory, new_scope())
    await chat.remember("ana likes tea")
    revoking = Neo4jSessionMemory(held)  # type: ignore[arg-type]
    scope = chat.scope
    async with open_database(options) as other:
        second = Chat(Neo4jSessionMemory(other), scope)
        task = asyncio.create_task(revoking.revoke(scope.tenant_id, scope.session_id, now_ms=NOW))
        await held.written.wait()
        theirs = asyncio.create_task(second.propose(second.first("bo was here"), 1))
        await blocked(scope.tenant_id)
        held.release.set()
        assert await task == 1
        with pytest.raises(SessionRevoked):
            await theirs
