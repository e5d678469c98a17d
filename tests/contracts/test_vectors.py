"""Vectors: compound ids, records that are worth storing, and hits that are worth serving."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from codesynapse.contracts.change import apply
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import EntityId, Scope, Snapshot, entity_id
from codesynapse.contracts.triples import Triple
from codesynapse.contracts.vectors import (
    DIMENSION_MAX,
    VectorHit,
    VectorRecord,
    admit_hits,
    check_record,
    check_search,
    cosine,
    vector_id,
)

NOW = Millis(1_000)
SCOPE = Scope(tenant_id="acme", session_id="s-1", ns="code")
GRAPH = apply((), (), [Triple(subject="ana", predicate="likes", object="tea")], NOW)
SNAPSHOT = Snapshot(scope=SCOPE, entities=GRAPH.entities, facts=GRAPH.facts, expires_at_ms=Millis(9_000))
ANA, TEA = entity_id("ana", ""), entity_id("tea", "")
HIT = VectorHit(scope=SCOPE, entity=ANA, score=0.5, expires_at_ms=Millis(9_000))


def record(**changes: Any) -> VectorRecord:
    plain: dict[str, Any] = {
        "scope": SCOPE,
        "entity": ANA,
        "model": "m",
        "values": (1.0, 0.0),
        "expires_at_ms": Millis(NOW + 1),
    }
    return VectorRecord(**plain | changes)


def test_the_physical_id_is_compound() -> None:
    scopes = [
        SCOPE,
        structs.replace(SCOPE, tenant_id="other"),
        structs.replace(SCOPE, session_id="other"),
        structs.replace(SCOPE, ns="other"),
        Scope(tenant_id="acme:s-1", session_id="code", ns="code"),
        Scope(tenant_id="s-1", session_id="acme", ns="code"),
    ]
    ids = {vector_id(scope, entity, model) for scope in scopes for entity in (ANA, TEA) for model in ("m", "n")}
    assert len(ids) == 24
    assert vector_id(SCOPE, ANA, "m") == vector_id(SCOPE, ANA, "m")
    assert {len(each) for each in ids} == {33}


@pytest.mark.parametrize("values", [(1.0,), (0.6, -0.8), (1.004, 0.0), (1.0, *(0.0,) * (DIMENSION_MAX - 1))])
def test_a_vector_of_unit_length_is_stored(values: tuple[float, ...]) -> None:
    check_record(record(values=values), NOW)


@pytest.mark.parametrize(
    "values",
    [
        (),
        (0.0, 0.0),
        (1.1, 0.0),
        (0.9,),
        (math.nan, 1.0),
        (math.inf, 0.0),
        (-math.inf,),
        (1e154, 1e154),
        (1e200, -1e200),
        (1.0, *(0.0,) * DIMENSION_MAX),
    ],
)
def test_another_vector_is_refused(values: tuple[float, ...]) -> None:
    with pytest.raises(Invalid) as refusal:
        check_record(record(values=values), NOW)
    assert refusal.value.field == "values"


def test_a_vector_without_a_future_is_refused() -> None:
    for over in (NOW, NOW - 1, 0):
        with pytest.raises(Invalid) as refusal:
            check_record(record(expires_at_ms=Millis(over)), NOW)
        assert refusal.value.field == "expires_at_ms"


def test_hits_of_the_scope_come_best_first_then_by_entity() -> None:
    hits = [HIT, structs.replace(HIT, entity=TEA, score=0.9), structs.replace(HIT, entity=TEA)]
    first, *equal = admit_hits(hits, SNAPSHOT, NOW)
    assert first.score == 0.9
    assert [hit.entity for hit in equal] == sorted([ANA, TEA])


@pytest.mark.parametrize(
    "changes",
    [
        {"scope": structs.replace(SCOPE, tenant_id="other")},
        {"scope": structs.replace(SCOPE, session_id="other")},
        {"scope": structs.replace(SCOPE, ns="other")},
        {"expires_at_ms": NOW},
        {"expires_at_ms": Millis(0)},
        {"score": math.nan},
        {"score": math.inf},
        {"score": 1.1},
        {"score": -1.1},
        {"entity": EntityId("e1")},
    ],
)
def test_a_foreign_expired_unscored_or_forgotten_hit_is_dropped(changes: dict[str, Any]) -> None:
    assert admit_hits([structs.replace(HIT, **changes), HIT], SNAPSHOT, NOW) == [HIT]


def test_a_score_that_strays_by_rounding_is_kept() -> None:
    assert len(admit_hits([structs.replace(HIT, score=1.0005)], SNAPSHOT, NOW)) == 1


angles = st.floats(0, 2 * math.pi)


@given(angles, angles)
def test_the_cosine_is_that_of_the_angle_between(left: float, right: float) -> None:
    score = cosine((math.cos(left), math.sin(left)), (math.cos(right), math.sin(right)))
    assert score == pytest.approx(math.cos(left - right), abs=1e-9)
    assert -1 <= score <= 1


def test_the_cosine_stays_within_its_bounds_and_hides_no_nan() -> None:
    assert cosine((1.004, 0.0), (1.004, 0.0)) == 1.0
    assert cosine((1.004, 0.0), (-1.004, 0.0)) == -1.0
    assert math.isnan(cosine((math.nan, 0.0), (1.0, 0.0)))
    with pytest.raises(ValueError, match="two dimensions"):
        cosine((1.0,), (1.0, 0.0))


@pytest.mark.parametrize("field", ["entity", "model"])
def test_a_record_names_its_entity_and_model_without_lone_surrogates(field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        check_record(record(**{field: "a\ud800"}), NOW)
    assert refusal.value.field == field


def test_a_search_is_for_1_to_100_hits_of_a_model_that_can_be_stored() -> None:
    for limit in (1, 100):
        check_search(model="m", limit=limit)
    for model, limit, field in (("m", 0, "limit"), ("m", 101, "limit"), ("\ud800", 1, "model")):
        with pytest.raises(Invalid) as refusal:
            check_search(model=model, limit=limit)
        assert refusal.value.field == field
