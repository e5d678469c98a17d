"""Vectors wait for what ends their scope."""

import asyncio
from collections.abc import Awaitable, Callable

from codesynapse.backends.neo4j.connection import Database, open_database
from codesynapse.backends.neo4j.options import Options
from codesynapse.backends.neo4j.store import Neo4jSessionMemory
from codesynapse.backends.neo4j.vectors import Neo4jVectorIndex
from codesynapse.contracts.memory import EntityId
from codesynapse.contracts.suite.worlds import LIFETIME_MS, NOW, Chat, later, new_scope
from codesynapse.contracts.vectors import VectorRecord
from tests.backends.neo4j.held import Held


def record(chat: Chat, number: int, dimension: int) -> VectorRecord:
    values = tuple(1.0 if place == number % dimension else 0.0 for place in range(dimension))
    return VectorRecord(
        scope=chat.scope, entity=EntityId(f"e{number}"), model="m", values=values, expires_at_ms=later(NOW, LIFETIME_MS)
    )


async def test_a_vector_behind_a_clearing_that_is_held_open_is_left_out(
    database: Database, options: Options, blocked: Callable[[str], Awaitable[None]]
) -> None:
    chat = Chat(Neo4jSessionMemory(database), new_scope())
    await chat.remember("ana likes tea")
    held = Held(database)
    clearing = Chat(Neo4jSessionMemory(held), chat.scope)  # type: ignore[arg-type]
    async with open_database(options) as other:
        index = Neo4jVectorIndex(other)
        cleared = asyncio.create_task(clearing.clear())
        await held.written.wait()
        put = asyncio.create_task(index.put([record(chat, 1, 3)], now_ms=NOW))
        await blocked(chat.scope.tenant_id)
        held.release.set()
        await cleared
        await put
        assert await index.search(chat.scope, (1.0, 0.0, 0.0), model="m", limit=9, now_ms=NOW) == []


async def test_many_are_compared_off_the_event_loop_with_the_same_answer(database: Database) -> None:
    chat = Chat(Neo4jSessionMemory(database), new_scope())
    index = Neo4jVectorIndex(database)
    await index.put([record(chat, number, 384) for number in range(100)], now_ms=NOW)
    query = tuple(1.0 if place == 7 else 0.0 for place in range(384))
    hits = await index.search(chat.scope, query, model="m", limit=2, now_ms=NOW)
    assert [(hit.entity, hit.score) for hit in hits] == [("e7", 1.0), ("e0", 0.0)]
