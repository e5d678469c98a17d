"""What asserting and retracting triples does to a graph: superseding, reasserting, history (decision 14). Pure.

The same function serves a session's snapshot, which is whole, and repository memory, where only the facts of the
subjects and predicates in question were read.

Clocks go back, and those of two servers differ. A fact that starts ahead of `now_ms` although it was recorded as
holding already (its start is no later than `recorded_at_ms`) lies ahead by a clock alone, not because anybody said so.
Against a change without `valid_from` it counts as the past: a functional value takes its place at once, and so it holds
now, where the next recall looks, and still when the clock has caught up. The change does not start at the other's
moment instead: after a clock that was a year ahead, nothing new could be recalled for a year. What was recorded for a
later time keeps its meaning. When a fact was retracted is not recorded, so an end that lies ahead always stands.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct, structs

from codesynapse.contracts import timeline
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import (
    Entity,
    EntityId,
    Fact,
    FactId,
    Outcome,
    Snapshot,
    canonical,
    entity_id,
    fact_row,
)
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.triples import ALIASES_MAX, Triple


class Applied(Struct, frozen=True, kw_only=True):
    """A graph after a change.

    entities, facts: all of them. changed_entities, changed_facts: those that are new or differ, for stores that
    write single rows. changed: whether anything differs at all; only then does a commit cost a revision.
    """

    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]
    changed_entities: tuple[Entity, ...]
    changed_facts: tuple[Fact, ...]
    outcome: Outcome

    @property
    def changed(self) -> bool:
        return bool(self.changed_entities or self.changed_facts)


def apply(
    entities: Sequence[Entity],
    facts: Sequence[Fact],
    triples: Sequence[Triple],
    now_ms: Millis,
    *,
    origin_session_id: str | None = None,
    source: str | None = None,
) -> Applied:
    """The graph after asserting and retracting triples, in the order given.

    triples: normalised. source: where a triple names none. origin_session_id: recorded on facts that are new or hold
    again. Counts: each triple adds to `added`, `unchanged` or `retracted`; `superseded` counts facts that a
    functional one closed. Raises Invalid where an entity would get more than 8 aliases.
    """
    work = _Work(entities, facts, now_ms, origin_session_id)
    for index, triple in enumerate(triples):
        work.take(triple if triple.source else structs.replace(triple, source=source), field=f"triples[{index}]")
    return work.result()


def apply_to(snapshot: Snapshot, triples: Sequence[Triple], now_ms: Millis, quotas: Quotas) -> tuple[Snapshot, Applied]:
    """A session's snapshot after a change, made to fit (`fitted`), and what the change did."""
    applied = apply(snapshot.entities, snapshot.facts, triples, now_ms)
    proposed = structs.replace(snapshot, entities=applied.entities, facts=applied.facts)
    return fitted(proposed, now_ms, limit=quotas.snapshot_bytes_max), applied


def fitted(snapshot: Snapshot, now_ms: Millis, *, limit: int) -> Snapshot:
    """The snapshot without its oldest closed facts, as many as must go for it to fit into `limit` bytes.

    Where even that is not enough, what is left is returned as it is: `check_commit` refuses it with both figures.
    """
    over = len(canonical(snapshot.entities, snapshot.facts)) - limit
    while over > 0:
        closed = sorted(
            (fact for fact in snapshot.facts if not fact.live and not _lies_ahead(fact, now_ms)), key=_closed_at
        )
        if not closed:
            return snapshot
        snapshot = _without(snapshot, _enough(closed, snapshot.entities, over))
        over = len(canonical(snapshot.entities, snapshot.facts)) - limit
    return snapshot


def with_ends(entities: Iterable[Entity], facts: Iterable[Fact]) -> tuple[Entity, ...]:
    """The entities that a fact speaks of; one without facts leaves the graph."""
    used = {end for fact in facts for end in (fact.subject, fact.object)}
    return tuple(entity for entity in entities if entity.id in used)


