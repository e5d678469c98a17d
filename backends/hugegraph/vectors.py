"""Vectors of session memory in HugeGraph: vertices of their own, searched exactly, in Python, within one scope."""

import base64
from array import array
from collections.abc import Iterator, Sequence

from codesynapse.backends.hugegraph import scripts
from codesynapse.backends.hugegraph.held import Facts
from codesynapse.backends.hugegraph.keys import scope_key, session_key, tenant_key
from codesynapse.backends.hugegraph.plans import place
from codesynapse.backends.hugegraph.session import Plan, Server
from codesynapse.backends.hugegraph.store import GremlinSessionMemory
from codesynapse.contracts.identity import Millis, require_ids
from codesynapse.contracts.memory import Scope
from codesynapse.contracts.vectors import Vector, VectorHit, VectorRecord, check_record, check_search, cosine, vector_id

BATCH_CHARACTERS_MAX = 40_000
"""Of embeddings in one request: it must fit where the server's maxContentLength is its default."""


class GremlinVectorIndex:
    """The port `VectorIndex`. Values are kept in 32 bits.

    A record for a scope that has ended is left out without an error: an embedding that was under way when the memory
    was cleared must not bring its texts back.
    """

    def __init__(self, server: Server, sessions: GremlinSessionMemory) -> None:
        self._server = server
        self._sessions = sessions

    async def put(self, records: Sequence[VectorRecord], *, now_ms: Millis) -> None:
        for record in records:
            check_record(record, now_ms)
        for scope in dict.fromkeys(record.scope for record in records):
            async with self._server.queue(scope.tenant_id):
                for batch in _batches([record for record in records if record.scope == scope]):
                    await self._put(scope, batch, now_ms)

    async def _put(self, scope: Scope, puts: list[tuple[str, str, list[object]]], now_ms: Millis) -> None:
        written = False
        while not written:
            facts = await self._sessions.facts(scope)
            root = None if facts.content is None else facts.content.root
            if facts.session.revoked_at_ms is not None or (
                root is not None and (root.closed or now_ms >= root.expires_at_ms)
            ):
                return
            tenant = tenant_key(scope.tenant_id)
            plan = Plan(
                lock=tenant, guard_label="SessionMemoryTenant", guard=tenant, expected=facts.tenant.version, puts=puts
            )
            written = await self._server.apply(plan)

    async def search(self, scope: Scope, query: Vector, *, model: str, limit: int, now_ms: Millis) -> list[VectorHit]:
        check_search(model=model, limit=limit)
        rows = await self._server.run(scripts.VECTORS, scope=scope_key(scope), model=model, now=now_ms)
        hits = [
            VectorHit(scope=scope, entity=entity, score=cosine(query, values), expires_at_ms=expires_at_ms)
            for entity, expires_at_ms, embedding in rows
            if len(values := _values(embedding)) == len(query)
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.entity))[:limit]

    async def drop(self, tenant_id: str, session_id: str, ns: str | None = None) -> int:
        require_ids(tenant_id=tenant_id, session_id=session_id, ns=ns)
        by, owner = "session", session_key(tenant_id, session_id)
        if ns is not None:
            by, owner = "scope", scope_key(Scope(tenant_id=tenant_id, session_id=session_id, ns=ns))
        async with self._server.queue(tenant_id):
            (removed,) = await self._server.run(scripts.DROP_VECTORS, lock=tenant_key(tenant_id), by=by, owner=owner)
        return int(removed)

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        if limit <= 0:
            return 0
        (removed,) = await self._server.run(scripts.SWEEP_VECTORS, now=now_ms, limit=limit)
        return int(removed)


def _ended(facts: Facts, now_ms: Millis) -> bool:
    root = None if facts.content is None else facts.content.root
    over = root is not None and (root.closed or now_ms >= root.expires_at_ms)
    return over or facts.session.revoked_at_ms is not None


def _batches(records: Sequence[VectorRecord]) -> Iterator[list[tuple[str, str, list[object]]]]:
    batch: list[tuple[str, str, list[object]]] = []
    size = 0
    for record in records:
        embedding = base64.b64encode(array("f", record.values).tobytes()).decode()
        if batch and size + len(embedding) > BATCH_CHARACTERS_MAX:
            yield batch
            batch, size = [], 0
        batch.append(_vertex(record, embedding))
        size += len(embedding) + 500
    if batch:
        yield batch


def _vertex(record: VectorRecord, embedding: str) -> tuple[str, str, list[object]]:
    scope = record.scope
    owners = ["scope", scope_key(scope), "session", session_key(scope.tenant_id, scope.session_id)]
    said = ["eid", record.entity, "model", record.model, "expires_at", record.expires_at_ms, "embedding", embedding]
    return ("SessionMemoryVector", vector_id(scope, record.entity, record.model), [*place(scope), *owners, *said])


def _values(embedding: str) -> "array[float]":
    return array("f", base64.b64decode(embedding))
