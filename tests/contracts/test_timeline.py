"""Intervals: what is added holds, what is closed ends, and the order is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesynapse.contracts.identity import Millis
from codesynapse.contracts.timeline import Timeline, added, closed, covering, cut, next_start, well_formed, withdrawn

LAST = 24

moments = st.integers(0, LAST).map(Millis)
ends = st.none() | moments


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    """Well-formed ones, with touching and empty intervals among them."""
    bounds = sorted(draw(st.lists(moments, min_size=2, max_size=10)))
    pairs = list(zip(bounds[::2], bounds[1::2], strict=False))
    (start, end) = pairs.pop()
    return (*pairs, (start, None if draw(st.booleans()) else end))


def held(timeline: Timeline) -> set[int]:
    """The moments in which it holds, up to a bit behind the last that a test names."""
    return {moment for moment in range(LAST + 3) if covering(timeline, Millis(moment)) is not None}


def test_a_timeline_is_ordered_and_disjoint_and_open_at_most_at_its_end() -> None:
    for good in (((1, 2),), ((1, None),), ((1, 1), (1, 3), (3, 5), (7, None)), ((-5, -1), (0, 1))):
        assert well_formed(good)  # type: ignore[arg-type]
    for bad in ((), ((2, 1),), ((1, 3), (2, 5)), ((1, None), (5, None)), ((1, None), (5, 6)), ((5, 6), (1, 2))):
        assert not well_formed(bad)  # type: ignore[arg-type]


def test_an_interval_holds_from_its_start_to_before_its_end() -> None:
    timeline: Timeline = ((Millis(1), Millis(3)), (Millis(3), Millis(4)), (Millis(6), None))
    assert [covering(timeline, Millis(moment)) for moment in (0, 1, 2, 3, 4, 5, 6, 99)] == [
        None,
        0,
        0,
        1,
        None,
        None,
        2,
        2,
    ]


@given(timelines(), moments)
def test_closing_ends_the_interval_that_covers_the_moment_and_no_other(timeline: Timeline, moment: Millis) -> None:
    after = closed(timeline, moment)
    index = covering(timeline, moment)
    assert well_formed(after)
    if index is None:
        assert after == timeline
    else:
        gone = {each for each in held(timeline) if covering(timeline, Millis(each)) == index and each >= moment}
        assert held(after) == held(timeline) - gone
    assert closed(after, moment) == after


@given(timelines(), moments)
def test_cutting_leaves_nothing_from_the_moment_on(timeline: Timeline, moment: Millis) -> None:
    after = cut(timeline, moment)
    assert well_formed(after)
    assert held(after) == {each for each in held(timeline) if each < moment}
    assert cut(after, moment) == after


@given(timelines(), moments, moments)
def test_withdrawing_leaves_out_what_starts_in_between_and_nothing_else(
    timeline: Timeline, after: Millis, until: Millis
) -> None:
    left = withdrawn(timeline, after, until)
    assert well_formed(left)
    assert held(left) == held(tuple(part for part in timeline if not after < part[0] <= until) or ((after, after),))
    assert withdrawn(left, after, until) == left


@given(timelines(), moments, ends)
def test_adding_makes_it_hold_and_changes_no_other_moment(
    timeline: Timeline, start: Millis, end: Millis | None
) -> None:
    after = added(timeline, start, end)
    new = {each for each in range(start, LAST + 3) if end is None or each < end}
    assert well_formed(after)
    assert held(after) == held(timeline) | new
    assert added(after, start, end) == after


@given(timelines(), moments, ends)
def test_adding_what_holds_already_changes_nothing(timeline: Timeline, start: Millis, end: Millis | None) -> None:
    if {each for each in range(start, LAST + 3) if end is None or each < end} <= held(timeline):
        assert added(timeline, start, end) == timeline


@pytest.mark.parametrize(
    ("before", "start", "end", "after"),
    [
        (((5, 6),), 8, None, ((5, 6), (8, None))),
        (((5, 6),), 6, None, ((5, 6), (6, None))),
        (((5, None),), 3, None, ((3, None),)),
        (((5, 6),), 3, 5, ((3, 6),)),
        (((5, 6),), 4, None, ((4, 6), (6, None))),
        (((5, 6), (8, None)), 4, None, ((4, 6), (6, None))),
        (((5, 6), (9, 12)), 4, 8, ((4, 6), (6, 8), (9, 12))),
        (((5, 5),), 3, None, ((3, None),)),
        (((5, 5),), 5, None, ((5, 5), (5, None))),
        (((5, 9),), 6, 7, ((5, 9),)),
        (((5, 9),), 3, 3, ((5, 9),)),
    ],
)
def test_a_new_part_joins_what_follows_it_and_stays_apart_from_what_it_follows(
    before: Timeline, start: Millis, end: Millis | None, after: Timeline
) -> None:
    assert added(before, start, end) == after


def test_the_next_start_is_the_earliest_later_one_of_an_interval_that_held() -> None:
    timelines_: list[Timeline] = [
        ((Millis(1), Millis(2)), (Millis(7), None)),
        ((Millis(4), Millis(4)), (Millis(5), Millis(6))),
    ]
    assert next_start(timelines_, Millis(1)) == 5
    assert next_start(timelines_, Millis(5)) == 7
    assert next_start(timelines_, Millis(7)) is None
    assert next_start([], Millis(0)) is None
