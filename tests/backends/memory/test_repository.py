"""The memory store's indexes follow its facts."""

from codesynapse.backends.memory.repository import DictRepositoryGraph
from codesynapse.contracts.ports import Backend
from codesynapse.contracts.suite.worlds import NOW, new_library


async def test_a_fact_that_lost_a_term_is_not_found_by_it_any_more() -> None:
    graph = DictRepositoryGraph()
    library = new_library(graph)
    await library.remember("Ana likes tea")
    change = library.change("Ana likes tea")
    [fact] = change.facts
    reworded = type(change)(
        scope=change.scope,
        entities=change.entities,
        facts=change.facts,
        terms={fact.id: ("coffee",)},
        origin_session_id=change.origin_session_id,
    )
    await library.propose(reworded, 1)
    found = await graph.candidates(library.scope, ["tea", "coffee"], limit=10, now_ms=NOW, history=False)
    assert (dict(found.frequencies), found.total, found.total_terms) == ({"tea": 0, "coffee": 1}, 1, 1)


async def test_a_planted_fact_without_an_origin_is_served_without_one(memory_store: Backend) -> None:
    assert memory_store.repository is not None
    library = new_library(memory_store.repository)
    await library.propose(library.change("Ana likes tea", origin=None), 0)
    found = await library.read("Ana likes tea")
    assert [fact.origin_session_id for fact in found.facts] == [None]
