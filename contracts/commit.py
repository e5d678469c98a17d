"""What a commit to session memory may do. Every store applies this inside its own transaction, on what it read there.

So a write that bypasses the engine meets the same law, and no store holds an opinion of its own.
"""

from msgspec import Struct, structs

from codesynapse.contracts import timeline
from codesynapse.contracts.errors import (
    ExpiryChanged,
    Invalid,
    NamespaceClosed,
    QuotaExceeded,
    RevisionConflict,
    SessionExpired,
    SessionRevoked,
    SnapshotInvalid,
    SnapshotTooLarge,
)
from codesynapse.contracts.identity import Millis, require_id
from codesynapse.contracts.memory import (
    CommitId,
    Committed,
    Content,
    Entity,
    Fact,
    Outcome,
    Revision,
    Snapshot,
    canonical,
    entity_id,
    fact_id,
    live_facts,
)
from codesynapse.contracts.quotas import Quotas, Usage, admit
from codesynapse.contracts.triples import (
    YEAR_1_MS,
    YEAR_9999_MS,
    aliases_of,
    is_predicate,
    name_of,
    source_of,
    type_of,
)


class Root(Struct, frozen=True, kw_only=True):
    """What a store keeps of a scope beside its content. It stays after clearing, revocation and expiry."""

    revision: Revision
    expires_at_ms: Millis
    closed: bool
    live_facts: int


class Stored(Struct, frozen=True, kw_only=True):
    """What a store read, under its lock, about the scope of a commit.

    root: None before the first commit. revoked: the session's tombstone. session_expires_at_ms: the deadline that
    the session's other namespaces carry, if it has any. earlier: the kept result of this same commit id, if any.
    usage: of the *other* scopes (quotas.Usage). quotas: those of the tenant's root, the defaults where it has none.
    content: what the scope holds, from a store that has it at hand: it was checked when it was written, so what equals
    it is not checked again.
    """

    root: Root | None
    revoked: bool
    session_expires_at_ms: Millis | None
    earlier: Committed | None
    usage: Usage
    quotas: Quotas
    content: Content = ((), ())


class Accepted(Struct, frozen=True, kw_only=True):
    """A commit to write: the new root and the canonical content. root None: a replay, nothing to write."""

    committed: Committed
    root: Root | None = None
    document: bytes = b""


def check_commit(
    stored: Stored,
    proposed: Snapshot,
    *,
    read_revision: Revision,
    commit_id: CommitId,
    outcome: Outcome,
    now_ms: Millis,
) -> Accepted:
    """Decide a commit.

    Raises, in this order: SessionRevoked, SessionExpired; then answers a known commit id with its first result;
    then NamespaceClosed, RevisionConflict (with the current revision), ExpiryChanged, SnapshotInvalid,
    QuotaExceeded, SnapshotTooLarge (with the limit and the size).
    """
    require_id(commit_id, field="commit_id")
    check_readable(stored.root, revoked=stored.revoked, expires_at_ms=stored.session_expires_at_ms, now_ms=now_ms)
    if stored.earlier is not None:
        return Accepted(committed=structs.replace(stored.earlier, replayed=True))
    current = Revision(0) if stored.root is None else stored.root.revision
    if stored.root is not None and stored.root.closed:
        raise NamespaceClosed
    if read_revision != current:
        raise RevisionConflict(details={"revision": current})
    _check_expiry(stored, proposed, now_ms)
    check_content(proposed.entities, proposed.facts, checked=stored.content)
    if proposed.closed and proposed.facts:
        raise SnapshotInvalid(field="facts", limit="none when closed")
    document = canonical(proposed.entities, proposed.facts)
    _check_quotas(stored, proposed, len(document))
    root = Root(
        revision=Revision(current + 1),
        expires_at_ms=proposed.expires_at_ms,
        closed=proposed.closed,
        live_facts=live_facts(proposed.facts),
    )
    return Accepted(committed=Committed(revision=root.revision, outcome=outcome), root=root, document=document)


def check_readable(root: Root | None, *, revoked: bool, expires_at_ms: Millis | None, now_ms: Millis) -> None:
    """Let a scope be read or written, or raise SessionRevoked or SessionExpired.

    expires_at_ms: the deadline that any namespace of the session carries, so that an expired session cannot open
    another one.
    """
    if revoked:
        raise SessionRevoked
    deadline = root.expires_at_ms if root is not None else expires_at_ms
    if deadline is not None and now_ms >= deadline:
        raise SessionExpired


