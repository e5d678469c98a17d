"""Moving house out of Neo4j and into it: one item is one transaction."""

import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal, LiteralString

import msgspec

from codesynapse.backends.neo4j import documents, memory_queries, moving_queries, queries
from codesynapse.backends.neo4j.connection import Database, Transaction
from codesynapse.backends.neo4j.held import NOTHING
from codesynapse.backends.neo4j.planting import entity_row, fact_row, lock, place
from codesynapse.contracts.errors import AlreadyExists
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import CommitId, Entity, Fact, Outcome, Revision, Scope, canonical
from codesynapse.contracts.portable import (
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

_entity = msgspec.json.Decoder(Entity).decode
_fact = msgspec.json.Decoder(Fact).decode
_outcome = msgspec.json.Decoder(Outcome).decode

ROWS_MAX = 500
"""Of a repository in one transaction."""


Read = Callable[[Transaction, list[Any]], Awaitable[Sequence[Item]]]


class Neo4jPortable:
    """The port `Portable`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def scan(self, *, after: str | None, limit: int, tenant_id: str | None) -> Batch:
        stages = (
            (moving_queries.CAPS, ("tenant", "of"), _caps("sessions")),
            (moving_queries.REPOSITORY_CAPS, ("tenant", "of"), _caps("repositories")),
            (moving_queries.TOMBSTONES, ("tenant", "session"), _tombstones),
            (moving_queries.SCOPES, ("tenant", "session", "ns"), _scopes),
            (moving_queries.ENTITIES, ("tenant", "repository", "id"), _rows),
            (moving_queries.FACTS, ("tenant", "repository", "id"), _rows),
            (moving_queries.HEADS, ("tenant", "repository"), _heads),
        )
        return await walk(
            [self._stage(statement, key, read, tenant_id) for statement, key, read in stages], after, limit
        )

    async def restore(self, item: Item, *, now_ms: Millis) -> None:
        match item:
            case Caps():
                await self._once(item.tenant_id, lambda transaction: _restore_caps(transaction, item))
            case Tombstone():
                await self._once(item.tenant_id, lambda transaction: _restore_tombstone(transaction, item))
            case HeldScope():
                await self._once(item.scope.tenant_id, lambda transaction: _restore_scope(transaction, item, now_ms))
            case Rows():
                for part in _parts(item):
                    await self._database.write(_turn(item.scope), _restoring(part, now_ms))
            case Head():
                await self._once(_turn(item.scope), lambda transaction: _restore_head(transaction, item, now_ms))

    async def _once(self, turn: str, work: Callable[[Transaction], Awaitable[None]]) -> None:
        """One transaction. Where this very call has sent it before, and the answer was lost, what exists is its own."""
        sent = False

        async def attempt(transaction: Transaction) -> None:
            nonlocal sent
            try:
                await work(transaction)
            except AlreadyExists:
                if not sent:
                    raise
            sent = True

        await self._database.write(turn, attempt)

    def _stage(self, statement: LiteralString, key: Sequence[str], read: Read, tenant_id: str | None) -> Stage:
        """One stage: the rows of a statement, whose key has these columns."""

        async def stage(position: str, limit: int) -> tuple[Sequence[Item], str]:
            behind = dict(zip(key, parts_of(position, count=len(key), tenant_id=tenant_id), strict=True))

            async def work(transaction: Transaction) -> tuple[Sequence[Item], str]:
                rows = await transaction.rows(statement, {**behind, "last": tenant_id or LAST, "limit": limit})
                more = position_of(*(rows[-1][name] for name in key)) if len(rows) == limit else ""
                return await read(transaction, rows), more

            return await self._database.read(work)

        return stage


def _caps(of: Literal["repositories", "sessions"]) -> Read:
    async def read(_: Transaction, rows: list[Any]) -> Sequence[Item]:
        caps = [Caps(tenant_id=row["tenant"], of=of, quotas=documents.quotas_of(row["quotas"])) for row in rows]
        return [each for each in caps if each.quotas != Quotas()]

    return read


async def _tombstones(_: Transaction, rows: list[Any]) -> Sequence[Item]:
    return [
        Tombstone(tenant_id=row["tenant"], session_id=row["session"], revoked_at_ms=row["revoked_at_ms"])
        for row in rows
    ]


async def _scopes(_: Transaction, rows: list[Any]) -> Sequence[Item]:
    items = []
    for row in rows:
        revision, closed, (entities, facts) = documents.read(row["doc"])
        items.append(
            HeldScope(
                scope=Scope(tenant_id=row["tenant"], session_id=row["session"], ns=row["ns"]),
                document=canonical(entities, facts),
                revision=revision,
                expires_at_ms=row["expires_at_ms"],
                closed=closed,
                commits=_kept((text, "") for text in row["kept"]),
            )
        )
    return items


async def _rows(transaction: Transaction, rows: list[Any]) -> Sequence[Item]:
    """Entities, or facts with their ends. The revision is read behind the rows: a later one tells in the head."""
    scopes = dict.fromkeys(RepositoryScope(tenant_id=row["tenant"], repository=row["repository"]) for row in rows)
    items: list[Rows] = []
    for scope in scopes:
        own = [row for row in rows if (row["tenant"], row["repository"]) == (scope.tenant_id, scope.repository)]
        (root,) = await transaction.rows(moving_queries.REVISION, place(scope))
        if "terms" not in own[0].keys():  # noqa: SIM118  # a row is no mapping
            entities = tuple(_entity(row["doc"]) for row in own)
            items.append(Rows(scope=scope, revision=root["revision"], entities=entities))
            continue
        facts = tuple(
            FoundFact(fact=_fact(row["doc"]), terms=tuple(sorted(row["terms"])), occurrences=row["occurrences"])
            for row in own
        )
        ends = {end for found in facts for end in (found.fact.subject, found.fact.object)}
        found_ends = await transaction.rows(memory_queries.ENTITIES, {**place(scope), "ids": sorted(ends)})
        known = tuple(_entity(row["doc"]) for row in found_ends)
        items.append(Rows(scope=scope, revision=root["revision"], facts=facts, ends=known))
    return grouped(items)


async def _heads(_: Transaction, rows: list[Any]) -> Sequence[Item]:
    return [
        Head(
            scope=RepositoryScope(tenant_id=row["tenant"], repository=row["repository"]),
            revision=row["revision"],
            commits=_kept(row["kept"]),
            entities=row["entities"],
            facts=row["facts"],
        )
        for row in rows
        if row["revision"] != 0
    ]


def _kept(values: Iterable[Sequence[str]]) -> tuple[KeptCommit, ...]:
    """Kept commits, each with who made it and when, oldest first."""
    commits = []
    for text, made in values:
        commit_id, revision, outcome = text.split(" ", 2)
        commits.append(
            KeptCommit(
                commit_id=CommitId(commit_id),
                revision=Revision(int(revision)),
                outcome=_outcome(outcome),
                origin_session_id=made.partition(" ")[0] or None,
            )
        )
    return tuple(sorted(commits, key=lambda kept: kept.revision))


def _turn(scope: RepositoryScope) -> str:
    # An id holds no blanks.
    return f"{scope.tenant_id} {scope.repository}"


def _parts(item: Rows) -> list[Rows]:
    """Rows in as many transactions as they need, and one at least."""
    size = max(len(item.entities), len(item.facts), 1)
    return [
        Rows(
            scope=item.scope,
            revision=item.revision,
            entities=item.entities[start : start + ROWS_MAX],
            facts=item.facts[start : start + ROWS_MAX],
        )
        for start in range(0, size, ROWS_MAX)
    ]


async def _restore_caps(transaction: Transaction, item: Caps) -> None:
    parameters = {"tenant": item.tenant_id, "lock": lock()}
    if item.of == "sessions":
        await transaction.rows(queries.LOCK, parameters)
        (row,) = await transaction.rows(moving_queries.TENANT, parameters)
    else:
        (row,) = await transaction.rows(moving_queries.REPOSITORY_TENANT, parameters)
    if documents.quotas_of(row["quotas"]) != Quotas():
        raise AlreadyExists(field="caps")
    statement = queries.SET_QUOTAS if item.of == "sessions" else memory_queries.SET_QUOTAS
    await transaction.rows(statement, {**parameters, "quotas": documents.quotas_text(item.quotas)})


async def _restore_tombstone(transaction: Transaction, item: Tombstone) -> None:
    session = {"tenant": item.tenant_id, "session": item.session_id}
    await transaction.rows(queries.LOCK, {"tenant": item.tenant_id, "lock": lock()})
    if await transaction.rows(moving_queries.TOMBSTONE, session):
        raise AlreadyExists(field="tombstone")
    await transaction.rows(queries.REVOKE, {**session, "now": item.revoked_at_ms})


async def _restore_scope(transaction: Transaction, item: HeldScope, now_ms: Millis) -> None:
    scope = {"tenant": item.scope.tenant_id, "session": item.scope.session_id, "ns": item.scope.ns}
    asked = {"lock": secrets.randbits(62), "commit": documents.kept_prefix(CommitId("")), "held": NOTHING.parameter}
    (row,) = await transaction.rows(queries.LOCK_AND_READ, {**scope, **asked})
    restored = decide_restore(
        item,
        exists=row["revision"] is not None,
        revoked=row["revoked"],
        session_expires_at_ms=row["session_expires_at_ms"],
    )
    root = restored.root
    properties = {
        "revision": root.revision,
        "expires_at_ms": root.expires_at_ms,
        "closed": root.closed,
        "live_facts": root.live_facts,
        "facts": len(restored.facts),
        "doc": documents.document(root, item.document),
        "written_at_ms": now_ms,
        "sweep_at_ms": root.expires_at_ms if restored.facts else None,
        **dict(documents.kept_slot(each.commit_id, each.committed) for each in item.commits),
    }
    parameters = {
        **scope,
        "roots": row["roots"] + 1,
        "tenant_facts": row["tenant_facts"] + root.live_facts,
        "root": properties,
        "expires_at_ms": root.expires_at_ms,
        "changes": documents.changes(((), ()), now_ms, (restored.entities, restored.facts), now_ms),
    }
    await transaction.rows(queries.WRITE, parameters)


def _restoring(item: Rows, now_ms: Millis) -> Callable[[Transaction], Awaitable[None]]:
    facts = [fact_row(found.fact, Counter(spread(found))) for found in item.facts]
    current = {found.fact.id for found in item.facts if found.fact.current(now_ms)}

    async def work(transaction: Transaction) -> None:
        await _begin(transaction, item.scope)
        for statement, rows in (
            (memory_queries.WRITE_ENTITIES, [entity_row(entity) for entity in item.entities]),
            (memory_queries.WRITE_FACTS, facts),
            (memory_queries.DROP_EDGES, [fact for fact in facts if fact["id"] not in current]),
            (memory_queries.WRITE_EDGES, [fact for fact in facts if fact["id"] in current]),
        ):
            if rows:
                await transaction.rows(statement, {**place(item.scope), "rows": rows})

    return work


async def _begin(transaction: Transaction, scope: RepositoryScope) -> None:
    """Lock a repository that is not there or half restored, and mark it as the latter. Raises AlreadyExists."""
    (row,) = await transaction.rows(moving_queries.RESTORING, {**place(scope), "lock": lock()})
    check_unfinished(row["revision"] or None)
    await transaction.rows(moving_queries.BEGIN, {**place(scope), "revision": RESTORING})


async def _restore_head(transaction: Transaction, item: Head, now_ms: Millis) -> None:
    await _begin(transaction, item.scope)
    (counts,) = await transaction.rows(moving_queries.COUNTS, place(item.scope))
    check_whole(item, entities=counts["entities"], facts=counts["facts"])
    root: dict[str, object] = {**counts.data(), "revision": item.revision}
    for each in item.commits:
        slot, kept = documents.kept_slot(each.commit_id, each.committed)
        root[slot] = kept
        if each.origin_session_id is not None:
            root[f"origin_{slot.removeprefix('commit_')}"] = f"{each.origin_session_id} {now_ms}"
    await transaction.rows(memory_queries.WRITE_ROOT, {**place(item.scope), "root": root})
