"""Reading repository memory: planted rows, facts whose time still turns, texts that no row can hold."""

import sqlite3
from collections.abc import Callable

import pytest

from codesynapse.contracts.ports import Backend, RepositoryGraph
from codesynapse.contracts.suite.worlds import NOW, later, new_library, triple

Connect = Callable[[], sqlite3.Connection]


@pytest.fixture
def graph(sqlite_store: Backend) -> RepositoryGraph:
    assert sqlite_store.repository is not None
    return sqlite_store.repository


async def test_a_planted_fact_without_an_origin_is_served_without_one(graph: RepositoryGraph, another: Connect) -> None:
    library = new_library(graph)
    await library.remember("Ana likes tea", "Bob likes tea")
    of_ana = "(SELECT entity_id FROM entities WHERE name = 'Ana')"
    another().execute("UPDATE facts SET origin_session_id = NULL WHERE subject = " + of_ana)
    found = await graph.candidates(library.scope, ["ana", "bob"], limit=10, now_ms=NOW, history=False)
    names = {entity.id: entity.name for entity in found.slice.entities}
    origins = {names[fact.subject]: fact.origin_session_id for fact in found.slice.facts}
    assert origins == {"Ana": None, "Bob": library.session_id}


async def test_the_figures_follow_facts_whose_time_turns_without_any_commit(graph: RepositoryGraph) -> None:
    library = new_library(graph)
    soon, then = later(NOW, 1_000), later(NOW, 2_000)
    await library.remember(
        triple("Ana lives_in Rome", functional=True),
        triple("Ana lives_in Oslo", functional=True, valid_from_ms=soon),
        triple("Bob lives_in Rome", valid_from_ms=then),
    )
    seen = {}
    for moment in (NOW, soon, then):
        found = await graph.candidates(library.scope, ["ana", "bob"], limit=10, now_ms=moment, history=False)
        seen[moment] = (len(found.slice.facts), found.total, found.total_terms, dict(found.frequencies))
    assert seen == {
        NOW: (1, 1, 3, {"ana": 1, "bob": 0}),
        soon: (1, 1, 3, {"ana": 1, "bob": 0}),
        then: (2, 2, 6, {"ana": 1, "bob": 1}),
    }


async def test_a_closed_fact_touches_its_ends_until_its_time_is_over(graph: RepositoryGraph) -> None:
    library = new_library(graph)
    end = later(NOW, 1_000)
    await library.remember("Ana lives_in Rome")
    await library.remember(triple("Ana lives_in Rome", retract=True, valid_from_ms=end))
    [ana] = await graph.named(library.scope, ["ana"])
    before, after = [
        await graph.touching(library.scope, [ana.id], limit=10, now_ms=moment) for moment in (later(end, -1), end)
    ]
    assert (len(before.facts), len(after.facts)) == (1, 0)


async def test_a_text_with_a_lone_surrogate_finds_nothing_and_breaks_nothing(graph: RepositoryGraph) -> None:
    library = new_library(graph)
    await library.remember("Ana likes tea")
    assert await graph.find_nodes(library.scope, "\ud800", after=None, limit=10) == []
    assert await graph.named(library.scope, ["\ud800"]) == []
    found = await graph.candidates(library.scope, ["tea", "\ud800"], limit=10, now_ms=NOW, history=False)
    assert (found.frequencies, len(found.slice.facts)) == ({"tea": 1, "\ud800": 0}, 1)
