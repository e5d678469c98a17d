"""When a fact holds: intervals of one fact, oldest first and disjoint. Pure arithmetic, no facts and no rules."""

from collections.abc import Iterable

from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import Interval

Timeline = tuple[Interval, ...]


def well_formed(timeline: Timeline) -> bool:
    """Whether it is ordered and disjoint, holds at least one interval, and only the last is open."""
    if not timeline:
        return False
    for index, (start, end) in enumerate(timeline):
        if end is None:
            if index != len(timeline) - 1:
                return False
        elif end < start or (index + 1 < len(timeline) and timeline[index + 1][0] < end):
            return False
    return True


def covering(timeline: Timeline, moment: Millis) -> int | None:
    """The position of the interval that holds at a moment, if there is one."""
    for index, (start, end) in enumerate(timeline):
        if start <= moment and (end is None or moment < end):
            return index
    return None


def closed(timeline: Timeline, moment: Millis) -> Timeline:
    """The timeline with the interval that covers the moment ended there; unchanged if none does."""
    index = covering(timeline, moment)
    if index is None:
        return timeline
    start, _ = timeline[index]
    return (*timeline[:index], (start, moment), *timeline[index + 1 :])


def cut(timeline: Timeline, moment: Millis) -> Timeline:
    """The timeline with nothing held from the moment on: what covers it ends there, what lies ahead holds never."""
    return tuple(
        (start, max(start, moment)) if end is None or end > moment else (start, end) for start, end in timeline
    )


def withdrawn(timeline: Timeline, after: Millis, until: Millis) -> Timeline:
    """The timeline without what starts after a moment and at the latest at another: each such interval held never."""
    return tuple((start, start) if after < start <= until else (start, end) for start, end in timeline)


def next_start(timelines: Iterable[Timeline], after: Millis) -> Millis | None:
    """The earliest start after a moment in any of the timelines; an interval that was closed at once does not count."""
    starts = (start for timeline in timelines for start, end in timeline if start > after and start != end)
    return min(starts, default=None)


def added(timeline: Timeline, start: Millis, end: Millis | None) -> Timeline:
    """The timeline that also holds in [start, end), as far as it did not.

    Where a new part ends just where an older interval starts, the two become one: the older one began earlier than
    was known. Where it starts just where one ended, it stays apart: the fact had ended and holds again.
    """
    parts: list[Interval] = []
    reached: Millis | None = start
    for begin, to in timeline:
        if reached is None or (to is not None and to <= reached) or (end is not None and begin > end):
            # Before the new part, or behind it; the new part's last piece is put in its place at the end.
            parts.append((begin, to))
        elif begin != to:
            if reached < begin:
                parts = [part for part in parts if part[0] < begin]
            parts.append((min(begin, reached), to))
            reached = to
        elif begin == end:
            parts.append((begin, to))
        # A moment in which the fact was closed at once is dropped: it says nothing any more where the fact now holds.
    if reached is not None and (end is None or reached < end):
        parts.append((reached, end))
    return tuple(sorted(parts, key=_by_start))


def _by_start(interval: Interval) -> tuple[Millis, bool, Millis]:
    start, end = interval
    return (start, end is None, start if end is None else end)
