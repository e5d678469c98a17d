"""Vectors of session memory in SQLite: exact search within one scope."""

from array import array
from collections.abc import Sequence

from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.database import Database
from codesynapse.backends.sqlite.faults import decoding
from codesynapse.contracts.identity import Millis, require_ids
from codesynapse.contracts.memory import EntityId, Scope
from codesynapse.contracts.vectors import Vector, VectorHit, VectorRecord, check_record, check_search, cosine, vector_id

_ENDED = """
SELECT EXISTS (SELECT 1 FROM revocations WHERE tenant_id = :tenant AND session_id = :session)
OR EXISTS (
    SELECT 1 FROM scopes
    WHERE tenant_id = :tenant AND session_id = :session AND ns = :ns AND (closed OR expires_at_ms <= :now)
)
"""
_PUT = """
INSERT INTO vectors (id, tenant_id, session_id, ns, entity, model, dimension, expires_at_ms, embedding)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    dimension = excluded.dimension, expires_at_ms = excluded.expires_at_ms, embedding = excluded.embedding
"""
_SEARCH = """
SELECT entity, expires_at_ms, embedding FROM vectors
WHERE tenant_id = ? AND session_id = ? AND ns = ? AND model = ? AND dimension = ? AND expires_at_ms > ?
"""
_DROP = "DELETE FROM vectors WHERE tenant_id = :tenant AND session_id = :session AND (:ns IS NULL OR ns = :ns)"
_SWEEP = """
DELETE FROM vectors WHERE id IN (SELECT id FROM vectors WHERE expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?)
"""


class SqliteVectorIndex:
    """The port `VectorIndex`.

    A record for a scope that has ended is left out without an error: an embedding that was under way when the memory
    was cleared must not bring its texts back.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, records: Sequence[VectorRecord], *, now_ms: Millis) -> None:
        for record in records:
            check_record(record, now_ms)

        def work(connection: Connection) -> None:
            ended = {scope for scope in {record.scope for record in records} if _ended(connection, scope, now_ms)}
            rows = [_row(record) for record in records if record.scope not in ended]
            connection.executemany(_PUT, rows)

        await self._database.write(work)

    async def search(self, scope: Scope, query: Vector, *, model: str, limit: int, now_ms: Millis) -> list[VectorHit]:
        check_search(model=model, limit=limit)

        def work(connection: Connection) -> list[VectorHit]:
            place = (scope.tenant_id, scope.session_id, scope.ns, model, len(query), now_ms)
            hits = [_hit(scope, query, row) for row in connection.execute(_SEARCH, place)]
            return sorted(hits, key=lambda hit: (-hit.score, hit.entity))[:limit]

        return await self._database.search(scope.tenant_id, work)

    async def drop(self, tenant_id: str, session_id: str, ns: str | None = None) -> int:
        require_ids(tenant_id=tenant_id, session_id=session_id, ns=ns)
        place = {"tenant": tenant_id, "session": session_id, "ns": ns}
        return await self._database.write(lambda connection: connection.execute(_DROP, place).rowcount, scrubs=True)

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        bound = (now_ms, max(limit, 0))
        return await self._database.write(lambda connection: connection.execute(_SWEEP, bound).rowcount, scrubs=True)


def _ended(connection: Connection, scope: Scope, now_ms: Millis) -> bool:
    place = {"tenant": scope.tenant_id, "session": scope.session_id, "ns": scope.ns, "now": now_ms}
    (ended,) = connection.execute(_ENDED, place).fetchone()
    return bool(ended)


def _row(record: VectorRecord) -> tuple[object, ...]:
    scope = record.scope
    return (
        vector_id(scope, record.entity, record.model),
        scope.tenant_id,
        scope.session_id,
        scope.ns,
        record.entity,
        record.model,
        len(record.values),
        record.expires_at_ms,
        array("d", record.values).tobytes(),
    )


@decoding
def _hit(scope: Scope, query: Vector, row: tuple[EntityId, Millis, bytes]) -> VectorHit:
    entity, expires_at_ms, embedding = row
    values = array("d", embedding)
    return VectorHit(scope=scope, entity=entity, score=cosine(query, values), expires_at_ms=expires_at_ms)
