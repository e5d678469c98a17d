"""How a commit is written to repository memory."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.rows import entity_row, fact_row, json_array, outcome_of, quotas_of
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import COMMITS_KEPT, CommitId, Committed, Entity, Fact, Outcome, Revision
from codesynapse.contracts.repository import (
    RepositoryChange,
    RepositoryScope,
    RepositoryStored,
    check_repository_commit,
    require_whole,
)

_GRAPH = "SELECT id, revision FROM graphs WHERE tenant_id = ? AND repository = ?"
_COUNTS = "SELECT live_facts, entities FROM graphs WHERE id = ?"
_QUOTAS = "SELECT quotas FROM graph_quotas WHERE tenant_id = ?"
_COMMIT = "SELECT revision, outcome FROM graph_commits WHERE graph_id = ? AND commit_id = ?"
_LIVE = """
SELECT count(*) FROM facts WHERE graph_id = ? AND live AND fact_id IN (SELECT value FROM json_each(?))
"""
_PRESENT = "SELECT entity_id FROM entities WHERE graph_id = ? AND entity_id IN (SELECT value FROM json_each(?))"

_NEW_GRAPH = "INSERT INTO graphs (tenant_id, repository) VALUES (?, ?)"
_NEXT_REVISION = "UPDATE graphs SET revision = ? WHERE id = ?"
_WRITE_COMMIT = """
INSERT INTO graph_commits (graph_id, commit_id, revision, outcome, origin_session_id, at_ms) VALUES (?, ?, ?, ?, ?, ?)
"""
_DROP_COMMITS = "DELETE FROM graph_commits WHERE graph_id = ? AND revision <= ?"

_WRITE_ENTITY = """
INSERT INTO entities (graph_id, entity_id, name, type, aliases, folded, search_text) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (graph_id, entity_id) DO UPDATE SET
    name = excluded.name, type = excluded.type, aliases = excluded.aliases,
    folded = excluded.folded, search_text = excluded.search_text
"""
_ENTITY_ROW = "SELECT id FROM entities WHERE graph_id = ? AND entity_id = ?"
_DROP_ANSWERS = "DELETE FROM answers WHERE entity = ?"
_WRITE_ANSWER = "INSERT INTO answers (graph_id, folded, entity) VALUES (?, ?, ?)"

_WRITE_FACT = """
INSERT INTO facts (
    graph_id, fact_id, subject, predicate, object, functional, recorded_at_ms, source, origin_session_id, intervals,
    live, turns_ms, terms
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (graph_id, fact_id) DO UPDATE SET
    functional = excluded.functional, recorded_at_ms = excluded.recorded_at_ms, source = excluded.source,
    origin_session_id = excluded.origin_session_id, intervals = excluded.intervals,
    live = excluded.live, turns_ms = excluded.turns_ms, terms = excluded.terms
"""
_FACT_ROW = "SELECT id FROM facts WHERE graph_id = ? AND fact_id = ?"
_DROP_TERMS = "DELETE FROM terms WHERE fact = ?"
_WRITE_TERM = "INSERT INTO terms (graph_id, term, fact, occurrences) VALUES (?, ?, ?, ?)"


def graph_at(connection: Connection, scope: RepositoryScope) -> tuple[int | None, Revision]:
    """The row of a repository and its revision; None and 0 before the first commit. Raises StoreBusy half restored."""
    row: tuple[int, Revision] | None = connection.execute(_GRAPH, (scope.tenant_id, scope.repository)).fetchone()
    graph, revision = row or (None, Revision(0))
    require_whole(revision)
    return graph, revision


def kept(connection: Connection, graph: int | None, commit_id: CommitId) -> Committed | None:
    """The result of one of the newest commits."""
    row = connection.execute(_COMMIT, (graph, commit_id)).fetchone()
    return None if row is None else Committed(revision=row[0], outcome=outcome_of(row[1]))


def commit_change(
    connection: Connection,
    change: RepositoryChange,
    *,
    read_revision: Revision,
    commit_id: CommitId,
    outcome: Outcome,
    now_ms: Millis,
) -> Committed:
    """Decide a commit on what is read under the write lock, and write it."""
    graph, revision = graph_at(connection, change.scope)
    committed = check_repository_commit(
        _stored(connection, change, commit_id, graph, revision),
        change,
        read_revision=read_revision,
        commit_id=commit_id,
        outcome=outcome,
    )
    if committed.replayed:
        return committed
    if graph is None:
        place = (change.scope.tenant_id, change.scope.repository)
        graph = connection.execute(_NEW_GRAPH, place).lastrowid or 0
    for entity in change.entities:
        write_entity(connection, graph, entity)
    for fact in change.facts:
        write_fact(connection, graph, fact, change.terms.get(fact.id, ()))
    connection.execute(_NEXT_REVISION, (committed.revision, graph))
    result = msgspec.json.encode(committed.outcome)
    row = (graph, commit_id, committed.revision, result, change.origin_session_id, now_ms)
    connection.execute(_WRITE_COMMIT, row)
    connection.execute(_DROP_COMMITS, (graph, committed.revision - COMMITS_KEPT))
    return committed


def _stored(
    connection: Connection, change: RepositoryChange, commit_id: CommitId, graph: int | None, revision: Revision
) -> RepositoryStored:
    """What the law needs to know about a repository."""
    named = {entity.id for entity in change.entities}
    named.update(end for fact in change.facts for end in (fact.subject, fact.object))
    live_facts, entities = connection.execute(_COUNTS, (graph,)).fetchone() or (0, 0)
    (live_before,) = connection.execute(_LIVE, (graph, json_array(fact.id for fact in change.facts))).fetchone()
    quotas = connection.execute(_QUOTAS, (change.scope.tenant_id,)).fetchone()
    return RepositoryStored(
        revision=revision,
        earlier=kept(connection, graph, commit_id),
        live_before=live_before,
        facts=live_facts,
        entities=entities,
        present_entities=frozenset(row[0] for row in connection.execute(_PRESENT, (graph, json_array(named)))),
        quotas=quotas_of(None if quotas is None else quotas[0]),
    )


def write_entity(connection: Connection, graph: int, entity: Entity) -> None:
    """Write an entity, or write it anew."""
    connection.execute(_WRITE_ENTITY, (graph, *entity_row(entity)))
    (row,) = connection.execute(_ENTITY_ROW, (graph, entity.id)).fetchone()
    connection.execute(_DROP_ANSWERS, (row,))
    answers = {text.casefold() for text in (entity.name, *entity.aliases)}
    connection.executemany(_WRITE_ANSWER, [(graph, folded, row) for folded in sorted(answers)])


def write_fact(connection: Connection, graph: int, fact: Fact, terms: Iterable[str]) -> None:
    """Write a fact, or write it anew. terms: what finds it, as often as they occur."""
    counted = Counter(terms)
    connection.execute(_WRITE_FACT, (graph, *fact_row(fact, counted.total())))
    (row,) = connection.execute(_FACT_ROW, (graph, fact.id)).fetchone()
    connection.execute(_DROP_TERMS, (row,))
    connection.executemany(_WRITE_TERM, [(graph, term, row, count) for term, count in sorted(counted.items())])
