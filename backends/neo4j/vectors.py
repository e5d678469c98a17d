"""Vectors of session memory in Neo4j: exact search within one scope, as the seed says."""

import asyncio
import secrets
import sys
from array import array
from collections.abc import Sequence

from codesynapse.backends.neo4j import queries
from codesynapse.backends.neo4j.connection import Database, Row, Transaction
from codesynapse.contracts.identity import Millis, require_ids
from codesynapse.contracts.memory import Scope
from codesynapse.contracts.vectors import Vector, VectorHit, VectorRecord, check_record, check_search, cosine, vector_id

ON_LOOP_MAX = 20_000
"""How many products are summed up on the event loop; more go to a thread."""


class Neo4jVectorIndex:
    """The port `VectorIndex`.

    A record for a scope that has ended is left out without an error: an embedding that was under way when the memory
    was cleared must not bring its texts back.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, records: Sequence[VectorRecord], *, now_ms: Millis) -> None:
        for record in records:
            check_record(record, now_ms)
        of_scope: dict[Scope, list[VectorRecord]] = {}
        for record in records:
            of_scope.setdefault(record.scope, []).append(record)
        for scope, rows in of_scope.items():
            await self._put(scope, rows, now_ms)

    async def search(self, scope: Scope, query: Vector, *, model: str, limit: int, now_ms: Millis) -> list[VectorHit]:
        check_search(model=model, limit=limit)
        bounds = {**_place(scope), "model": model, "dimension": len(query), "now": now_ms}
        rows = await self._database.rows(queries.VECTORS, bounds)
        if len(rows) * len(query) <= ON_LOOP_MAX:
            return _nearest(scope, query, rows, limit)
        return await asyncio.to_thread(_nearest, scope, query, rows, limit)

    async def drop(self, tenant_id: str, session_id: str, ns: str | None = None) -> int:
        require_ids(tenant_id=tenant_id, session_id=session_id, ns=ns)
        place = {"tenant": tenant_id, "session": session_id, "ns": ns}
        statement = queries.DROP_VECTORS_OF_SESSION if ns is None else queries.DROP_VECTORS_OF_SCOPE

        async def work(transaction: Transaction) -> int:
            await transaction.rows(queries.LOCK, {"tenant": tenant_id, "lock": secrets.randbits(62)})
            (row,) = await transaction.rows(statement, place)
            return int(row["removed"])

        return await self._database.write(tenant_id, work)

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        async def work(transaction: Transaction) -> int:
            (row,) = await transaction.rows(queries.SWEEP_VECTORS, {"now": now_ms, "limit": max(limit, 0)})
            return int(row["removed"])

        return await self._database.write("vectors to sweep", work)

    async def _put(self, scope: Scope, records: Sequence[VectorRecord], now_ms: Millis) -> None:
        async def work(transaction: Transaction) -> None:
            await transaction.rows(queries.LOCK, {"tenant": scope.tenant_id, "lock": secrets.randbits(62)})
            (row,) = await transaction.rows(queries.ENDED, {**_place(scope), "now": now_ms})
            if not row["ended"]:
                rows = [_row(record) for record in records]
                await transaction.rows(queries.PUT_VECTORS, {**_place(scope), "rows": rows})

        await self._database.write(scope.tenant_id, work)


def _place(scope: Scope) -> dict[str, object]:
    return {"tenant": scope.tenant_id, "session": scope.session_id, "ns": scope.ns}


def _row(record: VectorRecord) -> dict[str, object]:
    """embedding: 64-bit floats in the order of a little-endian machine."""
    return {
        "id": vector_id(record.scope, record.entity, record.model),
        "entity": record.entity,
        "model": record.model,
        "dimension": len(record.values),
        "expires_at_ms": record.expires_at_ms,
        "embedding": _in_wire_order(array("d", record.values)).tobytes(),
    }


def _nearest(scope: Scope, query: Vector, rows: Sequence[Row], limit: int) -> list[VectorHit]:
    hits = [
        VectorHit(
            scope=scope,
            entity=row["entity"],
            score=cosine(query, _in_wire_order(array("d", bytes(row["embedding"])))),
            expires_at_ms=row["expires_at_ms"],
        )
        for row in rows
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.entity))[:limit]


def _in_wire_order(values: "array[float]") -> "array[float]":
    # Several servers may share the store, and not all need be of one kind.
    if sys.byteorder == "big":
        values.byteswap()
    return values
