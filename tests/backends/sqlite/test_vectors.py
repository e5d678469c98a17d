"""Vectors beside the graph they are of."""

import math

import pytest
from msgspec import structs

from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.memory import EntityId, Outcome, Revision, Scope
from codesynapse.contracts.ports import Backend
from codesynapse.contracts.suite.worlds import LIFETIME_MS, NOW, later, new_commit_id, new_scope, new_snapshot
from codesynapse.contracts.vectors import VectorRecord

THIRD = 1 / math.sqrt(3)


def record(scope: Scope, entity: str = "e1") -> VectorRecord:
    return VectorRecord(
        scope=scope,
        entity=EntityId(entity),
        model="m",
        values=(THIRD, THIRD, THIRD),
        expires_at_ms=later(NOW, LIFETIME_MS),
    )


async def hits(store: Backend, scope: Scope) -> list[tuple[str, float]]:
    assert store.vectors is not None
    found = await store.vectors.search(scope, (1.0, 0.0, 0.0), model="m", limit=10, now_ms=NOW)
    return [(hit.entity, hit.score) for hit in found]


async def test_a_vector_comes_back_to_its_last_bit(sqlite_store: Backend) -> None:
    assert sqlite_store.vectors is not None
    scope = new_scope()
    await sqlite_store.vectors.put([record(scope)], now_ms=NOW)
    assert await hits(sqlite_store, scope) == [("e1", THIRD)]


@pytest.mark.parametrize("end", ["revoked", "cleared", "expired"])
async def test_a_late_vector_does_not_bring_an_ended_scope_back(sqlite_store: Backend, end: str) -> None:
    memory, vectors = sqlite_store.session_memory, sqlite_store.vectors
    assert memory is not None
    assert vectors is not None
    ended, live = new_scope(), new_scope()
    snapshot = new_snapshot(ended, expires_at_ms=later(NOW, 1))
    await memory.commit(
        structs.replace(snapshot, closed=end == "cleared"),
        read_revision=Revision(0),
        commit_id=new_commit_id(),
        outcome=Outcome(),
        now_ms=NOW,
    )
    if end == "revoked":
        await memory.revoke(ended.tenant_id, ended.session_id, now_ms=NOW)
    await vectors.put([record(ended), record(live)], now_ms=later(NOW, 1) if end == "expired" else NOW)
    assert (await hits(sqlite_store, ended), len(await hits(sqlite_store, live))) == ([], 1)


async def test_a_vector_of_another_dimension_is_not_compared(sqlite_store: Backend) -> None:
    assert sqlite_store.vectors is not None
    scope = new_scope()
    flat = structs.replace(record(scope, "flat"), values=(1.0, 0.0))
    await sqlite_store.vectors.put([record(scope), flat], now_ms=NOW)
    assert await hits(sqlite_store, scope) == [("e1", THIRD)]


async def test_one_bad_record_keeps_all_of_them_out(sqlite_store: Backend) -> None:
    assert sqlite_store.vectors is not None
    scope = new_scope()
    with pytest.raises(Invalid):
        await sqlite_store.vectors.put([record(scope), structs.replace(record(scope), values=(1.0, 1.0))], now_ms=NOW)
    assert await hits(sqlite_store, scope) == []
