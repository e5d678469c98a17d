"""Graph memory as values: scopes, entities, facts and the bounded snapshot of one namespace.

The canonical form of a snapshot is decided here, so that its size and digest are the same on every store
(product.md, decision 13): one JSON array `[1, entities, facts]` in UTF-8 without spaces or escapes, where

* an entity is `[name, type, [alias, …]]`, entities ordered by their id;
* a fact is `[subject, predicate, object, functional, recorded_at_ms, source, origin, [[from_ms, to_ms], …]]`, facts
  ordered by their id; subject and object are positions in the list of entities, functional is 0 or 1.

Ids are left out, since they follow from the rest.
"""

import hashlib
from typing import NewType

import msgspec
from msgspec import Struct

from codesynapse.contracts.identity import Id, Identity, Millis, require_id

Revision = NewType("Revision", int)
"""Counts the changing commits of a scope, from 0 before the first."""

EntityId = NewType("EntityId", str)
FactId = NewType("FactId", str)
CommitId = NewType("CommitId", str)
"""Chosen by the writer, 1 to 128 characters of an identifier; unique in its scope."""

Interval = tuple[Millis, Millis | None]
"""When a fact holds: from a moment on, to a moment that is no longer in it, or open."""

COMMITS_KEPT = 32
"""How many commit ids a root remembers, newest first (decision 15)."""


class Scope(Struct, frozen=True, kw_only=True, order=True):
    """Where one session's memory of one repository lies. The namespace is the repository's name."""

    tenant_id: Id
    session_id: Id
    ns: Id

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            require_id(getattr(self, name), field=name)


def scope_of(identity: Identity, ns: str) -> Scope:
    """The scope of this identity's session in one namespace."""
    return Scope(tenant_id=identity.tenant_id, session_id=identity.session_id, ns=ns)


class Entity(Struct, frozen=True, kw_only=True):
    """A thing that facts speak of. Its identity is (name casefolded, type); name and aliases keep their spelling."""

    id: EntityId
    name: str
    type: str = ""
    aliases: tuple[str, ...] = ()


class Fact(Struct, frozen=True, kw_only=True):
    """One statement and the intervals in which it holds, oldest first and disjoint; only the last may be open.

    functional: one value at a time for this subject and predicate. recorded_at_ms: when its newest interval was
    recorded. origin_session_id: which session wrote it; only in repository memory, where it says who promoted what.
    """

    id: FactId
    subject: EntityId
    predicate: str
    object: EntityId
    recorded_at_ms: Millis
    intervals: tuple[Interval, ...]
    functional: bool = False
    source: str | None = None
    origin_session_id: str | None = None

    @property
    def live(self) -> bool:
        """Whether its newest interval is open; closed facts do not count in the quotas (decision 13)."""
        return self.intervals[-1][1] is None

    def current(self, now_ms: Millis) -> bool:
        """Whether it holds at a moment."""
        start, end = self.intervals[-1]
        if start <= now_ms:  # Ordered and disjoint: only the newest can hold then.
            return end is None or now_ms < end
        return any(start <= now_ms < end for start, end in self.intervals[:-1] if end is not None)


Content = tuple[tuple[Entity, ...], tuple[Fact, ...]]
"""The entities and facts of a scope."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """One namespace of session memory as it was read, or as it shall be written.

    expires_at_ms: the binding's deadline, immutable; 0 before the first commit. closed: cleared, for good.
    """

    scope: Scope
    revision: Revision = Revision(0)
    entities: tuple[Entity, ...] = ()
    facts: tuple[Fact, ...] = ()
    expires_at_ms: Millis = Millis(0)
    closed: bool = False


class Outcome(Struct, frozen=True, kw_only=True):
    """What a commit did: counts, and the ids of the facts that were asserted, in the order they were given."""

    added: int = 0
    unchanged: int = 0
    superseded: int = 0
    retracted: int = 0
    removed: int = 0
    fact_ids: tuple[FactId, ...] = ()


class Committed(Struct, frozen=True, kw_only=True):
    """A commit that is durable. replayed: this commit id had been applied before, and this is its first result."""

    revision: Revision
    outcome: Outcome
    replayed: bool = False


def entity_id(name: str, type_: str) -> EntityId:
    """The id of an entity: `e` and 24 hex digits over (name casefolded, type)."""
    return EntityId("e" + _digest(name.casefold(), type_))


def fact_id(subject: EntityId, predicate: str, object_: EntityId) -> FactId:
    """The id of a fact: `f` and 24 hex digits over its three parts."""
    return FactId("f" + _digest(subject, predicate, object_))


def _digest(*parts: str) -> str:
    # Names hold no control characters (contracts/triples.py), so the separator cannot occur in one.
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=12).hexdigest()


_Row = tuple[int, str, int, int, Millis, str | None, str | None, tuple[Interval, ...]]
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[int, list[tuple[str, str, tuple[str, ...]]], list[_Row]]).decode


def canonical(entities: tuple[Entity, ...], facts: tuple[Fact, ...]) -> bytes:
    """The canonical JSON of a snapshot's content. Both ends of every fact must be among the entities."""
    ordered = sorted(entities, key=lambda entity: entity.id)
    position = {entity.id: index for index, entity in enumerate(ordered)}
    rows = [fact_row(fact, position) for fact in sorted(facts, key=lambda fact: fact.id)]
    return _encode((1, [entity_row(entity) for entity in ordered], rows))


def entity_row(entity: Entity) -> tuple[str, str, tuple[str, ...]]:
    """An entity in the canonical form."""
    return (entity.name, entity.type, entity.aliases)


def fact_row(fact: Fact, position: dict[EntityId, int]) -> _Row:
    """A fact in the canonical form, given where its ends stand in the list of entities."""
    return (
        position[fact.subject],
        fact.predicate,
        position[fact.object],
        int(fact.functional),
        fact.recorded_at_ms,
        fact.source,
        fact.origin_session_id,
        fact.intervals,
    )


def content_of(document: bytes) -> Content:
    """The entities and facts of a canonical JSON. Raises msgspec.ValidationError for anything else."""
    _, entity_rows, fact_rows = _decode(document)
    entities = tuple(
        Entity(id=entity_id(name, type_), name=name, type=type_, aliases=aliases)
        for name, type_, aliases in entity_rows
    )
    return entities, tuple(_fact(row, entities) for row in fact_rows)


def _fact(row: _Row, entities: tuple[Entity, ...]) -> Fact:
    subject, predicate, object_, functional, recorded_at, source, origin, intervals = row
    subject_id, object_id = entities[subject].id, entities[object_].id
    return Fact(
        id=fact_id(subject_id, predicate, object_id),
        subject=subject_id,
        predicate=predicate,
        object=object_id,
        functional=bool(functional),
        recorded_at_ms=recorded_at,
        source=source,
        origin_session_id=origin,
        intervals=intervals,
    )


def size_bytes(snapshot: Snapshot) -> int:
    """The size that the 24 KiB bound: bytes of the canonical JSON."""
    return len(canonical(snapshot.entities, snapshot.facts))


def digest(snapshot: Snapshot) -> str:
    """SHA-256 of the canonical JSON, in hex: equal on every store."""
    return hashlib.sha256(canonical(snapshot.entities, snapshot.facts)).hexdigest()


def live_facts(facts: tuple[Fact, ...]) -> int:
    """How many facts count in the quotas."""
    return sum(fact.live for fact in facts)
