"""Moving house out of an SQLite file and into it: one page of a scan is one snapshot, one item one transaction."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.database import Database
from codesynapse.backends.sqlite.planting import write_entity, write_fact
from codesynapse.backends.sqlite.rows import entity_of, fact_of
from codesynapse.contracts.errors import AlreadyExists
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import Outcome, Scope
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
from codesynapse.contracts.scanning import LAST, Batch, Stage, grouped, parts_of, position_of, walk

# --- Reading: each statement takes the key that it begins behind, and a limit. --------------------------------------

MOVING = ""
"""Whose turn it is in the lane of the graphs when all tenants are read: nobody's own."""

_CAPS = """
SELECT * FROM (
    SELECT tenant_id, 'sessions' AS kind, quotas FROM tenants WHERE quotas IS NOT NULL
    UNION ALL SELECT tenant_id, 'repositories', quotas FROM graph_quotas
) WHERE (tenant_id, kind) > (?, ?) AND tenant_id <= ? ORDER BY tenant_id, kind LIMIT ?
"""
_TOMBSTONES = """
SELECT tenant_id, session_id, revoked_at_ms FROM revocations WHERE (tenant_id, session_id) > (?, ?) AND tenant_id <= ?
ORDER BY tenant_id, session_id LIMIT ?
"""
_SCOPES = """
SELECT tenant_id, session_id, ns, id, revision, expires_at_ms, closed, document
FROM scopes LEFT JOIN contents ON scope_id = id
WHERE (tenant_id, session_id, ns) > (?, ?, ?) AND tenant_id <= ?
ORDER BY tenant_id, session_id, ns LIMIT ?
"""
_SCOPE_COMMITS = "SELECT commit_id, revision, outcome, NULL FROM scope_commits WHERE scope_id = ? ORDER BY revision"
# Entities and facts are selected in the order that rows.py takes them in.
_ENTITIES = """
SELECT tenant_id, repository, entity_id, revision, entity_id, name, type, aliases
FROM graphs JOIN entities ON graph_id = graphs.id
WHERE (tenant_id, repository) >= (?1, ?2) AND (tenant_id, repository, entity_id) > (?1, ?2, ?3) AND tenant_id <= ?4
ORDER BY tenant_id, repository, entity_id LIMIT ?5
"""
_FACTS = """
SELECT tenant_id, repository, fact_id, revision, graph_id, facts.id, fact_id, subject, predicate, object, functional,
    recorded_at_ms, source, origin_session_id, intervals
FROM graphs JOIN facts ON graph_id = graphs.id
WHERE (tenant_id, repository) >= (?1, ?2) AND (tenant_id, repository, fact_id) > (?1, ?2, ?3) AND tenant_id <= ?4
ORDER BY tenant_id, repository, fact_id LIMIT ?5
"""
_TERMS = "SELECT term, occurrences FROM terms WHERE fact = ? ORDER BY term"
_ENDS = "SELECT entity_id, name, type, aliases FROM entities WHERE graph_id = ? AND entity_id IN (?, ?)"
_HEADS = """
SELECT tenant_id, repository, id, revision, entities, facts FROM graphs
WHERE (tenant_id, repository) > (?, ?) AND tenant_id <= ? ORDER BY tenant_id, repository LIMIT ?
"""
_GRAPH_COMMITS = """
SELECT commit_id, revision, outcome, origin_session_id FROM graph_commits WHERE graph_id = ? ORDER BY revision
"""

# --- Writing. --------------------------------------------------------------------------------------------------------

