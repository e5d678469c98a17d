"""Repository memory in HugeGraph: how it is read and searched, by indexes, and the port."""

from collections.abc import Iterable, Sequence

import msgspec

from codesynapse.backends.hugegraph import scripts
from codesynapse.backends.hugegraph.faults import Lost
from codesynapse.backends.hugegraph.keys import commit_key, repository_key, tenant_key
from codesynapse.backends.hugegraph.planting import Part, Root, planned, quotas_key, root_of, stored
from codesynapse.backends.hugegraph.rows import (
    Figures,
    answer_key,
    entity_key,
    entity_of,
    fact_key,
    fact_of,
    pair_key,
    term_key,
    text,
    words_of,
)
from codesynapse.backends.hugegraph.session import Plan, Server
from codesynapse.contracts.errors import StoreBusy
from codesynapse.contracts.identity import Millis, require_id
from codesynapse.contracts.memory import (
    CommitId,
    Committed,
    Entity,
    EntityId,
    Fact,
    Outcome,
    Revision,
)
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import (
    Candidates,
    RepositoryChange,
    RepositoryScope,
    Slice,
    answers_to,
    check_cursor,
    check_repository_commit,
    entity_matches,
    node_order,
)
from codesynapse.contracts.triples import is_storable

ATTEMPTS_MAX = 1_000

_quotas = msgspec.json.Decoder(Quotas).decode
_figures = msgspec.json.Decoder(Figures).decode
_texts = msgspec.json.Decoder(tuple[str, ...]).decode
_outcome = msgspec.json.Decoder(Outcome).decode


