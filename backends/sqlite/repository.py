"""Repository memory in SQLite: how it is read and searched, and the port."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.database import Database
from codesynapse.backends.sqlite.planting import commit_change, graph_at, kept
from codesynapse.backends.sqlite.rows import entity_of, fact_of, json_array
from codesynapse.contracts.identity import Millis, require_id
from codesynapse.contracts.memory import CommitId, Committed, Entity, EntityId, Fact, Outcome, Revision
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import (
    Candidates,
    RepositoryChange,
    RepositoryScope,
    Slice,
    check_cursor,
    entity_matches,
)
from codesynapse.contracts.triples import is_storable

# Entities and facts are selected in the order that rows.py takes them in.
_ENTITIES = """
SELECT entity_id, name, type, aliases FROM entities
WHERE graph_id = ? AND entity_id IN (SELECT value FROM json_each(?)) ORDER BY entity_id
"""
_OF_PAIRS = """
SELECT fact_id, subject, predicate, object, functional, recorded_at_ms, source, origin_session_id, intervals
FROM json_each(?) AS pair CROSS JOIN facts
WHERE graph_id = ? AND subject = json_extract(pair.value, '$[0]') AND predicate = json_extract(pair.value, '$[1]')
ORDER BY fact_id
"""
# From `turns_ms` on, a fact holds if and only if it is live.
_TOUCHING = """
SELECT fact_id, subject, predicate, object, functional, recorded_at_ms, source, origin_session_id, intervals
FROM facts WHERE id IN (
    SELECT id FROM facts WHERE graph_id = :graph AND subject IN (SELECT value FROM json_each(:entities))
    UNION
    SELECT id FROM facts WHERE graph_id = :graph AND object IN (SELECT value FROM json_each(:entities))
) AND (live OR turns_ms > :now)
ORDER BY fact_id
"""
_FIND_NODES = """
SELECT entity_id, name, type, aliases FROM entities
WHERE graph_id = ? AND (folded, entity_id) > (?, ?) AND instr(search_text, ?) > 0
ORDER BY folded, entity_id
"""
_NAMED = """
SELECT entity_id, name, type, aliases FROM entities WHERE id IN (
    SELECT id FROM entities WHERE graph_id = :graph AND entity_id IN (SELECT value FROM json_each(:names))
    UNION
    SELECT entity FROM answers WHERE graph_id = :graph AND folded IN (SELECT value FROM json_each(:folded))
)
ORDER BY folded, entity_id
"""

_RANKED = """
SELECT facts.id FROM (
    SELECT fact, count(*) AS carried FROM terms
    WHERE graph_id = :graph AND term IN (SELECT value FROM json_each(:terms)) GROUP BY fact
) AS found JOIN facts ON facts.id = found.fact
WHERE :history OR live OR turns_ms > :now
ORDER BY carried DESC, recorded_at_ms DESC, fact_id
"""
_FACT = """
SELECT fact_id, subject, predicate, object, functional, recorded_at_ms, source, origin_session_id, intervals
FROM facts WHERE id = ?
"""
_FIGURES = "SELECT facts, terms, live_facts, live_terms FROM graphs WHERE id = ?"
_FREQUENCIES = """
SELECT term, count(*) FROM terms
WHERE graph_id = ? AND term IN (SELECT value FROM json_each(?)) GROUP BY term
"""
_SETTLED_FREQUENCIES = """
SELECT term, count(*) FROM terms JOIN facts ON facts.id = fact
WHERE terms.graph_id = ? AND term IN (SELECT value FROM json_each(?)) AND live AND turns_ms <= ? GROUP BY term
"""
_TURNING = """
SELECT fact_id, subject, predicate, object, functional, recorded_at_ms, source, origin_session_id, intervals,
    id, terms
