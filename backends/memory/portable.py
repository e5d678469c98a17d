"""Moving house out of the dicts and into them."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from codesynapse.backends.memory.graph import DictSessionMemory, Held
from codesynapse.backends.memory.repository import DictRepositoryGraph, Graph
from codesynapse.contracts.errors import AlreadyExists
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import CommitId, Committed, Entity, Fact, Scope
from codesynapse.contracts.portable import (
    EMPTY,
    Caps,
    FoundFact,
    Head,
    HeldScope,
    Item,
    KeptCommit,
    Rows,
    Tombstone,
    check_unfinished,
    check_whole,
    decide_restore,
    spread,
)
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import RESTORING, RepositoryScope
from codesynapse.contracts.scanning import Batch, Stage, grouped, parts_of, position_of, walk


class DictPortable:
    """The port `Portable`."""

    def __init__(self, sessions: DictSessionMemory, repository: DictRepositoryGraph) -> None:
        self._sessions = sessions
        self._repository = repository

    async def scan(self, *, after: str | None, limit: int, tenant_id: str | None) -> Batch:
        stages = (self._caps, self._tombstones, self._scopes, self._entities, self._facts, self._heads)
        return await walk([_stage(each, tenant_id) for each in stages], after, limit)

    async def restore(self, item: Item, *, now_ms: Millis) -> None:
        match item:
            case Caps():
                self._restore_caps(item)
            case Tombstone():
                place = (item.tenant_id, item.session_id)
                if place in self._sessions.revoked:
                    raise AlreadyExists(field="tombstone")
                self._sessions.revoked[place] = item.revoked_at_ms
            case HeldScope():
                self._restore_scope(item)
            case Rows():
                self._restore_rows(item)
            case Head():
                self._restore_head(item)

    def _caps(self) -> Iterator[tuple[tuple[str, ...], Item]]:
        for tenant, root in self._sessions.tenants.items():
            if root.quotas != Quotas():
                yield (tenant, "sessions"), Caps(tenant_id=tenant, of="sessions", quotas=root.quotas)
        for tenant, quotas in self._repository.caps.items():
            if quotas != Quotas():
                yield (tenant, "repositories"), Caps(tenant_id=tenant, of="repositories", quotas=quotas)

    def _tombstones(self) -> Iterator[tuple[tuple[str, ...], Item]]:
        for (tenant, session), moment in self._sessions.revoked.items():
            yield (tenant, session), Tombstone(tenant_id=tenant, session_id=session, revoked_at_ms=moment)

    def _scopes(self) -> Iterator[tuple[tuple[str, ...], Item]]:
        for (tenant, session), namespaces in self._sessions.sessions.items():
            for ns, held in namespaces.items():
                scope = Scope(tenant_id=tenant, session_id=session, ns=ns)
                yield (
                    (tenant, session, ns),
                    HeldScope(
                        scope=scope,
                        document=held.document or EMPTY,
                        revision=held.root.revision,
                        expires_at_ms=held.root.expires_at_ms,
                        closed=held.root.closed,
                        commits=_kept(held.commits, {}),
                    ),
                )

    def _entities(self) -> Iterator[tuple[tuple[str, ...], Item]]:
        for scope, graph in self._repository.graphs.items():
            for entity in graph.entities.values():
                yield _key(scope, entity), Rows(scope=scope, revision=graph.revision, entities=(entity,))

    def _facts(self) -> Iterator[tuple[tuple[str, ...], Item]]:
        for scope, graph in self._repository.graphs.items():
            for fact in graph.facts.values():
                terms = graph.terms[fact.id]
                found = FoundFact(fact=fact, terms=tuple(sorted(terms)), occurrences=terms.total())
                ends = tuple(graph.entities[each] for each in (fact.subject, fact.object))
                yield _key(scope, fact), Rows(scope=scope, revision=graph.revision, facts=(found,), ends=ends)

    def _heads(self) -> Iterator[tuple[tuple[str, ...], Item]]:
        for scope, graph in self._repository.graphs.items():
            yield (
                (scope.tenant_id, scope.repository),
                Head(
                    scope=scope,
                    revision=graph.revision,
                    commits=_kept(graph.commits, graph.origins),
                    entities=len(graph.entities),
                    facts=len(graph.facts),
                ),
            )

    def _restore_caps(self, item: Caps) -> None:
        root = self._sessions.tenant(item.tenant_id)
        before = root.quotas if item.of == "sessions" else self._repository.caps.get(item.tenant_id, Quotas())
        if before != Quotas():
            raise AlreadyExists(field="caps")
        if item.of == "sessions":
            root.quotas = item.quotas
        else:
            self._repository.caps[item.tenant_id] = item.quotas

    def _restore_scope(self, item: HeldScope) -> None:
        scope, place = item.scope, (item.scope.tenant_id, item.scope.session_id)
        restored = decide_restore(
            item,
            exists=scope.ns in self._sessions.sessions.get(place, {}),
            revoked=place in self._sessions.revoked,
            session_expires_at_ms=self._sessions.deadline(scope),
        )
        tenant = self._sessions.tenant(scope.tenant_id)
        tenant.roots += 1
        tenant.facts += restored.root.live_facts
        self._sessions.sessions.setdefault(place, {})[scope.ns] = Held(
            root=restored.root,
            document=item.document,
            content=None,
            commits={each.commit_id: each.committed for each in item.commits},
        )

    def _restore_rows(self, item: Rows) -> None:
        graph = self._unfinished(item.scope)
        graph.entities.update((entity.id, entity) for entity in item.entities)
        for found in item.facts:
            graph.put(found.fact, spread(found))

    def _restore_head(self, item: Head) -> None:
        graph = self._unfinished(item.scope)
        check_whole(item, entities=len(graph.entities), facts=len(graph.facts))
        graph.commits = {each.commit_id: each.committed for each in item.commits}
        graph.origins = {each.commit_id: each.origin_session_id or "" for each in item.commits}
        graph.revision = item.revision

    def _unfinished(self, scope: RepositoryScope) -> Graph:
        """The repository, half restored."""
        known = self._repository.graphs.get(scope)
        check_unfinished(None if known is None else known.revision)
        return self._repository.graphs.setdefault(scope, Graph(revision=RESTORING))


def _stage(all_of: Callable[[], Iterable[tuple[tuple[str, ...], Item]]], tenant_id: str | None) -> Stage:
    async def stage(position: str, limit: int) -> tuple[Sequence[Item], str]:
        rows = sorted((row for row in all_of() if tenant_id in (None, row[0][0])), key=lambda row: row[0])
        count = len(rows[0][0]) if rows else 1
        behind = tuple(parts_of(position, count=count))
        batch = [row for row in rows if not position or row[0] > behind][:limit]
        items = [item for _, item in batch]
        parts = grouped([item for item in items if isinstance(item, Rows)])
        whole = [item for item in items if not isinstance(item, Rows)]
        return [*parts, *whole], position_of(*batch[-1][0]) if len(batch) == limit else ""

    return stage


def _key(scope: RepositoryScope, row: Entity | Fact) -> tuple[str, ...]:
    return (scope.tenant_id, scope.repository, row.id)


def _kept(commits: dict[CommitId, Committed], origins: dict[CommitId, str]) -> tuple[KeptCommit, ...]:
    return tuple(
        KeptCommit(
            commit_id=commit_id,
            revision=committed.revision,
            outcome=committed.outcome,
            origin_session_id=origins.get(commit_id),
        )
        for commit_id, committed in commits.items()
    )