def check_content(entities: tuple[Entity, ...], facts: tuple[Fact, ...], *, checked: Content = ((), ())) -> None:
    """Check that entities and facts are as the engine would have made them. checked: what was found to be so before.

    Raises SnapshotInvalid.
    """
    known = {entity.id for entity in entities}
    if len(known) != len(entities) or len({fact.id for fact in facts}) != len(facts):
        raise SnapshotInvalid(field="id", limit="each once")
    fine_entities = {entity.id: entity for entity in checked[0]}
    for entity in entities:
        if fine_entities.get(entity.id) != entity:
            check_entity(entity)
    fine_facts = {fact.id: fact for fact in checked[1]}
    for fact in facts:
        # The ends first: only ids that entities carry are sure to be text that can be hashed.
        if fact.subject not in known or fact.object not in known:
            raise SnapshotInvalid(field="facts", limit="both ends among the entities")
        if fine_facts.get(fact.id) != fact:
            check_fact(fact)
    if {end for fact in facts for end in (fact.subject, fact.object)} != known:
        raise SnapshotInvalid(field="entities", limit="each in a fact")


def check_entity(entity: Entity) -> None:
    """Check one entity: normalised texts, at most 8 aliases, the id that follows from name and type."""
    try:
        name, type_ = name_of(entity.name, field="name"), type_of(entity.type, field="type")
        aliases = aliases_of(entity.aliases, field="aliases")
    except Invalid as error:
        raise SnapshotInvalid(field=error.field, limit=error.limit) from error
    if (name, type_, aliases) != (entity.name, entity.type, entity.aliases):
        raise SnapshotInvalid(field="entities", limit="normalised")
    if entity.id != entity_id(name, type_):
        raise SnapshotInvalid(field="entities.id", limit="derived from name and type")


def check_fact(fact: Fact) -> None:
    """Check one fact: predicate, source, well-formed intervals, the id that follows from its parts."""
    if not is_predicate(fact.predicate):
        raise SnapshotInvalid(field="predicate", limit="[a-z][a-z0-9_]{0,63}")
    if fact.id != fact_id(fact.subject, fact.predicate, fact.object):
        raise SnapshotInvalid(field="facts.id", limit="derived from subject, predicate and object")
    if not timeline.well_formed(fact.intervals):
        raise SnapshotInvalid(field="intervals", limit="ordered, disjoint, only the last one open")
    # Ordered, so the first and the last moment bound them all. A store has 64 bits for each.
    first, (start, end) = fact.intervals[0][0], fact.intervals[-1]
    if not YEAR_1_MS <= first <= (start if end is None else end) <= YEAR_9999_MS:
        raise SnapshotInvalid(field="intervals", limit="years 1 to 9999")
    if not YEAR_1_MS <= fact.recorded_at_ms <= YEAR_9999_MS:
        raise SnapshotInvalid(field="recorded_at_ms", limit="years 1 to 9999")
    try:
        source = source_of(fact.source, field="source")
        if fact.origin_session_id is not None:
            require_id(fact.origin_session_id, field="origin_session_id")
    except Invalid as error:
        raise SnapshotInvalid(field=error.field, limit=error.limit) from error
    if source != fact.source:
        raise SnapshotInvalid(field="source", limit="normalised")


def _check_expiry(stored: Stored, proposed: Snapshot, now_ms: Millis) -> None:
    fixed = stored.root.expires_at_ms if stored.root is not None else stored.session_expires_at_ms
    if fixed is not None:
        if proposed.expires_at_ms != fixed:
            raise ExpiryChanged
    elif not now_ms < proposed.expires_at_ms <= now_ms + stored.quotas.session_lifetime_ms:
        raise ExpiryChanged(field="expires_at_ms", limit=stored.quotas.session_lifetime_ms)


def _check_quotas(stored: Stored, proposed: Snapshot, size: int) -> None:
    quotas = stored.quotas
    before = 0 if stored.root is None else stored.root.live_facts
    admit(
        stored.usage,
        quotas,
        new_root=stored.root is None,
        facts_before=before,
        facts_after=live_facts(proposed.facts),
    )
    if len(proposed.entities) > quotas.namespace_entities_max:
        raise QuotaExceeded(field="namespace_entities", limit=quotas.namespace_entities_max)
    if size > quotas.snapshot_bytes_max:
        raise SnapshotTooLarge(field="snapshot_bytes", limit=quotas.snapshot_bytes_max, details={"size": size})
