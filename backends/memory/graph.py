"""Session memory in dicts."""

from dataclasses import dataclass, field

from msgspec import structs

from codesynapse.backends.memory.vectors import Shelf
from codesynapse.contracts.commit import Accepted, Root, Stored, check_commit, check_readable
from codesynapse.contracts.errors import SessionExpired
from codesynapse.contracts.identity import Millis, require_id, require_ids
from codesynapse.contracts.memory import (
    COMMITS_KEPT,
    CommitId,
    Committed,
    Entity,
    Fact,
    Outcome,
    Revision,
    Scope,
    Snapshot,
    content_of,
)
from codesynapse.contracts.quotas import Quotas, Usage


@dataclass(slots=True)
class Held:
    """One scope: its root, its content, and its newest commits. content: the document decoded, once it was read."""

    root: Root
    document: bytes = b""
    content: tuple[tuple[Entity, ...], tuple[Fact, ...]] | None = ((), ())
    commits: dict[CommitId, Committed] = field(default_factory=dict)

    def read(self) -> tuple[tuple[Entity, ...], tuple[Fact, ...]]:
        if self.content is None:
            self.content = content_of(self.document)
        return self.content


@dataclass(slots=True)
class Tenant:
    """The tenant's root: how many scopes and live facts it holds, and its caps."""

    roots: int = 0
    facts: int = 0
    quotas: Quotas = field(default_factory=Quotas)