_HELD_CAPS = "SELECT quotas FROM tenants WHERE tenant_id = ? AND quotas IS NOT NULL"
_HELD_GRAPH_CAPS = "SELECT quotas FROM graph_quotas WHERE tenant_id = ?"
_WRITE_CAPS = """
INSERT INTO tenants (tenant_id, quotas) VALUES (?, ?) ON CONFLICT (tenant_id) DO UPDATE SET quotas = excluded.quotas
"""
_WRITE_GRAPH_CAPS = """
INSERT INTO graph_quotas (tenant_id, quotas) VALUES (?, ?)
ON CONFLICT (tenant_id) DO UPDATE SET quotas = excluded.quotas
"""
_REVOKED = "SELECT EXISTS (SELECT 1 FROM revocations WHERE tenant_id = ? AND session_id = ?)"
_REVOKE = "INSERT INTO revocations (tenant_id, session_id, revoked_at_ms) VALUES (?, ?, ?)"
_SESSION = "SELECT ns, expires_at_ms FROM scopes WHERE tenant_id = ? AND session_id = ?"
_NEW_SCOPE = """
INSERT INTO scopes (tenant_id, session_id, ns, revision, expires_at_ms, closed, live_facts, facts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_NEW_DOCUMENT = "INSERT INTO contents (scope_id, document) VALUES (?, ?)"
_NEW_SCOPE_COMMIT = "INSERT INTO scope_commits (scope_id, commit_id, revision, outcome) VALUES (?, ?, ?, ?)"
_GRAPH = "SELECT id, revision, entities, facts FROM graphs WHERE tenant_id = ? AND repository = ?"
_NEW_GRAPH = "INSERT INTO graphs (tenant_id, repository, revision) VALUES (?, ?, ?)"
_FINISH = "UPDATE graphs SET revision = ? WHERE id = ?"
_NEW_GRAPH_COMMIT = """
INSERT INTO graph_commits (graph_id, commit_id, revision, outcome, origin_session_id, at_ms) VALUES (?, ?, ?, ?, ?, ?)
"""

_outcome = msgspec.json.Decoder(Outcome).decode
_quotas = msgspec.json.Decoder(Quotas).decode
_encode = msgspec.json.Encoder().encode


Read = Callable[[Connection, list[Any]], Sequence[Item]]


class SqlitePortable:
    """The port `Portable`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def scan(self, *, after: str | None, limit: int, tenant_id: str | None) -> Batch:
        stages = (
            (_CAPS, 2, _caps),
            (_TOMBSTONES, 2, _tombstones),
            (_SCOPES, 3, _scopes),
            (_ENTITIES, 3, _entities),
            (_FACTS, 3, _facts),
            (_HEADS, 2, _heads),
        )
        return await walk(
            [self._stage(statement, key, read, tenant_id) for statement, key, read in stages], after, limit
        )

    async def restore(self, item: Item, *, now_ms: Millis) -> None:
        def work(connection: Connection) -> None:
            match item:
                case Caps():
                    _restore_caps(connection, item)
                case Tombstone():
                    _restore_tombstone(connection, item)
                case HeldScope():
                    _restore_scope(connection, item)
                case Rows():
                    _restore_rows(connection, item)
                case Head():
                    _restore_head(connection, item, now_ms)

        await self._database.write(work)

    def _stage(self, statement: str, key: int, read: Read, tenant_id: str | None) -> Stage:
        """One stage: rows of a statement whose first columns are its key."""

        async def stage(position: str, limit: int) -> tuple[Sequence[Item], str]:
            behind = parts_of(position, count=key, tenant_id=tenant_id)
            last = tenant_id or LAST

            def work(connection: Connection) -> tuple[Sequence[Item], str]:
                rows = connection.execute(statement, (*behind, last, limit)).fetchall()
                more = position_of(*rows[-1][:key]) if len(rows) == limit else ""
                return read(connection, rows), more

            return await self._database.search(tenant_id or MOVING, work)

        return stage


def _caps(_: Connection, rows: list[Any]) -> Sequence[Item]:
    caps = [Caps(tenant_id=tenant, of=kind, quotas=_quotas(quotas)) for tenant, kind, quotas in rows]
    return [each for each in caps if each.quotas != Quotas()]


def _tombstones(_: Connection, rows: list[Any]) -> Sequence[Item]:
    return [Tombstone(tenant_id=tenant, session_id=session, revoked_at_ms=moment) for tenant, session, moment in rows]


def _scopes(connection: Connection, rows: list[Any]) -> Sequence[Item]:
    return [
        HeldScope(
            scope=Scope(tenant_id=tenant, session_id=session, ns=ns),
            document=EMPTY if document is None else document,
            revision=revision,
            expires_at_ms=expires_at_ms,
            closed=bool(closed),
            commits=_commits(connection, _SCOPE_COMMITS, place),
        )
        for tenant, session, ns, place, revision, expires_at_ms, closed, document in rows
    ]


def _entities(_: Connection, rows: list[Any]) -> Sequence[Item]:
    return grouped(
        Rows(scope=_at(tenant, repository), revision=revision, entities=(entity_of(row),))
        for tenant, repository, _, revision, *row in rows
    )


