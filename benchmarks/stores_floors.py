"""The floors: what the bare driver, client or file needs for the same promise, and nothing beside it.

A commit is refused where the revision is not the one that was read, and durable otherwise; with the content change the
root of the tenant, the record of the commit, one entity and one edge. Content is encoded and decoded here as well: it
is what is brought and what is asked for.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import msgspec
import neo4j

from benchmarks.stores_work import Content, Ours, Side
from codesynapse.backends.hugegraph.address import address_of
from codesynapse.backends.hugegraph.connection import Connection
from codesynapse.backends.hugegraph.keys import key, repository_key
from codesynapse.backends.hugegraph.rows import entity_key
from codesynapse.backends.neo4j.options import options_of
from codesynapse.contracts.memory import canonical, content_of
from codesynapse.contracts.suite.worlds import unique


def encoded(content: Content) -> bytes:
    return canonical(content.entities, content.facts)


class FileFloor:
    """A commit is one write that is synced. There is no floor for the rest."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "floor").open("wb", buffering=0)

    async def load(self, place: str) -> int:
        return 0

    async def commit(self, place: str, revision: int, content: Content) -> bool:
        self._file.seek(0)
        self._file.write(encoded(content))
        os.fsync(self._file.fileno())
        return True

    async def around(self, number: int) -> int:
        return 0

    def close(self) -> None:
        self._file.close()


LABELS = ("BenchTenant", "BenchScope", "BenchEntity")
LOCK_AND_READ = """
MERGE (t:BenchTenant {id: $tenant}) ON CREATE SET t.roots = 0, t.lock = $lock ON MATCH SET t.lock = $lock
WITH t OPTIONAL MATCH (s:BenchScope {id: $place})
RETURN t.roots AS roots, s.revision AS revision
"""
WRITE = """
MATCH (t:BenchTenant {id: $tenant}) SET t.roots = $roots
MERGE (s:BenchScope {id: $place}) SET s += $root
MERGE (a:BenchEntity {id: $subject})
MERGE (b:BenchEntity {id: $object})
MERGE (a)-[f:BENCH_FACT {id: $fact}]->(b) SET f.doc = $edge
"""
READ = "MATCH (s:BenchScope {id: $place}) RETURN s.revision AS revision, s.doc AS doc"
TWO_HOPS = """
MATCH (e:MemoryEntity {tenant_id: $tenant, repository: $repository, id: $id})-[near:FACT]-(m)
OPTIONAL MATCH (m)-[far:FACT]-()
WITH collect(DISTINCT near) + collect(DISTINCT far) AS facts
UNWIND facts AS fact RETURN DISTINCT fact.id AS id, fact.doc AS doc LIMIT 200
"""


class DriverFloor:
    """The driver with two statements a commit, one a load and one a neighbourhood."""

    def __init__(self, driver: neo4j.AsyncDriver, database: str, ours: Ours) -> None:
        self._driver, self._database, self._ours = driver, database, ours
        self._tenant = unique("bench")

    async def load(self, place: str) -> int:
        rows = await self._rows(READ, {"place": f"{self._tenant} {place}"})
        if not rows:
            return 0
        content_of(rows[0]["doc"].encode())
        return int(rows[0]["revision"])

    async def commit(self, place: str, revision: int, content: Content) -> bool:
        here = {"tenant": self._tenant, "place": f"{self._tenant} {place}"}
        fact = content.facts[0]
        async with self._session(neo4j.WRITE_ACCESS) as session, await session.begin_transaction() as transaction:
            found = await transaction.run(LOCK_AND_READ, {**here, "lock": secrets.randbits(62)})
            (row,) = [row async for row in found]
            if (row["revision"] or 0) != revision:
                return False
            root = {"revision": revision + 1, "doc": encoded(content).decode()}
            root[f"commit_{revision % 32}"] = f"{unique('commit')} {revision + 1}"
            edge = msgspec.json.encode(fact).decode()
            ends = {name: f"{here['place']} {getattr(fact, name)}" for name in ("subject", "object")}
            written = {**here, **ends, "roots": row["roots"] + 1, "root": root, "fact": fact.id, "edge": edge}
            await (await transaction.run(WRITE, written)).consume()
            await transaction.commit()
        return True

    async def around(self, number: int) -> int:
        scope = self._ours.library.scope
        id_ = self._ours.people[number % len(self._ours.people)]
        place = {"tenant": scope.tenant_id, "repository": scope.repository, "id": id_}
        return len(await self._rows(TWO_HOPS, place))

    def _session(self, mode: str) -> neo4j.AsyncSession:
        return self._driver.session(database=self._database, default_access_mode=mode, fetch_size=-1)

    async def _rows(self, statement: str, parameters: Mapping[str, Any]) -> list[neo4j.Record]:
        async with self._session(neo4j.READ_ACCESS) as session:
            return [row async for row in await session.run(statement, parameters)]  # type: ignore[arg-type]  # no literal


