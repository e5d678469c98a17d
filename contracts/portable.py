"""Moving house: what a store holds as values that another store can take in, their digests, and what may be restored.

Pure. A digest speaks of everything that a store must keep, and of nothing that is its own: it is equal on every store.
Vectors are not moved, since they follow from the texts, and accounts have a store of their own.
"""

import hashlib
from itertools import pairwise
from typing import Literal

import msgspec
from msgspec import Struct

from codesynapse.contracts.commit import Root, check_content
from codesynapse.contracts.errors import AlreadyExists, ExpiryChanged, Invalid, RevisionConflict, SessionRevoked
from codesynapse.contracts.identity import Id, Millis
from codesynapse.contracts.memory import (
    COMMITS_KEPT,
    CommitId,
    Committed,
    Entity,
    Fact,
    Outcome,
    Revision,
    Scope,
    canonical,
    content_of,
    live_facts,
)
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import RESTORING, RepositoryScope

EMPTY = canonical((), ())
"""The document of a scope without content."""

_encode = msgspec.json.Encoder().encode


class KeptCommit(Struct, frozen=True, kw_only=True):
    """A commit id that a root remembers. origin_session_id: who made it, in repository memory."""

    commit_id: CommitId
    revision: Revision
    outcome: Outcome
    origin_session_id: str | None = None

    @property
    def committed(self) -> Committed:
        """As a store answers it."""
        return Committed(revision=self.revision, outcome=self.outcome)


class Caps(Struct, frozen=True, kw_only=True):
    """The caps of a tenant where they are not the defaults: on its root of session memory, or of its repositories."""

    tenant_id: Id
    of: Literal["repositories", "sessions"]
    quotas: Quotas


class Tombstone(Struct, frozen=True, kw_only=True):
    """The revocation of a session, whether or not it ever wrote."""

    tenant_id: Id
    session_id: Id
    revoked_at_ms: Millis


class HeldScope(Struct, frozen=True, kw_only=True):
    """One scope of session memory. document: canonical; commits: the newest of them, oldest first."""

    scope: Scope
    document: bytes
    revision: Revision
    expires_at_ms: Millis
    closed: bool
    commits: tuple[KeptCommit, ...]


class FoundFact(Struct, frozen=True, kw_only=True):
    """A fact of repository memory and what finds it. terms: each once, in order; occurrences: of all together."""

    fact: Fact
    terms: tuple[str, ...]
    occurrences: int


class Rows(Struct, frozen=True, kw_only=True):
    """Some rows of a repository, read at this revision or later. ends: entities that the facts speak of."""

    scope: RepositoryScope
    revision: Revision
    entities: tuple[Entity, ...] = ()
    facts: tuple[FoundFact, ...] = ()
    ends: tuple[Entity, ...] = ()


class Head(Struct, frozen=True, kw_only=True):
    """The root of a repository, which makes its rows whole. entities, facts: how many rows there are."""

    scope: RepositoryScope
    revision: Revision
    commits: tuple[KeptCommit, ...]
    entities: int
    facts: int


Item = Caps | Tombstone | HeldScope | Rows | Head
"""What a scan gives and a restore takes."""


class Restored(Struct, frozen=True, kw_only=True):
    """A scope that may be written as it is."""

    root: Root
    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]


def decide_restore(item: HeldScope, *, exists: bool, revoked: bool, session_expires_at_ms: Millis | None) -> Restored:
    """Decide whether a scope may be restored; quotas let it pass, since it was admitted where it comes from.

    session_expires_at_ms: what the session's other namespaces carry. Raises AlreadyExists, SessionRevoked where the
    content of a revoked session would come back, ExpiryChanged, Invalid, SnapshotInvalid.
    """
    if exists:
        raise AlreadyExists(field="scope")
    entities, facts = _content(item.document)
    if facts and revoked:
        raise SessionRevoked
    if session_expires_at_ms not in (None, item.expires_at_ms):
        raise ExpiryChanged
    if item.closed and facts:
        raise Invalid(field="document", limit="none when closed")
    check_commits(item.commits, item.revision)
    root = Root(
        revision=item.revision, expires_at_ms=item.expires_at_ms, closed=item.closed, live_facts=live_facts(facts)
    )
    return Restored(root=root, entities=entities, facts=facts)


