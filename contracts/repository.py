"""Repository memory: the durable graph of one repository, and what a commit to it may do. Pure.

It outgrows a snapshot, so it is read and written in slices: the facts of the subjects and predicates in question and
the entities that a change speaks of. One revision counter a repository guards them all (decision 15).
"""

import unicodedata
from collections.abc import Mapping

from msgspec import Struct, structs

from codesynapse.contracts.commit import check_entity, check_fact
from codesynapse.contracts.errors import QuotaExceeded, RevisionConflict, SnapshotInvalid, StoreBusy
from codesynapse.contracts.identity import Id, require_id
from codesynapse.contracts.memory import CommitId, Committed, Entity, EntityId, Fact, FactId, Outcome, Revision
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.triples import is_storable, require_storable

MEMORY_LABEL = "MemoryEntity"
"""The label of entities of repository memory; the code graph beside it carries `Node`."""

TERM_MAX = 1_024
"""Characters of a term: the words of a name, which casefolding can make three times as long."""

RESTORING = Revision(-1)
"""The revision of a repository that is being copied from another store and not whole yet: it serves nobody."""


class RepositoryScope(Struct, frozen=True, kw_only=True, order=True):
    """Where one repository's memory lies."""

    tenant_id: Id
    repository: Id

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            require_id(getattr(self, name), field=name)


class Slice(Struct, frozen=True, kw_only=True):
    """A part of repository memory, all of it read at one revision. entities: at least both ends of each fact."""

    revision: Revision
    entities: tuple[Entity, ...] = ()
    facts: tuple[Fact, ...] = ()

    def __post_init__(self) -> None:
        require_whole(self.revision)


class Candidates(Struct, frozen=True, kw_only=True):
    """Facts that share a term with a query, and what a ranking must know of the rest.

    total: facts of the repository that may be recalled. total_terms: the sum of their term counts.
    frequencies: for each asked term, how many of these facts carry it.
    """

    slice: Slice
    total: int
    total_terms: int
    frequencies: Mapping[str, int]


class RepositoryChange(Struct, frozen=True, kw_only=True):
    """Rows to write: new or differing entities and facts.

    terms: for each fact, the terms under which a recall finds it, as often as they occur. origin_session_id: the
    session that writes; recorded with the commit and on the facts themselves.
    """

    scope: RepositoryScope
    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]
    terms: Mapping[FactId, tuple[str, ...]]
    origin_session_id: Id


class RepositoryStored(Struct, frozen=True, kw_only=True):
    """What a store read, under its lock, about the repository of a commit.

    present_entities: which entities are there already, of those the change brings and of its facts' ends.
    live_before: how many of the facts of the change are live as stored. facts, entities: how many the repository
    holds (live facts, all entities).
    """

    revision: Revision
    earlier: Committed | None
    live_before: int
    facts: int
    entities: int
    present_entities: frozenset[EntityId]
    quotas: Quotas


def require_whole(revision: Revision) -> None:
    """Let a repository be used, unless it is only half copied. Raises StoreBusy."""
    if revision == RESTORING:
        raise StoreBusy(field="repository that is being copied from another store")


def check_repository_commit(
    stored: RepositoryStored,
    change: RepositoryChange,
    *,
    read_revision: Revision,
    commit_id: CommitId,
    outcome: Outcome,
) -> Committed:
    """Decide a commit; a result with `replayed` is one to answer and not to write.

    Raises StoreBusy while the repository is being restored, RevisionConflict (with the current revision),
    SnapshotInvalid, QuotaExceeded.
    """
    require_id(commit_id, field="commit_id")
    require_whole(stored.revision)
    require_id(change.origin_session_id, field="origin_session_id")
    if stored.earlier is not None:
        return structs.replace(stored.earlier, replayed=True)
    if read_revision != stored.revision:
        raise RevisionConflict(details={"revision": stored.revision})
    brought = {entity.id for entity in change.entities}
    for entity in change.entities:
        check_entity(entity)
    for fact in change.facts:
        if not {fact.subject, fact.object} <= brought | stored.present_entities:
            raise SnapshotInvalid(field="facts", limit="both ends among the entities")
        check_fact(fact)
    check_terms(change.terms)
    live_after = sum(fact.live for fact in change.facts)
    _grow("repository_facts", stored.facts, live_after - stored.live_before, stored.quotas.repository_facts_max)
    new_entities = len(brought - stored.present_entities)
    _grow("repository_entities", stored.entities, new_entities, stored.quotas.repository_entities_max)
    return Committed(revision=Revision(stored.revision + 1), outcome=outcome)


def check_terms(terms: Mapping[FactId, tuple[str, ...]]) -> None:
    """Check the terms of a change: of 1 to 1,024 characters each. Raises SnapshotInvalid."""
    for term in {term for each in terms.values() for term in each}:
        if not 1 <= len(term) <= TERM_MAX or not is_storable(term) or "\0" in term:
            raise SnapshotInvalid(field="terms", limit=f"1 to {TERM_MAX} characters, no null or lone surrogates")


def check_cursor(after: tuple[str, str] | None) -> None:
    """Check where a search for nodes shall go on. Raises Invalid."""
    for text in after or ():
        require_storable(text, field="after")


def _grow(field: str, held: int, more: int, limit: int) -> None:
    if more > 0 and held + more > limit:
        raise QuotaExceeded(field=field, limit=limit)


def sought(text: str) -> str:
    """What is searched for, in the form in which names are stored: NFC, without blanks around it."""
    return unicodedata.normalize("NFC", text).strip()


def entity_matches(entity: Entity, query: str) -> bool:
    """Whether each blank-separated word of the query occurs in the entity's name, type or an alias, ignoring case.

    query: as `sought` leaves it; whoever asks a store has called that. An empty query matches all. Stores search by
    `search_text`, which says the same.
    """
    text = search_text(entity)
    return all(word in text for word in query.casefold().split())


def search_text(entity: Entity) -> str:
    """What a search for nodes looks into: name, type and aliases, casefolded, one a line."""
    return "\n".join((entity.name, entity.type, *entity.aliases)).casefold()


def node_order(entity: Entity) -> tuple[str, str]:
    """The order of found nodes, and what a cursor points at: casefolded name, then id."""
    return (entity.name.casefold(), entity.id)


def answers_to(entity: Entity, name: str) -> bool:
    """Whether the entity is meant by a name or an id: its id, its name or an alias, ignoring case.

    name: as `sought` leaves it; whoever asks a store has called that.
    """
    folded = name.casefold()
    return entity.id == name or folded in {entity.name.casefold(), *(alias.casefold() for alias in entity.aliases)}
