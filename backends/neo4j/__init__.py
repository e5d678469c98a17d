"""Session memory, repository memory and vectors in Neo4j, by its official driver: one of it an application."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

from codesynapse.backends.neo4j.connection import open_database
from codesynapse.backends.neo4j.options import options_of
from codesynapse.backends.neo4j.portable import Neo4jPortable
from codesynapse.backends.neo4j.probe import probe
from codesynapse.backends.neo4j.repository import Neo4jRepositoryGraph
from codesynapse.backends.neo4j.store import Neo4jSessionMemory
from codesynapse.backends.neo4j.vectors import Neo4jVectorIndex
from codesynapse.contracts.opening import opens
from codesynapse.contracts.ports import Backend, Features


@opens(Features(session_memory=True, repository=True, vectors=True, portable=True, durable=True))
@asynccontextmanager
async def open_neo4j(options: Mapping[str, str]) -> AsyncIterator[Backend]:
    """A database of a Neo4j server, safe between several processes. It is looked for when it is first needed.

    url: neo4j://, neo4j+s:// or bolt://USER:PASSWORD@HOST:PORT, and behind it /DATABASE where it is not `neo4j`.
    database: the same apart. deadline_ms: how long a call may take, 1 to 600,000.
    """
    async with open_database(options_of(options)) as database:
        yield Backend(
            session_memory=Neo4jSessionMemory(database),
            repository=Neo4jRepositoryGraph(database),
            vectors=Neo4jVectorIndex(database),
            probe=partial(probe, database),
            portable=Neo4jPortable(database),
        )
