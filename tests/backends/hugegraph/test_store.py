"""Session memory on real servers: races, raw traversals, what was cut or killed in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from codesynapse.backends.hugegraph import open_hugegraph
from codesynapse.backends.hugegraph.keys import scope_key, session_key, tenant_key
from codesynapse.backends.hugegraph.session import Server
from codesynapse.backends.hugegraph.store import GremlinSessionMemory
from codesynapse.contracts.errors import Invalid, QuotaExceeded, RevisionConflict, SessionExpired
from codesynapse.contracts.memory import Committed, entity_id
from codesynapse.contracts.ports import Backend
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.worlds import Chat, later, new_scope, numbered, settled, triple, unique
from tests.servers.cutting import cutting

Ask = Callable[..., Awaitable[list[Any]]]

# Seed 0, "Graph and vector schema", as it stands there.
TRAVERSAL = """
g.V().hasLabel('SessionMemoryEntity')
.has('tenant_id',tenant).has('session_id',session).has('ns',ns).has('eid',entity)
.outE('SESSION_FACT').has('tenant_id',tenant).has('session_id',session).has('ns',ns)
.inV().hasLabel('SessionMemoryEntity')
.has('tenant_id',tenant).has('session_id',session).has('ns',ns).limit(limit as long).values('eid').toList()
"""

# A check and a write in one script, as everybody writes it first. Between the two it waits until another has read, or
# for a while where none can.
UNLOCKED = """
graph.tx().rollback()
def held = g.V().hasLabel('SessionMemoryTenant').has('key', place).values('version').toList()
if (held[0] != (expected as long)) return ['changed']
def meeting = ('meeting:' + place).intern()
synchronized (meeting) { meeting.notifyAll(); meeting.wait(500) }
graph.addVertex(T.label, 'SessionMemoryTenant', T.id, place, 'key', place, 'tenant_id', tenant, 'version',
    (expected as long) + 1, 'roots', 0L, 'live_facts', 0L, 'quotas', quotas)
graph.tx().commit()
return ['done']
"""
LOCKED = f"synchronized (('codesynapse:' + place).intern()) {{ {UNLOCKED} }}"


async def seen(ask: Ask, chat: Chat, name: str) -> set[str]:
    """What the seed's traversal serves."""
    scope = chat.scope
    place = {"tenant": scope.tenant_id, "session": scope.session_id, "ns": scope.ns}
    return set(await ask(TRAVERSAL, **place, entity=entity_id(name, ""), limit=100))


def ids(*names: str) -> set[str]:
    return {entity_id(name, "") for name in names}


async def test_the_seeds_traversal_serves_what_the_engine_serves(memory: GremlinSessionMemory, ask: Ask) -> None:
    chat = Chat(memory, new_scope())
    other = Chat(memory, new_scope(tenant=chat.scope.tenant_id))
    await chat.remember("ana likes tea", "ana knows bo", "bo likes milk")
    await other.remember("ana likes juice")
    served = {fact.object for fact in (await chat.load()).facts if fact.subject == entity_id("ana", "")}
    assert await seen(ask, chat, "ana") == served == ids("tea", "bo")


async def test_no_stale_edge_is_served_after_superseding_and_retracting(memory: GremlinSessionMemory, ask: Ask) -> None:
    chat = Chat(memory, new_scope())
    await chat.remember(triple("ana lives_in Bern", functional=True), "ana likes tea", "ana likes milk")
    await chat.remember(triple("ana lives_in Thun", functional=True), triple("ana likes tea", retract=True))
    assert await seen(ask, chat, "ana") == ids("Thun", "milk")
    await chat.remember("ana likes tea", triple("ana visits Rome", valid_from_ms=chat.now_ms + 5_000))
    assert await seen(ask, chat, "ana") == ids("Thun", "milk", "tea")


@pytest.mark.parametrize("ending", ["clear", "revoke", "expire"])
async def test_nothing_is_left_for_a_traversal_after_an_ending(
    memory: GremlinSessionMemory, ask: Ask, ending: str
) -> None:
    chat = Chat(memory, new_scope())
    await chat.remember("ana likes tea", "ana knows bo")
    match ending:
        case "clear":
            await chat.clear()
        case "revoke":
            await memory.revoke(chat.scope.tenant_id, chat.scope.session_id, now_ms=chat.now_ms)
        case "expire":
            with pytest.raises(SessionExpired):
                await chat.load(chat.expires_at_ms)
    assert await seen(ask, chat, "ana") == set()
    count = "g.V().hasLabel('SessionMemoryEntity').has('tenant_id', tenant).count().next()"
    assert await ask(count, tenant=chat.scope.tenant_id) == [0]
    for vertex in (f"{scope_key(chat.scope)}-{entity_id('ana', '')}", f"d{scope_key(chat.scope)}"):
        assert await ask("g.V(place).count().next()", place=vertex) == [0]


