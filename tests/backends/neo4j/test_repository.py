"""Repository memory in the graph: edges for whoever walks it, and searches that no text can break."""

import pytest

from codesynapse.backends.neo4j.connection import Database
from codesynapse.backends.neo4j.repository import Neo4jRepositoryGraph
from codesynapse.contracts.repository import node_order
from codesynapse.contracts.suite.worlds import NOW, Library, later, new_library, triple
from codesynapse.contracts.triples import Triple
from tests.backends.neo4j.conftest import Ask

EDGES = (
    "MATCH (:MemoryEntity {tenant_id: $t})-[f:FACT {tenant_id: $t}]->(:MemoryEntity {tenant_id: $t}) RETURN f.id AS id"
)


@pytest.fixture
def library(database: Database) -> Library:
    return new_library(Neo4jRepositoryGraph(database))


async def test_facts_that_hold_are_edges_and_others_are_none(library: Library, ask: Ask) -> None:
    await library.remember(triple("ana lives_in Bern", functional=True), "ana likes tea")
    library.now_ms = later(NOW, 1_000)
    await library.remember(triple("ana lives_in Thun", functional=True))
    served = await library.read("ana lives_in x", "ana likes x")
    edges = {row["id"] for row in await ask(EDGES, t=library.scope.tenant_id)}
    assert edges == {fact.id for fact in served.facts if fact.current(library.now_ms)}
    assert (len(edges), len(served.facts)) == (2, 3)


async def test_nodes_come_in_the_order_of_their_characters_not_of_their_halves(library: Library) -> None:
    names = ["\U0001f9e0", "\uff21x", "z", "Z1", "é", "a b"]
    await library.remember(*(Triple(subject=name, predicate="is", object="thing") for name in names))
    found = await library.graph.find_nodes(library.scope, "", after=None, limit=100)
    assert found == sorted(found, key=node_order)
    assert len(found) == len(names) + 1
    pages = []
    after = None
    while page := await library.graph.find_nodes(library.scope, "", after=after, limit=2):
        pages += page
        after = node_order(page[-1])
    assert pages == found


@pytest.mark.parametrize("text", ["'", '"', "`", "\\", "$tenant", "}) RETURN 1 //", "\ud800", "\0"])
async def test_any_text_may_be_searched_for(library: Library, text: str) -> None:
    await library.remember("ana likes tea")
    assert await library.graph.find_nodes(library.scope, text, after=None, limit=10) == []
    assert await library.graph.named(library.scope, [text]) == []
    found = await library.graph.candidates(library.scope, [text], limit=10, now_ms=NOW, history=True)
    assert (found.slice.facts, dict(found.frequencies)) == ((), {text: 0})
