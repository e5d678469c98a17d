"""Repository memory on real servers, beside what the contract suite says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from codesynapse.backends.hugegraph.keys import repository_key
from codesynapse.backends.hugegraph.repository import GremlinRepositoryGraph
from codesynapse.backends.hugegraph.rows import entity_key
from codesynapse.contracts.memory import entity_id
from codesynapse.contracts.suite.worlds import NOW, later, new_library, numbered, triple

Ask = Callable[..., Awaitable[list[Any]]]


async def test_facts_that_hold_are_edges_and_others_are_not(graph: GremlinRepositoryGraph, ask: Ask) -> None:
    library = new_library(graph)
    await library.remember(triple("ana lives_in Bern", functional=True), "ana likes tea")
    library.now_ms = later(NOW, 1_000)
    await library.remember(triple("ana lives_in Thun", functional=True))
    place = entity_key(repository_key(library.scope), entity_id("ana", ""))
    found = await ask("g.V(place).outE('FACT').inV().hasLabel('MemoryEntity').values('eid').toList()", place=place)
    assert set(found) == {entity_id("Thun", ""), entity_id("tea", "")}
    assert await ask("g.V(place).outE('SESSION_FACT').count().next()", place=place) == [0]


async def test_a_term_of_a_thousand_facts_is_counted_whole(graph: GremlinRepositoryGraph) -> None:
    # Beyond 800 hits HugeGraph refuses some of its own counting.
    library = new_library(graph)
    for start in range(0, 1_000, 250):
        await library.remember(*numbered(250, start=start))
    found = await graph.candidates(library.scope, ["ana"], limit=3, now_ms=NOW, history=False)
    assert (found.total, found.frequencies["ana"], len(found.slice.facts)) == (1_000, 1_000, 3)
    assert len(await graph.find_nodes(library.scope, "", after=None, limit=2_000)) == 1_001


async def test_a_lone_surrogate_finds_nothing(graph: GremlinRepositoryGraph) -> None:
    library = new_library(graph)
    await library.remember("ana likes tea")
    assert await graph.find_nodes(library.scope, "\ud800", after=None, limit=9) == []
    assert await graph.named(library.scope, ["\ud800"]) == []
