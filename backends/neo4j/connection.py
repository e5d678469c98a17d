"""The one driver of an application: transactions with a deadline, repeated where that can help."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, LiteralString, TypeVar, cast

import neo4j
from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncSession, AsyncTransaction, Query

from codesynapse.backends.neo4j.faults import ERRORS, UNREACHABLE, is_passing, silence, translated
from codesynapse.backends.neo4j.options import Options
from codesynapse.backends.neo4j.schema import check_server, prepare
from codesynapse.contracts.deadlines import left
from codesynapse.contracts.errors import CodeSynapseError, StoreBusy

T = TypeVar("T")
Row = neo4j.Record

CONNECTIONS_MAX = 32
CONNECT_S = 3.0
PREPARING_S = 60.0
"""How long the first look at a server may take: it makes the schema, and a fresh server is slow."""
PAUSE_S = 0.01
PAUSE_MAX_S = 0.5


class Transaction:
    """One transaction: statements that are constants, values that are parameters."""

    def __init__(self, transaction: AsyncTransaction) -> None:
        self._transaction = transaction

    async def rows(self, statement: LiteralString, parameters: Mapping[str, object]) -> list[Row]:
        """Run a statement to its end."""
        result = await self._transaction.run(statement, cast(dict[str, Any], parameters))
        return [row async for row in result]


class Database:
    """A database of a server, which is looked for at the first call and prepared once it is found.

    A call is repeated until its deadline while its error may pass. Where the server was not there at the call before,
    one attempt is made: a store that is down is told at once.
    """

    def __init__(self, driver: AsyncDriver, options: Options) -> None:
        self._driver = driver
        self._name = options.database
        self._deadline_s = options.deadline_ms / 1000
        # On a cluster, whoever reads behind a write must see it, and so must a revocation's next reader.
        self._bookmarks = AsyncGraphDatabase.bookmark_manager() if options.routed else None
        self._ready = False
        self._preparing: asyncio.Task[None] | None = None
        self._down = True
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}

    async def rows(self, statement: LiteralString, parameters: Mapping[str, object]) -> list[Row]:
        """Run one statement that only reads."""

        async def attempt() -> list[Row]:
            async with self._session(neo4j.READ_ACCESS) as session:
                query = Query(statement, timeout=self._deadline_s)
                result = await session.run(query, cast(dict[str, Any], parameters))
                return [row async for row in result]

        return await self._persistently(attempt, self._due())

    async def read(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Several statements that only read, in one transaction."""
        return await self._transact(work, neo4j.READ_ACCESS, self._due(), commits=False)

    async def write(self, place: str, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """One transaction that writes. `work` may run several times, and must find what it has done already.

        place: what its lock is about. Those of one place take turns here, instead of each waiting at the server with
        a connection of its own; what protects them from other processes is the lock.
        """
        due = self._due()
        async with self._turn(place, due):
            return await self._transact(work, neo4j.WRITE_ACCESS, due, commits=True)

    async def behind_writers(self, place: str, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """Read what the lock that `work` takes protects, without leaving a trace: what is under way is over by then."""
        due = self._due()
        async with self._turn(place, due):
            return await self._transact(work, neo4j.WRITE_ACCESS, due, commits=False)

    def _session(self, mode: str) -> AsyncSession:
        return self._driver.session(
            database=self._name, default_access_mode=mode, bookmark_manager=self._bookmarks, fetch_size=-1
        )

    def _due(self) -> float:
        return asyncio.get_running_loop().time() + left(self._deadline_s)

    async def _transact(
        self, work: Callable[[Transaction], Awaitable[T]], mode: str, due: float, *, commits: bool
    ) -> T:
        async def attempt() -> T:
            async with self._session(mode) as session:
                transaction = await session.begin_transaction(timeout=self._deadline_s)
                async with transaction:
                    result = await work(Transaction(transaction))
                    if commits:
                        await transaction.commit()
                    else:
                        await transaction.rollback()
                return result

        return await self._persistently(attempt, due)

    async def _persistently(self, attempt: Callable[[], Awaitable[T]], due: float) -> T:
        error: Exception | None = None
        try:
            async with asyncio.timeout_at(due):
                pause_s = PAUSE_S
                while True:
                    try:
                        await self.prepare()
                        result = await attempt()
                    except ERRORS as failure:
                        error = failure
                        self._weigh(failure)
                    else:
                        self._down = False
                        return result
                    await asyncio.sleep(random.uniform(0, pause_s))
                    pause_s = min(2 * pause_s, PAUSE_MAX_S)
        except TimeoutError as timeout:
            self._down = isinstance(error, UNREACHABLE)
            raise StoreBusy() if error is None else translated(error) from (error or timeout)

    def _weigh(self, error: Exception) -> None:
        """Let an error pass that may be over soon, or raise what it means."""
        if not is_passing(error) or (self._down and isinstance(error, UNREACHABLE)):
            raise translated(error) from error

    async def prepare(self) -> None:
        """Look at the server and its schema, once for all callers: whoever gives up waiting does not end it."""
        if self._ready:
            return
        if self._preparing is None or self._preparing.done():
            self._preparing = asyncio.create_task(self._prepare())
            # Seen by those who wait for it; where nobody does any more, it is not to be reported.
            self._preparing.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._preparing)

    async def close(self) -> None:
        """Leave nothing running."""
        if self._preparing is not None and not self._preparing.done():
            self._preparing.cancel()
            await asyncio.wait([self._preparing])

    async def _prepare(self) -> None:
        async with asyncio.timeout(PREPARING_S):
            await prepare(self._alone)
        self._ready, self._down = True, False

    async def _alone(self, statement: LiteralString, parameters: Mapping[str, int] | None = None) -> list[Any]:
        async with self._session(neo4j.WRITE_ACCESS) as session:
            result = await session.run(statement, cast(dict[str, Any], parameters or {}))
            rows = [row async for row in result]
            check_server((await result.consume()).server.agent)
            return rows

    @asynccontextmanager
    async def _turn(self, place: str, due: float) -> AsyncIterator[None]:
        """Hold the turn of a place. Raises StoreBusy where it does not come until `due`."""
        lock, users = self._turns.get(place, (asyncio.Lock(), 0))
        self._turns[place] = (lock, users + 1)
        try:
            try:
                async with asyncio.timeout_at(due):
                    await lock.acquire()
            except TimeoutError as timeout:
                raise StoreBusy from timeout
            try:
                yield
            finally:
                lock.release()
        finally:
            lock, users = self._turns.pop(place)
            if users > 1:
                self._turns[place] = (lock, users - 1)


@asynccontextmanager
async def open_database(options: Options) -> AsyncIterator[Database]:
    """A database, prepared if its server is there. One that is down, or refuses, is told by the first call."""
    silence()
    driver: AbstractAsyncContextManager[AsyncDriver] = AsyncGraphDatabase.driver(
        options.address,
        auth=None if options.user is None else neo4j.basic_auth(options.user, options.password),
        max_connection_pool_size=CONNECTIONS_MAX,
        connection_acquisition_timeout=options.deadline_ms / 1000,
        connection_timeout=min(CONNECT_S, options.deadline_ms / 1000),
        telemetry_disabled=True,
    )
    async with driver as opened:
        database = Database(opened, options)
        try:
            with suppress(TimeoutError, CodeSynapseError, *ERRORS):
                async with asyncio.timeout(options.deadline_ms / 1000):
                    await database.prepare()
            yield database
        finally:
            await database.close()


async def quietly(call: Awaitable[object]) -> None:
    """Await what may fail without harm: it is done again by somebody else."""
    with suppress(CodeSynapseError):
        await call
