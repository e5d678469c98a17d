"""One SQLite file, open: one lane that writes and two that read."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

from codesynapse.backends.sqlite.faults import translated
from codesynapse.backends.sqlite.lane import Connection, Lane, reading, writing
from codesynapse.backends.sqlite.migrate import prepare

T = TypeVar("T")

STATEMENTS_CACHED = 256

_FOR_ALL = (
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16384",
)
# Secure: what is deleted is overwritten, so that ended memory is in no file. No waiting: the lane looks by itself.
_FOR_WRITING = ("PRAGMA foreign_keys = ON", "PRAGMA secure_delete = ON", "PRAGMA busy_timeout = 0")
_FOR_READING = ("PRAGMA query_only = ON",)


class Database:
    """Work as jobs on one file.

    Reads of the registry have a lane of their own: every request waits for one, and none must wait behind a search.
    """

    def __init__(self, connections: tuple[Connection, Connection, Connection], *, deadline_s: float) -> None:
        writer, registry, graphs = connections
        self._writer = Lane("sqlite-writer", writer, writing, deadline_s=deadline_s)
        self._registry = Lane("sqlite-registry", registry, reading, deadline_s=deadline_s)
        self._graphs = Lane("sqlite-graphs", graphs, reading, deadline_s=deadline_s)

    async def write(self, work: Callable[[Connection], T], *, scrubs: bool = False) -> T:
        """The result of a write that is on the disk. scrubs: what it deletes shall be in no file afterwards."""
        return await self._writer.run(work, scrubs=scrubs)

    async def ask(self, work: Callable[[Connection], T]) -> T:
        """The result of a short read of the registry, of a state not older than this call."""
        return await self._registry.run(work)

    async def search(self, work: Callable[[Connection], T]) -> T:
        """The result of a read of a graph, of a state not older than this call."""
        return await self._graphs.run(work)

    async def close(self) -> None:
        """Finish what was accepted. The last connection to close leaves the file alone, without its log."""
        lanes = (self._registry, self._graphs, self._writer)
        for lane in lanes:
            lane.stop()
        for lane in lanes:
            await asyncio.to_thread(lane.join)


@asynccontextmanager
async def open_database(path: Path, *, deadline_s: float) -> AsyncIterator[Database]:
    """The database in this file, made if it is missing. Raises StoreFault, StoreBusy."""
    connections = await asyncio.to_thread(_connect, path, deadline_s)
    database = Database(connections, deadline_s=deadline_s)
    try:
        yield database
    finally:
        await database.close()


def _connect(path: Path, deadline_s: float) -> tuple[Connection, Connection, Connection]:
    """The connections of the three lanes. Blocks."""
    opened: list[Connection] = []
    try:
        prepare(path, time.monotonic() + deadline_s)
        for pragmas in (_FOR_WRITING, _FOR_READING, _FOR_READING):
            connection = sqlite3.connect(
                path,
                timeout=deadline_s,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=STATEMENTS_CACHED,
            )
            opened.append(connection)
            for pragma in (*_FOR_ALL, *pragmas):
                connection.execute(pragma)
    except Exception as error:
        for connection in opened:
            with suppress(sqlite3.Error):
                connection.close()
        raise translated(error) from error
    writer, registry, graphs = opened
    return writer, registry, graphs
