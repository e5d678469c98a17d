"""A server in use: scripts run once the schema is there, one writer at a time for each tenant of this process."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakValueDictionary

from msgspec import Struct

from codesynapse.backends.hugegraph import scripts
from codesynapse.backends.hugegraph.connection import Connection
from codesynapse.backends.hugegraph.faults import Late, Lost
from codesynapse.backends.hugegraph.probe import probe
from codesynapse.backends.hugegraph.schema import Schema
from codesynapse.contracts.deadlines import left
from codesynapse.contracts.errors import StoreFault
from codesynapse.contracts.ports import StoreStatus

Properties = Sequence[object]
"""Names and values of properties by turns."""

RETRY_S = 0.05


class Plan(Struct, frozen=True, kw_only=True):
    """What to write if the guard, a vertex, still has the version that was read. scripts.APPLY says what each is."""

    lock: str
    guard_label: str
    guard: str
    expected: int
    unchanged: Sequence[tuple[str, str, str, str]] = ()
    puts: Sequence[tuple[str, str, Properties]] = ()
    gone: Sequence[tuple[str, str, Properties]] = ()
    wipes: Sequence[tuple[str, str]] = ()
    vertex_label: str = ""
    edge_label: str = ""
    common: Properties = ()
    vertices: Sequence[tuple[str, Properties]] = ()
    edges: Sequence[tuple[str, str, str, Properties]] = ()
    gone_edges: Sequence[tuple[str, str, str]] = ()
    gone_vertices: Sequence[tuple[str, Properties]] = ()


class Server:
    """A connection and its schema, as the ports use them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._schema = Schema(connection)
        self._queues: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, script: str, **bindings: object) -> list[Any]:
        """The rows of a script that only reads: asked again where the line was lost."""
        try:
            return await self.run_once(script, bindings)
        except Lost:
            return await self.run_once(script, bindings)

    async def probe(self) -> StoreStatus:
        """What the server says of itself, and whether it takes a write, which leaves no trace."""
        return await probe(self._connection)

    async def run_once(self, script: str, bindings: Mapping[str, object]) -> list[Any]:
        """The rows of a script."""
        await self._schema.ready()
        return await self._connection.run(script, bindings)

    async def apply(self, plan: Plan) -> bool:
        """Write a plan; False where someone else wrote in between, and nothing was written.

        Raises Lost where it may have been written.
        """
        bindings = {name: getattr(plan, name) for name in plan.__struct_fields__}
        (answer,) = await self.run_once(scripts.APPLY, bindings)
        return bool(answer == "done")

    @asynccontextmanager
    async def queue(self, name: str) -> AsyncIterator[None]:
        """One at a time: our own writers would only undo each other's reading. Raises Late at the deadline."""
        lock = self._queues.setdefault(name, asyncio.Lock())
        try:
            async with asyncio.timeout(left(self._connection.deadline_s)), lock:
                yield
        except TimeoutError:
            raise Late from None

    async def close(self) -> None:
        await self._schema.close()
        await self._connection.close()

    async def reached(self, error: Lost) -> None:
        """Return once the server answers again, so that what became of a write can be read. Raises the error."""
        try:
            async with asyncio.timeout(left(self._connection.deadline_s)):
                while True:
                    try:
                        await self._connection.run("1", {})
                    except StoreFault:
                        await asyncio.sleep(RETRY_S)
                    else:
                        return
        except TimeoutError:
            raise error from None
