"""The shapes that REST and tools share: a triple as it is sent, facts, nodes and edges as they are answered."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import Entity, EntityId, Fact, Outcome
from codesynapse.contracts.repository import MEMORY_LABEL
from codesynapse.contracts.triples import (
    ALIAS_MAX,
    ALIASES_MAX,
    NAME_MAX,
    PREDICATE_PATTERN,
    SOURCE_MAX,
    TYPE_MAX,
    Triple,
    all_normalised,
)
from codesynapse.server.clock import from_rfc3339, rfc3339

Name = Annotated[str, Meta(min_length=1, max_length=NAME_MAX, description="Its name; case does not matter.")]
TypeName = Annotated[str, Meta(max_length=TYPE_MAX, description="What it is, such as Person.")]
Aliases = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=ALIAS_MAX)]],
    Meta(max_length=ALIASES_MAX, description="Its other names."),
]
Source = Annotated[str, Meta(max_length=SOURCE_MAX, description="Where it comes from, such as a file or a title.")]


class TripleInput(Struct, forbid_unknown_fields=True):
    """One statement."""

    subject: Name
    predicate: Annotated[str, Meta(pattern=PREDICATE_PATTERN.replace(r"\Z", "$"), description="Such as lives_in.")]
    object: Name
    subject_type: TypeName = ""
    object_type: TypeName = ""
    subject_aliases: Aliases = []
    object_aliases: Aliases = []
    functional: Annotated[bool, Meta(description="One value at a time: ends the value that holds now.")] = False
    retract: Annotated[bool, Meta(description="It no longer holds.")] = False
    valid_from: Annotated[
        str | None, Meta(description="RFC 3339 with offset; since when, or for retract until when. Default: now.")
    ] = None
    source: Source | None = None


class FactView(Struct, kw_only=True):
    """A fact as it is answered. valid_from, valid_to: its newest interval."""

    id: str
    subject: str
    predicate: str
    object: str
    subject_type: str | UnsetType = UNSET
    object_type: str | UnsetType = UNSET
    subject_aliases: list[str] | UnsetType = UNSET
    object_aliases: list[str] | UnsetType = UNSET
    functional: bool | UnsetType = UNSET
    source: str | UnsetType = UNSET
    recorded_at: str
    valid_from: str
    valid_to: str | None
    intervals: list[tuple[str, str | None]] | UnsetType = UNSET
    origin_session_id: str | UnsetType = UNSET
    score: float | UnsetType = UNSET
    explain: dict[str, float] | UnsetType = UNSET


class NodeView(Struct, kw_only=True):
    """An entity as it is answered."""

    id: str
    name: str
    type: str
    labels: list[str]
    aliases: list[str]


class EdgeView(Struct, kw_only=True):
    """A fact as an edge; source and target are node ids."""

    id: str
    source: str
    target: str
    predicate: str


class AdvisoryView(Struct, kw_only=True):
    """That recall is degraded. runbook: what to do, in full or in short. advisory_scope: session or process."""

    degraded: bool
    severity: str
    reason: str
    evidence: str
    runbook: str
    advisory_scope: str


class Upserted(Struct, kw_only=True):
    """What an upsert did. The counts add up to the triples sent, but for `superseded`. revision: null if skipped.

    ended: the facts that held before and do not any more, retracted or superseded; absent where there is none.
    """

    facts: list[FactView]
    added: int
    unchanged: int
    superseded: int
    retracted: int
    revision: int | None
    ended: list[FactView] | UnsetType = UNSET


class Recalled(Struct, kw_only=True):
    """Facts that answer a query, best first."""

    facts: list[FactView]
    revision: int
    advisory: AdvisoryView | UnsetType = UNSET
    note: str | UnsetType = UNSET


class Read(Struct, kw_only=True):
    """Facts of a session's memory. closed: it was cleared and stays so."""

    facts: list[FactView]
    revision: int
    closed: bool


class Cleared(Struct, kw_only=True):
    """A namespace was closed; how many facts went."""

    closed: bool
    removed: int


