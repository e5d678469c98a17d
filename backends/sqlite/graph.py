"""Session memory in SQLite: a root a scope, and its content as one canonical document."""

from contextlib import suppress

import msgspec

from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.database import Database
from codesynapse.backends.sqlite.rows import content_of_row, outcome_of, quotas_of
from codesynapse.contracts.commit import Accepted, Root, Stored, check_commit, check_readable
from codesynapse.contracts.errors import SessionExpired, Unavailable
from codesynapse.contracts.identity import Millis, require_id, require_ids
from codesynapse.contracts.memory import (
    COMMITS_KEPT,
    CommitId,
    Committed,
    Outcome,
    Revision,
    Scope,
    Snapshot,
)
from codesynapse.contracts.quotas import Quotas, Usage

_ROOT = """
SELECT id, revision, expires_at_ms, closed, live_facts FROM scopes WHERE tenant_id = ? AND session_id = ? AND ns = ?
"""
_OTHERS = """
SELECT count(*), coalesce(sum(live_facts), 0), min(expires_at_ms) FROM scopes
WHERE tenant_id = ? AND session_id = ? AND ns <> ?
"""
_TENANT = "SELECT roots, live_facts, quotas FROM tenants WHERE tenant_id = ?"
_REVOKED = "SELECT EXISTS (SELECT 1 FROM revocations WHERE tenant_id = ? AND session_id = ?)"
_DOCUMENT = "SELECT document FROM contents WHERE scope_id = ?"
_COMMIT = "SELECT revision, outcome FROM scope_commits WHERE scope_id = ? AND commit_id = ?"

