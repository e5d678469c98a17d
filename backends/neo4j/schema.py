"""Constraints and indexes: created where they are missing, with a version that a newer release raises."""

from collections.abc import Awaitable, Callable
from typing import LiteralString

from codesynapse.backends.neo4j.faults import SUPPORTED
from codesynapse.contracts.errors import StoreFault

VERSION = 1
OLDEST = (4, 4)

# What is looked up by several properties at once has a constraint or an index over exactly those: with a condition on
# each of them it is used. Names of people and things are never part of a statement.
CREATED: tuple[LiteralString, ...] = (
    "CREATE CONSTRAINT codesynapse_schema IF NOT EXISTS FOR (n:CodeSynapseSchema) REQUIRE n.name IS UNIQUE",
    "CREATE CONSTRAINT session_memory_tenant IF NOT EXISTS FOR (n:SessionMemoryTenant) REQUIRE n.tenant_id IS UNIQUE",
    "CREATE CONSTRAINT session_memory_revocation IF NOT EXISTS FOR (n:SessionMemoryRevocation) "
    "REQUIRE (n.tenant_id, n.session_id) IS UNIQUE",
    "CREATE CONSTRAINT session_memory_scope IF NOT EXISTS FOR (n:SessionMemoryScope) "
    "REQUIRE (n.tenant_id, n.session_id, n.ns) IS UNIQUE",
    "CREATE INDEX session_memory_scope_of_session IF NOT EXISTS FOR (n:SessionMemoryScope) "
    "ON (n.tenant_id, n.session_id)",
    "CREATE INDEX session_memory_scope_to_sweep IF NOT EXISTS FOR (n:SessionMemoryScope) ON (n.sweep_at_ms)",
    "CREATE CONSTRAINT session_memory_entity IF NOT EXISTS FOR (n:SessionMemoryEntity) "
    "REQUIRE (n.tenant_id, n.session_id, n.ns, n.id) IS UNIQUE",
    "CREATE CONSTRAINT session_memory_vector IF NOT EXISTS FOR (n:SessionMemoryVector) REQUIRE n.id IS UNIQUE",
    "CREATE INDEX session_memory_vector_of_scope IF NOT EXISTS FOR (n:SessionMemoryVector) "
    "ON (n.tenant_id, n.session_id, n.ns)",
    "CREATE INDEX session_memory_vector_to_sweep IF NOT EXISTS FOR (n:SessionMemoryVector) ON (n.expires_at_ms)",
    "CREATE CONSTRAINT memory_tenant IF NOT EXISTS FOR (n:MemoryTenant) REQUIRE n.tenant_id IS UNIQUE",
    "CREATE CONSTRAINT memory_repository IF NOT EXISTS FOR (n:MemoryRepository) "
    "REQUIRE (n.tenant_id, n.repository) IS UNIQUE",
    "CREATE CONSTRAINT memory_entity IF NOT EXISTS FOR (n:MemoryEntity) "
    "REQUIRE (n.tenant_id, n.repository, n.id) IS UNIQUE",
    "CREATE INDEX memory_entity_in_order IF NOT EXISTS FOR (n:MemoryEntity) ON (n.tenant_id, n.repository, n.folded)",
    "CREATE CONSTRAINT memory_name IF NOT EXISTS FOR (n:MemoryName) "
    "REQUIRE (n.tenant_id, n.repository, n.folded) IS UNIQUE",
    "CREATE CONSTRAINT memory_fact IF NOT EXISTS FOR (n:MemoryFact) "
    "REQUIRE (n.tenant_id, n.repository, n.id) IS UNIQUE",
    "CREATE INDEX memory_fact_of_pair IF NOT EXISTS FOR (n:MemoryFact) "
    "ON (n.tenant_id, n.repository, n.subject, n.predicate)",
    "CREATE INDEX memory_fact_of_object IF NOT EXISTS FOR (n:MemoryFact) ON (n.tenant_id, n.repository, n.object)",
    "CREATE INDEX memory_fact_turning IF NOT EXISTS FOR (n:MemoryFact) ON (n.tenant_id, n.repository, n.turns_ms)",
    "CREATE CONSTRAINT memory_term IF NOT EXISTS FOR (n:MemoryTerm) "
    "REQUIRE (n.tenant_id, n.repository, n.term) IS UNIQUE",
)
AWAITED: LiteralString = "CALL db.awaitIndexes(60)"
VERSION_READ: LiteralString = "MATCH (n:CodeSynapseSchema {name: 'graph'}) RETURN n.version AS version"
VERSION_WRITTEN: LiteralString = (
    "MERGE (n:CodeSynapseSchema {name: 'graph'}) ON CREATE SET n.version = $version RETURN n.version AS version"
)


async def prepare(run: Callable[..., Awaitable[list[dict[str, int]]]]) -> None:
    """Make the database usable. Repeatable, and safe beside another process that does the same.

    run: runs a statement in a transaction of its own. The version is written last, once all indexes are filled, so
    that whoever finds it finds them. Raises StoreFault with field "schema" where a newer release has been here.
    """
    rows = await run(VERSION_READ)
    if not rows:
        for statement in CREATED:
            await run(statement)
        await run(AWAITED)
        rows = await run(VERSION_WRITTEN, {"version": VERSION})
    version = rows[0]["version"]
    if version > VERSION:
        raise StoreFault(field="schema", limit=VERSION, details={"version": version})


def check_server(agent: str) -> None:
    """Raises StoreFault for a server that is too old. agent: as it names itself, such as `Neo4j/5.26.0`."""
    product, _, release = agent.partition("/")
    numbers = release.split(".")[:2]
    if product != "Neo4j" or not all(number.isdecimal() for number in numbers):
        return
    if tuple(map(int, numbers)) < OLDEST:
        raise StoreFault(field="url", limit=SUPPORTED)
