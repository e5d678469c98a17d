"""What a commit to repository memory leaves in the file."""

import sqlite3
from collections.abc import Callable

import pytest
from msgspec import structs

from codesynapse.contracts.errors import QuotaExceeded
from codesynapse.contracts.memory import COMMITS_KEPT
from codesynapse.contracts.ports import Backend, RepositoryGraph
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.worlds import new_library, triple

Connect = Callable[[], sqlite3.Connection]


@pytest.fixture
def graph(sqlite_store: Backend) -> RepositoryGraph:
    assert sqlite_store.repository is not None
    return sqlite_store.repository


async def test_each_commit_and_each_fact_names_the_session_that_wrote_it(
    graph: RepositoryGraph, another: Connect
) -> None:
    library = new_library(graph)
    await library.remember("Ana likes tea")
    assert another().execute("SELECT origin_session_id FROM graph_commits").fetchall() == [(library.session_id,)]
    assert another().execute("SELECT origin_session_id FROM facts").fetchall() == [(library.session_id,)]


async def test_only_the_newest_commit_ids_are_kept(graph: RepositoryGraph, another: Connect) -> None:
    library = new_library(graph)
    for number in range(COMMITS_KEPT + 3):
        await library.remember(f"Ana likes tea{number}")
    kept = another().execute("SELECT min(revision), max(revision), count(*) FROM graph_commits").fetchone()
    assert kept == (4, COMMITS_KEPT + 3, COMMITS_KEPT)


async def test_the_counters_of_a_repository_are_what_its_rows_add_up_to(
    graph: RepositoryGraph, another: Connect
) -> None:
    library = new_library(graph)
    await library.remember("Ana likes tea", "Ana likes coffee", "Bob likes tea")
    await library.remember(triple("Ana likes tea", retract=True))
    await library.remember("Ana likes tea", triple("Bob likes tea", retract=True))
    await library.remember(triple("Ana lives_in Rome", functional=True), triple("Ana lives_in Oslo", functional=True))
    counted = another().execute("SELECT entities, facts, terms, live_facts, live_terms FROM graphs").fetchone()
    (entities,) = another().execute("SELECT count(*) FROM entities").fetchone()
    summed = "SELECT count(*), sum(terms), sum(live), sum(live * terms) FROM facts"
    assert counted == (entities, *another().execute(summed).fetchone())
    assert another().execute("SELECT sum(occurrences) FROM terms").fetchone() == (counted[2],)


async def test_an_entity_answers_to_its_newest_aliases(graph: RepositoryGraph, another: Connect) -> None:
    library = new_library(graph)
    for alias in ("Annie", "Anita"):
        await library.remember(structs.replace(triple("Ana likes tea"), subject_aliases=(alias,)))
    answers = "SELECT answers.folded FROM answers JOIN entities ON id = entity WHERE name = 'Ana' ORDER BY 1"
    assert another().execute(answers).fetchall() == [("ana",), ("anita",), ("annie",)]


async def test_a_fact_that_was_planted_past_the_adapter_counts_in_the_repositorys_caps(
    graph: RepositoryGraph, another: Connect
) -> None:
    library = new_library(graph)
    await library.remember("Ana likes tea")
    await graph.set_quotas(library.scope.tenant_id, Quotas(repository_facts_max=2))
    another().execute(
        "INSERT INTO facts SELECT null, graph_id, 'planted', subject, 'knows', object, 0, 1, null, null,"
        " '[[1,null]]', 1, 1, 0 FROM facts"
    )
    with pytest.raises(QuotaExceeded) as refusal:
        await library.remember("Bob likes tea")
    assert (refusal.value.field, refusal.value.limit) == ("repository_facts", 2)