class GremlinRepositoryGraph:
    """The port `RepositoryGraph`."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def read(
        self, scope: RepositoryScope, *, pairs: Sequence[tuple[EntityId, str]], entities: Sequence[EntityId]
    ) -> Slice:
        repository = repository_key(scope)
        asked = [pair_key(repository, *pair) for pair in dict.fromkeys(pairs)]
        while True:
            part = await self._part(scope, pairs=asked, entities=entities)
            facts = sorted(part.facts.values(), key=lambda fact: fact.id)
            found = await self._slice(scope, part.root.revision, facts, entities)
            if found is not None:
                return found

    async def commit(
        self,
        change: RepositoryChange,
        *,
        read_revision: Revision,
        commit_id: CommitId,
        outcome: Outcome,
        now_ms: Millis,
    ) -> Committed:
        scope = change.scope
        ends = {end for fact in change.facts for end in (fact.subject, fact.object)}
        named = ends | {entity.id for entity in change.entities}
        facts = [fact.id for fact in change.facts]
        async with self._server.queue(f"{scope.tenant_id}\x1f{scope.repository}"):
            for _ in range(ATTEMPTS_MAX):
                part = await self._part(scope, facts=facts, entities=sorted(named))
                earlier = await self._kept(scope, part.root, commit_id)
                committed = check_repository_commit(
                    stored(part, change, earlier),
                    change,
                    read_revision=read_revision,
                    commit_id=commit_id,
                    outcome=outcome,
                )
                if committed.replayed or await self._write(planned(part, change, committed, commit_id, now_ms)):
                    return committed
        raise StoreBusy

    async def committed(self, scope: RepositoryScope, commit_id: CommitId) -> Committed | None:
        require_id(commit_id, field="commit_id")
        return await self._kept(scope, (await self._part(scope)).root, commit_id)

    async def candidates(
        self, scope: RepositoryScope, terms: Sequence[str], *, limit: int, now_ms: Millis, history: bool
    ) -> Candidates:
        while True:
            root, carrying, turning = await self._carrying(scope, terms, now_ms)
            frequencies = dict.fromkeys(terms, 0)
            hits: dict[str, tuple[int, Fact]] = {}
            for fact, words in carrying:
                shared = [term for term in frequencies if term in words]
                if shared and (history or fact.current(now_ms)):
                    hits[fact.id] = (len(shared), fact)
                    for term in shared:
                        frequencies[term] += 1
            ranked = sorted(hits.values(), key=lambda hit: (-hit[0], -hit[1].recorded_at_ms, hit[1].id))
            part = await self._slice(scope, root.revision, [fact for _, fact in ranked[:limit]], ())
            if part is None:
                continue
            figures = root.figures
            if history:
                return Candidates(slice=part, total=figures.facts, total_terms=figures.terms, frequencies=frequencies)
            total, total_terms = figures.live_facts, figures.live_terms
            for fact, words in turning:
                change = fact.current(now_ms) - fact.live
                total += change
                total_terms += change * sum(words.values())
            return Candidates(slice=part, total=total, total_terms=total_terms, frequencies=frequencies)

    async def find_nodes(
        self, scope: RepositoryScope, query: str, *, after: tuple[str, str] | None, limit: int
    ) -> list[Entity]:
        check_cursor(after)
        # The longest word leaves the fewest; whether the others match too, the law says.
        word = max(query.casefold().split(), key=len, default="")
        if not is_storable(word):
            return []
        rows = await self._server.run(scripts.FIND_NODES, repository=repository_key(scope), word=word)
        found = (entity for entity in map(entity_of, rows) if entity_matches(entity, query))
        beyond = (entity for entity in found if after is None or node_order(entity) > after)
        return sorted(beyond, key=node_order)[:limit]

    async def named(self, scope: RepositoryScope, names: Sequence[str]) -> list[Entity]:
        repository = repository_key(scope)
        ((rows,),) = await self._server.run(
            scripts.NAMED,
            lock=tenant_key(scope.tenant_id),
            repository=repository,
            answers=[answer_key(repository, name.casefold()) for name in dict.fromkeys(names)],
            ids=[entity_key(repository, name) for name in dict.fromkeys(names)],
        )
        found = (entity for entity in map(entity_of, rows) if any(answers_to(entity, name) for name in names))
        return sorted(found, key=node_order)

    async def touching(
        self, scope: RepositoryScope, entities: Sequence[EntityId], *, limit: int, now_ms: Millis
    ) -> Slice:
        while True:
            part = await self._part(scope, ends=entities)
            near = sorted(part.facts.values(), key=lambda fact: fact.id)
            current = [fact for fact in near if fact.current(now_ms)][:limit]
            found = await self._slice(scope, part.root.revision, current, ())
            if found is not None:
                return found

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        require_id(tenant_id, field="tenant_id")
        # No root is guarded here: a commit under way was decided before, and the next one reads this.
        properties = ["tenant_id", tenant_id, "quotas", text(quotas)]
        plan = Plan(
            lock=tenant_key(tenant_id),
            guard_label="RepositoryMemory",
            guard="",
            expected=0,
            puts=[("RepositoryMemoryTenant", quotas_key(tenant_id), properties)],
        )
        while not await self._write(plan):
            pass

    async def _part(
        self,
        scope: RepositoryScope,
        *,
        facts: Iterable[str] = (),
        pairs: Sequence[str] = (),
        ends: Sequence[str] = (),
        entities: Iterable[str] = (),
    ) -> Part:
        repository = repository_key(scope)
        ((root, quotas, fact_rows, entity_rows),) = await self._server.run(
            scripts.SLICE,
            lock=tenant_key(scope.tenant_id),
            tenant=quotas_key(scope.tenant_id),
            repository=repository,
            facts=[fact_key(repository, each) for each in dict.fromkeys(facts)],
            pairs=pairs,
            ends=[entity_key(repository, each) for each in dict.fromkeys(ends)],
            entities=[entity_key(repository, each) for each in dict.fromkeys(entities)],
        )
        facts_found = [(fact_of(document), sum(words_of(words).values())) for document, words in fact_rows]
        return Part(
            root=root_of(root),
            quotas=quotas,
            facts={fact.id: fact for fact, _ in facts_found},
            words={fact.id: words for fact, words in facts_found},
            entities={entity.id: entity for entity in map(entity_of, entity_rows)},
        )

    async def _slice(
        self, scope: RepositoryScope, revision: Revision, facts: Sequence[Fact], more: Sequence[EntityId]
    ) -> Slice | None:
        """Facts with their ends and the other entities asked for; None where a commit came in between."""
        ends = {*more, *(end for fact in facts for end in (fact.subject, fact.object))}
        if not ends:
            return Slice(revision=revision, facts=tuple(facts))
        part = await self._part(scope, entities=ends)
        if part.root.revision != revision:
            return None
        entities = tuple(part.entities[each] for each in sorted(part.entities))
        return Slice(revision=revision, entities=entities, facts=tuple(facts))

    async def _carrying(
        self, scope: RepositoryScope, terms: Sequence[str], now_ms: Millis
    ) -> tuple[Root, list[tuple[Fact, dict[str, int]]], list[tuple[Fact, dict[str, int]]]]:
        """Facts that carry a term, and those that begin or end to hold after a moment, each with its terms."""
        repository = repository_key(scope)
        ((root, carrying, turning),) = await self._server.run(
            scripts.CARRYING,
            lock=tenant_key(scope.tenant_id),
            repository=repository,
            terms=[term_key(repository, term) for term in dict.fromkeys(terms)],
            now=now_ms,
        )
        found, later = (
            [(fact_of(document), words_of(words)) for document, words in rows] for rows in (carrying, turning)
        )
        return root_of(root), found, list({fact.id: (fact, words) for fact, words in later}.values())

    async def _kept(self, scope: RepositoryScope, root: Root, commit_id: CommitId) -> Committed | None:
        """The result of one of the newest commits. Its place follows from its position among them."""
        if commit_id not in root.commit_ids:
            return None
        revision = root.revision - len(root.commit_ids) + 1 + root.commit_ids.index(commit_id)
        where = commit_key(repository_key(scope), revision)
        ((row,),) = await self._server.run(scripts.KEPT, place=where)
        if row is None or row[0] != commit_id or row[1] != revision:
            return None
        return Committed(revision=Revision(revision), outcome=_outcome(row[2]))

    async def _write(self, plan: Plan) -> bool:
        """Write a plan; False where it must be decided anew: someone wrote, or nobody knows whether we did."""
        try:
            return await self._server.apply(plan)
        except Lost as error:
            await self._server.reached(error)
            return False
