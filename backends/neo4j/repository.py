"""Repository memory in Neo4j: how it is read and searched, and the port."""

from collections.abc import Iterable, Sequence

import msgspec

from codesynapse.backends.neo4j import documents, memory_queries
from codesynapse.backends.neo4j.connection import Database, Row, Transaction
from codesynapse.backends.neo4j.planting import commit_change, in_order, lock, place
from codesynapse.contracts.identity import Millis, require_id
from codesynapse.contracts.memory import CommitId, Committed, Entity, EntityId, Fact, FactId, Outcome, Revision
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import (
    Candidates,
    RepositoryChange,
    RepositoryScope,
    Slice,
    check_cursor,
    node_order,
)
from codesynapse.contracts.triples import is_storable

_entity = msgspec.json.Decoder(Entity).decode
_fact = msgspec.json.Decoder(Fact).decode


class Neo4jRepositoryGraph:
    """The port `RepositoryGraph`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(
        self, scope: RepositoryScope, *, pairs: Sequence[tuple[EntityId, str]], entities: Sequence[EntityId]
    ) -> Slice:
        async def work(transaction: Transaction) -> Slice:
            # A commit computed on older facts than its revision says would lose an update. Without the lock, a reader
            # could see the new revision of a commit that is just being applied, and some facts from before it.
            await transaction.rows(memory_queries.LOCK, {**place(scope), "lock": lock()})
            (head,) = await transaction.rows(memory_queries.HEAD, place(scope))
            wanted = [list(pair) for pair in dict.fromkeys(pairs) if all(map(is_storable, pair))]
            rows = await transaction.rows(memory_queries.OF_PAIRS, {**place(scope), "pairs": wanted})
            facts = sorted((_fact(row["doc"]) for row in rows), key=lambda fact: fact.id)
            return await _slice(transaction, scope, head["revision"], facts, entities)

        return await self._database.behind_writers(_turn(scope), work)

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
        sent: list[Committed] = []

        async def work(transaction: Transaction) -> Committed:
            committed = await commit_change(
                transaction,
                change,
                read_revision=read_revision,
                commit_id=commit_id,
                outcome=outcome,
                now_ms=now_ms,
            )
            if committed.replayed:
                # Where this very call has sent it before, and the answer was lost, it is no replay.
                return sent[-1] if sent else committed
            sent.append(committed)
            return committed

        return await self._database.write(_turn(change.scope), work)

    async def committed(self, scope: RepositoryScope, commit_id: CommitId) -> Committed | None:
        require_id(commit_id, field="commit_id")

        async def work(transaction: Transaction) -> Committed | None:
            await transaction.rows(memory_queries.LOCK, {**place(scope), "lock": lock()})
            bounds = {**place(scope), "commit": documents.kept_prefix(commit_id)}
            (row,) = await transaction.rows(memory_queries.KEPT, bounds)
            return documents.kept_of(row["kept"])

        # Behind the lock: a commit whose answer was lost may still be under way, and then holds it.
        return await self._database.behind_writers(_turn(scope), work)

    async def candidates(
        self, scope: RepositoryScope, terms: Sequence[str], *, limit: int, now_ms: Millis, history: bool
    ) -> Candidates:
        frequencies = dict.fromkeys(terms, 0)
        bounds = {
            **place(scope),
            "terms": _storable(frequencies),
            "now": now_ms,
            "history": history,
            "limit": max(limit, 0),
        }

        async def work(transaction: Transaction) -> Candidates:
            head = _head(await transaction.rows(memory_queries.HEAD, bounds), history=history)
            rows = await transaction.rows(memory_queries.SETTLED_CARRYING, bounds)
            ranked = [(row["carried"], _fact(row["doc"])) for row in rows]
            for row in await transaction.rows(memory_queries.FREQUENCIES, bounds):
                frequencies[row["term"]] = row["facts"]
            if not history:
                # The counters speak of facts that are live; the few that turn in the future are looked at.
                for row in await transaction.rows(memory_queries.TURNING, bounds):
                    _turn_over(row, head, frequencies, ranked, now_ms)
            facts = [fact for _, fact in sorted(ranked, key=_rank)[:limit]]
            return Candidates(
                slice=await _slice(transaction, scope, Revision(head["revision"]), facts),
                total=head["total"],
                total_terms=head["total_terms"],
                frequencies=frequencies,
            )

        return await self._database.read(work)

    async def find_nodes(
        self, scope: RepositoryScope, query: str, *, after: tuple[str, str] | None, limit: int
    ) -> list[Entity]:
        check_cursor(after)
        words = query.casefold().split()
        if _storable(words) != words:
            return []
        folded, identifier = after or ("", "")
        bounds = {**place(scope), "words": words, "folded": in_order(folded), "id": identifier, "limit": max(limit, 0)}
        rows = await self._database.rows(memory_queries.FIND_NODES, bounds)
        return [_entity(row["doc"]) for row in rows]

    async def named(self, scope: RepositoryScope, names: Sequence[str]) -> list[Entity]:
        folded = _storable(name.casefold() for name in names)
        bounds = {**place(scope), "ids": _storable(names), "folded": folded}
        rows = await self._database.rows(memory_queries.NAMED, bounds)
        return sorted((_entity(row["doc"]) for row in rows), key=node_order)

    async def touching(
        self, scope: RepositoryScope, entities: Sequence[EntityId], *, limit: int, now_ms: Millis
    ) -> Slice:
        bounds = {**place(scope), "entities": _storable(entities), "now": now_ms, "limit": max(limit, 0)}

        async def work(transaction: Transaction) -> Slice:
            head = _head(await transaction.rows(memory_queries.HEAD, bounds), history=False)
            rows = await transaction.rows(memory_queries.SETTLED_FROM, bounds)
            rows += await transaction.rows(memory_queries.SETTLED_TO, bounds)
            rows += await transaction.rows(memory_queries.TURNING_TOUCHING, bounds)
            near = {fact.id: fact for fact in (_fact(row["doc"]) for row in rows) if fact.current(now_ms)}
            facts = [near[each] for each in sorted(near)[: max(limit, 0)]]
            return await _slice(transaction, scope, Revision(head["revision"]), facts)

        return await self._database.read(work)

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        require_id(tenant_id, field="tenant_id")
        parameters = {"tenant": tenant_id, "quotas": documents.quotas_text(quotas)}
        await self._database.write(
            tenant_id, lambda transaction: transaction.rows(memory_queries.SET_QUOTAS, parameters)
        )


def _turn(scope: RepositoryScope) -> str:
    # An id holds no blanks.
    return f"{scope.tenant_id} {scope.repository}"


async def _slice(
    transaction: Transaction,
    scope: RepositoryScope,
    revision: Revision,
    facts: Sequence[Fact],
    more: Iterable[EntityId] = (),
) -> Slice:
    """Facts in the order given, with their ends and the other entities asked for, which are ordered by id."""
    wanted = {*more, *(end for fact in facts for end in (fact.subject, fact.object))}
    rows = []
    if wanted:
        rows = await transaction.rows(memory_queries.ENTITIES, {**place(scope), "ids": _storable(wanted)})
    entities = sorted((_entity(row["doc"]) for row in rows), key=lambda entity: entity.id)
    return Slice(revision=revision, entities=tuple(entities), facts=tuple(facts))


def _head(rows: Sequence[Row], *, history: bool) -> dict[str, int]:
    """The revision of a repository, and the figures of its facts: of all, or of the live ones."""
    if not rows:
        return {"revision": 0, "total": 0, "total_terms": 0}
    (row,) = rows
    return {
        "revision": row["revision"],
        "total": row["facts"] if history else row["live_facts"],
        "total_terms": row["terms"] if history else row["live_terms"],
    }


def _turn_over(
    row: Row, head: dict[str, int], frequencies: dict[str, int], ranked: list[tuple[int, Fact]], now_ms: Millis
) -> None:
    """Let a fact count that turns in the future: it may hold though it will end, or not yet hold."""
    fact = _fact(row["doc"])
    change = fact.current(now_ms) - fact.live
    head["total"] += change
    head["total_terms"] += change * row["terms"]
    if fact.current(now_ms) and row["carried"]:
        ranked.append((len(row["carried"]), fact))
        for term in row["carried"]:
            frequencies[term] += 1


def _rank(found: tuple[int, Fact]) -> tuple[int, int, FactId]:
    """Most different terms first, then the newest recorded, then by id."""
    carried, fact = found
    return (-carried, -fact.recorded_at_ms, fact.id)


def _storable(texts: Iterable[str]) -> list[str]:
    """Texts without those that cannot be stored, since they would find nothing: those with lone surrogates."""
    return [text for text in texts if is_storable(text)]