@asynccontextmanager
async def driver_floor(given: Mapping[str, str], ours: Ours) -> AsyncIterator[Side]:
    """With constraints of its own, which go with all that it wrote."""
    options = options_of(given)
    auth = (options.user or "", options.password)
    async with neo4j.AsyncGraphDatabase.driver(options.address, auth=auth, max_connection_pool_size=32) as driver:
        for label in LABELS:
            named = f"CREATE CONSTRAINT {label.lower()} IF NOT EXISTS FOR (n:{label}) REQUIRE n.id IS UNIQUE"
            await driver.execute_query(named, database_=options.database)  # type: ignore[arg-type]  # no literal
        yield DriverFloor(driver, options.database, ours)
        for label in LABELS:
            await driver.execute_query(f"DROP CONSTRAINT {label.lower()}", database_=options.database)  # type: ignore[arg-type]  # no literal
            await driver.execute_query(f"MATCH (n:{label}) DETACH DELETE n", database_=options.database)  # type: ignore[arg-type]  # no literal


APPLY = """
synchronized (place.intern()) {
    graph.tx().rollback()
    try {
        def held = g.V().hasLabel('SessionMemoryScope').has('key', place).values('revision').toList()
        if ((held.isEmpty() ? 0L : held[0]) != (expected as long)) return ['changed']
        def add = { graph.addVertex(([T.label, it[0], T.id, it[1], 'key', it[1]] + it[2]) as Object[]) }
        for (v in vertices) add(v)
        def ends = entities.collect { add(it) }
        def all = ['fid', fact] + edge
        ends[0].addEdge('SESSION_FACT', ends[1], all as Object[])
        graph.tx().commit()
        return ['done']
    } finally {
        graph.tx().rollback()
    }
}
"""
READ_VERTEX = """
graph.tx().rollback()
g.V().hasLabel('SessionMemoryScope').has('key', place).toList().collect { [it.value('revision'), it.value('doc')] }
"""
AROUND = """
graph.tx().rollback()
def near = g.V().hasLabel('MemoryEntity').has('key', entity).bothE('FACT').toList()
def ends = near.collectMany { [it.outVertex(), it.inVertex()] }.unique()
ends.collectMany { it.edges(Direction.BOTH, 'FACT').toList() }.unique().collect { it.value('doc') }
"""
EXPIRES_AT_MS = 1_900_000_000_000


class GremlinFloor:
    """The adapter's connection alone, with one script a commit, one a load and one a neighbourhood."""

    def __init__(self, connection: Connection, ours: Ours) -> None:
        self._connection, self._ours = connection, ours
        self._tenant = unique("bench")

    async def load(self, place: str) -> int:
        rows = await self._connection.run(READ_VERTEX, {"place": key("n", self._tenant, place)})
        if not rows:
            return 0
        content_of(rows[0][1].encode())
        return int(rows[0][0])

    async def commit(self, place: str, revision: int, content: Content) -> bool:
        tenant, here = key("t", self._tenant), key("n", self._tenant, place)
        scope = ["tenant_id", self._tenant, "session_id", place, "ns", "default", "expires_at", EXPIRES_AT_MS]
        fact = content.facts[0]
        ends = (fact.subject, fact.object)
        root = [*scope, "doc", encoded(content).decode(), "revision", revision + 1, "closed", False]
        root += ["live_facts", 1, "facts", 1, "written_at", EXPIRES_AT_MS, "commit_ids", "[]"]
        kept = ["commit_id", unique("commit"), "revision", revision + 1, "outcome", "{}", "origin_session_id", place]
        counters = ["tenant_id", self._tenant, "version", revision + 1, "roots", 1, "live_facts", 1, "quotas", "{}"]
        bindings = {
            "place": here,
            "expected": revision,
            "vertices": [
                ("SessionMemoryTenant", tenant, counters),
                ("SessionMemoryScope", here, root),
                ("MemoryCommit", f"c{here}-{revision % 32}", kept),
            ],
            "entities": [("SessionMemoryEntity", here + end, [*scope, "eid", end]) for end in ends],
            "fact": fact.id,
            "edge": [*scope, "predicate", fact.predicate, "doc", msgspec.json.encode(fact).decode()],
        }
        (answer,) = await self._connection.run(APPLY, bindings)
        return bool(answer == "done")

    async def around(self, number: int) -> int:
        id_ = self._ours.people[number % len(self._ours.people)]
        entity = entity_key(repository_key(self._ours.library.scope), id_)
        return len(await self._connection.run(AROUND, {"entity": entity}))


@asynccontextmanager
async def gremlin_floor(given: Mapping[str, str], ours: Ours) -> AsyncIterator[Side]:
    """On the schema of the adapter, which must be there."""
    connection = Connection(address_of(given["url"]), deadline_s=60)
    try:
        yield GremlinFloor(connection, ours)
    finally:
        await connection.close()


@asynccontextmanager
async def file_floor(folder: Path) -> AsyncIterator[Side]:
    """A file beside the database."""
    with closing(FileFloor(folder)) as floor:
        yield floor
