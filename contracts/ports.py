"""The ports: what the server asks of a store, a handful of calls each. Adapters fill them; the suite checks them.

All calls may raise Unavailable. `now_ms` is the server's moment; an adapter never reads a clock of its own.

An identifier that is none (`require_id`) is refused with Invalid by its name, before anything is read. What is looked
for may be any text; one with lone surrogates is in no store and finds nothing.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from codesynapse.contracts.accounts import (
    AuditRecord,
    Authority,
    Caller,
    KeyRecord,
    Level,
    Member,
    Registration,
    RepositoryGrant,
)
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.binding import Binding
from codesynapse.contracts.identity import Identity, Millis
from codesynapse.contracts.memory import CommitId, Committed, Entity, EntityId, Outcome, Revision, Scope, Snapshot
from codesynapse.contracts.portable import Item
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import Candidates, RepositoryChange, RepositoryScope, Slice
from codesynapse.contracts.scanning import Batch
from codesynapse.contracts.transports import Transports
from codesynapse.contracts.vectors import Vector, VectorHit, VectorRecord


class Features(Struct, frozen=True, kw_only=True):
    """What a backend offers, known without opening it. A port that is False here is None in its Backend.

    transports: protocol sessions, which only accounts can keep. agents: `contracts.agent_port`. durable: what
    was committed is there after closing and opening again with the same options.
    """

    session_memory: bool = False
    repository: bool = False
    vectors: bool = False
    accounts: bool = False
    transports: bool = False
    agents: bool = False
    portable: bool = False
    durable: bool = False


class SessionMemory(Protocol):
    """Session memory: one bounded snapshot a scope, committed whole.

    Revisions, quotas, tombstones and the fixed expiry are enforced by `contracts.commit.check_commit` inside the
    store's own transaction, whoever calls.
    """

    async def load(self, scope: Scope, *, now_ms: Millis) -> Snapshot:
        """The snapshot of a scope: empty at revision 0 before the first commit, empty and `closed` after clearing.

        Raises SessionRevoked and SessionExpired; an expired scope's content is removed on this access.
        """
        ...

    async def commit(
        self,
        proposed: Snapshot,
        *,
        read_revision: Revision,
        commit_id: CommitId,
        outcome: Outcome,
        now_ms: Millis,
    ) -> Committed:
        """Replace the snapshot of `proposed.scope`, as `check_commit` decides; `proposed.revision` is not looked at.

        The last 32 commit ids of a scope are kept with their results: repeating one answers the first result.
        With `closed=True` and no facts the namespace is cleared, for good.
        """
        ...

    async def committed(self, scope: Scope, commit_id: CommitId, *, now_ms: Millis) -> Committed | None:
        """The kept result of a commit id, or None: how a lost acknowledgement is settled.

        Raises SessionRevoked and SessionExpired.
        """
        ...

    async def revoke(self, tenant_id: str, session_id: str, *, now_ms: Millis) -> int:
        """Lay the session's tombstone and remove the content of all its namespaces; the number of facts removed.

        Repeatable. Roots stay, and count. Of several at once each tells what it removed itself: all of it, once.
        """
        ...

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        """Remove the content of up to `limit` expired scopes; how many were emptied."""
        ...

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        """Write the caps in force onto the tenant's root; `commit` reads them there."""
        ...

    async def quotas(self, tenant_id: str) -> Quotas:
        """The caps in force; the defaults where none were written."""
        ...

    async def probe(self) -> None:
        """A write that leaves nothing that could be read. Raises Unavailable where any write would."""
        ...