FROM facts WHERE graph_id = ? AND turns_ms > ?
"""
_TERMS_OF = "SELECT term FROM terms WHERE fact = ?"

_SET_QUOTAS = """
INSERT INTO graph_quotas (tenant_id, quotas) VALUES (?, ?)
ON CONFLICT (tenant_id) DO UPDATE SET quotas = excluded.quotas
"""


class SqliteRepositoryGraph:
    """The port `RepositoryGraph`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(
        self, scope: RepositoryScope, *, pairs: Sequence[tuple[EntityId, str]], entities: Sequence[EntityId]
    ) -> Slice:
        def work(connection: Connection) -> Slice:
            graph, revision = graph_at(connection, scope)
            wanted = [pair for pair in dict.fromkeys(pairs) if all(map(is_storable, pair))]
            asked = msgspec.json.encode(wanted).decode()
            facts = [fact_of(row) for row in connection.execute(_OF_PAIRS, (asked, graph))]
            return _slice(connection, graph, revision, facts, entities)

        return await self._database.search(scope.tenant_id, work)

    async def commit(
        self,
        change: RepositoryChange,
        *,
        read_revision: Revision,
        commit_id: CommitId,
        outcome: Outcome,
        now_ms: Millis,
    ) -> Committed:
        # What is none cannot be asked for either.
        require_id(commit_id, field="commit_id")
        return await self._database.write(
            lambda connection: commit_change(
                connection,
                change,
                read_revision=read_revision,
                commit_id=commit_id,
                outcome=outcome,
                now_ms=now_ms,
            )
        )

    async def committed(self, scope: RepositoryScope, commit_id: CommitId) -> Committed | None:
        require_id(commit_id, field="commit_id")
        return await self._database.search(
            scope.tenant_id, lambda connection: kept(connection, graph_at(connection, scope)[0], commit_id)
        )

    async def candidates(
        self, scope: RepositoryScope, terms: Sequence[str], *, limit: int, now_ms: Millis, history: bool
    ) -> Candidates:
        def work(connection: Connection) -> Candidates:
            graph, revision = graph_at(connection, scope)
            frequencies = dict.fromkeys(terms, 0)
            asked = json_array(frequencies)
            bounds = {"graph": graph, "terms": asked, "history": history, "now": now_ms}
            facts = list(islice(_ranked(connection, bounds, now_ms, history=history), limit))
            if history:
                total, total_terms, _, _ = _figures(connection, graph)
                frequencies.update(connection.execute(_FREQUENCIES, (graph, asked)))
            else:
                total, total_terms = _current_figures(connection, graph, asked, frequencies, now_ms)
            return Candidates(
                slice=_slice(connection, graph, revision, facts),
                total=total,
                total_terms=total_terms,
                frequencies=frequencies,
            )

        return await self._database.search(scope.tenant_id, work)

    async def find_nodes(
        self, scope: RepositoryScope, query: str, *, after: tuple[str, str] | None, limit: int
    ) -> list[Entity]:
        check_cursor(after)
        # The longest word leaves the fewest; whether the others match too, the law says.
        word = max(query.casefold().split(), key=len, default="")

        def work(connection: Connection) -> list[Entity]:
            graph, _ = graph_at(connection, scope)
            rows = connection.execute(_FIND_NODES, (graph, *(after or ("", "")), word))
            return list(islice((each for each in map(entity_of, rows) if entity_matches(each, query)), limit))

        return await self._database.search(scope.tenant_id, work) if is_storable(word) else []

    async def named(self, scope: RepositoryScope, names: Sequence[str]) -> list[Entity]:
        def work(connection: Connection) -> list[Entity]:
            graph, _ = graph_at(connection, scope)
            bounds = {
                "graph": graph,
                "names": json_array(names),
                "folded": json_array(name.casefold() for name in names),
            }
            return [entity_of(row) for row in connection.execute(_NAMED, bounds)]

        return await self._database.search(scope.tenant_id, work)

    async def touching(
        self, scope: RepositoryScope, entities: Sequence[EntityId], *, limit: int, now_ms: Millis
    ) -> Slice:
        def work(connection: Connection) -> Slice:
            graph, revision = graph_at(connection, scope)
            rows = connection.execute(_TOUCHING, {"graph": graph, "entities": json_array(entities), "now": now_ms})
            facts = list(islice((fact for fact in map(fact_of, rows) if fact.current(now_ms)), limit))
            return _slice(connection, graph, revision, facts)

        return await self._database.search(scope.tenant_id, work)

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        require_id(tenant_id, field="tenant_id")
        text = msgspec.json.encode(quotas).decode()
        await self._database.write(lambda connection: connection.execute(_SET_QUOTAS, (tenant_id, text)))


def _slice(
    connection: Connection,
    graph: int | None,
    revision: Revision,
    facts: Sequence[Fact],
    more: Iterable[EntityId] = (),
) -> Slice:
    """Facts in the order given, with their ends and the other entities asked for, which are ordered by id."""
    wanted = json_array({*more, *(end for fact in facts for end in (fact.subject, fact.object))})
    entities = tuple(entity_of(row) for row in connection.execute(_ENTITIES, (graph, wanted)))
    return Slice(revision=revision, entities=entities, facts=tuple(facts))


def _ranked(connection: Connection, bounds: Mapping[str, object], now_ms: Millis, *, history: bool) -> Iterator[Fact]:
    """Facts that carry an asked term, best first. Rows are fetched one by one, as only the first few are wanted."""
    for place in connection.execute(_RANKED, bounds):
        fact = fact_of(connection.execute(_FACT, place).fetchone())
        if history or fact.current(now_ms):
            yield fact


def _figures(connection: Connection, graph: int | None) -> tuple[int, int, int, int]:
    """Facts and term counts of a repository, of all and of the live ones."""
    row: tuple[int, int, int, int] | None = connection.execute(_FIGURES, (graph,)).fetchone()
    return row or (0, 0, 0, 0)


def _current_figures(
    connection: Connection, graph: int | None, asked: str, frequencies: dict[str, int], now_ms: Millis
) -> tuple[int, int]:
    """How many facts hold now, and the sum of their term counts; fills in how many of them carry each term.

    The counters say it, but for the few facts whose time line still turns in the future: those are looked at.
    """
    _, _, total, total_terms = _figures(connection, graph)
    frequencies.update(connection.execute(_SETTLED_FREQUENCIES, (graph, asked, now_ms)))
    for *row, place, terms in connection.execute(_TURNING, (graph, now_ms)):
        fact = fact_of(row)
        change = fact.current(now_ms) - fact.live
        total += change
        total_terms += change * terms
        if fact.current(now_ms):
            for (term,) in connection.execute(_TERMS_OF, (place,)):
                if term in frequencies:
                    frequencies[term] += 1
    return total, total_terms
