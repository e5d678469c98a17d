"""Vectors are stored all or none, and not for a scope that has ended."""

import pytest
from msgspec import structs

from codesynapse.backends.memory.vectors import DictVectorIndex, Shelf
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.memory import EntityId
from codesynapse.contracts.suite.worlds import NOW, later, new_scope
from codesynapse.contracts.vectors import VectorRecord


def record(ns: str = "default") -> VectorRecord:
    return VectorRecord(
        scope=new_scope(ns=ns), entity=EntityId("e1"), model="m", values=(1.0, 0.0), expires_at_ms=later(NOW, 1)
    )


async def test_one_bad_record_keeps_all_of_them_out() -> None:
    shelf: Shelf = {}
    vectors = DictVectorIndex(shelf, takes=lambda scope, now_ms: True)
    with pytest.raises(Invalid):
        await vectors.put([record(), structs.replace(record(), values=(1.0, 1.0))], now_ms=NOW)
    assert shelf == {}


async def test_a_record_of_an_ended_scope_is_left_out_and_its_neighbour_is_not() -> None:
    shelf: Shelf = {}
    vectors = DictVectorIndex(shelf, takes=lambda scope, now_ms: scope.ns != "ended")
    live = record()
    await vectors.put([record("ended"), live], now_ms=NOW)
    assert list(shelf) == [live.scope]


async def test_a_sweep_removes_no_more_than_it_was_told_to() -> None:
    shelf: Shelf = {}
    vectors = DictVectorIndex(shelf, takes=lambda scope, now_ms: True)
    await vectors.put([record(), record(), record()], now_ms=NOW)
    assert await vectors.sweep(now_ms=NOW, limit=10) == 0
    assert await vectors.sweep(now_ms=later(NOW, 1), limit=2) == 2
    assert len(shelf) == 1
