"""Asserting and retracting, point by point of decision 14."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from codesynapse.contracts.change import Applied, apply, apply_to, fitted, with_ends
from codesynapse.contracts.commit import check_content
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import Fact, Scope, Snapshot, entity_id, size_bytes
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.triples import Triple

NOW = Millis(100)
SCOPE = Scope(tenant_id="acme", session_id="s-1", ns="code")


def lives(place: str, **more: Any) -> Triple:
    return Triple(**{"subject": "ana", "predicate": "lives_in", "object": place, "functional": True, **more})


def likes(thing: str, **more: Any) -> Triple:
    return Triple(**{"subject": "ana", "predicate": "likes", "object": thing, **more})


def on(before: Applied | None, *triples: Triple, now_ms: int = NOW, **more: Any) -> Applied:
    """The graph after these triples; before: as it was, None for an empty one."""
    entities, facts = ((), ()) if before is None else (before.entities, before.facts)
    return apply(entities, facts, triples, Millis(now_ms), **more)


def held(graph: Applied, name: str) -> Fact:
    """The fact about this object."""
    (found,) = [fact for fact in graph.facts if fact.object == entity_id(name, "")]
    return found


def counts(graph: Applied) -> tuple[int, int, int, int]:
    outcome = graph.outcome
    return (outcome.added, outcome.unchanged, outcome.superseded, outcome.retracted)


def test_a_new_triple_adds_a_fact_and_both_its_ends() -> None:
    graph = on(None, likes("tea", source="a letter"), origin_session_id="s-1")
    assert counts(graph) == (1, 0, 0, 0)
    assert graph.changed
    assert graph.facts == (
        Fact(
            id=likes("tea").fact_id,
            subject=entity_id("ana", ""),
            predicate="likes",
            object=entity_id("tea", ""),
            recorded_at_ms=NOW,
            intervals=((NOW, None),),
            source="a letter",
            origin_session_id="s-1",
        ),
    )
    assert {entity.name for entity in graph.entities} == {"ana", "tea"}
    assert graph.outcome.fact_ids == (graph.facts[0].id,)


def test_repeating_an_upsert_changes_nothing() -> None:
    batch = (likes("tea"), lives("Bern"), likes("milk", valid_from_ms=Millis(5)))
    first = on(None, *batch)
    again = on(first, *batch, now_ms=500)
    assert not again.changed
    assert counts(again) == (0, 3, 0, 0)
    assert again.facts == first.facts
    assert again.outcome.fact_ids == first.outcome.fact_ids


def test_the_source_of_a_triple_outweighs_that_of_the_batch() -> None:
    graph = on(None, likes("tea", source="mine"), likes("milk"), source="batch")
    assert (held(graph, "tea").source, held(graph, "milk").source) == ("mine", "batch")


def test_a_functional_triple_closes_the_current_value() -> None:
    graph = on(on(None, lives("Bern")), lives("Thun"), now_ms=200)
    assert held(graph, "Bern").intervals == ((NOW, 200),)
    assert held(graph, "Thun").intervals == ((200, None),)
    assert counts(graph) == (1, 0, 1, 0)
    assert {fact.id for fact in graph.changed_facts} == {fact.id for fact in graph.facts}
    assert [entity.name for entity in graph.changed_entities] == ["Thun"]


def test_a_functional_triple_closes_no_other_subject_or_predicate() -> None:
    before = on(None, lives("Bern"), likes("tea"), lives("Bern", subject="bo"))
    graph = on(before, lives("Thun"), now_ms=200)
    assert counts(graph) == (1, 0, 1, 0)
    assert held(graph, "tea").live
    assert sum(fact.live for fact in graph.facts) == 3


def test_a_triple_that_is_not_functional_closes_nothing() -> None:
    graph = on(on(None, lives("Bern")), lives("Thun", functional=False), now_ms=200)
    assert counts(graph) == (1, 0, 0, 0)
    assert held(graph, "Bern").live
    assert held(graph, "Thun").live


def test_a_functional_triple_of_an_earlier_time_enters_as_history() -> None:
    before = on(None, lives("Thun", valid_from_ms=Millis(50)))
    graph = on(before, lives("Bern", valid_from_ms=Millis(10)))
    assert held(graph, "Bern").intervals == ((10, 50),)
    assert held(graph, "Thun").intervals == ((50, None),)
    assert counts(graph) == (1, 0, 0, 0)
    assert not on(graph, lives("Bern", valid_from_ms=Millis(10))).changed


def test_history_between_two_values_shortens_the_earlier_one() -> None:
    before = on(None, lives("Bern", valid_from_ms=Millis(10)), lives("Thun", valid_from_ms=Millis(50)))
    graph = on(before, lives("Rome", valid_from_ms=Millis(30)))
    assert [held(graph, name).intervals for name in ("Bern", "Rome", "Thun")] == [
        ((10, 30),),
        ((30, 50),),
        ((50, None),),
    ]
    assert counts(graph) == (1, 0, 1, 0)


def test_reasserting_a_superseded_fact_opens_a_new_interval_on_its_id() -> None:
    before = on(on(None, lives("Bern")), lives("Thun"), now_ms=200)
    graph = on(before, lives("Bern"), now_ms=300, origin_session_id="s-9")
    assert held(graph, "Bern").intervals == ((NOW, 200), (300, None))
    assert (held(graph, "Bern").recorded_at_ms, held(graph, "Bern").origin_session_id) == (300, "s-9")
    assert held(graph, "Thun").intervals == ((200, 300),)
    assert counts(graph) == (1, 0, 1, 0)


def test_retracting_closes_a_fact_and_asserting_it_again_opens_a_new_interval() -> None:
    gone = on(on(None, likes("tea")), likes("tea", retract=True), now_ms=200)
    assert held(gone, "tea").intervals == ((NOW, 200),)
    assert (counts(gone), gone.outcome.fact_ids) == ((0, 0, 0, 1), ())
    back = on(gone, likes("tea"), now_ms=300)
    assert held(back, "tea").intervals == ((NOW, 200), (300, None))
    assert counts(back) == (1, 0, 0, 0)


@pytest.mark.parametrize("since", [50, 100, 150, 200, 250])
def test_a_retracted_fact_that_is_asserted_with_any_start_holds_again(since: int) -> None:
    gone = on(on(None, likes("tea")), likes("tea", retract=True), now_ms=200)
    back = on(gone, likes("tea", valid_from_ms=Millis(since)), now_ms=300)
    assert held(back, "tea").current(Millis(300))
    assert held(back, "tea").live
    assert counts(back) == (1, 0, 0, 0)
    assert not on(back, likes("tea", valid_from_ms=Millis(since)), now_ms=400).changed


def test_retracting_what_is_not_held_changes_nothing() -> None:
    before = on(on(None, likes("tea")), likes("tea", retract=True), now_ms=200)
    graph = on(before, likes("tea", retract=True), likes("milk", retract=True), now_ms=300)
    assert not graph.changed
    assert counts(graph) == (0, 2, 0, 0)


def test_retracting_from_a_moment_leaves_what_held_before_it() -> None:
    before = on(None, likes("tea", valid_from_ms=Millis(10)))
    graph = on(before, likes("tea", retract=True, valid_from_ms=Millis(40)))
    assert held(graph, "tea").intervals == ((10, 40),)
    ahead = on(before, likes("tea", retract=True, valid_from_ms=Millis(900)))
    assert held(ahead, "tea").current(Millis(899))
    assert not held(ahead, "tea").current(Millis(900))


def test_an_absent_start_never_changes_a_current_fact() -> None:
    before = on(None, likes("tea", valid_from_ms=Millis(10), source="a letter"))
    graph = on(before, likes("tea", source="another"), now_ms=500, origin_session_id="s-9")
    assert not graph.changed
    assert held(graph, "tea") == held(before, "tea")


def test_an_earlier_start_makes_a_current_fact_begin_earlier() -> None:
    graph = on(on(None, likes("tea")), likes("tea", valid_from_ms=Millis(10)), now_ms=200)
    assert held(graph, "tea").intervals == ((10, None),)
    assert (counts(graph), graph.changed) == ((0, 1, 0, 0), True)
    later = on(graph, likes("tea", valid_from_ms=Millis(150)), now_ms=200)
    assert not later.changed


def test_a_future_fact_is_not_current_until_its_time() -> None:
    graph = on(None, likes("tea", valid_from_ms=Millis(500)))
    assert counts(graph) == (1, 0, 0, 0)
    assert not held(graph, "tea").current(Millis(499))
    assert held(graph, "tea").current(Millis(500))


def test_a_future_functional_value_leaves_the_current_one_until_then() -> None:
    graph = on(on(None, lives("Bern")), lives("Thun", valid_from_ms=Millis(500)))
    assert held(graph, "Bern").current(Millis(499))
    assert not held(graph, "Bern").current(Millis(500))
    assert held(graph, "Thun").current(Millis(500))


def test_a_fact_that_was_closed_at_once_is_recorded_anew_when_it_holds_again() -> None:
    gone = on(on(None, likes("tea", source="old")), likes("tea", retract=True, valid_from_ms=Millis(50)))
    assert held(gone, "tea").intervals == ((NOW, NOW),)
    back = on(gone, likes("tea", valid_from_ms=Millis(50), source="new"), now_ms=200, origin_session_id="s-9")
    fact = held(back, "tea")
    assert (fact.intervals, fact.recorded_at_ms, fact.source, fact.origin_session_id) == (
        ((50, None),),
        200,
        "new",
        "s-9",
    )
    assert counts(back) == (1, 0, 0, 0)


def test_a_future_fact_that_is_asserted_now_becomes_current_and_counts_as_added() -> None:
    graph = on(on(None, likes("tea", valid_from_ms=Millis(500))), likes("tea"), now_ms=200)
    assert held(graph, "tea").intervals == ((200, None),)
    assert counts(graph) == (1, 0, 0, 0)


def test_adding_an_alias_counts_as_unchanged_and_changes_the_graph() -> None:
    graph = on(on(None, likes("tea")), likes("tea", object_aliases=("chai",)), now_ms=200)
    assert (counts(graph), graph.changed, graph.changed_facts) == ((0, 1, 0, 0), True, ())
    assert [entity.aliases for entity in graph.changed_entities] == [("chai",)]
    assert not on(graph, likes("tea", object_aliases=("chai",)), now_ms=300).changed


def test_becoming_functional_counts_as_unchanged_and_changes_the_graph() -> None:
    graph = on(on(None, lives("Bern", functional=False)), lives("Bern"), now_ms=200)
    assert (counts(graph), graph.changed) == ((0, 1, 0, 0), True)
    assert held(graph, "Bern").functional


def test_the_first_spelling_of_a_name_stays() -> None:
    graph = on(on(None, likes("Tea")), likes("TEA", subject="ANA"), now_ms=200)
    assert not graph.changed
    assert {entity.name for entity in graph.entities} == {"ana", "Tea"}


def test_a_type_makes_another_entity() -> None:
    graph = on(on(None, likes("tea")), likes("tea", object_type="drink"), now_ms=200)
    assert counts(graph) == (1, 0, 0, 0)
    assert len(graph.entities) == 3


def test_more_than_eight_aliases_are_refused_with_the_field() -> None:
    before = on(None, likes("tea", object_aliases=tuple("abcdefgh")))
    with pytest.raises(Invalid) as refusal:
        on(before, likes("milk"), likes("tea", object_aliases=("i",)))
    assert (refusal.value.field, refusal.value.limit) == ("triples[1].object_aliases", 8)


def test_an_entity_without_facts_leaves() -> None:
    graph = on(None, likes("tea"), likes("milk"))
    (tea,) = [fact for fact in graph.facts if fact.object == entity_id("tea", "")]
    assert {entity.name for entity in with_ends(graph.entities, [tea])} == {"ana", "tea"}
    assert on(None, likes("tea", retract=True)).entities == ()


def test_each_triple_is_counted_and_each_asserted_id_is_told_once_in_order() -> None:
    graph = on(None, likes("tea"), likes("milk"), likes("tea"), likes("milk", retract=True))
    assert counts(graph) == (2, 1, 0, 1)
    assert graph.outcome.fact_ids == (likes("tea").fact_id, likes("milk").fact_id)


# ---- fitting ----------------------------------------------------------------------------


def moved(times: int) -> Snapshot:
    """Someone who moved so often, each time a second later, and likes tea."""
    snapshot = Snapshot(scope=SCOPE)
    for number in range(times):
        snapshot, _ = apply_to(
            snapshot, [lives(f"place{number:03}"), likes("tea")], Millis(NOW + 1_000 * number), Quotas()
        )
    return snapshot


def test_what_fits_is_left_alone() -> None:
    whole = moved(5)
    assert fitted(whole, NOW, limit=size_bytes(whole)) is whole


def test_superseded_facts_are_dropped_oldest_first_until_it_fits() -> None:
    whole = moved(30)
    now_ms = Millis(NOW + 100_000)
    for limit in range(size_bytes(whole) - 1, 600, -97):
        smaller = fitted(whole, now_ms, limit=limit)
        assert size_bytes(smaller) <= limit
        kept, gone = set(smaller.facts), set(whole.facts) - set(smaller.facts)
        assert all(not fact.live for fact in gone)
        newest_gone = max(fact.intervals[-1][1] or 0 for fact in gone)
        assert all(fact.live or (fact.intervals[-1][1] or 0) > newest_gone for fact in kept)
        check_content(smaller.entities, smaller.facts)


def test_no_more_is_dropped_than_must_go() -> None:
    whole = moved(30)
    smaller = fitted(whole, Millis(NOW + 100_000), limit=size_bytes(whole) - 1)
    assert len(smaller.facts) == len(whole.facts) - 1


def test_live_facts_are_never_dropped() -> None:
    whole = moved(10)
    least = fitted(whole, Millis(NOW + 100_000), limit=1)
    assert {fact.live for fact in least.facts} == {True}
    assert len(least.facts) == 2


def test_a_fact_whose_end_lies_ahead_is_not_dropped() -> None:
    snapshot = Snapshot(scope=SCOPE)
    snapshot, _ = apply_to(snapshot, [lives("Bern"), lives("Thun", valid_from_ms=Millis(900))], NOW, Quotas())
    assert fitted(snapshot, Millis(899), limit=1) == snapshot
    assert len(fitted(snapshot, Millis(900), limit=1).facts) == 1


def test_a_change_to_a_snapshot_keeps_its_frame_and_is_fitted() -> None:
    before = Snapshot(scope=SCOPE, expires_at_ms=Millis(5_000))
    after, applied = apply_to(before, [likes("tea")], NOW, Quotas())
    assert (after.scope, after.expires_at_ms, after.revision) == (SCOPE, 5_000, 0)
    assert after.facts == applied.facts
    tight, _ = apply_to(moved(30), [likes("milk")], Millis(NOW + 50_000), Quotas(snapshot_bytes_max=1_000))
    assert size_bytes(tight) <= 1_000
    check_content(tight.entities, tight.facts)


# ---- for any change ---------------------------------------------------------------------

NAMES = ["ana", "Ana", "bo", "tea"]
FUNCTIONAL = {"lives_in": True, "likes": False}

any_triple = st.builds(
    Triple,
    subject=st.sampled_from(NAMES),
    predicate=st.sampled_from(list(FUNCTIONAL)),
    object=st.sampled_from(NAMES),
    object_aliases=st.lists(st.sampled_from("xy"), max_size=2, unique=True).map(tuple),
    functional=st.booleans(),
    retract=st.booleans(),
    valid_from_ms=st.none() | st.integers(80, 130).map(Millis),
)
batches = st.lists(any_triple, max_size=12)


@given(st.lists(st.tuples(batches, st.integers(80, 130)), max_size=4))
def test_any_change_leaves_what_a_commit_accepts(steps: list[tuple[list[Triple], int]]) -> None:
    graph = on(None)
    for batch, now_ms in steps:
        before = graph
        graph = on(before, *batch, now_ms=now_ms)
        check_content(graph.entities, graph.facts)
        asserted = [triple for triple in batch if not triple.retract]
        added, unchanged, _, retracted = counts(graph)
        assert added + unchanged + retracted == len(batch)
        assert set(graph.outcome.fact_ids) == {triple.fact_id for triple in asserted}
        assert graph.changed == (set(graph.facts) != set(before.facts) or set(graph.entities) != set(before.entities))


def without_contradictions(batch: list[Triple]) -> list[Triple]:
    """One value for each functional subject and predicate, and no fact that is both asserted and retracted."""
    kept: dict[object, Triple] = {}
    for triple in batch:
        functional = FUNCTIONAL[triple.predicate]
        key = (triple.subject_id, triple.predicate) if functional else (triple.fact_id, triple.valid_from_ms)
        if any(other.fact_id == triple.fact_id and other.retract != triple.retract for other in kept.values()):
            continue
        kept.setdefault(key, structs.replace(triple, functional=functional))
    return list(kept.values())


@given(batches, batches, st.integers(80, 130))
def test_the_same_batch_a_second_time_changes_nothing(earlier: list[Triple], batch: list[Triple], now_ms: int) -> None:
    batch = without_contradictions(batch)
    first = on(on(None, *without_contradictions(earlier), now_ms=now_ms), *batch, now_ms=now_ms)
    again = on(first, *batch, now_ms=now_ms)
    assert not again.changed
    assert again.facts == first.facts
    assert counts(again) == (0, len(batch), 0, 0)
