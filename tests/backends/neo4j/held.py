"""A database whose writing transactions stay open until they are let go: two transactions at once, not by luck."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from codesynapse.backends.neo4j.connection import Database, Transaction

T = TypeVar("T")


class Held:
    """written: set once the work of a transaction is done. release: lets it commit."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.written = asyncio.Event()
        self.release = asyncio.Event()
        self.rows = database.rows
        self.read = database.read
        self.behind_writers = database.behind_writers

    async def write(self, place: str, work: Callable[[Transaction], Awaitable[T]]) -> T:
        async def held(transaction: Transaction) -> T:
            result = await work(transaction)
            self.written.set()
            await self.release.wait()
            return result

        return await self._database.write(place, held)
