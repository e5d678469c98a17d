"""Vectors of session memory: compound ids, and what a store's hits are worth. Pure."""

import hashlib
import math
from collections.abc import Iterable, Sequence
from operator import mul

from msgspec import Struct

from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import EntityId, Scope, Snapshot
from codesynapse.contracts.triples import require_storable

Vector = tuple[float, ...]
"""Shape (dimension,), unit length."""

DIMENSION_MAX = 4_096
HITS_MAX = 100
SCORE_TOLERANCE = 1e-3
"""How far beyond [-1, 1] a cosine may stray by rounding."""


class VectorRecord(Struct, frozen=True, kw_only=True):
    """The embedding of one entity in one scope, by one model. expires_at_ms: the binding's deadline."""

    scope: Scope
    entity: EntityId
    model: str
    values: Vector
    expires_at_ms: Millis


class VectorHit(Struct, frozen=True, kw_only=True):
    """What a store found. score: cosine, in [-1, 1]."""

    scope: Scope
    entity: EntityId
    score: float
    expires_at_ms: Millis


def vector_id(scope: Scope, entity: EntityId, model: str) -> str:
    """The physical id of a vector: `v` and 32 hex digits over tenant, session, namespace, entity and model.

    Compound, so that the same entity in two sessions can never overwrite one another (seed 0, "Graph and vector
    schema").
    """
    text = "\x1f".join((scope.tenant_id, scope.session_id, scope.ns, entity, model))
    return "v" + hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def check_record(record: VectorRecord, now_ms: Millis) -> None:
    """Check a record before it is stored.

    Raises Invalid: texts without lone surrogates, dimension, finite values, unit length, a deadline ahead.
    """
    require_storable(record.entity, field="entity")
    require_storable(record.model, field="model")
    if not 1 <= len(record.values) <= DIMENSION_MAX:
        raise Invalid(field="values", limit=DIMENSION_MAX)
    # Bounded first, which NaN is not: the sum of the squares of huge values leaves the range of floats.
    bounded = all(abs(value) < 2 for value in record.values)
    if not bounded or abs(math.fsum(value * value for value in record.values) - 1) > 1e-2:
        raise Invalid(field="values", limit="unit length")
    if record.expires_at_ms <= now_ms:
        raise Invalid(field="expires_at_ms", limit="later than now")


def check_search(*, model: str, limit: int) -> None:
    """Check what is searched for. Raises Invalid."""
    require_storable(model, field="model")
    if not 1 <= limit <= HITS_MAX:
        raise Invalid(field="limit", limit=f"1 to {HITS_MAX}")


def admit_hits(hits: Iterable[VectorHit], snapshot: Snapshot, now_ms: Millis) -> list[VectorHit]:
    """The hits that are this scope's own, live, validly scored and still in the authoritative snapshot, best first.

    Source: seed 0, "Returned hits are checked again".
    """
    present = {entity.id for entity in snapshot.entities}
    kept = [
        hit
        for hit in hits
        if hit.scope == snapshot.scope
        and hit.expires_at_ms > now_ms
        and math.isfinite(hit.score)
        and abs(hit.score) <= 1 + SCORE_TOLERANCE
        and hit.entity in present
    ]
    return sorted(kept, key=lambda hit: (-hit.score, hit.entity))


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """The cosine of two vectors of one dimension and of about unit length, in [-1, 1]; NaN where one holds NaN.

    Raises ValueError where the dimensions differ.
    """
    # `check_record` lets a length be off by half a percent, so that the product alone might leave the bounds and
    # `admit_hits` refuse a right hit.
    if len(left) != len(right):
        raise ValueError("vectors of two dimensions")
    # In this order NaN stays NaN, which `admit_hits` refuses; in the other it would become a perfect score.
    return max(min(math.fsum(map(mul, left, right)), 1.0), -1.0)
