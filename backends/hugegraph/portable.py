"""Moving house out of HugeGraph and into it: a scan goes by the server's own pages, one item is one script or more."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from codesynapse.backends.hugegraph import moving, plans, scripts
from codesynapse.backends.hugegraph.faults import Lost
from codesynapse.backends.hugegraph.held import Content
from codesynapse.backends.hugegraph.keys import commit_key, repository_key, scope_key, tenant_key
from codesynapse.backends.hugegraph.planting import Root, quotas_key, root_of
from codesynapse.backends.hugegraph.rows import entity_key, entity_of, fact_of, words_of
from codesynapse.backends.hugegraph.session import Plan, Server
from codesynapse.backends.hugegraph.store import GremlinSessionMemory
from codesynapse.contracts.errors import AlreadyExists, StoreBusy
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import Entity, Outcome, Revision, Scope
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
)
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import RepositoryScope
from codesynapse.contracts.scanning import Batch, Stage, parts_of, position_of, walk

ATTEMPTS_MAX = 1_000
PAGE_SIZE = 200
PLACES_MAX = 500
"""Of kept commits that are asked for in one request."""
BEFORE_ALL = -(1 << 60)

_quotas = msgspec.json.Decoder(Quotas).decode
_texts = msgspec.json.Decoder(tuple[str, ...]).decode
_outcome = msgspec.json.Decoder(Outcome).decode

Read = Callable[[list[Any]], Awaitable[Sequence[Item]]]


class GremlinPortable:
    """The port `Portable`."""

    def __init__(self, server: Server, sessions: GremlinSessionMemory) -> None:
        self._server = server
        self._sessions = sessions

    async def scan(self, *, after: str | None, limit: int, tenant_id: str | None) -> Batch:
        scope = ("tenant_id", "session_id", "ns", "revision", "expires_at", "closed", "commit_ids", "doc")
        place = ("tenant_id", "repository")
        stages: tuple[tuple[str, tuple[str, ...], Read], ...] = (
            ("SessionMemoryTenant", ("tenant_id", "quotas"), self._caps),
            ("RepositoryMemoryTenant", ("tenant_id", "quotas"), self._repository_caps),
            ("SessionMemoryRevocation", ("tenant_id", "session_id", "revoked_at"), self._tombstones),
            ("SessionMemoryScope", scope, self._scopes),
            ("MemoryEntity", (*place, "doc"), self._entities),
            ("MemoryFact", (*place, "doc", "word_counts"), self._facts),
            ("RepositoryMemory", (*place, "version", "figures", "commit_ids"), self._heads),
        )
        return await walk([self._stage(*each, tenant_id) for each in stages], after, limit)

    async def restore(self, item: Item, *, now_ms: Millis) -> None:
        match item:
            case Caps():
                await self._once(item.tenant_id, lambda: self._caps_plan(item))
            case Tombstone():
                await self._once(item.tenant_id, lambda: self._tombstone_plan(item))
            case HeldScope():
                await self._once(item.scope.tenant_id, lambda: self._scope_plan(item, now_ms))
            case Rows():
                for part in moving.parts(item, now_ms):
                    await self._once(_turn(item.scope), partial(self._rows_plan, item.scope, part))
            case Head():
                await self._once(_turn(item.scope), lambda: self._head_plan(item))

    # --- Reading. --------------------------------------------------------------------------------------------------

    def _stage(self, label: str, names: Sequence[str], read: Read, tenant_id: str | None) -> Stage:
        async def stage(position: str, limit: int) -> tuple[Sequence[Item], str]:
            page, last = parts_of(position, count=2)
            ((rows, page, last),) = await self._server.run(
                scripts.SCAN,
                vertex_label=label,
                names=names,
                page=page,
                page_size=PAGE_SIZE,
                behind=last,
                limit=limit,
                tenant=tenant_id or "",
            )
            return await read(rows), position_of(page, last) if page or last else ""

        return stage

    async def _caps(self, rows: list[Any]) -> Sequence[Item]:
        found = ((tenant, _quotas(quotas)) for tenant, quotas in rows)
        return [Caps(tenant_id=tenant, of="sessions", quotas=quotas) for tenant, quotas in found if quotas != Quotas()]

    async def _repository_caps(self, rows: list[Any]) -> Sequence[Item]:
        found = ((tenant, _quotas(quotas)) for tenant, quotas in rows)
        return [
            Caps(tenant_id=tenant, of="repositories", quotas=quotas) for tenant, quotas in found if quotas != Quotas()
        ]

    async def _tombstones(self, rows: list[Any]) -> Sequence[Item]:
        return [
            Tombstone(tenant_id=tenant, session_id=session, revoked_at_ms=moment) for tenant, session, moment in rows
        ]

    async def _scopes(self, rows: list[Any]) -> Sequence[Item]:
        scopes = [Scope(tenant_id=tenant, session_id=session, ns=ns) for tenant, session, ns, *_ in rows]
        owners = [(scope_key(scope), row[3], _texts(row[6])) for scope, row in zip(scopes, rows, strict=True)]
        kept = await self._kept(owners, origins=False)
        return [
            HeldScope(
                scope=scope,
                document=document.encode() or EMPTY,
                revision=revision,
                expires_at_ms=expires_at_ms,
                closed=closed,
                commits=kept[scope_key(scope)],
            )
            for scope, (_, _, _, revision, expires_at_ms, closed, _, document) in zip(scopes, rows, strict=True)
        ]

    async def _entities(self, rows: list[Any]) -> Sequence[Item]:
        items = []
        for scope, own in _by_repository(rows).items():
            root, _, _ = await self._part(scope)
            entities = tuple(entity_of(document) for _, _, document in own)
            items.append(Rows(scope=scope, revision=root.revision, entities=entities))
        return items

    async def _facts(self, rows: list[Any]) -> Sequence[Item]:
        items = []
        for scope, own in _by_repository(rows).items():
            facts = []
            for _, _, document, counts in own:
                words = words_of(counts)
                occurrences = sum(words.values())
                facts.append(FoundFact(fact=fact_of(document), terms=tuple(sorted(words)), occurrences=occurrences))
            ends = {end for found in facts for end in (found.fact.subject, found.fact.object)}
            root, _, known = await self._part(scope, sorted(ends))
            items.append(Rows(scope=scope, revision=root.revision, facts=tuple(facts), ends=known))
        return items

    async def _heads(self, rows: list[Any]) -> Sequence[Item]:
        heads = [(RepositoryScope(tenant_id=row[0], repository=row[1]), root_of(row[2:])) for row in rows]
        kept = await self._kept(
            [(repository_key(scope), root.revision, root.commit_ids) for scope, root in heads], origins=True
        )
        return [
            Head(
                scope=scope,
                revision=root.revision,
                commits=kept[repository_key(scope)],
                entities=root.figures.entities,
                facts=root.figures.facts,
            )
            for scope, root in heads
        ]

    async def _part(self, scope: RepositoryScope, entities: Iterable[str] = ()) -> tuple[Root, str, tuple[Entity, ...]]:
        """The root of a repository, its tenant's caps, and some entities, all of one moment."""
        repository = repository_key(scope)
        ((root, quotas, _, rows),) = await self._server.run(
            scripts.SLICE,
            lock=tenant_key(scope.tenant_id),
            tenant=quotas_key(scope.tenant_id),
            repository=repository,
            facts=[],
            pairs=[],
            ends=[],
            entities=[entity_key(repository, each) for each in entities],
        )
        return root_of(root), quotas, tuple(map(entity_of, rows))

    async def _kept(
        self, owners: Sequence[tuple[str, Revision, tuple[str, ...]]], *, origins: bool
    ) -> Mapping[str, tuple[KeptCommit, ...]]:
        """The newest commits of roots, whose ids they name, oldest first."""
        named = {
            commit_key(owner, revision - after): owner
            for owner, revision, commit_ids in owners
            for after in range(len(commit_ids))
        }
        kept: dict[str, list[KeptCommit]] = {owner: [] for owner, _, _ in owners}
        places = list(named)
        for start in range(0, len(places), PLACES_MAX):
            rows = await self._server.run(scripts.KEPT_ALL, places=places[start : start + PLACES_MAX])
            for place, commit_id, revision, outcome, origin in rows:
                kept[named[place]].append(
                    KeptCommit(
                        commit_id=commit_id,
                        revision=revision,
                        outcome=_outcome(outcome),
                        origin_session_id=origin if origins else None,
                    )
                )
        return {owner: tuple(sorted(commits, key=lambda each: each.revision)) for owner, commits in kept.items()}

    # --- Writing. --------------------------------------------------------------------------------------------------

    async def _once(self, turn: str, planned: Callable[[], Awaitable[Plan]]) -> None:
        """Decide and write. Where this call has sent it before and nobody knows more, what exists is its own."""
        sent = False
        async with self._server.queue(turn):
            for _ in range(ATTEMPTS_MAX):
                try:
                    plan = await planned()
                except AlreadyExists:
                    if sent:
                        return
                    raise
                try:
                    if await self._server.apply(plan):
                        return
                except Lost as error:
                    sent = True
                    await self._server.reached(error)
        raise StoreBusy

    async def _caps_plan(self, item: Caps) -> Plan:
        if item.of == "sessions":
            tenant = (await self._sessions.facts(Scope(tenant_id=item.tenant_id, session_id="none", ns="none"))).tenant
            if tenant.quotas != Quotas():
                raise AlreadyExists(field="caps")
            after = msgspec.structs.replace(tenant, version=tenant.version + 1, quotas=item.quotas)
            return plans.writing_tenant(item.tenant_id, tenant, after)
        _, before, _ = await self._part(RepositoryScope(tenant_id=item.tenant_id, repository="none"))
        if before and _quotas(before) != Quotas():
            raise AlreadyExists(field="caps")
        return moving.caps_plan(item, before)

    async def _tombstone_plan(self, item: Tombstone) -> Plan:
        scope = Scope(tenant_id=item.tenant_id, session_id=item.session_id, ns="none")
        facts = await self._sessions.facts(scope)
        if facts.session.revoked_at_ms is not None:
            raise AlreadyExists(field="tombstone")
        plan, _ = plans.revoking(scope, facts, item.revoked_at_ms)
        return plan

    async def _scope_plan(self, item: HeldScope, now_ms: Millis) -> Plan:
        facts = await self._sessions.facts(item.scope)
        restored = decide_restore(
            item,
            exists=facts.content is not None,
            revoked=facts.session.revoked_at_ms is not None,
            session_expires_at_ms=facts.session.expires_at_ms,
        )
        content = Content(
            root=restored.root,
            facts=len(restored.facts),
            written_at_ms=now_ms,
            commit_ids=tuple(each.commit_id for each in item.commits),
            document=item.document.decode() if restored.facts else "",
            content=(restored.entities, restored.facts),
        )
        commits = [(each.commit_id, each.revision, each.outcome) for each in item.commits]
        plan, kept = plans.restoring(item.scope, facts, content, commits)
        # Kept commits that no root names yet are looked at by nobody, so what does not fit beside it goes before.
        for batch in moving.batches(kept):
            await self._server.apply(moving.unguarded(item.scope.tenant_id, batch))
        return plan

    async def _rows_plan(self, scope: RepositoryScope, part: Plan) -> Plan:
        root, _, _ = await self._part(scope)
        check_unfinished(root.revision or None)
        return msgspec.structs.replace(part, expected=root.revision)

    async def _head_plan(self, item: Head) -> Plan:
        repository = repository_key(item.scope)
        ((row, _, facts),) = await self._server.run(
            scripts.CARRYING,
            lock=tenant_key(item.scope.tenant_id),
            repository=repository,
            terms=[],
            now=BEFORE_ALL,
        )
        root = root_of(row)
        check_unfinished(root.revision or None)
        (entities,) = await self._server.run(scripts.ENTITIES_COUNTED, repository=repository)
        found = [(fact_of(document), sum(words_of(words).values())) for document, words in facts]
        figures = moving.figures_of(found, entities)
        check_whole(item, entities=figures.entities, facts=figures.facts)
        for batch in moving.batches(moving.commit_puts(repository, item)):
            await self._server.apply(moving.unguarded(item.scope.tenant_id, batch))
        return moving.finishing(item, root, figures)


def _turn(scope: RepositoryScope) -> str:
    return f"{scope.tenant_id}\x1f{scope.repository}"


def _by_repository(rows: list[Any]) -> dict[RepositoryScope, list[Any]]:
    """Rows, whose first columns name their repository."""
    found: dict[RepositoryScope, list[Any]] = {}
    for row in rows:
        found.setdefault(RepositoryScope(tenant_id=row[0], repository=row[1]), []).append(row)
    return found