class RepositoryGraph(Protocol):
    """Repository memory: a durable graph a repository, read in slices and committed by rows."""

    async def read(
        self, scope: RepositoryScope, *, pairs: Sequence[tuple[EntityId, str]], entities: Sequence[EntityId]
    ) -> Slice:
        """The facts of these (subject, predicate) pairs with their ends, and these entities, at one revision."""
        ...

    async def commit(
        self,
        change: RepositoryChange,
        *,
        read_revision: Revision,
        commit_id: CommitId,
        outcome: Outcome,
        now_ms: Millis,
    ) -> Committed:
        """Write rows, as `contracts.repository.check_repository_commit` decides inside the store's transaction."""
        ...

    async def committed(self, scope: RepositoryScope, commit_id: CommitId) -> Committed | None:
        """The kept result of one of the last 32 commit ids, or None."""
        ...

    async def candidates(
        self, scope: RepositoryScope, terms: Sequence[str], *, limit: int, now_ms: Millis, history: bool
    ) -> Candidates:
        """Facts that carry at least one of the terms: those with most different terms first, then the newest
        recorded, then by id. Without `history`, only facts that are current at `now_ms`, here and in the figures.
        """
        ...

    async def find_nodes(
        self, scope: RepositoryScope, query: str, *, after: tuple[str, str] | None, limit: int
    ) -> list[Entity]:
        """Entities that `entity_matches`, in `node_order`, beginning behind `after`. query: as `sought` leaves it."""
        ...

    async def named(self, scope: RepositoryScope, names: Sequence[str]) -> list[Entity]:
        """Entities that `answers_to` one of these names or ids, in `node_order`. names: as `sought` leaves them."""
        ...

    async def touching(
        self, scope: RepositoryScope, entities: Sequence[EntityId], *, limit: int, now_ms: Millis
    ) -> Slice:
        """Facts current at `now_ms` that begin or end at one of the entities, ordered by fact id, at most `limit`."""
        ...

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        """Write the caps in force for the tenant's repositories."""
        ...


class VectorIndex(Protocol):
    """Vectors of session memory, beside the snapshots or elsewhere; never an authority."""

    async def put(self, records: Sequence[VectorRecord], *, now_ms: Millis) -> None:
        """Store or replace, by compound id. Raises Invalid for a record that `check_record` refuses."""
        ...

    async def search(self, scope: Scope, query: Vector, *, model: str, limit: int, now_ms: Millis) -> list[VectorHit]:
        """The nearest live vectors of this scope, model and dimension, nearest first, then by entity.

        query: shape (dimension,), unit length. limit: 1 to 100. Score: cosine, in [-1, 1].
        """
        ...

    async def drop(self, tenant_id: str, session_id: str, ns: str | None = None) -> int:
        """Remove a session's vectors, or those of one namespace; how many."""
        ...

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        """Remove up to `limit` expired vectors; how many."""
        ...


class Accounts(Protocol):
    """Organisations, users, keys, repositories, grants, the registry of chat sessions, and the audit of all that.

    Every change writes its audit record in the same transaction. Creating what exists raises AlreadyExists, changing
    what does not raises NotFound. Nothing here is ever cached: a withdrawal holds for the next request.
    """

    async def create_organization(self, tenant_id: str, *, now_ms: Millis) -> None: ...

    async def organizations(self) -> list[str]: ...

    async def suspend_organization(self, tenant_id: str, *, suspended: bool, now_ms: Millis) -> None: ...

    async def set_quotas(self, tenant_id: str, quotas: Quotas, *, now_ms: Millis) -> None: ...

    async def quotas(self, tenant_id: str) -> Quotas: ...

    async def create_user(self, subject_id: str, *, now_ms: Millis) -> None: ...

    async def suspend_user(self, subject_id: str, *, suspended: bool, now_ms: Millis) -> None: ...

    async def set_member(self, tenant_id: str, subject_id: str, *, member: bool, now_ms: Millis) -> None:
        """Add a user to an organisation, or withdraw the membership. Repeatable."""
        ...

    async def members(self, tenant_id: str) -> list[Member]: ...

    async def stands(self, tenant_id: str, subject_id: str) -> bool:
        """Whether a user may act in an organisation at all: for work that goes on without a key of theirs.

        False where either is suspended or not there, and without a membership that stands.
        """
        ...

    async def create_repository(self, tenant_id: str, repository: str, *, now_ms: Millis) -> None:
        """Create one. Raises Invalid (identity.require_repository), AlreadyExists."""
        ...

    async def set_grant(
        self, tenant_id: str, repository: str, subject_id: str, level: Level | None, *, now_ms: Millis
    ) -> None:
        """Set a user's grant on a repository; None withdraws it. Repeatable."""
        ...

    async def grant(self, tenant_id: str, repository: str, subject_id: str) -> Level | None:
        """What a user may do on a repository; None without a grant, and for a repository that does not exist."""
        ...

    async def repositories(self, tenant_id: str, subject_id: str | None = None) -> list[RepositoryGrant]:
        """All repositories of an organisation, or those that a user has a grant on, by name."""
        ...

    async def create_key(self, record: KeyRecord, key_hash: str, *, now_ms: Millis) -> None: ...

    async def revoke_key(self, tenant_id: str, key_id: str, *, now_ms: Millis) -> None: ...

    async def keys(self, tenant_id: str) -> list[KeyRecord]: ...

    async def authorize(self, key_hash: str, session_id: str | None, *, now_ms: Millis) -> Authority:
        """Who shows this key, and the binding of the session they name: one consistent read.

        Raises Unauthenticated, Suspended, MembershipWithdrawn. A session that is not theirs to use is told in
        `Authority.refusal`. An expiry that is observed here leaves its tombstone.
        """
        ...

    async def recheck(self, identity: Identity, key_id: str, *, now_ms: Millis) -> Binding:
        """The binding of work that goes on without the key at hand.

        Raises what `authorize` raises, and SessionNotRegistered, SessionExpired, SessionRevoked.
        """
        ...

    async def register(self, caller: Caller, session_id: str, *, now_ms: Millis) -> Registration:
        """Bind a session to a caller, as `contracts.binding.decide_registration` decides, in one transaction."""
        ...

    async def bindings(self, caller: Caller) -> list[Binding]:
        """The caller's own bindings, newest first, at most 1,000."""
        ...

    async def revoke(self, tenant_id: str, session_id: str, *, subject_id: str | None, now_ms: Millis) -> Binding:
        """Lay a session's tombstone. subject_id: whose it must be; None for an operator of the organisation.

        Raises SessionUnknown for an unknown or foreign id. Repeatable.
        """
        ...

    async def cleanups_owed(self, *, limit: int) -> list[Identity]:
        """Revoked sessions whose memory is not yet known to be gone: what a failed cleanup, or a crash, left.

        The longest revoked first, at most `limit`.
        """
        ...

    async def cleaned(self, session_id: str) -> None:
        """A revoked session's memory is gone; it is owed no more. Repeatable; for any other id nothing happens."""
        ...

    async def audit(self, *, after: int, limit: int) -> list[AuditRecord]:
        """Audit records behind a sequence number, oldest first."""
        ...

    async def audit_end(self) -> int:
        """The newest sequence number, 0 before the first."""
        ...

    async def probe(self) -> None:
        """A durable write that changes nothing that could be read. Raises Unavailable where any write would."""
        ...


