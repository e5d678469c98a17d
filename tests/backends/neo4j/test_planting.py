"""A commit to repository memory waits for the one before it, and then decides on what that one has written."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from codesynapse.backends.neo4j.connection import Database, open_database
from codesynapse.backends.neo4j.options import Options
from codesynapse.backends.neo4j.repository import Neo4jRepositoryGraph
from codesynapse.contracts.errors import QuotaExceeded, RevisionConflict
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.worlds import Library, new_library
from tests.backends.neo4j.held import Held


async def test_a_commit_behind_one_that_is_held_open_is_refused_with_its_revision(
    database: Database, options: Options, blocked: Callable[[str], Awaitable[None]]
) -> None:
    held = Held(database)
    first = new_library(Neo4jRepositoryGraph(held))  # type: ignore[arg-type]  # a driver held open
    async with open_database(options) as other:
        second = Library(Neo4jRepositoryGraph(other), first.scope)
        ours = asyncio.create_task(first.propose(first.change("ana likes tea"), 0))
        await held.written.wait()
        theirs = asyncio.create_task(second.propose(second.change("bo likes milk"), 0))
        await blocked(first.scope.tenant_id)
        held.release.set()
        assert (await ours).revision == 1
        with pytest.raises(RevisionConflict) as refusal:
            await theirs
        assert refusal.value.details == {"revision": 1}
        assert len((await second.read("ana likes tea", "bo likes milk")).facts) == 1


async def test_a_reader_for_a_commit_waits_for_the_one_that_is_under_way(
    database: Database, options: Options, blocked: Callable[[str], Awaitable[None]]
) -> None:
    held = Held(database)
    first = new_library(Neo4jRepositoryGraph(held))  # type: ignore[arg-type]  # a driver held open
    async with open_database(options) as other:
        second = Library(Neo4jRepositoryGraph(other), first.scope)
        ours = asyncio.create_task(first.propose(first.change("ana likes tea"), 0))
        await held.written.wait()
        reading = asyncio.create_task(second.read("ana likes tea"))
        await blocked(first.scope.tenant_id)
        held.release.set()
        await ours
        served = await reading
        assert (served.revision, len(served.facts)) == (1, 1)


async def test_a_refused_commit_leaves_nothing_behind(database: Database) -> None:
    library = new_library(Neo4jRepositoryGraph(database))
    await library.graph.set_quotas(library.scope.tenant_id, Quotas(repository_facts_max=1))
    with pytest.raises(QuotaExceeded):
        await library.remember("ana likes tea", "ana likes milk")
    assert (await library.read("ana likes tea")).entities == ()
