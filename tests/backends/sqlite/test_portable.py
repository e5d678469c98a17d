"""What moving into a file leaves in it: the same rows as a commit does, in one transaction an item."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from msgspec import structs

from codesynapse.contracts.errors import SnapshotInvalid
from codesynapse.contracts.portable import HeldScope, Item
from codesynapse.contracts.ports import Backend
from codesynapse.contracts.repository import RepositoryScope
from codesynapse.contracts.suite.worlds import NOW, Chat, Library, new_scope, numbered

Connect = Callable[[], sqlite3.Connection]

COUNTED = "SELECT entities, facts, terms, live_facts, live_terms, revision FROM graphs ORDER BY id"
ROWS = """
SELECT (SELECT count(*) FROM entities WHERE graph_id = graphs.id), count(*), sum(facts.terms), sum(live),
    sum(live * facts.terms)
FROM graphs JOIN facts ON graph_id = graphs.id GROUP BY graphs.id ORDER BY graphs.id
"""


async def items_of(store: Backend, tenant: str) -> list[Item]:
    assert store.portable is not None
    return list((await store.portable.scan(after=None, limit=99, tenant_id=tenant)).items)


async def test_a_restored_repository_counts_what_its_rows_add_up_to(sqlite_store: Backend, another: Connect) -> None:
    assert sqlite_store.repository is not None
    assert sqlite_store.portable is not None
    await Library(sqlite_store.repository, RepositoryScope(tenant_id="a", repository="r")).remember(*numbered(5))
    cursor = None
    while True:
        batch = await sqlite_store.portable.scan(after=cursor, limit=3, tenant_id="a")
        for item in batch.items:
            moved = structs.replace(item, scope=RepositoryScope(tenant_id="b", repository="r"))  # type: ignore[call-arg]
            await sqlite_store.portable.restore(moved, now_ms=NOW)
        cursor = batch.cursor
        if cursor is None:
            break
    first, second = another().execute(COUNTED).fetchall()
    assert first == second
    assert [row[:5] for row in (first, second)] == another().execute(ROWS).fetchall()
    terms = "SELECT term, count(*), sum(occurrences) FROM terms GROUP BY term, graph_id ORDER BY graph_id, term"
    rows = another().execute(terms).fetchall()
    assert rows[: len(rows) // 2] == rows[len(rows) // 2 :]


async def test_a_refused_scope_leaves_no_row(sqlite_store: Backend, another: Connect) -> None:
    assert sqlite_store.session_memory is not None
    assert sqlite_store.portable is not None
    await Chat(sqlite_store.session_memory, new_scope(tenant="a")).remember("ana likes tea")
    (item,) = await items_of(sqlite_store, "a")
    assert isinstance(item, HeldScope)
    damaged = structs.replace(
        item, scope=structs.replace(item.scope, tenant_id="b"), document=item.document.replace(b"likes", b"LIKES")
    )
    with pytest.raises(SnapshotInvalid):
        await sqlite_store.portable.restore(damaged, now_ms=NOW)
    for table in ("scopes", "tenants"):
        assert another().execute(f"SELECT count(*) FROM {table} WHERE tenant_id = 'b'").fetchone() == (0,)
