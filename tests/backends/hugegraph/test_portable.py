"""What moving into HugeGraph makes: vertices and edges as commits do, in requests that any server takes."""

from __future__ import annotations

from msgspec import structs

from codesynapse.backends.hugegraph.connection import Connection
from codesynapse.backends.hugegraph.keys import repository_key
from codesynapse.backends.hugegraph.portable import GremlinPortable
from codesynapse.backends.hugegraph.repository import GremlinRepositoryGraph
from codesynapse.backends.hugegraph.session import Server
from codesynapse.backends.hugegraph.store import GremlinSessionMemory
from codesynapse.contracts.suite.worlds import (
    NOW,
    Chat,
    Library,
    filled,
    new_library,
    new_scope,
    numbered,
    triple,
    unique,
)

EDGES = """
graph.tx().rollback()
g.V().hasLabel('MemoryEntity').has('repository_key', repository).outE('FACT').values('doc').toList().sort()
"""


async def moved(server: Server, tenant: str) -> str:
    """Everything of a tenant, once more under a new name."""
    portable, other, cursor = GremlinPortable(server, GremlinSessionMemory(server)), unique("tenant"), None
    while True:
        batch = await portable.scan(after=cursor, limit=50, tenant_id=tenant)
        for item in batch.items:
            scope = structs.replace(item.scope, tenant_id=other)  # type: ignore[union-attr]  # only scoped
            await portable.restore(structs.replace(item, scope=scope), now_ms=NOW)  # type: ignore[arg-type]  # only scoped
        cursor = batch.cursor
        if cursor is None:
            return other


async def test_what_is_restored_fits_into_the_requests_of_a_server_that_takes_64_kib(
    connection: Connection, server: Server
) -> None:
    library = new_library(GremlinRepositoryGraph(server))
    for start in range(0, 200, 50):
        await library.remember(*numbered(50, start=start))
    chat = Chat(GremlinSessionMemory(server), new_scope(tenant=library.scope.tenant_id))
    for number in range(20):
        await chat.remember(*(f"ana knows person{number}-{each}" for each in range(5)))
    connection.request_max = 64 << 10
    other = await moved(server, library.scope.tenant_id)
    again = Library(library.graph, structs.replace(library.scope, tenant_id=other))
    assert len((await again.read("ana knows person00001")).facts) == 200
    assert await Chat(chat.memory, structs.replace(chat.scope, tenant_id=other)).facts() == 100


async def test_a_full_snapshot_is_restored(server: Server) -> None:
    chat = Chat(GremlinSessionMemory(server), new_scope())
    await chat.propose(filled(chat.scope, 24 * 1024), 0)
    again = Chat(chat.memory, structs.replace(chat.scope, tenant_id=await moved(server, chat.scope.tenant_id)))
    assert await again.facts() == await chat.facts() > 0


async def test_a_restored_repository_has_the_edges_that_its_commits_made(server: Server) -> None:
    library = new_library(GremlinRepositoryGraph(server))
    await library.remember(triple("ana lives_in Bern", functional=True), "ana likes tea")
    await library.remember(triple("ana lives_in Thun", functional=True))
    scope = structs.replace(library.scope, tenant_id=await moved(server, library.scope.tenant_id))
    before, after = [await server.run(EDGES, repository=repository_key(each)) for each in (library.scope, scope)]
    assert before == after
    assert len(after) == 2