class Portable(Protocol):
    """Moving house: all of session and repository memory, out of one store and into another.

    For a store that nobody writes to meanwhile. Where somebody does, a repository's figures do not agree, and tell.
    """

    async def scan(self, *, after: str | None, limit: int, tenant_id: str | None) -> Batch:
        """The next items behind a cursor, at most `limit` (1 to 1,000), in a stable order: caps, tombstones, scopes,
        entities, facts, and the heads of repositories last. A repository that is only half restored has a head too,
        with the revision `RESTORING`. tenant_id: whose alone; None for all.
        """
        ...

    async def restore(self, item: Item, *, now_ms: Millis) -> None:
        """Take in one item, whole or not at all, in the order of a scan.

        Caps, tombstones and scopes that are there already, and rows and heads of a repository that is whole, raise
        AlreadyExists; what else is refused is said in `contracts.portable`. Rows can be repeated until the head is
        there, and nothing of a repository is served before. now_ms: what holds then becomes an edge, where a store
        has edges.
        """
        ...


class StoreStatus(Struct, frozen=True, kw_only=True):
    """What a server says of itself. schema: its version, None before it is made. latency_ms: of one read."""

    product: str
    version: str
    schema: int | None
    latency_ms: float


class Backend(Struct, frozen=True, kw_only=True):
    """An open backend. A port that it does not offer is None, and its Features say so.

    probe: asks the store's server, and whether this user may write, which leaves no trace; None where there is no
    server. What is wrong is raised as Unavailable whose `field` or `limit` says what the server should be.
    """

    session_memory: SessionMemory | None = None
    repository: RepositoryGraph | None = None
    vectors: VectorIndex | None = None
    accounts: Accounts | None = None
    transports: Transports | None = None
    agents: AgentMemory | None = None
    portable: Portable | None = None
    probe: Callable[[], Awaitable[StoreStatus]] | None = None


class OpenBackend(Protocol):
    """What an entry point of the group `codesynapse.backends` names: Features, and a way to open the backend.

    options: `url` and whatever else the backend documents; an unknown one is refused with Invalid.
    """

    @property
    def features(self) -> Features: ...

    def __call__(self, options: Mapping[str, str]) -> AbstractAsyncContextManager[Backend]: ...
