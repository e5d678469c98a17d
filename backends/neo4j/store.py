"""Session memory in Neo4j: a root a scope with its content as one document, and entities and edges beside it."""

import secrets

from codesynapse.backends.neo4j import documents, queries
from codesynapse.backends.neo4j.connection import Database, Row, Transaction, quietly
from codesynapse.backends.neo4j.held import NOTHING, Held, Known
from codesynapse.backends.neo4j.probe import probe
from codesynapse.contracts.commit import Accepted, Root, Stored, check_commit, check_readable
from codesynapse.contracts.errors import SessionExpired
from codesynapse.contracts.identity import Millis, require_id, require_ids
from codesynapse.contracts.memory import CommitId, Committed, Content, Outcome, Revision, Scope, Snapshot
from codesynapse.contracts.quotas import Quotas, Usage


class Neo4jSessionMemory:
    """The port `SessionMemory`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held = Held()

    async def load(self, scope: Scope, *, now_ms: Millis) -> Snapshot:
        (row,) = await self._database.rows(queries.READ, _place(scope))
        try:
            return _snapshot(scope, row, now_ms)
        except SessionExpired:
            await quietly(self._forget(scope))
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
        sent: list[Committed] = []

        async def work(transaction: Transaction) -> Committed:
            known = self._held.get(proposed.scope)
            row = await _locked(transaction, proposed.scope, commit_id, known)
            before = _before(row, known)
            accepted = check_commit(
                _stored(row, before),
                proposed,
                read_revision=read_revision,
                commit_id=commit_id,
                outcome=outcome,
                now_ms=now_ms,
            )
            if accepted.root is None:
                # Where this very call has sent it before, and the answer was lost, it is no replay.
                return sent[-1] if sent else accepted.committed
            await _write(transaction, row, before, proposed, accepted, commit_id, now_ms)
            sent.append(accepted.committed)
            return accepted.committed

        try:
            committed = await self._database.write(proposed.scope.tenant_id, work)
        except SessionExpired:
            await quietly(self._forget(proposed.scope))
            raise
        if sent:
            self._held.put(proposed.scope, commit_id, committed, (proposed.entities, proposed.facts))
        return committed

    async def committed(self, scope: Scope, commit_id: CommitId, *, now_ms: Millis) -> Committed | None:
        require_id(commit_id, field="commit_id")

        async def work(transaction: Transaction) -> Committed | None:
            stored = _stored(await _locked(transaction, scope, commit_id))
            check_readable(
                stored.root, revoked=stored.revoked, expires_at_ms=stored.session_expires_at_ms, now_ms=now_ms
            )
            return stored.earlier

        try:
            # Behind the lock: a commit whose answer was lost may still be under way, and then holds it.
            return await self._database.behind_writers(scope.tenant_id, work)
        except SessionExpired:
            await quietly(self._forget(scope))
            raise

    async def revoke(self, tenant_id: str, session_id: str, *, now_ms: Millis) -> int:
        require_ids(tenant_id=tenant_id, session_id=session_id)
        self._held.forget_session(tenant_id, session_id)

        async def work(transaction: Transaction) -> int:
            session = {"tenant": tenant_id, "session": session_id}
            await transaction.rows(queries.LOCK, {"tenant": tenant_id, "lock": _token()})
            await transaction.rows(queries.REVOKE, {**session, "now": now_ms})
            rows = await transaction.rows(queries.NAMESPACES, session)
            for row in rows:
                await _empty(transaction, {**session, "ns": row["ns"]})
            await transaction.rows(queries.DROP_VECTORS_OF_SESSION, session)
            return sum(row["facts"] for row in rows)

        return await self._database.write(tenant_id, work)

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        expired = await self._database.rows(queries.EXPIRED, {"now": now_ms, "limit": max(limit, 0)})
        return sum([await self._sweep(row, now_ms) for row in expired])

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        require_id(tenant_id, field="tenant_id")
        parameters = {"tenant": tenant_id, "quotas": documents.quotas_text(quotas)}
        await self._database.write(tenant_id, lambda transaction: transaction.rows(queries.SET_QUOTAS, parameters))

    async def quotas(self, tenant_id: str) -> Quotas:
        require_id(tenant_id, field="tenant_id")
        rows = await self._database.rows(queries.QUOTAS, {"tenant": tenant_id})
        return documents.quotas_of(rows[0]["quotas"] if rows else None)

    async def probe(self) -> None:
        await probe(self._database)

    async def _sweep(self, row: Row, now_ms: Millis) -> int:
        """Empty one expired scope; 1 unless somebody else just did."""
        place = {"tenant": row["tenant"], "session": row["session"], "ns": row["ns"]}
        self._held.forget_session(row["tenant"], row["session"])

        async def work(transaction: Transaction) -> int:
            await transaction.rows(queries.LOCK, {"tenant": row["tenant"], "lock": _token()})
            if not await transaction.rows(queries.STILL_FULL, {**place, "now": now_ms}):
                return 0
            await _empty(transaction, place)
            return 1

        return await self._database.write(row["tenant"], work)

    async def _forget(self, scope: Scope) -> None:
        """Remove what an expired scope held. It is refused in any case, so a busy store leaves this to the sweep."""
        self._held.forget(scope)

        async def work(transaction: Transaction) -> None:
            await transaction.rows(queries.LOCK, {"tenant": scope.tenant_id, "lock": _token()})
            await _empty(transaction, _place(scope))

        await self._database.write(scope.tenant_id, work)


def _place(scope: Scope) -> dict[str, object]:
    return {"tenant": scope.tenant_id, "session": scope.session_id, "ns": scope.ns}


def _token() -> int:
    """A value that differs from the last, so that setting it is a write on any server."""
    return secrets.randbits(62)


def _snapshot(scope: Scope, row: Row, now_ms: Millis) -> Snapshot:
    """What a scope serves. Raises SessionRevoked, SessionExpired."""
    check_readable(None, revoked=row["revoked"], expires_at_ms=row["deadline"], now_ms=now_ms)
    if row["doc"] is None:
        return Snapshot(scope=scope)
    revision, closed, (entities, facts) = documents.read(row["doc"])
    return Snapshot(
        scope=scope, revision=revision, entities=entities, facts=facts, expires_at_ms=row["deadline"], closed=closed
    )


async def _locked(transaction: Transaction, scope: Scope, commit_id: CommitId, known: Known = NOTHING) -> Row:
    """What is stored about a scope, read while nobody else can write for its tenant. known: what need not be read."""
    asked = {"lock": _token(), "commit": documents.kept_prefix(commit_id), "held": known.parameter}
    (row,) = await transaction.rows(queries.LOCK_AND_READ, {**_place(scope), **asked})
    return row


def _before(row: Row, known: Known) -> Content:
    """What a scope holds, from its document or, where that was left out, as it is known."""
    if row["held"]:
        return known.content
    return ((), ()) if row["doc"] is None else documents.read(row["doc"])[2]


def _stored(row: Row, content: Content = ((), ())) -> Stored:
    """What the law needs to know about a scope."""
    root = None
    if row["revision"] is not None:
        root = Root(
            revision=row["revision"],
            expires_at_ms=row["expires_at_ms"],
            closed=row["closed"],
            live_facts=row["live_facts"],
        )
    usage = Usage(
        session_namespaces=row["namespaces"],
        session_facts=row["session_facts"],
        tenant_roots=row["roots"] - (root is not None),
        tenant_facts=row["tenant_facts"] - (0 if root is None else root.live_facts),
    )
    return Stored(
        root=root,
        revoked=row["revoked"],
        session_expires_at_ms=row["session_expires_at_ms"],
        earlier=documents.kept_of(row["kept"] or ()),
        usage=usage,
        quotas=documents.quotas_of(row["quotas"]),
        content=content,
    )


async def _write(
    transaction: Transaction,
    row: Row,
    before: Content,
    proposed: Snapshot,
    accepted: Accepted,
    commit_id: CommitId,
    now_ms: Millis,
) -> None:
    root = accepted.root
    assert root is not None
    written_at_ms = now_ms if row["written_at_ms"] is None else row["written_at_ms"]
    changes = documents.changes(before, written_at_ms, (proposed.entities, proposed.facts), now_ms)
    parameters = {
        **_place(proposed.scope),
        "roots": row["roots"] + (row["revision"] is None),
        "tenant_facts": row["tenant_facts"] - (row["live_facts"] or 0) + root.live_facts,
        "root": documents.root_properties(accepted, root, proposed, commit_id, now_ms),
        "expires_at_ms": root.expires_at_ms,
        "changes": changes,
    }
    removes = changes["gone_facts"] or changes["gone_entities"]
    await transaction.rows(queries.WRITE_AND_REMOVE if removes else queries.WRITE, parameters)
    if root.closed:
        await transaction.rows(queries.DROP_VECTORS_OF_SCOPE, _place(proposed.scope))


async def _empty(transaction: Transaction, place: dict[str, object]) -> None:
    """Remove the content of a scope, its entities, edges and vectors."""
    await transaction.rows(queries.EMPTY_ROOT, place)
    await transaction.rows(queries.EMPTY_ENTITIES, place)
    await transaction.rows(queries.DROP_VECTORS_OF_SCOPE, place)
