"""Vectors of session memory: near ones first, and never those of another scope, model or time."""

import math

import pytest
from msgspec import structs

from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import EntityId, Scope, entity_id
from codesynapse.contracts.ports import VectorIndex
from codesynapse.contracts.suite.gates import OnVectors
from codesynapse.contracts.suite.worlds import LIFETIME_MS, LONG_AGO, NOW, later, new_scope, new_snapshot, unique
from codesynapse.contracts.vectors import DIMENSION_MAX, Vector, VectorHit, VectorRecord, admit_hits

__all__ = ["TestForeignHits", "TestNearest", "TestRemovedVectors"]

MODEL = "hashing-3"
EAST: Vector = (1.0, 0.0, 0.0)
NORTH: Vector = (0.0, 1.0, 0.0)


def at(degrees: float) -> Vector:
    """A unit vector between east and north."""
    return (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0.0)


def record(scope: Scope, name: str, values: Vector, *, model: str = MODEL, ends: Millis | None = None) -> VectorRecord:
    """The vector of an entity of this name."""
    deadline = later(NOW, LIFETIME_MS) if ends is None else ends
    return VectorRecord(scope=scope, entity=entity_id(name, ""), model=model, values=values, expires_at_ms=deadline)


async def nearest(
    index: VectorIndex, scope: Scope, query: Vector = EAST, *, model: str = MODEL, limit: int = 10, now_ms: Millis = NOW
) -> list[VectorHit]:
    return await index.search(scope, query, model=model, limit=limit, now_ms=now_ms)


def ids(*names: str) -> list[EntityId]:
    return [entity_id(name, "") for name in names]


class TestNearest(OnVectors):
    """A search answers the nearest of one scope, model and dimension."""

    async def test_the_nearest_come_first_with_their_cosines(self, index: VectorIndex) -> None:
        scope = new_scope()
        angles = {"far": 170.0, "near": 10.0, "same": 0.0, "middle": 60.0, "opposite": 180.0}
        await index.put([record(scope, name, at(angle)) for name, angle in angles.items()], now_ms=NOW)
        hits = await nearest(index, scope)
        assert [hit.entity for hit in hits] == ids("same", "near", "middle", "far", "opposite")
        expected = [math.cos(math.radians(angle)) for angle in sorted(angles.values())]
        assert [hit.score for hit in hits] == pytest.approx(expected, abs=1e-3)
        assert {hit.scope for hit in hits} == {scope}
        assert {hit.expires_at_ms for hit in hits} == {NOW + LIFETIME_MS}

    async def test_at_most_the_limit_is_served(self, index: VectorIndex) -> None:
        scope = new_scope()
        await index.put([record(scope, f"n{number:03}", at(number / 2)) for number in range(110)], now_ms=NOW)
        assert [hit.entity for hit in await nearest(index, scope, limit=2)] == ids("n000", "n001")
        assert len(await nearest(index, scope, limit=100)) == 100

    @pytest.mark.parametrize("limit", [0, -1, 101])
    async def test_a_limit_out_of_bounds_is_refused(self, index: VectorIndex, limit: int) -> None:
        with pytest.raises(Invalid):
            await nearest(index, new_scope(), limit=limit)

    async def test_of_equally_near_ones_the_smaller_id_comes_first(self, index: VectorIndex) -> None:
        scope = new_scope()
        await index.put([record(scope, name, NORTH) for name in "abcdefgh"], now_ms=NOW)
        found = [hit.entity for hit in await nearest(index, scope, NORTH)]
        assert found == sorted(ids(*"abcdefgh"))

    async def test_a_vector_that_is_put_again_is_replaced(self, index: VectorIndex) -> None:
        scope = new_scope()
        await index.put([record(scope, "ana", NORTH)], now_ms=NOW)
        await index.put([record(scope, "ana", EAST)], now_ms=NOW)
        (hit,) = await nearest(index, scope)
        assert hit.score == pytest.approx(1.0, abs=1e-3)

    async def test_models_and_dimensions_are_kept_apart(self, index: VectorIndex) -> None:
        scope = new_scope()
        await index.put([record(scope, "ana", EAST), record(scope, "bo", EAST, model="other-3")], now_ms=NOW)
        await index.put([record(scope, "cy", (1.0, 0.0), model="flat-2")], now_ms=NOW)
        assert [hit.entity for hit in await nearest(index, scope)] == ids("ana")
        assert [hit.entity for hit in await nearest(index, scope, model="other-3")] == ids("bo")
        assert [hit.entity for hit in await nearest(index, scope, (1.0, 0.0), model="flat-2")] == ids("cy")
        assert await nearest(index, scope, model="unknown") == []

    @pytest.mark.parametrize(
        "values",
        [
            (),
            (0.0, 0.0, 0.0),
            (2.0, 0.0, 0.0),
            (math.nan, 1.0, 0.0),
            (math.inf, 0.0, 0.0),
            (1.0,) + (0.0,) * DIMENSION_MAX,
        ],
        ids=["no dimension", "no length", "not unit length", "NaN", "infinite", "too many dimensions"],
    )
    async def test_a_vector_that_is_none_is_refused(self, index: VectorIndex, values: Vector) -> None:
        scope = new_scope()
        with pytest.raises(Invalid):
            await index.put([record(scope, "ana", values)], now_ms=NOW)
        assert await nearest(index, scope) == []

    async def test_a_vector_whose_session_is_over_is_refused(self, index: VectorIndex) -> None:
        with pytest.raises(Invalid):
            await index.put([record(new_scope(), "ana", EAST, ends=NOW)], now_ms=NOW)


