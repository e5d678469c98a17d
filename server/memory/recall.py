"""Recall: the facts that answer a question, from the session's memory or from a repository's."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from codesynapse.contracts.identity import Execution, Millis, require
from codesynapse.contracts.memory import Entity, Snapshot
from codesynapse.server.clock import Clock
from codesynapse.server.memory.engine import SessionEngine
from codesynapse.server.memory.ranking import Corpus, Scored, query_terms, rank
from codesynapse.server.memory.repository import RepositoryEngine
from codesynapse.server.memory.views import FactView, Read, Recalled, fact_view

TOO_NARROW = "Facts match, but max_chars leaves no room for even the first: raise it."


class Recall:
    """Ranks what the engines read."""

    def __init__(self, session: SessionEngine, repository: RepositoryEngine, clock: Clock) -> None:
        self._session = session
        self._repository = repository
        self._clock = clock

    async def session(
        self,
        execution: Execution,
        ns: str,
        query: str,
        *,
        limit: int,
        history: bool = False,
        explain: bool = False,
        max_chars: int | None = None,
    ) -> Recalled:
        """From the session's own memory. An empty answer says in `note` how much the repository knows."""
        snapshot = await self._session.snapshot(execution, ns)
        scored = _ranked(snapshot, query, self._clock(), history=history)[:limit]
        views = _fit(_views(scored, snapshot.entities, history=history, explain=explain), max_chars)
        recalled = Recalled(facts=views, revision=snapshot.revision)
        if not scored:
            recalled.note = await self._hint(execution, ns, query)
        elif not views:
            recalled.note = TOO_NARROW
        return recalled

    async def repository(
        self,
        execution: Execution,
        repository: str,
        query: str,
        *,
        limit: int,
        history: bool = False,
        explain: bool = False,
        max_chars: int | None = None,
    ) -> Recalled:
        """From the repository's durable memory."""
        found = await self._repository.candidates(execution, repository, query_terms(query), history=history)
        corpus = Corpus(
            total=found.total, mean_length=found.total_terms / max(1, found.total), frequencies=found.frequencies
        )
        entities = {entity.id: entity for entity in found.slice.entities}
        scored = rank(query, found.slice.facts, entities, corpus)[:limit]
        views = _fit(_views(scored, found.slice.entities, history=history, explain=explain), max_chars)
        recalled = Recalled(facts=views, revision=found.slice.revision)
        if scored and not views:
            recalled.note = TOO_NARROW
        return recalled

    async def read(
        self, execution: Execution, ns: str, *, query: str | None, limit: int, history: bool = False
    ) -> Read:
        """The session's facts: those that answer a query, or without one all, newest recorded first."""
        require(execution, self._clock())
        snapshot = await self._session.snapshot(execution, ns)
        now_ms = self._clock()
        entities = {entity.id: entity for entity in snapshot.entities}
        if query:
            facts = [scored.fact for scored in _ranked(snapshot, query, now_ms, history=history)]
        else:
            kept = [fact for fact in snapshot.facts if history or fact.current(now_ms)]
            facts = sorted(kept, key=lambda fact: (-fact.recorded_at_ms, fact.id))
        views = [fact_view(fact, entities, history=history) for fact in facts[:limit]]
        return Read(facts=views, revision=snapshot.revision, closed=snapshot.closed)

    async def _hint(self, execution: Execution, ns: str, query: str) -> str:
        found = await self._repository.candidates(execution, ns, query_terms(query), history=False)
        count = len(found.slice.facts)
        if not count:
            return "Nothing in this session's memory matches, and nothing in the repository's."
        return (
            f"Nothing in this session's memory matches; {count} facts of the repository do: "
            'recall them with memory_scope "repository".'
        )


def _ranked(snapshot: Snapshot, query: str, now_ms: Millis, *, history: bool) -> list[Scored]:
    facts = [fact for fact in snapshot.facts if history or fact.current(now_ms)]
    return rank(query, facts, {entity.id: entity for entity in snapshot.entities})


def _views(scored: Sequence[Scored], entities: Sequence[Entity], *, history: bool, explain: bool) -> list[FactView]:
    ends = {entity.id: entity for entity in entities}
    views = []
    for each in scored:
        view = fact_view(each.fact, ends, history=history, score=each.score)
        view.explain = {"lexical": round(each.lexical, 6), "named": each.named} if explain else UNSET
        views.append(view)
    return views


def _fit(views: list[FactView], max_chars: int | None) -> list[FactView]:
    """As many of the best as fit into `max_chars` characters of JSON."""
    if max_chars is None:
        return views
    kept, left = [], max_chars
    for view in views:
        left -= len(msgspec.json.encode(view).decode())
        if left < 0:
            break
        kept.append(view)
    return kept