class DictSessionMemory:
    """The port `SessionMemory`. shelf: the vectors beside it, which end with the content that they are of."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self.sessions: dict[tuple[str, str], dict[str, Held]] = {}
        self.revoked: dict[tuple[str, str], Millis] = {}
        self.tenants: dict[str, Tenant] = {}

    async def load(self, scope: Scope, *, now_ms: Millis) -> Snapshot:
        held = self._readable(scope, now_ms)
        if held is None:
            return Snapshot(scope=scope)
        entities, facts = held.read()
        return Snapshot(
            scope=scope,
            revision=held.root.revision,
            entities=entities,
            facts=facts,
            expires_at_ms=held.root.expires_at_ms,
            closed=held.root.closed,
        )

    async def commit(
        self,
        proposed: Snapshot,
        *,
        read_revision: Revision,
        commit_id: CommitId,
        outcome: Outcome,
        now_ms: Millis,
    ) -> Committed:
        stored = self._stored(proposed.scope, commit_id)
        try:
            accepted = check_commit(
                stored,
                proposed,
                read_revision=read_revision,
                commit_id=commit_id,
                outcome=outcome,
                now_ms=now_ms,
            )
        except SessionExpired:
            self._empty(proposed.scope)
            raise
        if accepted.root is not None:
            self._write(proposed.scope, accepted.root, accepted, commit_id)
        return accepted.committed

    async def committed(self, scope: Scope, commit_id: CommitId, *, now_ms: Millis) -> Committed | None:
        require_id(commit_id, field="commit_id")
        held = self._readable(scope, now_ms)
        return None if held is None else held.commits.get(commit_id)

    async def revoke(self, tenant_id: str, session_id: str, *, now_ms: Millis) -> int:
        require_ids(tenant_id=tenant_id, session_id=session_id)
        self.revoked.setdefault((tenant_id, session_id), now_ms)
        namespaces = self.sessions.get((tenant_id, session_id), {})
        removed = sum(self._empty(Scope(tenant_id=tenant_id, session_id=session_id, ns=ns)) for ns in namespaces)
        for scope in [each for each in self._shelf if (each.tenant_id, each.session_id) == (tenant_id, session_id)]:
            del self._shelf[scope]
        return removed

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        expired = sorted(
            (held.root.expires_at_ms, Scope(tenant_id=tenant, session_id=session, ns=ns))
            for (tenant, session), namespaces in self.sessions.items()
            for ns, held in namespaces.items()
            if held.root.expires_at_ms <= now_ms and held.read()[1]
        )[:limit]
        for _, scope in expired:
            self._empty(scope)
        return len(expired)

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        require_id(tenant_id, field="tenant_id")
        self.tenant(tenant_id).quotas = quotas

    async def quotas(self, tenant_id: str) -> Quotas:
        require_id(tenant_id, field="tenant_id")
        return self.tenants.get(tenant_id, Tenant()).quotas

    async def probe(self) -> None:
        """Nothing to try: a dict that can be read can be written."""

    def takes_vectors(self, scope: Scope, now_ms: Millis) -> bool:
        """Whether vectors of this scope may be stored: not once it was revoked, cleared or expired."""
        if (scope.tenant_id, scope.session_id) in self.revoked:
            return False
        held = self._namespaces(scope).get(scope.ns)
        return held is None or (not held.root.closed and now_ms < held.root.expires_at_ms)

    def _readable(self, scope: Scope, now_ms: Millis) -> Held | None:
        """What is held of a scope, if it may be read; an expired one is emptied on this access."""
        held = self._namespaces(scope).get(scope.ns)
        try:
            check_readable(
                None if held is None else held.root,
                revoked=(scope.tenant_id, scope.session_id) in self.revoked,
                expires_at_ms=self.deadline(scope),
                now_ms=now_ms,
            )
        except SessionExpired:
            self._empty(scope)
            raise
        return held

    def _stored(self, scope: Scope, commit_id: CommitId) -> Stored:
        """What the law needs to know about a scope."""
        namespaces = self._namespaces(scope)
        tenant = self.tenants.get(scope.tenant_id, Tenant())
        held = namespaces.get(scope.ns)
        own = 0 if held is None else held.root.live_facts
        others = [each.root for ns, each in namespaces.items() if ns != scope.ns]
        return Stored(
            root=None if held is None else held.root,
            revoked=(scope.tenant_id, scope.session_id) in self.revoked,
            session_expires_at_ms=self.deadline(scope),
            earlier=None if held is None else held.commits.get(commit_id),
            usage=Usage(
                session_namespaces=len(others),
                session_facts=sum(root.live_facts for root in others),
                tenant_roots=tenant.roots - (held is not None),
                tenant_facts=tenant.facts - own,
            ),
            quotas=tenant.quotas,
        )

    def _write(self, scope: Scope, root: Root, accepted: Accepted, commit_id: CommitId) -> None:
        tenant = self.tenant(scope.tenant_id)
        namespaces = self.sessions.setdefault((scope.tenant_id, scope.session_id), {})
        held = namespaces.get(scope.ns)
        if held is None:
            held = namespaces[scope.ns] = Held(root=structs.replace(root, live_facts=0))
            tenant.roots += 1
        tenant.facts += root.live_facts - held.root.live_facts
        held.root = root
        held.document, held.content = accepted.document, None
        held.commits[commit_id] = accepted.committed
        while len(held.commits) > COMMITS_KEPT:
            del held.commits[next(iter(held.commits))]
        if root.closed:
            self._shelf.pop(scope, None)

    def _empty(self, scope: Scope) -> int:
        """Remove the content and the vectors of a scope; how many facts went. Its root stays, and counts."""
        self._shelf.pop(scope, None)
        held = self._namespaces(scope).get(scope.ns)
        if held is None:
            return 0
        removed = len(held.read()[1])
        self.tenant(scope.tenant_id).facts -= held.root.live_facts
        held.root = structs.replace(held.root, live_facts=0)
        held.document, held.content = b"", ((), ())
        return removed

    def deadline(self, scope: Scope) -> Millis | None:
        """When the session ends, as its other namespaces say."""
        return next((held.root.expires_at_ms for ns, held in self._namespaces(scope).items() if ns != scope.ns), None)

    def _namespaces(self, scope: Scope) -> dict[str, Held]:
        return self.sessions.get((scope.tenant_id, scope.session_id), {})

    def tenant(self, tenant_id: str) -> Tenant:
        """The root of a tenant, made where it is missing."""
        return self.tenants.setdefault(tenant_id, Tenant())