_NEW_ROOT = """
INSERT INTO scopes (tenant_id, session_id, ns, revision, expires_at_ms, closed, live_facts, facts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_NEXT_ROOT = """
UPDATE scopes SET revision = ?, expires_at_ms = ?, closed = ?, live_facts = ?, facts = ? WHERE id = ?
"""
_WRITE_DOCUMENT = """
INSERT INTO contents (scope_id, document) VALUES (?, ?)
ON CONFLICT (scope_id) DO UPDATE SET document = excluded.document
"""
_DROP_DOCUMENT = "DELETE FROM contents WHERE scope_id = ?"
_WRITE_COMMIT = "INSERT INTO scope_commits (scope_id, commit_id, revision, outcome) VALUES (?, ?, ?, ?)"
_DROP_COMMITS = "DELETE FROM scope_commits WHERE scope_id = ? AND revision <= ?"

_REVOKE = "INSERT OR IGNORE INTO revocations (tenant_id, session_id, revoked_at_ms) VALUES (?, ?, ?)"
_SESSION = "SELECT id, ns, facts FROM scopes WHERE tenant_id = ? AND session_id = ?"
_EXPIRED = """
SELECT id, tenant_id, session_id, ns FROM scopes WHERE expires_at_ms <= ? AND facts > 0
ORDER BY expires_at_ms, tenant_id, session_id, ns LIMIT ?
"""
_HOLDS = """
SELECT EXISTS (SELECT 1 FROM scopes WHERE tenant_id = ?1 AND session_id = ?2 AND ns = ?3 AND facts > 0)
OR EXISTS (SELECT 1 FROM vectors WHERE tenant_id = ?1 AND session_id = ?2 AND ns = ?3)
"""
_EMPTY_ROOT = "UPDATE scopes SET live_facts = 0, facts = 0 WHERE id = ? AND facts > 0"
_DROP_SCOPE_VECTORS = "DELETE FROM vectors WHERE tenant_id = ? AND session_id = ? AND ns = ?"
_DROP_SESSION_VECTORS = "DELETE FROM vectors WHERE tenant_id = ? AND session_id = ?"

_SET_QUOTAS = """
INSERT INTO tenants (tenant_id, quotas) VALUES (?, ?) ON CONFLICT (tenant_id) DO UPDATE SET quotas = excluded.quotas
"""


class SqliteSessionMemory:
    """The port `SessionMemory`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, scope: Scope, *, now_ms: Millis) -> Snapshot:
        try:
            return await self._database.search(scope.tenant_id, lambda connection: _load(connection, scope, now_ms))
        except SessionExpired:
            await self._forget(scope)
            raise

    async def commit(
        self,
        proposed: Snapshot,
        *,
        read_revision: Revision,
        commit_id: CommitId,
        outcome: Outcome,
        now_ms: Millis,
    ) -> Committed:
        # What is none cannot be asked for either.
        require_id(commit_id, field="commit_id")

        def work(connection: Connection) -> Committed:
            scope_id, stored = _stored(connection, proposed.scope, commit_id)
            accepted = check_commit(
                stored,
                proposed,
                read_revision=read_revision,
                commit_id=commit_id,
                outcome=outcome,
                now_ms=now_ms,
            )
            if accepted.root is not None:
                _write(connection, proposed, accepted.root, accepted, commit_id, scope_id)
            return accepted.committed

        try:
            return await self._database.write(work, scrubs=proposed.closed)
        except SessionExpired:
            await self._forget(proposed.scope)
            raise

    async def committed(self, scope: Scope, commit_id: CommitId, *, now_ms: Millis) -> Committed | None:
        require_id(commit_id, field="commit_id")

        def work(connection: Connection) -> Committed | None:
            scope_id, _ = _readable(connection, scope, now_ms)
            return _kept(connection, scope_id, commit_id)

        try:
            return await self._database.search(scope.tenant_id, work)
        except SessionExpired:
            await self._forget(scope)
            raise

    async def revoke(self, tenant_id: str, session_id: str, *, now_ms: Millis) -> int:
        require_ids(tenant_id=tenant_id, session_id=session_id)

        def work(connection: Connection) -> int:
            connection.execute(_REVOKE, (tenant_id, session_id, now_ms))
            rows = connection.execute(_SESSION, (tenant_id, session_id)).fetchall()
            for scope_id, _, _ in rows:
                _empty(connection, scope_id)
            connection.execute(_DROP_SESSION_VECTORS, (tenant_id, session_id))
            return sum(facts for _, _, facts in rows)

        return await self._database.write(work, scrubs=True)

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        def work(connection: Connection) -> int:
            rows = connection.execute(_EXPIRED, (now_ms, max(limit, 0))).fetchall()
            for scope_id, tenant_id, session_id, ns in rows:
                _empty(connection, scope_id)
                connection.execute(_DROP_SCOPE_VECTORS, (tenant_id, session_id, ns))
            return len(rows)

        return await self._database.write(work, scrubs=True)

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        require_id(tenant_id, field="tenant_id")
        text = msgspec.json.encode(quotas).decode()
        await self._database.write(lambda connection: connection.execute(_SET_QUOTAS, (tenant_id, text)))

    async def quotas(self, tenant_id: str) -> Quotas:
        require_id(tenant_id, field="tenant_id")
        return await self._database.search(tenant_id, lambda connection: _tenant(connection, tenant_id)[2])

    async def probe(self) -> None:
        await self._database.probe()

    async def _forget(self, scope: Scope) -> None:
        """Remove what an expired scope held. It is refused in any case, so a busy store leaves this to the sweep."""

        def holds(connection: Connection) -> bool:
            (something,) = connection.execute(_HOLDS, _place(scope)).fetchone()
            return bool(something)

        def work(connection: Connection) -> None:
            row = connection.execute(_ROOT, _place(scope)).fetchone()
            if row is not None:
                _empty(connection, row[0])
            connection.execute(_DROP_SCOPE_VECTORS, _place(scope))

        with suppress(Unavailable):
            # Asked first: whoever knocks at an expired session again and again must not occupy the writer.
            if await self._database.search(scope.tenant_id, holds):
                await self._database.write(work, scrubs=True)


def _place(scope: Scope) -> tuple[str, str, str]:
    return (scope.tenant_id, scope.session_id, scope.ns)


def _load(connection: Connection, scope: Scope, now_ms: Millis) -> Snapshot:
    scope_id, root = _readable(connection, scope, now_ms)
    if root is None:
        return Snapshot(scope=scope)
    row = connection.execute(_DOCUMENT, (scope_id,)).fetchone()
    entities, facts = ((), ()) if row is None else content_of_row(row[0])
    return Snapshot(
        scope=scope,
        revision=root.revision,
        entities=entities,
        facts=facts,
        expires_at_ms=root.expires_at_ms,
        closed=root.closed,
    )


