"""What stands in the graph, read past the adapter: the records of the seed with all of their fields, one code graph."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from codesynapse.backends.hugegraph.keys import scope_key, session_key
from codesynapse.backends.hugegraph.store import GremlinSessionMemory
from codesynapse.contracts.memory import Scope, entity_id
from codesynapse.contracts.requirements import requirement
from codesynapse.contracts.suite.worlds import Chat, new_scope, unique

Ask = Callable[..., Awaitable[list[Any]]]

VERTEX = "g.V(place).toList().collectMany { v -> v.properties().toList().collect { [it.key(), it.value()] } }"
EDGES = "g.V(place).outE().toList().collectMany { e -> e.properties().toList().collect { [it.key(), it.value()] } }"
CODE = """
def schema = graph.schema()
schema.propertyKey('repository').asText().ifNotExist().create()
schema.propertyKey('key').asText().ifNotExist().create()
schema.vertexLabel('Node').useCustomizeStringId().properties('key', 'repository').ifNotExist().create()
graph.tx().rollback()
(1..50).each { graph.addVertex(T.label, 'Node', T.id, tenant + '-' + it, 'key', tenant, 'repository', tenant) }
graph.tx().commit()
[]
"""
COUNT = "graph.tx().rollback(); [g.V((1..50).collect { tenant + '-' + it }).hasLabel('Node').count().next()]"
SESSIONS = """
graph.tx().rollback()
def found = g.V().hasLabel('SessionMemoryEntity').has('tenant_id', tenant).has('session_id', session).has('ns', ns)
[found.label().groupCount().next()]
"""


@pytest.fixture
def chat(memory: GremlinSessionMemory) -> Chat:
    return Chat(memory, new_scope())


async def read(ask: Ask, script: str, place: str) -> dict[str, Any]:
    return dict(await ask("graph.tx().rollback()\n" + script, place=place))


def check_scope(record: Mapping[str, Any], scope: Scope) -> None:
    assert [record[name] for name in ("tenant_id", "session_id", "ns")] == [scope.tenant_id, scope.session_id, scope.ns]


@requirement("schema:scope")
async def test_the_record_of_a_scope_has_its_place_document_revision_expiry_and_count(chat: Chat, ask: Ask) -> None:
    await chat.remember("ana likes tea", "ana knows bo")
    scope = chat.scope
    root = await read(ask, VERTEX, scope_key(scope))
    check_scope(root, scope)
    assert (root["revision"], root["expires_at"], root["closed"]) == (1, chat.expires_at_ms, False)
    assert (root["live_facts"], root["facts"]) == (2, 2)
    assert '"ana"' in root["doc"]
    await chat.memory.revoke(scope.tenant_id, scope.session_id, now_ms=chat.now_ms)
    emptied = await read(ask, VERTEX, scope_key(scope))
    assert '"ana"' not in emptied["doc"]
    assert (emptied["live_facts"], emptied["facts"]) == (0, 0)
    stone = await read(ask, VERTEX, f"x{session_key(scope.tenant_id, scope.session_id)}")
    assert (stone["tenant_id"], stone["session_id"]) == (scope.tenant_id, scope.session_id)
    assert stone["revoked_at"] == chat.now_ms


@requirement("schema:entity", "schema:fact")
async def test_entities_and_facts_carry_the_place_of_their_scope_and_its_expiry(chat: Chat, ask: Ask) -> None:
    await chat.remember("ana likes tea")
    ana, tea = (f"{scope_key(chat.scope)}-{entity_id(name, '')}" for name in ("ana", "tea"))
    fact = await read(ask, EDGES, ana)
    for record in (fact, await read(ask, VERTEX, ana), await read(ask, VERTEX, tea)):
        check_scope(record, chat.scope)
        assert record["expires_at"] == chat.expires_at_ms
        assert record["doc"]
    (served,) = (await chat.load()).facts
    assert (fact["fid"], fact["predicate"]) == (served.id, "likes")
    assert (await read(ask, VERTEX, ana))["eid"] == served.subject


@requirement("schema:shared-code")
async def test_sessions_on_one_repository_share_its_code_graph_and_copy_none_of_it(
    memory: GremlinSessionMemory, ask: Ask
) -> None:
    tenant = unique("tenant")
    one, other = (Chat(memory, new_scope(tenant=tenant)) for _ in range(2))
    await ask(CODE, tenant=tenant)
    for chat in (one, other):
        await chat.remember("function1 calls function2", "function2 calls function3")
        scope = chat.scope
        asked = {"tenant": scope.tenant_id, "session": scope.session_id, "ns": scope.ns}
        assert await ask(SESSIONS, **asked) == [{"SessionMemoryEntity": 3}]
    assert await ask(COUNT, tenant=tenant) == [50]
    for chat in (one, other):
        await memory.revoke(chat.scope.tenant_id, chat.scope.session_id, now_ms=chat.now_ms)
    assert await ask(COUNT, tenant=tenant) == [50]
