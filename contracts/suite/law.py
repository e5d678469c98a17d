"""The pure law as a store: what any store answers to one caller at a time."""

from collections.abc import Awaitable
from typing import NamedTuple

from msgspec import structs

from codesynapse.contracts.commit import Root, Stored, check_commit, check_readable
from codesynapse.contracts.errors import CodeSynapseError, SessionExpired
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

EMPTY = b"[1,[],[]]"


class Held(NamedTuple):
    """What the law keeps of one scope."""

    root: Root
    document: bytes
    commits: dict[CommitId, Committed]

    @property
    def content(self) -> tuple[tuple[Entity, ...], tuple[Fact, ...]]:
        return content_of(self.document)


class Law:
    """The port `SessionMemory` by the law and a few dicts, which anybody may read."""

    def __init__(self) -> None:
        self.held: dict[Scope, Held] = {}
        self.revoked: set[tuple[str, str]] = set()
        self.caps: dict[str, Quotas] = {}

    def copy(self) -> "Law":
        """Another one that holds the same."""
        other = Law()
        other.held, other.revoked, other.caps = dict(self.held), set(self.revoked), dict(self.caps)
        return other

    def due(self, now_ms: Millis) -> list[Scope]:
        """Expired scopes that are not empty."""
        return [
            scope for scope, held in self.held.items() if held.root.expires_at_ms <= now_ms and held.document != EMPTY
        ]

    async def load(self, scope: Scope, *, now_ms: Millis) -> Snapshot:
        try:
            self._readable(scope, now_ms)
        except SessionExpired:
            if scope in self.held:
                self._empty(scope)
            raise
        if scope not in self.held:
            return Snapshot(scope=scope)
        held = self.held[scope]
        entities, facts = held.content
        return Snapshot(
            scope=scope,
            revision=held.root.revision,
            entities=entities,
            facts=facts,
            expires_at_ms=held.root.expires_at_ms,
            closed=held.root.closed,
        )

    async def commit(
        self, proposed: Snapshot, *, read_revision: Revision, commit_id: CommitId, outcome: Outcome, now_ms: Millis
    ) -> Committed:
        scope = proposed.scope
        stored = self._stored(scope, commit_id)
        accepted = check_commit(
            stored, proposed, read_revision=read_revision, commit_id=commit_id, outcome=outcome, now_ms=now_ms
        )
        if accepted.root is not None:
            commits = {**(self.held[scope].commits if scope in self.held else {}), commit_id: accepted.committed}
            newest = dict(list(commits.items())[-COMMITS_KEPT:])
            self.held[scope] = Held(accepted.root, accepted.document, newest)
        return accepted.committed

    async def committed(self, scope: Scope, commit_id: CommitId, *, now_ms: Millis) -> Committed | None:
        require_id(commit_id, field="commit_id")
        self._readable(scope, now_ms)
        return self.held[scope].commits.get(commit_id) if scope in self.held else None

    async def revoke(self, tenant_id: str, session_id: str, *, now_ms: Millis) -> int:
        require_ids(tenant_id=tenant_id, session_id=session_id)
        self.revoked.add((tenant_id, session_id))
        of_session = [each for each in self.held if (each.tenant_id, each.session_id) == (tenant_id, session_id)]
        return sum(self._empty(scope) for scope in of_session)

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        swept = self.due(now_ms)[:limit]
        for scope in swept:
            self._empty(scope)
        return len(swept)

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        require_id(tenant_id, field="tenant_id")
        self.caps[tenant_id] = quotas

    async def quotas(self, tenant_id: str) -> Quotas:
        require_id(tenant_id, field="tenant_id")
        return self.caps.get(tenant_id, Quotas())

    async def probe(self) -> None: ...

    def _empty(self, scope: Scope) -> int:
        root, document, commits = self.held[scope]
        self.held[scope] = Held(structs.replace(root, live_facts=0), EMPTY, commits)
        return len(content_of(document)[1])

    def _roots(self, tenant_id: str) -> dict[Scope, Root]:
        return {scope: held.root for scope, held in self.held.items() if scope.tenant_id == tenant_id}

    def _deadline(self, scope: Scope) -> Millis | None:
        roots = self._roots(scope.tenant_id).items()
        return next((root.expires_at_ms for other, root in roots if other.session_id == scope.session_id), None)

    def _readable(self, scope: Scope, now_ms: Millis) -> None:
        held = self.held.get(scope)
        check_readable(
            None if held is None else held.root,
            revoked=(scope.tenant_id, scope.session_id) in self.revoked,
            expires_at_ms=self._deadline(scope),
            now_ms=now_ms,
        )

    def _stored(self, scope: Scope, commit_id: CommitId) -> Stored:
        held = self.held.get(scope)
        others = {other: root for other, root in self._roots(scope.tenant_id).items() if other != scope}
        siblings = [root for other, root in others.items() if other.session_id == scope.session_id]
        return Stored(
            root=None if held is None else held.root,
            revoked=(scope.tenant_id, scope.session_id) in self.revoked,
            session_expires_at_ms=self._deadline(scope),
            earlier=None if held is None else held.commits.get(commit_id),
            usage=Usage(
                session_namespaces=len(siblings),
                session_facts=sum(root.live_facts for root in siblings),
                tenant_roots=len(others),
                tenant_facts=sum(root.live_facts for root in others.values()),
            ),
            quotas=self.caps.get(scope.tenant_id, Quotas()),
        )


async def answer(call: Awaitable[object]) -> object:
    """What a call answers or how it is refused, such that two can be compared. The order of content is the store's."""
    try:
        result = await call
    except CodeSynapseError as refusal:
        return (type(refusal), refusal.field, refusal.limit, refusal.details)
    if isinstance(result, Snapshot):
        facts, entities = frozenset(result.facts), frozenset(result.entities)
        whole = (len(result.facts), len(result.entities)) == (len(facts), len(entities))
        return (structs.replace(result, facts=(), entities=()), facts, entities, whole)
    return result