def _content(document: bytes) -> tuple[tuple[Entity, ...], tuple[Fact, ...]]:
    try:
        entities, facts = content_of(document)
    except (msgspec.MsgspecError, IndexError):
        raise Invalid(field="document", limit="canonical") from None
    check_content(entities, facts)
    if canonical(entities, facts) != document:
        raise Invalid(field="document", limit="canonical")
    return entities, facts


def check_commits(commits: tuple[KeptCommit, ...], revision: Revision) -> None:
    """Check that these are the newest commits up to a revision, oldest first, each once. Raises Invalid."""
    revisions = [each.revision for each in commits]
    newest = min(revision, COMMITS_KEPT)
    if not 1 <= len(commits) <= newest or revisions[-1] != revision:
        raise Invalid(field="commits", limit=f"1 to {COMMITS_KEPT}, up to the revision")
    if any(later != earlier + 1 for earlier, later in pairwise(revisions)):
        raise Invalid(field="commits", limit="without a gap")
    if len({each.commit_id for each in commits}) != len(commits):
        raise Invalid(field="commits", limit="each once")


def check_unfinished(revision: Revision | None) -> None:
    """Let rows be added to a repository that is not there or being restored. Raises AlreadyExists."""
    if revision not in (None, RESTORING):
        raise AlreadyExists(field="repository")


def check_whole(head: Head, *, entities: int, facts: int) -> None:
    """Let a repository be finished that holds so many rows. Raises Invalid, RevisionConflict where some are missing."""
    if head.revision < 1:
        raise Invalid(field="revision", limit="1 or more")
    check_commits(head.commits, head.revision)
    if (entities, facts) != (head.entities, head.facts):
        raise RevisionConflict(field="repository", details={"entities": entities, "facts": facts})


def spread(found: FoundFact) -> tuple[str, ...]:
    """Terms as often as they occur together. How often each did is kept by some stores alone, and asked by none."""
    if not found.terms:
        return ()
    return (*[found.terms[0]] * (found.occurrences - len(found.terms)), *found.terms)


def name_of_item(item: Item) -> tuple[str, ...]:
    """What an item is about, unlike any other's; the rows of a repository go by its head's name."""
    match item:
        case Caps():
            return ("caps", item.tenant_id, item.of)
        case Tombstone():
            return ("tombstone", item.tenant_id, item.session_id)
        case HeldScope():
            return ("scope", item.scope.tenant_id, item.scope.session_id, item.scope.ns)
        case Rows() | Head():
            return ("repository", item.scope.tenant_id, item.scope.repository)


def digest_of(item: Caps | Tombstone | HeldScope) -> str:
    """SHA-256 in hex; equal on every store."""
    hashed = hashlib.sha256(_encode(name_of_item(item)))
    match item:
        case Caps():
            hashed.update(_encode(item.quotas))
        case Tombstone():
            hashed.update(_encode(item.revoked_at_ms))
        case HeldScope():
            root = (item.revision, item.expires_at_ms, item.closed, [_commit(each) for each in item.commits])
            hashed.update(_encode(root) + item.document)
    return hashed.hexdigest()


class RepositoryDigest:
    """The digest of a repository, whose rows come in any order and in batches of any size."""

    def __init__(self) -> None:
        self.entities = 0
        self.facts = 0
        self.revisions: set[Revision] = set()
        self._sum = 0

    def add(self, rows: Rows) -> None:
        """Take the rows of a batch."""
        self.revisions.add(rows.revision)
        self.entities += len(rows.entities)
        self.facts += len(rows.facts)
        for entity in rows.entities:
            self._add(("entity", entity))
        for found in rows.facts:
            self._add(("fact", found.fact, found.terms, found.occurrences))

    def of(self, head: Head) -> str:
        """The digest of the rows that were taken and of this root."""
        root = (name_of_item(head), head.revision, [_commit(each) for each in head.commits])
        return hashlib.sha256(_encode(root) + self._sum.to_bytes(32, "big")).hexdigest()

    def whole(self, head: Head) -> bool:
        """Whether all rows of this root were taken, and none was written meanwhile."""
        return self.revisions <= {head.revision} and (self.entities, self.facts) == (head.entities, head.facts)

    def _add(self, row: object) -> None:
        # A sum does not depend on the order, which stores do not share.
        self._sum = (self._sum + int.from_bytes(hashlib.sha256(_encode(row)).digest(), "big")) % (1 << 256)


def _commit(kept: KeptCommit) -> tuple[object, ...]:
    return (kept.commit_id, kept.revision, kept.outcome, kept.origin_session_id)