class TestForeignHits(OnVectors):
    """No hit is another scope's; the compound id keeps the same entity of two sessions apart."""

    def others(self, scope: Scope) -> list[Scope]:
        tenant, session, ns = scope.tenant_id, scope.session_id, scope.ns
        return [
            Scope(tenant_id=unique("tenant"), session_id=session, ns=ns),
            Scope(tenant_id=tenant, session_id=unique("session"), ns=ns),
            Scope(tenant_id=tenant, session_id=session, ns="other"),
            Scope(tenant_id=tenant.upper(), session_id=session, ns=ns),
            Scope(tenant_id=tenant, session_id=session.upper(), ns=ns),
            Scope(tenant_id=session, session_id=tenant, ns=ns),
            Scope(tenant_id=tenant, session_id=f"{session}:{ns}", ns=ns),
        ]

    async def test_a_search_never_serves_another_scopes_vectors(self, index: VectorIndex) -> None:
        scope = new_scope()
        await index.put([record(scope, "ana", EAST)], now_ms=NOW)
        for other in self.others(scope):
            assert await nearest(index, other) == []

    async def test_the_same_entity_in_two_scopes_is_two_vectors(self, index: VectorIndex) -> None:
        scope = new_scope()
        await index.put([record(scope, "ana", EAST)], now_ms=NOW)
        await index.put([record(other, "ana", NORTH) for other in self.others(scope)], now_ms=NOW)
        (hit,) = await nearest(index, scope)
        assert (hit.scope, hit.entity) == (scope, entity_id("ana", ""))
        assert hit.score == pytest.approx(1.0, abs=1e-3)

    async def test_nearer_vectors_of_others_do_not_use_up_the_limit(self, index: VectorIndex) -> None:
        scope = new_scope()
        foreign = new_scope(tenant=scope.tenant_id)
        await index.put([record(foreign, f"n{number}", EAST) for number in range(30)], now_ms=NOW)
        await index.put([record(scope, "ana", at(80))], now_ms=NOW)
        assert [hit.entity for hit in await nearest(index, scope, limit=1)] == ids("ana")

    async def test_an_expired_vector_is_never_served(self, index: VectorIndex) -> None:
        scope = new_scope()
        await index.put([record(scope, "ana", EAST, ends=later(NOW, 1_000))], now_ms=NOW)
        assert len(await nearest(index, scope, now_ms=later(NOW, 999))) == 1
        assert await nearest(index, scope, now_ms=later(NOW, 1_000)) == []

    async def test_hits_pass_the_second_check_and_those_of_forgotten_entities_do_not(self, index: VectorIndex) -> None:
        scope = new_scope()
        snapshot = new_snapshot(scope, "ana likes tea")
        await index.put([record(scope, "ana", EAST), record(scope, "forgotten", EAST)], now_ms=NOW)
        hits = await nearest(index, scope)
        assert len(hits) == 2
        assert [hit.entity for hit in admit_hits(hits, snapshot, NOW)] == ids("ana")
        elsewhere = structs.replace(snapshot, scope=new_scope())
        assert admit_hits(hits, elsewhere, NOW) == []


class TestRemovedVectors(OnVectors):
    """Vectors end with the memory that they were made of."""

    async def test_a_sessions_vectors_are_dropped_and_counted(self, index: VectorIndex) -> None:
        scope = new_scope()
        beside = Scope(tenant_id=scope.tenant_id, session_id=scope.session_id, ns="other")
        foreign = [new_scope(tenant=scope.tenant_id), new_scope(session=scope.session_id)]
        records = [record(each, "ana", EAST) for each in (scope, beside, *foreign)]
        await index.put([*records, record(scope, "bo", EAST)], now_ms=NOW)
        assert await index.drop(scope.tenant_id, scope.session_id) == 3
        assert (await nearest(index, scope), await nearest(index, beside)) == ([], [])
        assert [len(await nearest(index, each)) for each in foreign] == [1, 1]
        assert await index.drop(scope.tenant_id, scope.session_id) == 0

    async def test_those_of_one_namespace_are_dropped_alone(self, index: VectorIndex) -> None:
        scope = new_scope()
        beside = Scope(tenant_id=scope.tenant_id, session_id=scope.session_id, ns="other")
        await index.put([record(scope, "ana", EAST), record(beside, "ana", EAST)], now_ms=NOW)
        assert await index.drop(scope.tenant_id, scope.session_id, scope.ns) == 1
        assert (len(await nearest(index, scope)), len(await nearest(index, beside))) == (0, 1)

    async def test_a_sweep_removes_expired_vectors_up_to_its_limit(self, index: VectorIndex) -> None:
        scope, living = new_scope(), new_scope()
        ends = later(LONG_AGO, 1_000)
        await index.put([record(scope, f"n{number}", EAST, ends=ends) for number in range(5)], now_ms=LONG_AGO)
        await index.put([record(living, "ana", EAST, ends=later(ends, 1))], now_ms=LONG_AGO)
        first = await index.sweep(now_ms=ends, limit=2)
        assert 1 <= first <= 2
        # A clock that runs behind shows what a sweep has left.
        assert len(await nearest(index, scope, now_ms=LONG_AGO)) >= 3
        while await index.sweep(now_ms=ends, limit=2):
            pass
        assert await nearest(index, scope, now_ms=LONG_AGO) == []
        assert len(await nearest(index, living, now_ms=LONG_AGO)) == 1
