"""Repository memory: durable facts of one repository, shared by all who hold a grant on it."""

import base64
import binascii
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from codesynapse.contracts.change import Applied, apply
from codesynapse.contracts.errors import Invalid, RevisionConflict, Unavailable
from codesynapse.contracts.identity import Execution, Identity, require
from codesynapse.contracts.memory import CommitId, Committed, Entity, EntityId, Fact
from codesynapse.contracts.ports import RepositoryGraph
from codesynapse.contracts.repository import (
    MEMORY_LABEL,
    Candidates,
    RepositoryChange,
    RepositoryScope,
    Slice,
    node_order,
    sought,
)
from codesynapse.contracts.triples import Triple
from codesynapse.server.clock import Clock
from codesynapse.server.memory.engine import ATTEMPTS, Turns, check_expected, new_commit_id, unheard
from codesynapse.server.memory.ranking import terms_of
from codesynapse.server.memory.views import Found, Neighbourhood, Upserted, edge_view, ended_facts, node_view, upserted

CANDIDATES_MAX = 512
REINDEXED_MAX = 500
"""How many facts of an entity are found by an alias that it gains; more keep their older terms."""


Recheck = Callable[[Execution, str], Awaitable[None]]
"""Raises where an execution may no longer write to a repository."""


class RepositoryEngine:
    """The durable graph, behind grants that the caller of these functions has checked.

    changed: told the scope after each commit.
    """

    def __init__(
        self,
        graph: RepositoryGraph,
        clock: Clock,
        recheck: Recheck,
        changed: Callable[[RepositoryScope], None] = unheard,
    ) -> None:
        self._graph = graph
        self._clock = clock
        self._recheck = recheck
        self._changed = changed
        self._turns = Turns()

    async def upsert(
        self,
        execution: Execution,
        repository: str,
        triples: Sequence[Triple],
        *,
        source: str | None,
        expected_revision: int | None,
    ) -> Upserted:
        """Assert and retract, recording the session that did. Raises as `SessionEngine.upsert`."""
        identity, commit_id = require(execution, self._clock()), new_commit_id(execution)
        scope = _scope(identity, repository)
        async with self._turns.of(scope):
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    return await self._try_upsert(execution, commit_id, scope, triples, source, expected_revision)
                except RevisionConflict:
                    if expected_revision is not None or attempt == ATTEMPTS:
                        raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def check(self, execution: Execution, repository: str, triples: Sequence[Triple]) -> None:
        """Raises what an upsert of these refuses whatever revision and room there is: Invalid."""
        scope = _scope(require(execution, self._clock()), repository)
        known = await self._known(scope, triples)
        apply(known.entities, known.facts, triples, self._clock())

    async def result(self, execution: Execution, repository: str, commit_id: CommitId) -> Committed | None:
        """What the commit of this id did; None where none is kept."""
        scope = _scope(require(execution, self._clock()), repository)
        return await self._graph.committed(scope, commit_id)

    async def candidates(
        self, execution: Execution, repository: str, terms: Sequence[str], *, history: bool
    ) -> Candidates:
        """Facts that share a term with a query, at most 512."""
        now_ms = self._clock()
        scope = _scope(require(execution, now_ms), repository)
        return await self._graph.candidates(scope, terms, limit=CANDIDATES_MAX, now_ms=now_ms, history=history)

    async def search(
        self,
        execution: Execution,
        repository: str,
        query: str,
        *,
        labels: Sequence[str],
        limit: int,
        cursor: str | None,
    ) -> Found:
        """Entities whose name, type or alias holds every word of the query. Raises Invalid for a foreign cursor."""
        scope = _scope(require(execution, self._clock()), repository)
        after = None if cursor is None else _position(cursor)
        if labels and MEMORY_LABEL not in labels:
            return Found(nodes=[])
        entities = await self._graph.find_nodes(scope, sought(query), after=after, limit=limit + 1)
        found = Found(nodes=[node_view(entity) for entity in entities[:limit]])
        if len(entities) > limit:
            found.next_cursor = _cursor(entities[limit - 1])
        return found

    async def neighbourhood(
        self, execution: Execution, repository: str, names: Sequence[str], *, depth: int, limit: int
    ) -> Neighbourhood:
        """What lies within `depth` current facts of some nodes, at most `limit` edges, nearest first."""
        now_ms = self._clock()
        scope = _scope(require(execution, now_ms), repository)
        seeds = await self._graph.named(scope, [sought(name) for name in names])
        entities: dict[EntityId, Entity] = {entity.id: entity for entity in seeds}
        edges: dict[str, Fact] = {}
        border, truncated = list(entities), False
        for _ in range(depth):
            if not border or truncated:
                break
            found = await self._graph.touching(scope, border, limit=limit + 1 + len(edges), now_ms=now_ms)
            fresh = [fact for fact in found.facts if fact.id not in edges]
            truncated = len(edges) + len(fresh) > limit
            kept = fresh[: limit - len(edges)]
            edges.update({fact.id: fact for fact in kept})
            border = _enter(entities, found, kept)
        return Neighbourhood(
            nodes=[node_view(entity) for entity in entities.values()],
            edges=[edge_view(fact) for fact in edges.values()],
            truncated=truncated,
        )

    async def overview(self, execution: Execution, repository: str, *, limit: int) -> tuple[Slice, bool]:
        """The first entities in their order, and what holds now among or at them: at most `limit` of each.

        The second value: whether there is more.
        """
        now_ms = self._clock()
        scope = _scope(require(execution, now_ms), repository)
        entities = await self._graph.find_nodes(scope, "", after=None, limit=limit + 1)
        first = {entity.id: entity for entity in entities[:limit]}
        found = await self._graph.touching(scope, list(first), limit=limit + 1, now_ms=now_ms)
        ends = {**{entity.id: entity for entity in found.entities}, **first}
        more = len(entities) > limit or len(found.facts) > limit
        return Slice(revision=found.revision, entities=tuple(ends.values()), facts=found.facts[:limit]), more

    async def _try_upsert(
        self,
        execution: Execution,
        commit_id: CommitId,
        scope: RepositoryScope,
        triples: Sequence[Triple],
        source: str | None,
        expected_revision: int | None,
    ) -> Upserted:
        now_ms = self._clock()
        known = await self._known(scope, triples)
        check_expected(expected_revision, known.revision)
        session_id = execution.identity.session_id
        applied = apply(known.entities, known.facts, triples, now_ms, origin_session_id=session_id, source=source)
        if not applied.changed:
            return upserted(applied.outcome, applied.facts, applied.entities, known.revision)
        committed = await self._commit(execution, commit_id, scope, known, applied)
        ended = ended_facts(known.facts, applied.changed_facts, now_ms)
        return upserted(committed.outcome, applied.facts, applied.entities, committed.revision, ended)

    async def _known(self, scope: RepositoryScope, triples: Sequence[Triple]) -> Slice:
        """What of the graph these statements touch."""
        pairs = list(dict.fromkeys((triple.subject_id, triple.predicate) for triple in triples))
        ends = list(dict.fromkeys(end for triple in triples for end in (triple.subject_id, triple.object_id)))
        return await self._graph.read(scope, pairs=pairs, entities=ends)

    async def _commit(
        self, execution: Execution, commit_id: CommitId, scope: RepositoryScope, known: Slice, applied: Applied
    ) -> Committed:
        change = await self._change(execution, scope, known, applied)
        now_ms = self._clock()
        require(execution, now_ms)  # A call that was cancelled by now writes nothing.
        # A session's own memory carries its tombstone; this graph does not, and the call may have waited its turn.
        await self._recheck(execution, scope.repository)
        try:
            committed = await self._graph.commit(
                change, read_revision=known.revision, commit_id=commit_id, outcome=applied.outcome, now_ms=now_ms
            )
        except Unavailable:
            settled = await self._graph.committed(scope, commit_id)
            if settled is None:
                raise
            committed = settled
        self._changed(scope)
        return committed

    async def _change(
        self, execution: Execution, scope: RepositoryScope, known: Slice, applied: Applied
    ) -> RepositoryChange:
        """The rows to write. An entity that gained an alias takes its other facts along, to be found by it."""
        old = {entity.id for entity in known.entities}
        renamed = [entity.id for entity in applied.changed_entities if entity.id in old]
        entities = {entity.id: entity for entity in applied.entities}
        facts = {fact.id: fact for fact in applied.changed_facts}
        if renamed:
            around = await self._graph.touching(scope, renamed, limit=REINDEXED_MAX, now_ms=self._clock())
            entities = {**{entity.id: entity for entity in around.entities}, **entities}
            after = {fact.id: fact for fact in applied.facts}
            facts = {**{fact.id: after.get(fact.id, fact) for fact in around.facts}, **facts}
        return RepositoryChange(
            scope=scope,
            entities=applied.changed_entities,
            facts=tuple(facts.values()),
            terms={fact.id: tuple(terms_of(fact, entities)) for fact in facts.values()},
            origin_session_id=execution.identity.session_id,
        )


def _scope(identity: Identity, repository: str) -> RepositoryScope:
    return RepositoryScope(tenant_id=identity.tenant_id, repository=repository)


def _enter(entities: dict[EntityId, Entity], found: Slice, kept: Sequence[Fact]) -> list[EntityId]:
    """Add the ends of new edges to the nodes; the nodes that were not there before are the next border."""
    ends = {entity.id: entity for entity in found.entities}
    border = []
    for fact in kept:
        for end in (fact.subject, fact.object):
            if end not in entities:
                entities[end] = ends[end]
                border.append(end)
    return border


def _cursor(entity: Entity) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(node_order(entity))).decode()


def _position(cursor: str) -> tuple[str, str]:
    try:
        return msgspec.json.decode(base64.b64decode(cursor, altchars=b"-_", validate=True), type=tuple[str, str])
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise Invalid(field="cursor", limit="a next_cursor of this server") from None