def _readable(connection: Connection, scope: Scope, now_ms: Millis) -> tuple[int | None, Root | None]:
    """The row and the root of a scope that may be read. Raises SessionRevoked, SessionExpired."""
    scope_id, root = _root(connection, scope)
    _, _, expires_at_ms = connection.execute(_OTHERS, _place(scope)).fetchone()
    check_readable(root, revoked=_is_revoked(connection, scope), expires_at_ms=expires_at_ms, now_ms=now_ms)
    return scope_id, root


def _root(connection: Connection, scope: Scope) -> tuple[int | None, Root | None]:
    row = connection.execute(_ROOT, _place(scope)).fetchone()
    if row is None:
        return None, None
    scope_id, revision, expires_at_ms, closed, live_facts = row
    return scope_id, Root(revision=revision, expires_at_ms=expires_at_ms, closed=bool(closed), live_facts=live_facts)


def _is_revoked(connection: Connection, scope: Scope) -> bool:
    (revoked,) = connection.execute(_REVOKED, (scope.tenant_id, scope.session_id)).fetchone()
    return bool(revoked)


def _tenant(connection: Connection, tenant_id: str) -> tuple[int, int, Quotas]:
    """A tenant's roots, its live facts and its caps."""
    row = connection.execute(_TENANT, (tenant_id,)).fetchone()
    if row is None:
        return 0, 0, Quotas()
    roots, live_facts, quotas = row
    return roots, live_facts, quotas_of(quotas)


def _kept(connection: Connection, scope_id: int | None, commit_id: CommitId) -> Committed | None:
    row = connection.execute(_COMMIT, (scope_id, commit_id)).fetchone()
    return None if row is None else Committed(revision=row[0], outcome=outcome_of(row[1]))


def _stored(connection: Connection, scope: Scope, commit_id: CommitId) -> tuple[int | None, Stored]:
    """What the law needs to know about a scope, and its row."""
    scope_id, root = _root(connection, scope)
    namespaces, session_facts, expires_at_ms = connection.execute(_OTHERS, _place(scope)).fetchone()
    roots, tenant_facts, quotas = _tenant(connection, scope.tenant_id)
    usage = Usage(
        session_namespaces=namespaces,
        session_facts=session_facts,
        tenant_roots=roots - (root is not None),
        tenant_facts=tenant_facts - (0 if root is None else root.live_facts),
    )
    return scope_id, Stored(
        root=root,
        revoked=_is_revoked(connection, scope),
        session_expires_at_ms=expires_at_ms,
        earlier=_kept(connection, scope_id, commit_id),
        usage=usage,
        quotas=quotas,
    )


def _write(
    connection: Connection,
    proposed: Snapshot,
    root: Root,
    accepted: Accepted,
    commit_id: CommitId,
    scope_id: int | None,
) -> None:
    values = (root.revision, root.expires_at_ms, root.closed, root.live_facts, len(proposed.facts))
    if scope_id is None:
        scope_id = connection.execute(_NEW_ROOT, (*_place(proposed.scope), *values)).lastrowid
    else:
        connection.execute(_NEXT_ROOT, (*values, scope_id))
    if proposed.facts:
        connection.execute(_WRITE_DOCUMENT, (scope_id, accepted.document))
    else:
        connection.execute(_DROP_DOCUMENT, (scope_id,))
    outcome = msgspec.json.encode(accepted.committed.outcome)
    connection.execute(_WRITE_COMMIT, (scope_id, commit_id, root.revision, outcome))
    connection.execute(_DROP_COMMITS, (scope_id, root.revision - COMMITS_KEPT))
    if root.closed:
        connection.execute(_DROP_SCOPE_VECTORS, _place(proposed.scope))


def _empty(connection: Connection, scope_id: int) -> None:
    """Remove the content of a scope; its root stays, and counts."""
    connection.execute(_DROP_DOCUMENT, (scope_id,))
    connection.execute(_EMPTY_ROOT, (scope_id,))
