"""What the seed's representative query finds by the bare driver: what the engine serves, and nothing that ended."""

import pytest

from codesynapse.backends.neo4j.store import Neo4jSessionMemory
from codesynapse.contracts.errors import SessionExpired
from codesynapse.contracts.memory import Scope, entity_id
from codesynapse.contracts.suite.worlds import NOW, Chat, later, new_scope, numbered, triple
from codesynapse.contracts.triples import Triple
from tests.backends.neo4j.conftest import Ask

# Source: seed 0, "Graph and vector schema".
SEED = """
MATCH (a:SessionMemoryEntity {
  tenant_id: $tenant, session_id: $session, ns: $ns, id: $entity
})-[f:SESSION_FACT {tenant_id: $tenant, session_id: $session, ns: $ns}]->
(b:SessionMemoryEntity {tenant_id: $tenant, session_id: $session, ns: $ns})
RETURN a, f, b LIMIT $limit
"""

COUNT = """
OPTIONAL MATCH (e:SessionMemoryEntity {tenant_id: $tenant, session_id: $session})
OPTIONAL MATCH ()-[f:SESSION_FACT]->(e)
RETURN count(DISTINCT e) + count(f) AS left
"""


@pytest.fixture
def chat(memory: Neo4jSessionMemory) -> Chat:
    return Chat(memory, new_scope())


async def found(ask: Ask, scope: Scope, *names: str) -> set[str]:
    """The facts that the seed's query finds behind these names."""
    ids: set[str] = set()
    for name in names:
        rows = await ask(
            SEED, tenant=scope.tenant_id, session=scope.session_id, ns=scope.ns, entity=entity_id(name, ""), limit=999
        )
        ids.update(row["f"]["id"] for row in rows)
    return ids


async def served(chat: Chat) -> set[str]:
    """The facts of the authoritative snapshot that hold now."""
    snapshot = await chat.load()
    return {fact.id for fact in snapshot.facts if fact.current(chat.now_ms)}


async def left(ask: Ask, scope: Scope) -> int:
    """How many entities and edges of a session there are."""
    (row,) = await ask(COUNT, tenant=scope.tenant_id, session=scope.session_id)
    return int(row["left"])


async def test_the_query_of_the_seed_finds_exactly_what_is_served(chat: Chat, ask: Ask) -> None:
    await chat.remember("ana likes tea", "ana knows bo", "bo likes tea", *numbered(40))
    assert await found(ask, chat.scope, "ana", "bo", "tea") == await served(chat)
    assert len(await served(chat)) == 43


async def test_superseded_and_retracted_facts_leave_no_edge(chat: Chat, ask: Ask) -> None:
    await chat.remember(triple("ana lives_in Bern", functional=True), "ana likes tea")
    chat.now_ms = later(NOW, 1_000)
    await chat.remember(triple("ana lives_in Thun", functional=True), triple("ana likes tea", retract=True))
    assert await found(ask, chat.scope, "ana") == await served(chat)
    assert len(await served(chat)) == 1
    await chat.remember("ana likes tea")
    assert await found(ask, chat.scope, "ana") == await served(chat)
    assert len(await served(chat)) == 2


async def test_what_leaves_the_snapshot_leaves_the_graph(chat: Chat, ask: Ask) -> None:
    await chat.remember("ana likes tea", "bo likes milk")
    await chat.propose(chat.first("cy likes juice"), 1)
    assert await found(ask, chat.scope, "ana", "bo", "cy") == await served(chat)
    assert await left(ask, chat.scope) == 3


async def test_an_entity_that_gained_an_alias_is_one_node_with_it(chat: Chat, ask: Ask) -> None:
    await chat.remember("ana likes tea")
    await chat.remember(Triple(subject="ana", predicate="likes", object="tea", subject_aliases=("Anna",)))
    rows = await ask(
        "MATCH (e:SessionMemoryEntity {tenant_id: $t, name: 'ana'}) RETURN e.doc AS doc", t=chat.scope.tenant_id
    )
    assert [row["doc"] for row in rows] == ['["ana","",["Anna"]]']


async def test_clearing_revoking_and_expiry_leave_nothing(memory: Neo4jSessionMemory, ask: Ask) -> None:
    cleared, revoked, expired, swept = (Chat(memory, new_scope()) for _ in range(4))
    swept.now_ms, swept.expires_at_ms = later(NOW, -10), later(NOW, -5)
    for chat in (cleared, revoked, expired, swept):
        await chat.remember("ana likes tea", "ana knows bo")
    await cleared.clear()
    await memory.revoke(revoked.scope.tenant_id, revoked.scope.session_id, now_ms=NOW)
    with pytest.raises(SessionExpired):
        await expired.load(expired.expires_at_ms)
    while await memory.sweep(now_ms=later(NOW, -5), limit=100):
        pass
    for chat in (cleared, revoked, expired, swept):
        assert await found(ask, chat.scope, "ana", "bo", "tea") == set()
        assert await left(ask, chat.scope) == 0


async def test_two_sessions_with_the_same_names_share_no_node(memory: Neo4jSessionMemory, ask: Ask) -> None:
    one, other = Chat(memory, new_scope()), Chat(memory, new_scope())
    await one.remember("ana likes tea")
    await other.remember("ana likes tea", "ana likes milk")
    assert len(await found(ask, one.scope, "ana")) == 1
    crossing = "MATCH (a {tenant_id: $t})-[f]->(b) WHERE a.session_id <> b.session_id RETURN count(f) AS crossing"
    assert [row["crossing"] for row in await ask(crossing, t=one.scope.tenant_id)] == [0]


async def test_no_session_entity_is_a_code_node_and_no_session_edge_a_durable_fact(chat: Chat, ask: Ask) -> None:
    await chat.remember("ana likes tea")
    tenant = chat.scope.tenant_id
    labels = await ask("MATCH (e:SessionMemoryEntity {tenant_id: $t}) RETURN labels(e) AS labels", t=tenant)
    assert {tuple(row["labels"]) for row in labels} == {("SessionMemoryEntity",)}
    kinds = await ask("MATCH (:SessionMemoryEntity {tenant_id: $t})-[f]->() RETURN type(f) AS kind", t=tenant)
    assert {row["kind"] for row in kinds} == {"SESSION_FACT"}
