"""Asserting and retracting with a clock that went back, or with another server's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codesynapse.contracts.change import Applied
from codesynapse.contracts.commit import check_content
from codesynapse.contracts.identity import Millis
from tests.contracts.test_change import NOW, counts, likes, lives, on

BACK = NOW - 5


def alive(graph: Applied, now_ms: int) -> set[str]:
    """The objects of the facts that hold at a moment."""
    names = {entity.id: entity.name for entity in graph.entities}
    return {names[fact.object] for fact in graph.facts if fact.current(Millis(now_ms))}


def test_a_functional_value_takes_the_place_of_one_that_only_the_clock_puts_ahead() -> None:
    graph = on(on(None, lives("Bern")), lives("Thun"), now_ms=BACK)
    assert counts(graph) == (1, 0, 1, 0)
    assert [alive(graph, moment) for moment in (BACK, NOW - 1, NOW, NOW + 900)] == [{"Thun"}] * 4
    assert not on(graph, lives("Thun"), now_ms=BACK).changed
    assert not on(graph, lives("Thun"), now_ms=NOW + 1).changed


def test_a_value_that_was_recorded_for_later_keeps_its_time() -> None:
    graph = on(on(None, lives("Bern", valid_from_ms=Millis(NOW + 1))), lives("Thun"), now_ms=BACK)
    assert counts(graph) == (1, 0, 0, 0)
    assert [alive(graph, moment) for moment in (BACK, NOW, NOW + 1)] == [{"Thun"}, {"Thun"}, {"Bern"}]


def test_a_dated_value_is_history_before_one_that_the_clock_puts_ahead() -> None:
    graph = on(on(None, lives("Bern")), lives("Thun", valid_from_ms=Millis(BACK)), now_ms=BACK)
    assert counts(graph) == (1, 0, 0, 0)
    assert [alive(graph, moment) for moment in (BACK, NOW)] == [{"Thun"}, {"Bern"}]


def test_a_value_that_was_superseded_ahead_of_the_clock_holds_on_when_asserted() -> None:
    moved = on(on(None, lives("Bern"), now_ms=50), lives("Thun"))
    graph = on(moved, lives("Bern"), now_ms=BACK)
    assert counts(graph) == (1, 0, 1, 0)
    assert [alive(graph, moment) for moment in (50, BACK, NOW, NOW + 900)] == [{"Bern"}] * 4
    assert not on(graph, lives("Bern"), now_ms=BACK).changed


def test_every_value_that_the_clock_puts_ahead_gives_way_closed_ones_too() -> None:
    ahead = on(on(None, lives("Bern")), lives("Thun"), now_ms=NOW + 1)
    graph = on(ahead, lives("Rome"), now_ms=BACK)
    assert counts(graph) == (1, 0, 2, 0)
    assert [alive(graph, moment) for moment in (BACK, NOW, NOW + 1, NOW + 900)] == [{"Rome"}] * 4


def test_a_fact_that_the_clock_puts_ahead_is_found_as_soon_as_it_is_asserted_again() -> None:
    graph = on(on(None, likes("tea")), likes("tea"), now_ms=BACK)
    assert alive(graph, BACK) == alive(graph, NOW) == {"tea"}
    assert not on(graph, likes("tea"), now_ms=BACK).changed


def test_a_fact_that_the_clock_puts_ahead_can_be_retracted_and_asserted_again() -> None:
    gone = on(on(None, likes("tea")), likes("tea", retract=True), now_ms=BACK)
    assert counts(gone) == (0, 0, 0, 1)
    assert alive(gone, BACK) == alive(gone, NOW) == set()
    back = on(gone, likes("tea"), now_ms=BACK)
    assert alive(back, BACK) == alive(back, NOW) == {"tea"}


moves = st.tuples(st.sampled_from(["bern", "thun", "rome"]), st.none() | st.integers(0, 30), st.integers(90, 110))


@given(st.lists(moves, min_size=1, max_size=8))
def test_an_undated_functional_value_is_the_only_one_from_now_on_whatever_the_clock_did(
    steps: list[tuple[str, int | None, int]],
) -> None:
    graph = None
    for place, ago_ms, now_ms in steps:
        since = None if ago_ms is None else Millis(now_ms - ago_ms)
        graph = on(graph, lives(place, valid_from_ms=since), now_ms=now_ms)
        check_content(graph.entities, graph.facts)
    assert graph is not None
    for now_ms in (90, 110):
        after = on(graph, lives("oslo"), now_ms=now_ms)
        assert all(alive(after, moment) == {"oslo"} for moment in range(now_ms, 112))
        again = on(after, lives("bern"), now_ms=now_ms)
        assert all(alive(again, moment) == {"bern"} for moment in range(now_ms, 112))
