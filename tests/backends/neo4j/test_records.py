"""What stands in the graph, read past the adapter: the records of the seed with all of their fields, one code graph."""

from collections.abc import Mapping
from typing import Any

import pytest

from codesynapse.backends.neo4j.store import Neo4jSessionMemory
from codesynapse.contracts.memory import Scope, entity_id
from codesynapse.contracts.requirements import requirement
from codesynapse.contracts.suite.worlds import Chat, new_scope, unique
from tests.backends.neo4j.conftest import Ask

SCOPE = {"tenant_id", "session_id", "ns"}


@pytest.fixture
def chat(memory: Neo4jSessionMemory) -> Chat:
    return Chat(memory, new_scope())


def place(scope: Scope) -> dict[str, str]:
    return {"tenant_id": scope.tenant_id, "session_id": scope.session_id, "ns": scope.ns}


def check_scope(record: Mapping[str, Any], scope: Scope) -> None:
    assert {name: record[name] for name in SCOPE} == place(scope)


@requirement("schema:scope")
async def test_the_record_of_a_scope_has_its_place_document_revision_expiry_and_count(chat: Chat, ask: Ask) -> None:
    await chat.remember("ana likes tea", "ana knows bo")
    scope = chat.scope
    statement = "MATCH (s:SessionMemoryScope {tenant_id: $t}) RETURN properties(s) AS s"
    ((root,),) = await ask(statement, t=scope.tenant_id)
    check_scope(root, scope)
    assert (root["revision"], root["expires_at_ms"], root["closed"]) == (1, chat.expires_at_ms, False)
    assert (root["live_facts"], root["facts"]) == (2, 2)
    assert '"ana"' in root["doc"]
    await chat.memory.revoke(scope.tenant_id, scope.session_id, now_ms=chat.now_ms)
    ((emptied,),) = await ask(statement, t=scope.tenant_id)
    assert '"ana"' not in emptied["doc"]
    assert (emptied["live_facts"], emptied["facts"]) == (0, 0)
    stones = await ask("MATCH (r:SessionMemoryRevocation {tenant_id: $t}) RETURN properties(r) AS r", t=scope.tenant_id)
    assert [row["r"] for row in stones] == [
        {"tenant_id": scope.tenant_id, "session_id": scope.session_id, "revoked_at_ms": chat.now_ms}
    ]


@requirement("schema:entity", "schema:fact")
async def test_entities_and_facts_carry_the_place_of_their_scope_and_its_expiry(chat: Chat, ask: Ask) -> None:
    await chat.remember("ana likes tea")
    statement = (
        "MATCH (a {tenant_id: $t})-[f:SESSION_FACT]->(b) "
        "RETURN properties(a) AS a, properties(f) AS f, properties(b) AS b"
    )
    ((ana, fact, tea),) = await ask(statement, t=chat.scope.tenant_id)
    for record in (ana, fact, tea):
        check_scope(record, chat.scope)
        assert record["expires_at_ms"] == chat.expires_at_ms
        assert record["doc"]
    (snapshot,) = (await chat.load()).facts
    assert (ana["id"], tea["id"]) == (entity_id("ana", ""), entity_id("tea", ""))
    assert (fact["id"], fact["predicate"]) == (snapshot.id, "likes")


@requirement("schema:shared-code")
async def test_sessions_on_one_repository_share_its_code_graph_and_copy_none_of_it(
    memory: Neo4jSessionMemory, ask: Ask
) -> None:
    tenant = unique("tenant")
    await ask("UNWIND range(1, 50) AS n CREATE (:Node {repository: $t, name: 'function' + n})", t=tenant)
    one, other = (Chat(memory, new_scope(tenant=tenant)) for _ in range(2))
    for chat in (one, other):
        await chat.remember("function1 calls function2", "function2 calls function3")
    count = "MATCH (n:Node {repository: $t}) RETURN count(n) AS nodes, count(n.tenant_id) AS owned"
    assert [tuple(row) for row in await ask(count, t=tenant)] == [(50, 0)]
    mixed = "MATCH (e:SessionMemoryEntity {tenant_id: $t}) RETURN count(e), sum(CASE WHEN e:Node THEN 1 ELSE 0 END)"
    assert [tuple(row) for row in await ask(mixed, t=tenant)] == [(6, 0)]
    for chat in (one, other):
        scope = chat.scope
        assert {each.name for each in (await chat.load()).entities} == {"function1", "function2", "function3"}
        await memory.revoke(scope.tenant_id, scope.session_id, now_ms=chat.now_ms)
    assert [tuple(row) for row in await ask(count, t=tenant)] == [(50, 0)]
