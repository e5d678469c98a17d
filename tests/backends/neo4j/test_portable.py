"""What moving into Neo4j makes: edges for what holds, as commits do, and nothing for what does not."""

from __future__ import annotations

from msgspec import structs

from codesynapse.backends.neo4j.connection import Database
from codesynapse.backends.neo4j.portable import Neo4jPortable
from codesynapse.backends.neo4j.repository import Neo4jRepositoryGraph
from codesynapse.backends.neo4j.store import Neo4jSessionMemory
from codesynapse.contracts.suite.worlds import NOW, Chat, Library, new_library, new_scope, triple, unique
from tests.backends.neo4j.conftest import Ask

SESSION_EDGES = """
MATCH (a:SessionMemoryEntity {tenant_id: $tenant})-[f:SESSION_FACT]->(b:SessionMemoryEntity)
RETURN a.name AS subject, b.name AS object, f.expires_at_ms AS expires_at_ms ORDER BY subject, object
"""
EDGES = """
MATCH (a:MemoryEntity {tenant_id: $tenant})-[f:FACT]->(b:MemoryEntity)
RETURN a.name AS subject, b.name AS object, f.origin_session_id AS origin ORDER BY subject, object
"""
FIGURES = """
MATCH (g:MemoryRepository {tenant_id: $tenant})
RETURN g.revision AS revision, g.entities AS entities, g.facts AS facts, g.terms AS terms,
    g.live_facts AS live_facts, g.live_terms AS live_terms
"""


async def moved(database: Database, tenant: str) -> str:
    """Everything of a tenant, once more under a new name."""
    portable, other, cursor = Neo4jPortable(database), unique("tenant"), None
    while True:
        batch = await portable.scan(after=cursor, limit=3, tenant_id=tenant)
        for item in batch.items:
            scope = structs.replace(item.scope, tenant_id=other)  # type: ignore[union-attr]
            await portable.restore(structs.replace(item, scope=scope), now_ms=NOW)  # type: ignore[arg-type]
        cursor = batch.cursor
        if cursor is None:
            return other


async def both(ask: Ask, statement: str, *tenants: str) -> list[list[dict[str, object]]]:
    return [[dict(row) for row in await ask(statement, tenant=tenant)] for tenant in tenants]


async def test_a_restored_scope_has_the_edges_that_its_commits_made(database: Database, ask: Ask) -> None:
    chat = Chat(Neo4jSessionMemory(database), new_scope())
    await chat.remember(triple("ana lives_in Bern", functional=True), "ana likes tea")
    await chat.remember(triple("ana lives_in Thun", functional=True))
    other = await moved(database, chat.scope.tenant_id)
    before, after = await both(ask, SESSION_EDGES, chat.scope.tenant_id, other)
    assert before == after
    assert [row["object"] for row in after] == ["Thun", "tea"]
    # The next commit takes away what the restoring made.
    again = Chat(chat.memory, structs.replace(chat.scope, tenant_id=other))
    await again.remember(triple("ana likes tea", retract=True))
    (left,) = await both(ask, SESSION_EDGES, other)
    assert [row["object"] for row in left] == ["Thun"]


async def test_a_restored_repository_has_the_edges_and_figures_that_its_commits_made(
    database: Database, ask: Ask
) -> None:
    library = new_library(Neo4jRepositoryGraph(database))
    await library.remember(triple("ana lives_in Bern", functional=True), "ana likes tea", "bo likes tea tea")
    await library.remember(triple("ana lives_in Thun", functional=True))
    other = await moved(database, library.scope.tenant_id)
    for statement in (EDGES, FIGURES):
        before, after = await both(ask, statement, library.scope.tenant_id, other)
        assert before == after != []
    again = Library(library.graph, structs.replace(library.scope, tenant_id=other))
    await again.remember(triple("ana likes tea", retract=True))
    (left,) = await both(ask, EDGES, other)
    assert [row["object"] for row in left] == ["Thun", "tea tea"]
