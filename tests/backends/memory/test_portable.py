"""What the contract suite cannot see of moving into dicts: a restored scope is swept and counted as others are."""

from __future__ import annotations

from codesynapse.backends.memory.graph import DictSessionMemory
from codesynapse.backends.memory.portable import DictPortable
from codesynapse.backends.memory.repository import DictRepositoryGraph
from codesynapse.contracts.suite.worlds import NOW, Chat, new_scope


async def test_a_restored_scope_is_swept_and_counted_as_others_are() -> None:
    old, new = DictSessionMemory({}), DictSessionMemory({})
    chat = Chat(old, new_scope())
    await chat.remember("ana likes tea")
    (item,) = (await DictPortable(old, DictRepositoryGraph()).scan(after=None, limit=9, tenant_id=None)).items
    await DictPortable(new, DictRepositoryGraph()).restore(item, now_ms=NOW)
    tenant = new.tenants[chat.scope.tenant_id]
    assert (tenant.roots, tenant.facts) == (1, 1)
    assert await new.sweep(now_ms=chat.expires_at_ms, limit=9) == 1
    assert await new.sweep(now_ms=chat.expires_at_ms, limit=9) == 0
    assert (tenant.roots, tenant.facts) == (1, 0)