def _closed_at(fact: Fact) -> tuple[int, FactId]:
    return (fact.intervals[-1][1] or 0, fact.id)


def _lies_ahead(fact: Fact, now_ms: Millis) -> bool:
    end = fact.intervals[-1][1]
    return end is None or end > now_ms


def _enough(closed: Sequence[Fact], entities: Sequence[Entity], over: int) -> set[FactId]:
    """The oldest of the closed facts whose own bytes make up for `over`. Their entities may free more."""
    position = {entity.id: index for index, entity in enumerate(entities)}
    chosen: set[FactId] = set()
    for fact in closed:
        if over <= 0:
            break
        chosen.add(fact.id)
        over -= len(msgspec.json.encode(fact_row(fact, position))) + 1
    return chosen


def _without(snapshot: Snapshot, gone: set[FactId]) -> Snapshot:
    facts = tuple(fact for fact in snapshot.facts if fact.id not in gone)
    return structs.replace(snapshot, facts=facts, entities=with_ends(snapshot.entities, facts))


class _Pair(NamedTuple):
    subject: EntityId
    predicate: str


class _Work:
    """One change while it is worked out: the graph by id, and what was counted so far."""

    def __init__(
        self, entities: Sequence[Entity], facts: Sequence[Fact], now_ms: Millis, origin_session_id: str | None
    ) -> None:
        self._before_entities = {entity.id: entity for entity in entities}
        self._before_facts = {fact.id: fact for fact in facts}
        self._entities = dict(self._before_entities)
        self._facts = dict(self._before_facts)
        self._of_pair: dict[_Pair, set[FactId]] = {}
        for fact in facts:
            self._of_pair.setdefault(_Pair(fact.subject, fact.predicate), set()).add(fact.id)
        self._now_ms = now_ms
        self._origin = origin_session_id
        self._counts = {"added": 0, "unchanged": 0, "superseded": 0, "retracted": 0}
        self._ids: dict[FactId, None] = {}

    def take(self, triple: Triple, *, field: str) -> None:
        if triple.retract:
            self._retract(triple)
        else:
            self._assert(triple, field=field)

    def result(self) -> Applied:
        facts = tuple(self._facts.values())
        entities = with_ends(self._entities.values(), facts)
        return Applied(
            entities=entities,
            facts=facts,
            changed_entities=tuple(each for each in entities if self._before_entities.get(each.id) != each),
            changed_facts=tuple(each for each in facts if self._before_facts.get(each.id) != each),
            outcome=Outcome(**self._counts, fact_ids=tuple(self._ids)),
        )

    def _retract(self, triple: Triple) -> None:
        fact = self._facts.get(triple.fact_id)
        moment = self._now_ms if triple.valid_from_ms is None else triple.valid_from_ms
        intervals = () if fact is None else timeline.cut(fact.intervals, moment)
        if fact is None or intervals == fact.intervals:
            self._counts["unchanged"] += 1
            return
        self._facts[fact.id] = structs.replace(fact, intervals=intervals)
        self._counts["retracted"] += 1

    def _assert(self, triple: Triple, *, field: str) -> None:
        subject = self._entity(triple.subject, triple.subject_type, triple.subject_aliases, f"{field}.subject_aliases")
        object_ = self._entity(triple.object, triple.object_type, triple.object_aliases, f"{field}.object_aliases")
        start = self._now_ms if triple.valid_from_ms is None else triple.valid_from_ms
        identifier = triple.fact_id
        pair = _Pair(subject, triple.predicate)
        self._ids[identifier] = None
        end, settled = None, self._now_ms
        if triple.functional:
            dated = triple.valid_from_ms is not None
            settled = settled if dated else self._recorded_until(pair, identifier)
            end = self._supersede(pair, identifier, start, dated=dated)
        before = self._facts.get(identifier)
        if before is None:
            after = Fact(
                id=identifier,
                subject=subject,
                predicate=triple.predicate,
                object=object_,
                functional=triple.functional,
                recorded_at_ms=self._now_ms,
                source=triple.source,
                origin_session_id=self._origin,
                intervals=((start, end),),
            )
            self._of_pair.setdefault(pair, set()).add(identifier)
        else:
            after = self._held_from(before, triple, start, end, settled)
        self._facts[identifier] = after
        self._counts["added" if self._is_addition(before, after) else "unchanged"] += 1

    def _held_from(self, fact: Fact, triple: Triple, start: Millis, end: Millis | None, settled: Millis) -> Fact:
        """An existing fact, asserted again. settled: up to when it must hold already to be left as it is."""
        functional = fact.functional or triple.functional
        # Decision 14: an absent valid_from never changes a current fact.
        if triple.valid_from_ms is None and fact.current(self._now_ms) and fact.current(settled):
            return structs.replace(fact, functional=functional)
        before, recorded_at_ms = fact.intervals, max(self._now_ms, fact.recorded_at_ms)
        if triple.valid_from_ms is None:
            # What the clock alone puts ahead is no part of what holds from now on: it would outlast a later change.
            before = timeline.closed(timeline.withdrawn(before, start, fact.recorded_at_ms), start)
            recorded_at_ms = self._now_ms
        intervals = timeline.added(before, start, end)
        after = structs.replace(fact, functional=functional, intervals=intervals)
        if not self._is_addition(fact, after):
            return after
        return structs.replace(
            after,
            recorded_at_ms=recorded_at_ms,
            source=triple.source or fact.source,
            origin_session_id=self._origin,
        )

    def _is_addition(self, before: Fact | None, after: Fact) -> bool:
        """New, holding again, or current where it only lay ahead: all three are news to a reader."""
        if before is None or len(after.intervals) > len(before.intervals):
            return True
        return after.current(self._now_ms) and not before.current(self._now_ms)

    def _supersede(self, pair: _Pair, identifier: FactId, start: Millis, *, dated: bool) -> Millis | None:
        """Close what other values hold at `start`; answer where the new value must end, if a later one is known.

        dated: the moment was given. Otherwise it is now, and what lies ahead by a clock alone held never.
        """
        for rival in self._rivals(pair, identifier):
            intervals = timeline.closed(rival.intervals, start)
            if not dated:
                intervals = timeline.withdrawn(intervals, self._now_ms, rival.recorded_at_ms)
            if intervals != rival.intervals:
                self._facts[rival.id] = structs.replace(rival, intervals=intervals)
                self._counts["superseded"] += 1
        return timeline.next_start([rival.intervals for rival in self._rivals(pair, identifier)], start)

    def _recorded_until(self, pair: _Pair, identifier: FactId) -> Millis:
        """The latest start of another value that counts as the past, whatever the clock says; now where none does."""
        starts = (
            start
            for rival in self._rivals(pair, identifier)
            for start, end in rival.intervals
            if start != end and self._now_ms < start <= rival.recorded_at_ms
        )
        return max(starts, default=self._now_ms)

    def _rivals(self, pair: _Pair, identifier: FactId) -> list[Fact]:
        """The other values of a subject and predicate."""
        return [self._facts[each] for each in sorted(self._of_pair.get(pair, ())) if each != identifier]

    def _entity(self, name: str, type_: str, aliases: tuple[str, ...], field: str) -> EntityId:
        identifier = entity_id(name, type_)
        known = self._entities.get(identifier)
        if known is None:
            known = Entity(id=identifier, name=name, type=type_)
        merged = tuple(dict.fromkeys((*known.aliases, *aliases)))
        if len(merged) > ALIASES_MAX:
            raise Invalid(field=field, limit=ALIASES_MAX)
        self._entities[identifier] = known if merged == known.aliases else structs.replace(known, aliases=merged)
        return identifier