async def test_labels_are_the_seeds_and_never_those_of_the_code_graph(memory: GremlinSessionMemory, ask: Ask) -> None:
    chat = Chat(memory, new_scope())
    await chat.remember("ana likes tea")
    place = f"{scope_key(chat.scope)}-{entity_id('ana', '')}"
    assert await ask("g.V(place).label().toList()", place=place) == ["SessionMemoryEntity"]
    assert await ask("g.V(place).outE().label().toList()", place=place) == ["SESSION_FACT"]
    values = "g.V(place).outE().values('tenant_id', 'session_id', 'ns').toList()"
    scope = chat.scope
    assert set(await ask(values, place=place)) == {scope.tenant_id, scope.session_id, scope.ns}
    await memory.revoke(scope.tenant_id, scope.session_id, now_ms=chat.now_ms)
    tombstone = f"x{session_key(scope.tenant_id, scope.session_id)}"
    assert await ask("g.V(place).label().toList()", place=tombstone) == ["SessionMemoryRevocation"]


@pytest.mark.parametrize(("script", "winners"), [(UNLOCKED, 2), (LOCKED, 1)], ids=["without a lock", "under our lock"])
async def test_a_check_and_a_write_in_one_script_are_one_step_under_a_lock_alone(
    memory: GremlinSessionMemory, ask: Ask, script: str, winners: int
) -> None:
    tenant = unique("tenant")
    await memory.set_quotas(tenant, Quotas())
    place = {"place": tenant_key(tenant), "tenant": tenant, "quotas": "{}", "expected": 1}
    answers = await asyncio.gather(*(ask(script, **place) for _ in range(2)))
    assert answers.count(["done"]) == winners


async def test_of_writers_on_two_adapters_exactly_one_wins_each_revision(
    memory: GremlinSessionMemory, another: Backend
) -> None:
    assert another.session_memory is not None
    chat = Chat(memory, new_scope())
    twin = Chat(another.session_memory, chat.scope)
    for revision in range(10):
        calls = (
            settled(each.propose(each.first(f"writer{n} was here"), revision), RevisionConflict)
            for n, each in enumerate([chat, twin] * 8)
        )
        results = await asyncio.gather(*calls)
        assert sum(isinstance(each, Committed) for each in results) == 1


async def test_a_lost_acknowledgement_is_settled_by_the_commit_id(url: str, many: Callable[[int], int]) -> None:
    async with cutting(url) as proxy, open_hugegraph({"url": proxy.url, "deadline_ms": "60000"}) as backend:
        assert backend.session_memory is not None
        chat = Chat(backend.session_memory, new_scope())
        await chat.remember("ana likes tea")
        for number in range(many(20)):
            proxy.arm()
            committed = await chat.remember(f"ana likes tea{number}")
            assert committed.revision == number + 2
        served = await chat.load()
        assert proxy.cuts == many(20)
        assert (served.revision, len(served.facts)) == (many(20) + 1, many(20) + 1)


async def test_another_adapters_write_is_seen_and_nothing_is_refused_on_what_was_remembered(
    memory: GremlinSessionMemory, another: Backend
) -> None:
    assert another.session_memory is not None
    chat = Chat(memory, new_scope())
    twin = Chat(another.session_memory, chat.scope)
    await memory.set_quotas(chat.scope.tenant_id, Quotas(namespace_facts_max=1))
    await chat.remember("ana likes tea")
    await another.session_memory.set_quotas(chat.scope.tenant_id, Quotas(namespace_facts_max=3))
    await chat.remember("ana likes milk")
    await twin.remember("ana likes juice")
    with pytest.raises(QuotaExceeded):
        await chat.remember("ana likes water")
    assert (await chat.load()).revision == 3


async def test_a_full_session_is_revoked_within_small_requests(memory: GremlinSessionMemory, server: Server) -> None:
    scope = new_scope()
    chats = [Chat(memory, new_scope(tenant=scope.tenant_id, session=scope.session_id, ns=f"n{n}")) for n in range(3)]
    for chat in chats:
        await chat.remember(*numbered(100))
    server._connection.request_max = 65_536
    assert await memory.revoke(scope.tenant_id, scope.session_id, now_ms=chats[0].now_ms) == 300


async def test_what_has_content_is_recorded_as_due_and_not_swept_before(memory: GremlinSessionMemory, ask: Ask) -> None:
    chat = Chat(memory, new_scope())
    await chat.remember("ana likes tea")
    assert await ask("g.V(place).values('expires_at').toList()", place=f"d{scope_key(chat.scope)}") == [
        chat.expires_at_ms
    ]
    await memory.sweep(now_ms=later(chat.now_ms, -1), limit=10)
    assert await chat.facts() == 1


async def test_a_commit_that_is_too_long_for_the_server_is_refused_and_the_line_stays(
    memory: GremlinSessionMemory, server: Server
) -> None:
    chat = Chat(memory, new_scope())
    await chat.remember("ana likes tea")
    server._connection.request_max = 4_096
    with pytest.raises(Invalid) as refusal:
        await chat.remember(*numbered(100))
    assert refusal.value.limit == 4_096
    assert await chat.facts() == 1
