"""Repository memory in dicts."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from codesynapse.contracts.identity import Millis, require_id
from codesynapse.contracts.memory import (
    COMMITS_KEPT,
    CommitId,
    Committed,
    Entity,
    EntityId,
    Fact,
    FactId,
    Outcome,
    Revision,
)
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import (
    Candidates,
    RepositoryChange,
    RepositoryScope,
    RepositoryStored,
    Slice,
    answers_to,
    check_cursor,
    check_repository_commit,
    entity_matches,
    node_order,
    require_whole,
)

BEFORE_THE_FIRST = Revision(0)


@dataclass(slots=True)
class Graph:
    """One repository. terms: how often each occurs in a fact; postings, of_pair, of_end: where to look for facts.

    origins: which session made each of the newest commits.
    """

    revision: Revision = BEFORE_THE_FIRST
    entities: dict[EntityId, Entity] = field(default_factory=dict)
    facts: dict[FactId, Fact] = field(default_factory=dict)
    terms: dict[FactId, Counter[str]] = field(default_factory=dict)
    postings: dict[str, set[FactId]] = field(default_factory=dict)
    of_pair: dict[tuple[EntityId, str], set[FactId]] = field(default_factory=dict)
    of_end: dict[EntityId, set[FactId]] = field(default_factory=dict)
    commits: dict[CommitId, Committed] = field(default_factory=dict)
    origins: dict[CommitId, str] = field(default_factory=dict)

    def put(self, fact: Fact, terms: Iterable[str]) -> None:
        for term in self.terms.get(fact.id, ()):
            self.postings[term].discard(fact.id)
        self.facts[fact.id] = fact
        self.terms[fact.id] = Counter(terms)
        for term in self.terms[fact.id]:
            self.postings.setdefault(term, set()).add(fact.id)
        self.of_pair.setdefault((fact.subject, fact.predicate), set()).add(fact.id)
        for end in (fact.subject, fact.object):
            self.of_end.setdefault(end, set()).add(fact.id)

    def slice(self, facts: Iterable[Fact], more: Iterable[EntityId] = ()) -> Slice:
        """Facts in the order given, with their ends and the other entities asked for, which are ordered by id."""
        chosen = tuple(facts)
        ends = {*more, *(end for fact in chosen for end in (fact.subject, fact.object))}
        entities = tuple(self.entities[each] for each in sorted(ends) if each in self.entities)
        return Slice(revision=self.revision, entities=entities, facts=chosen)


class DictRepositoryGraph:
    """The port `RepositoryGraph`."""

    def __init__(self) -> None:
        self.graphs: dict[RepositoryScope, Graph] = {}
        self.caps: dict[str, Quotas] = {}

    async def read(
        self, scope: RepositoryScope, *, pairs: Sequence[tuple[EntityId, str]], entities: Sequence[EntityId]
    ) -> Slice:
        graph = self._graph(scope)
        found = {each for pair in pairs for each in graph.of_pair.get(pair, ())}
        return graph.slice((graph.facts[each] for each in sorted(found)), entities)

    async def commit(
        self,
        change: RepositoryChange,
        *,
        read_revision: Revision,
        commit_id: CommitId,
        outcome: Outcome,
        now_ms: Millis,
    ) -> Committed:
        graph = self._graph(change.scope)
        committed = check_repository_commit(
            self._stored(graph, change, commit_id),
            change,
            read_revision=read_revision,
            commit_id=commit_id,
            outcome=outcome,
        )
        if committed.replayed:
            return committed
        self.graphs[change.scope] = graph
        graph.revision = committed.revision
        graph.entities.update((entity.id, entity) for entity in change.entities)
        for fact in change.facts:
            graph.put(fact, change.terms.get(fact.id, ()))
        graph.commits[commit_id] = committed
        graph.origins[commit_id] = change.origin_session_id
        while len(graph.commits) > COMMITS_KEPT:
            oldest = next(iter(graph.commits))
            del graph.commits[oldest], graph.origins[oldest]
        return committed

    async def committed(self, scope: RepositoryScope, commit_id: CommitId) -> Committed | None:
        require_id(commit_id, field="commit_id")
        return self._graph(scope).commits.get(commit_id)

    async def candidates(
        self, scope: RepositoryScope, terms: Sequence[str], *, limit: int, now_ms: Millis, history: bool
    ) -> Candidates:
        graph = self._graph(scope)

        def may_be_recalled(identifier: FactId) -> bool:
            return history or graph.facts[identifier].current(now_ms)

        asked = dict.fromkeys(terms)
        carrying = {term: set(filter(may_be_recalled, graph.postings.get(term, ()))) for term in asked}
        hits = Counter(identifier for found in carrying.values() for identifier in found)
        ranked = sorted(hits, key=lambda each: (-hits[each], -graph.facts[each].recorded_at_ms, each))
        recallable = [identifier for identifier in graph.facts if may_be_recalled(identifier)]
        return Candidates(
            slice=graph.slice(graph.facts[each] for each in ranked[:limit]),
            total=len(recallable),
            total_terms=sum(graph.terms[each].total() for each in recallable),
            frequencies={term: len(found) for term, found in carrying.items()},
        )

    async def find_nodes(
        self, scope: RepositoryScope, query: str, *, after: tuple[str, str] | None, limit: int
    ) -> list[Entity]:
        check_cursor(after)
        found = self._nodes(scope, lambda entity: entity_matches(entity, query))
        return [entity for entity in found if after is None or node_order(entity) > after][:limit]

    async def named(self, scope: RepositoryScope, names: Sequence[str]) -> list[Entity]:
        return self._nodes(scope, lambda entity: any(answers_to(entity, name) for name in names))

    async def touching(
        self, scope: RepositoryScope, entities: Sequence[EntityId], *, limit: int, now_ms: Millis
    ) -> Slice:
        graph = self._graph(scope)
        near = sorted({each for entity in entities for each in graph.of_end.get(entity, ())})
        return graph.slice([graph.facts[each] for each in near if graph.facts[each].current(now_ms)][:limit])

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        require_id(tenant_id, field="tenant_id")
        self.caps[tenant_id] = quotas

    def _stored(self, graph: Graph, change: RepositoryChange, commit_id: CommitId) -> RepositoryStored:
        """What the law needs to know about a repository."""
        named = {entity.id for entity in change.entities}
        named.update(end for fact in change.facts for end in (fact.subject, fact.object))
        changed = {fact.id for fact in change.facts}
        return RepositoryStored(
            revision=graph.revision,
            earlier=graph.commits.get(commit_id),
            live_before=sum(graph.facts[each].live for each in changed if each in graph.facts),
            facts=sum(fact.live for fact in graph.facts.values()),
            entities=len(graph.entities),
            present_entities=frozenset(named & graph.entities.keys()),
            quotas=self.caps.get(change.scope.tenant_id, Quotas()),
        )

    def _nodes(self, scope: RepositoryScope, chosen: Callable[[Entity], bool]) -> list[Entity]:
        return sorted(filter(chosen, self._graph(scope).entities.values()), key=node_order)

    def _graph(self, scope: RepositoryScope) -> Graph:
        graph = self.graphs.get(scope, Graph())
        require_whole(graph.revision)
        return graph
