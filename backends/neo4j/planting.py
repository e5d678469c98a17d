"""How a commit is written to repository memory."""

import secrets
from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from codesynapse.backends.neo4j import documents, memory_queries
from codesynapse.backends.neo4j.connection import Row, Transaction
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import CommitId, Committed, Entity, Fact, Outcome, Revision
from codesynapse.contracts.repository import (
    RepositoryChange,
    RepositoryScope,
    RepositoryStored,
    check_repository_commit,
    search_text,
)
from codesynapse.contracts.triples import is_storable


def in_order(text: str) -> str:
    """A text that sorts as the characters of another do, whoever compares.

    Neo4j compares by code points in an index and by UTF-16 halves outside of one, as the planner happens to choose.
    """
    return text.encode("utf-8").hex()


def place(scope: RepositoryScope) -> dict[str, object]:
    """The parameters that every statement of a repository has."""
    return {"tenant": scope.tenant_id, "repository": scope.repository}


def lock() -> int:
    """A value that differs from the last, so that setting it is a write on any server."""
    return secrets.randbits(62)


async def commit_change(
    transaction: Transaction,
    change: RepositoryChange,
    *,
    read_revision: Revision,
    commit_id: CommitId,
    outcome: Outcome,
    now_ms: Millis,
) -> Committed:
    """Decide a commit on what is read behind the repository's lock, and write it."""
    row = await _locked(transaction, change, commit_id)
    stored = _stored(row)
    committed = check_repository_commit(
        stored, change, read_revision=read_revision, commit_id=commit_id, outcome=outcome
    )
    if committed.replayed:
        return committed
    facts = [fact_row(fact, Counter(change.terms.get(fact.id, ()))) for fact in change.facts]
    current = {fact.id for fact in change.facts if fact.current(now_ms)}
    brought = {entity.id for entity in change.entities}
    slot, kept = documents.kept_slot(commit_id, committed)
    root = {
        "revision": committed.revision,
        "entities": stored.entities + len(brought - stored.present_entities),
        **_counters(row, facts),
        slot: kept,
        f"origin_{slot.removeprefix('commit_')}": f"{change.origin_session_id} {now_ms}",
    }
    for statement, rows in (
        (memory_queries.WRITE_ENTITIES, [entity_row(entity) for entity in change.entities]),
        (memory_queries.WRITE_FACTS, facts),
        (memory_queries.DROP_EDGES, [fact for fact in facts if fact["id"] not in current]),
        (memory_queries.WRITE_EDGES, [fact for fact in facts if fact["id"] in current]),
    ):
        if rows:
            await transaction.rows(statement, {**place(change.scope), "rows": rows})
    await transaction.rows(memory_queries.WRITE_ROOT, {**place(change.scope), "root": root})
    return committed


async def _locked(transaction: Transaction, change: RepositoryChange, commit_id: CommitId) -> Row:
    """What is stored about a repository and the rows of a change, read while nobody else can write to it."""
    named = {entity.id for entity in change.entities}
    named.update(end for fact in change.facts for end in (fact.subject, fact.object))
    parameters = {
        **place(change.scope),
        "lock": lock(),
        "commit": documents.kept_prefix(commit_id),
        "facts": [fact.id for fact in change.facts if is_storable(fact.id)],
        "entities": [each for each in named if is_storable(each)],
    }
    (row,) = await transaction.rows(memory_queries.LOCK_AND_READ, parameters)
    return row


def _stored(row: Row) -> RepositoryStored:
    """What the law needs to know about a repository."""
    return RepositoryStored(
        revision=row["revision"],
        earlier=documents.kept_of(row["kept"]),
        live_before=row["live_before"],
        facts=row["live_facts"],
        entities=row["entities"],
        present_entities=frozenset(row["present"]),
        quotas=documents.quotas_of(row["quotas"]),
    )


def _counters(row: Row, facts: Iterable[dict[str, Any]]) -> dict[str, int]:
    """How many facts a repository then holds, and how many terms they carry: all of them, and the live ones."""
    rows = list(facts)
    live = [fact for fact in rows if fact["live"]]
    return {
        "facts": row["facts"] + len(rows) - row["facts_before"],
        "terms": row["terms"] + sum(fact["terms"] for fact in rows) - row["terms_before"],
        "live_facts": row["live_facts"] + len(live) - row["live_before"],
        "live_terms": row["live_terms"] + sum(fact["terms"] for fact in live) - row["live_terms_before"],
    }


def entity_row(entity: Entity) -> dict[str, Any]:
    """An entity as a row of `memory_queries.WRITE_ENTITIES`."""
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        "folded": in_order(entity.name.casefold()),
        "search_text": search_text(entity),
        "answers": sorted({text.casefold() for text in (entity.name, *entity.aliases)}),
        "doc": msgspec.json.encode(entity).decode(),
    }


def fact_row(fact: Fact, terms: Counter[str]) -> dict[str, Any]:
    """A fact as a row of the other statements; terms: what finds it."""
    start, end = fact.intervals[-1]
    return {
        "id": fact.id,
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "recorded_at_ms": fact.recorded_at_ms,
        "origin_session_id": fact.origin_session_id,
        "live": fact.live,
        "turns_ms": start if end is None else end,
        "terms": terms.total(),
        "carried": sorted(terms),
        "doc": msgspec.json.encode(fact).decode(),
    }
