"""What a store knows of a tenant: facts that the law asks for, each as of one version of the tenant."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from codesynapse.contracts.commit import Root, Stored
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import Committed, Entity, Fact, Scope, content_of
from codesynapse.contracts.quotas import Quotas, Usage

TENANTS_HELD_MAX = 32
SCOPES_HELD_MAX = 16
"""Of one tenant. A full one of 24 KiB takes some 150 KiB here: 75 MiB if all of them are full."""

_quotas = msgspec.json.Decoder(Quotas).decode
_counts = msgspec.json.Decoder(dict[str, tuple[int, int]]).decode
_texts = msgspec.json.Decoder(tuple[str, ...]).decode


class Tenant(Struct, frozen=True, kw_only=True):
    """A tenant's root. version: raised by whatever is written for this tenant."""

    version: int = 0
    roots: int = 0
    live_facts: int = 0
    quotas: Quotas = Quotas()


class Session(Struct, frozen=True, kw_only=True):
    """counts: live facts and all facts of each namespace that was ever written."""

    revoked_at_ms: Millis | None = None
    expires_at_ms: Millis | None = None
    counts: Mapping[str, tuple[int, int]] = {}


class Content(Struct, frozen=True, kw_only=True):
    """A scope that was written.

    written_at_ms: the moment of its newest commit; commit_ids: oldest first; content: what the
    document holds.
    """

    root: Root
    facts: int
    written_at_ms: Millis
    commit_ids: tuple[str, ...]
    document: str
    content: tuple[tuple[Entity, ...], tuple[Fact, ...]]


class Facts(Struct, frozen=True, kw_only=True):
    """All of one moment."""

    tenant: Tenant
    session: Session
    content: Content | None

    def stored(self, scope: Scope, earlier: Committed | None) -> Stored:
        """As the law wants it."""
        root = None if self.content is None else self.content.root
        others = [live for ns, (live, _) in self.session.counts.items() if ns != scope.ns]
        return Stored(
            root=root,
            revoked=self.session.revoked_at_ms is not None,
            session_expires_at_ms=self.session.expires_at_ms,
            earlier=earlier,
            usage=Usage(
                session_namespaces=len(others),
                session_facts=sum(others),
                tenant_roots=self.tenant.roots - (root is not None),
                tenant_facts=self.tenant.live_facts - (0 if root is None else root.live_facts),
            ),
            quotas=self.tenant.quotas,
            content=((), ()) if self.content is None else self.content.content,
        )


def tenant_of(row: Sequence[Any] | None) -> Tenant:
    """From (version, roots, live_facts, quotas)."""
    if row is None:
        return Tenant()
    version, roots, live_facts, quotas = row
    return Tenant(version=version, roots=roots, live_facts=live_facts, quotas=_quotas(quotas))


def session_of(row: Sequence[Any] | None) -> Session:
    """From (expires_at, revoked_at, namespaces); 0 where neither is set."""
    if row is None:
        return Session()
    expires_at, revoked_at, namespaces = row
    return Session(revoked_at_ms=revoked_at or None, expires_at_ms=expires_at or None, counts=_counts(namespaces))


def content_row(row: Sequence[Any] | None) -> Content | None:
    """From (ns, revision, expires_at, closed, live_facts, facts, written_at, commit_ids, doc)."""
    if row is None:
        return None
    _, revision, expires_at, closed, live_facts, facts, written_at, commit_ids, document = row
    return Content(
        root=Root(revision=revision, expires_at_ms=expires_at, closed=closed, live_facts=live_facts),
        facts=facts,
        written_at_ms=written_at,
        commit_ids=_texts(commit_ids),
        document=document,
        content=content_of(document.encode()) if document else ((), ()),
    )


class Held:
    """Facts that were read or written last, by tenant: what a commit may start from without reading first.

    Never an authority: nothing is refused on them, and a write names their version.
    """

    def __init__(self) -> None:
        self._tenants: OrderedDict[str, _OfTenant] = OrderedDict()

    def get(self, scope: Scope) -> Facts | None:
        """What is known of a scope, all of one version."""
        known = self._tenants.get(scope.tenant_id)
        session = None if known is None else known.sessions.get(scope.session_id)
        if known is None or session is None or scope not in known.scopes:
            return None
        self._tenants.move_to_end(scope.tenant_id)
        known.scopes.move_to_end(scope)
        return Facts(tenant=known.tenant, session=session, content=known.scopes[scope])

    def put(self, scope: Scope, facts: Facts, *, follows: int | None = None) -> None:
        """Take what was read, or what was written onto the version that it follows."""
        known = self._tenants.get(scope.tenant_id)
        if known is None or known.tenant.version not in (facts.tenant.version, follows):
            known = self._tenants[scope.tenant_id] = _OfTenant(tenant=facts.tenant)
        known.tenant = facts.tenant
        known.sessions[scope.session_id] = facts.session
        known.scopes[scope] = facts.content
        self._tenants.move_to_end(scope.tenant_id)
        while len(known.scopes) > SCOPES_HELD_MAX:
            gone, _ = known.scopes.popitem(last=False)
            if not any(each.session_id == gone.session_id for each in known.scopes):
                del known.sessions[gone.session_id]
        while len(self._tenants) > TENANTS_HELD_MAX:
            self._tenants.popitem(last=False)

    def forget(self, tenant_id: str) -> None:
        """What is known of a tenant is doubtful."""
        self._tenants.pop(tenant_id, None)


class _OfTenant(Struct, kw_only=True):
    tenant: Tenant
    sessions: dict[str, Session] = {}
    scopes: OrderedDict[Scope, Content | None] = msgspec.field(default_factory=OrderedDict)


def counted(session: Session, ns: str, live: int, facts: int) -> Session:
    """The session with what one of its namespaces holds now."""
    return structs.replace(session, counts={**session.counts, ns: (live, facts)})