def _facts(connection: Connection, rows: list[Any]) -> Sequence[Item]:
    batch = []
    for tenant, repository, _, revision, graph, place, *row in rows:
        fact = fact_of(row)
        terms = connection.execute(_TERMS, (place,)).fetchall()
        found = FoundFact(
            fact=fact, terms=tuple(term for term, _ in terms), occurrences=sum(count for _, count in terms)
        )
        ends = tuple(entity_of(end) for end in connection.execute(_ENDS, (graph, fact.subject, fact.object)))
        batch.append(Rows(scope=_at(tenant, repository), revision=revision, facts=(found,), ends=ends))
    return grouped(batch)


def _heads(connection: Connection, rows: list[Any]) -> Sequence[Item]:
    return [
        Head(
            scope=_at(tenant, repository),
            revision=revision,
            commits=_commits(connection, _GRAPH_COMMITS, place),
            entities=entities,
            facts=facts,
        )
        for tenant, repository, place, revision, entities, facts in rows
    ]


def _at(tenant: str, repository: str) -> RepositoryScope:
    return RepositoryScope(tenant_id=tenant, repository=repository)


def _commits(connection: Connection, statement: str, place: int) -> tuple[KeptCommit, ...]:
    return tuple(
        KeptCommit(commit_id=commit_id, revision=revision, outcome=_outcome(outcome), origin_session_id=origin)
        for commit_id, revision, outcome, origin in connection.execute(statement, (place,))
    )


def _restore_caps(connection: Connection, item: Caps) -> None:
    held, write = _HELD_CAPS, _WRITE_CAPS
    if item.of == "repositories":
        held, write = _HELD_GRAPH_CAPS, _WRITE_GRAPH_CAPS
    row = connection.execute(held, (item.tenant_id,)).fetchone()
    if row is not None and _quotas(row[0]) != Quotas():
        raise AlreadyExists(field="caps")
    connection.execute(write, (item.tenant_id, _encode(item.quotas).decode()))


def _restore_tombstone(connection: Connection, item: Tombstone) -> None:
    if _is_revoked(connection, item.tenant_id, item.session_id):
        raise AlreadyExists(field="tombstone")
    connection.execute(_REVOKE, (item.tenant_id, item.session_id, item.revoked_at_ms))


def _is_revoked(connection: Connection, tenant_id: str, session_id: str) -> bool:
    (revoked,) = connection.execute(_REVOKED, (tenant_id, session_id)).fetchone()
    return bool(revoked)


def _restore_scope(connection: Connection, item: HeldScope) -> None:
    place = (item.scope.tenant_id, item.scope.session_id)
    namespaces = dict(connection.execute(_SESSION, place).fetchall())
    restored = decide_restore(
        item,
        exists=item.scope.ns in namespaces,
        revoked=_is_revoked(connection, *place),
        session_expires_at_ms=next(iter(namespaces.values()), None),
    )
    root = restored.root
    values = (root.revision, root.expires_at_ms, root.closed, root.live_facts, len(restored.facts))
    scope_id = connection.execute(_NEW_SCOPE, (*place, item.scope.ns, *values)).lastrowid
    if restored.facts:
        connection.execute(_NEW_DOCUMENT, (scope_id, item.document))
    rows = [(scope_id, each.commit_id, each.revision, _encode(each.outcome)) for each in item.commits]
    connection.executemany(_NEW_SCOPE_COMMIT, rows)


def _unfinished(connection: Connection, scope: RepositoryScope) -> tuple[int, int, int]:
    """A repository that is half restored: its row, and how many entities and facts it holds."""
    place = (scope.tenant_id, scope.repository)
    row = connection.execute(_GRAPH, place).fetchone()
    check_unfinished(None if row is None else row[1])
    if row is None:
        return connection.execute(_NEW_GRAPH, (*place, RESTORING)).lastrowid or 0, 0, 0
    graph, _, entities, facts = row
    return graph, entities, facts


def _restore_rows(connection: Connection, item: Rows) -> None:
    graph, _, _ = _unfinished(connection, item.scope)
    for entity in item.entities:
        write_entity(connection, graph, entity)
    for found in item.facts:
        write_fact(connection, graph, found.fact, spread(found))


def _restore_head(connection: Connection, item: Head, now_ms: Millis) -> None:
    graph, entities, facts = _unfinished(connection, item.scope)
    check_whole(item, entities=entities, facts=facts)
    rows = [
        (graph, each.commit_id, each.revision, _encode(each.outcome), each.origin_session_id, now_ms)
        for each in item.commits
    ]
    connection.executemany(_NEW_GRAPH_COMMIT, rows)
    connection.execute(_FINISH, (item.revision, graph))
