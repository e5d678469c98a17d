"""Vectors of session memory, in dicts."""

from collections.abc import Callable, Sequence
from itertools import islice

from codesynapse.contracts.identity import Millis, require_ids
from codesynapse.contracts.memory import EntityId, Scope
from codesynapse.contracts.vectors import Vector, VectorHit, VectorRecord, check_record, check_search, cosine

Shelf = dict[Scope, dict[tuple[EntityId, str], VectorRecord]]
"""Vectors by scope, then by entity and model; shared with the session memory, which clears what has ended."""


class DictVectorIndex:
    """The port `VectorIndex`.

    takes: whether a scope may still be given vectors. A record for a scope that has ended is left out without an
    error: an embedding that was under way when the memory was cleared must not bring its texts back.
    """

    def __init__(self, shelf: Shelf, *, takes: Callable[[Scope, Millis], bool]) -> None:
        self._shelf = shelf
        self._takes = takes

    async def put(self, records: Sequence[VectorRecord], *, now_ms: Millis) -> None:
        for record in records:
            check_record(record, now_ms)
        for record in records:
            if self._takes(record.scope, now_ms):
                self._shelf.setdefault(record.scope, {})[record.entity, record.model] = record

    async def search(self, scope: Scope, query: Vector, *, model: str, limit: int, now_ms: Millis) -> list[VectorHit]:
        check_search(model=model, limit=limit)
        hits = [
            VectorHit(
                scope=scope,
                entity=record.entity,
                score=cosine(query, record.values),
                expires_at_ms=record.expires_at_ms,
            )
            for record in self._shelf.get(scope, {}).values()
            if record.model == model and len(record.values) == len(query) and record.expires_at_ms > now_ms
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.entity))[:limit]

    async def drop(self, tenant_id: str, session_id: str, ns: str | None = None) -> int:
        require_ids(tenant_id=tenant_id, session_id=session_id, ns=ns)
        named = [
            scope
            for scope in self._shelf
            if (scope.tenant_id, scope.session_id) == (tenant_id, session_id) and ns in (None, scope.ns)
        ]
        return sum(len(self._shelf.pop(scope)) for scope in named)

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        expired = (
            (scope, key)
            for scope, records in self._shelf.items()
            for key, record in records.items()
            if record.expires_at_ms <= now_ms
        )
        gone = list(islice(expired, limit))
        for scope, key in gone:
            del self._shelf[scope][key]
            if not self._shelf[scope]:
                del self._shelf[scope]
        return len(gone)
