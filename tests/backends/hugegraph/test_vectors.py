"""Vectors on real servers: what ends with its memory, and requests that fit a small server."""

from __future__ import annotations

import math

from codesynapse.backends.hugegraph.session import Server
from codesynapse.backends.hugegraph.store import GremlinSessionMemory
from codesynapse.backends.hugegraph.vectors import GremlinVectorIndex
from codesynapse.contracts.memory import entity_id
from codesynapse.contracts.suite.worlds import Chat, new_scope
from codesynapse.contracts.vectors import DIMENSION_MAX, VectorRecord


def records(chat: Chat, count: int, dimension: int) -> list[VectorRecord]:
    value = 1 / math.sqrt(dimension)
    return [
        VectorRecord(
            scope=chat.scope,
            entity=entity_id(f"n{number}", ""),
            model="m",
            values=(value,) * dimension,
            expires_at_ms=chat.expires_at_ms,
        )
        for number in range(count)
    ]


async def test_vectors_end_with_a_cleared_a_revoked_and_never_come_back(
    server: Server, memory: GremlinSessionMemory
) -> None:
    index = GremlinVectorIndex(server, memory)
    cleared, revoked = Chat(memory, new_scope()), Chat(memory, new_scope())
    for chat in (cleared, revoked):
        await chat.remember("ana likes tea")
        await index.put(records(chat, 2, 3), now_ms=chat.now_ms)
    await cleared.clear()
    await memory.revoke(revoked.scope.tenant_id, revoked.scope.session_id, now_ms=revoked.now_ms)
    for chat in (cleared, revoked):
        await index.put(records(chat, 2, 3), now_ms=chat.now_ms)
        found = await index.search(chat.scope, (1.0, 0.0, 0.0), model="m", limit=9, now_ms=chat.now_ms)
        assert found == []


async def test_the_largest_vectors_pass_in_requests_of_64_kib(server: Server, memory: GremlinSessionMemory) -> None:
    index, chat = GremlinVectorIndex(server, memory), Chat(memory, new_scope())
    await server.run("1")
    server._connection.request_max = 65_536
    made = records(chat, 5, DIMENSION_MAX)
    await index.put(made, now_ms=chat.now_ms)
    found = await index.search(chat.scope, made[0].values, model="m", limit=9, now_ms=chat.now_ms)
    assert [round(hit.score, 3) for hit in found] == [1.0] * 5