class Found(Struct, kw_only=True):
    """Nodes by name; `next_cursor` where there are more."""

    nodes: list[NodeView]
    next_cursor: str | UnsetType = UNSET


class Neighbourhood(Struct, kw_only=True):
    """What lies around some nodes. truncated: there is more than the limit let through."""

    nodes: list[NodeView]
    edges: list[EdgeView]
    truncated: bool


def triples_of(inputs: Sequence[TripleInput]) -> tuple[Triple, ...]:
    """The statements that were sent, normalised. Raises Invalid that names the field and the limit."""
    return all_normalised([_triple(each, f"triples[{index}]") for index, each in enumerate(inputs)])


def _triple(sent: TripleInput, field: str) -> Triple:
    moment: Millis | None = None
    if sent.valid_from is not None:
        moment = from_rfc3339(sent.valid_from)
        if moment is None:
            raise Invalid(field=f"{field}.valid_from", limit="RFC 3339 with an offset, years 1 to 9999")
    return Triple(
        subject=sent.subject,
        predicate=sent.predicate,
        object=sent.object,
        subject_type=sent.subject_type,
        object_type=sent.object_type,
        subject_aliases=tuple(sent.subject_aliases),
        object_aliases=tuple(sent.object_aliases),
        functional=sent.functional,
        retract=sent.retract,
        valid_from_ms=moment,
        source=sent.source,
    )


def fact_view(
    fact: Fact, entities: Mapping[EntityId, Entity], *, history: bool = False, score: float | None = None
) -> FactView:
    """A fact with the names of its ends. history: with all its intervals."""
    subject, object_ = entities[fact.subject], entities[fact.object]
    start, end = fact.intervals[-1]
    return FactView(
        id=fact.id,
        subject=subject.name,
        predicate=fact.predicate,
        object=object_.name,
        subject_type=subject.type or UNSET,
        object_type=object_.type or UNSET,
        subject_aliases=list(subject.aliases) or UNSET,
        object_aliases=list(object_.aliases) or UNSET,
        functional=fact.functional or UNSET,
        source=fact.source or UNSET,
        recorded_at=rfc3339(fact.recorded_at_ms),
        valid_from=rfc3339(start),
        valid_to=_moment(end),
        intervals=[(rfc3339(begin), _moment(to)) for begin, to in fact.intervals] if history else UNSET,
        origin_session_id=fact.origin_session_id or UNSET,
        score=UNSET if score is None else round(score, 6),
    )


def _moment(moment: Millis | None) -> str | None:
    return None if moment is None else rfc3339(moment)


def node_view(entity: Entity) -> NodeView:
    """An entity of repository memory as a node."""
    return NodeView(
        id=entity.id, name=entity.name, type=entity.type, labels=[MEMORY_LABEL], aliases=list(entity.aliases)
    )


def edge_view(fact: Fact) -> EdgeView:
    """A fact as an edge."""
    return EdgeView(id=fact.id, source=fact.subject, target=fact.object, predicate=fact.predicate)


def ended_facts(before: Iterable[Fact], changed: Iterable[Fact], now_ms: Millis) -> list[Fact]:
    """The changed facts that held before a change and do not any more."""
    held = {fact.id for fact in before if fact.current(now_ms)}
    return [fact for fact in changed if fact.id in held and not fact.current(now_ms)]


def upserted(
    outcome: Outcome, facts: Iterable[Fact], entities: Iterable[Entity], revision: int, ended: Iterable[Fact] = ()
) -> Upserted:
    """The answer to an upsert: the facts that were asserted, in the order in which they were sent."""
    by_id, ends = {fact.id: fact for fact in facts}, {entity.id: entity for entity in entities}
    return Upserted(
        facts=[fact_view(by_id[each], ends) for each in outcome.fact_ids if each in by_id],
        added=outcome.added,
        unchanged=outcome.unchanged,
        superseded=outcome.superseded,
        retracted=outcome.retracted,
        revision=revision,
        ended=[fact_view(each, ends) for each in ended] or UNSET,
    )
