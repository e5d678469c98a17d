"""The memory store forgets what has ended, and its vectors with it."""

import pytest

from codesynapse.backends.memory.graph import DictSessionMemory
from codesynapse.backends.memory.vectors import DictVectorIndex, Shelf
from codesynapse.contracts.errors import SessionExpired
from codesynapse.contracts.memory import EntityId, Outcome, Revision
from codesynapse.contracts.suite.worlds import LIFETIME_MS, NOW, later, new_commit_id, new_scope, new_snapshot
from codesynapse.contracts.vectors import VectorRecord

EXPIRED = later(NOW, LIFETIME_MS)


@pytest.mark.parametrize("end", ["load", "sweep", "revoke"])
async def test_the_vectors_of_a_scope_end_with_its_content(end: str) -> None:
    shelf: Shelf = {}
    memory = DictSessionMemory(shelf)
    vectors = DictVectorIndex(shelf, takes=memory.takes_vectors)
    scope = new_scope()
    await memory.commit(
        new_snapshot(scope, "Ana likes tea"),
        read_revision=Revision(0),
        commit_id=new_commit_id(),
        outcome=Outcome(),
        now_ms=NOW,
    )
    record = VectorRecord(scope=scope, entity=EntityId("e1"), model="m", values=(1.0,), expires_at_ms=EXPIRED)
    await vectors.put([record], now_ms=NOW)
    assert scope in shelf
    if end == "load":
        with pytest.raises(SessionExpired):
            await memory.load(scope, now_ms=EXPIRED)
    elif end == "sweep":
        assert await memory.sweep(now_ms=EXPIRED, limit=1) == 1
    else:
        assert await memory.revoke(scope.tenant_id, scope.session_id, now_ms=NOW) == 1
    assert shelf == {}


async def test_asking_for_the_caps_of_unknown_tenants_holds_on_to_none_of_them() -> None:
    memory = DictSessionMemory({})
    for number in range(10):
        await memory.quotas(f"tenant{number}")
    assert memory.tenants == {}
