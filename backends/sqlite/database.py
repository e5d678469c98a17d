"""One SQLite file, open: one lane that writes and two that read."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from codesynapse.backends.sqlite.connection import Connection, connect
from codesynapse.backends.sqlite.faults import translated
from codesynapse.backends.sqlite.lane import Lane, reading, writing
from codesynapse.backends.sqlite.migrate import prepare

T = TypeVar("T")

_FOR_ALL = (
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16384",
)
# Secure: what is deleted is overwritten, so that ended memory is in no file. No waiting: the lane looks by itself.
_FOR_WRITING = ("PRAGMA foreign_keys = ON", "PRAGMA secure_delete = ON", "PRAGMA busy_timeout = 0")
_FOR_READING = ("PRAGMA query_only = ON",)
_MARK = "PRAGMA application_id = 0x43534E50"


class Database:
    """Work as jobs on one file.

    Reads of the registry have a lane of their own: every request waits for one, and none must wait behind a search.
    """

    def __init__(self, path: Path, *, deadline_s: float) -> None:
        write = partial(connect, path, *_FOR_ALL, *_FOR_WRITING, patience_s=deadline_s)
        read = partial(connect, path, *_FOR_ALL, *_FOR_READING, patience_s=deadline_s)
        self._writer = Lane("sqlite-writer", write, writing, deadline_s=deadline_s)
        self._registry = Lane("sqlite-registry", read, reading, deadline_s=deadline_s)
        self._graphs = Lane("sqlite-graphs", read, reading, deadline_s=deadline_s, share=1)

    async def connected(self) -> None:
        """Come back once every lane has its connection. Raises StoreFault, StoreBusy."""
        for lane in (self._writer, self._registry, self._graphs):
            await lane.run(lambda _: None)

    async def write(self, work: Callable[[Connection], T], *, scrubs: bool = False) -> T:
        """The result of a write that is on the disk. scrubs: what it deletes shall be in no file afterwards."""
        return await self._writer.run(work, scrubs=scrubs)

    async def ask(self, work: Callable[[Connection], T]) -> T:
        """The result of a short read of the registry, of a state not older than this call."""
        return await self._registry.run(work)

    async def search(self, tenant_id: str, work: Callable[[Connection], T]) -> T:
        """The result of a read of a graph, of a state not older than this call. Tenants take turns."""
        return await self._graphs.run(work, key=tenant_id)

    async def probe(self) -> None:
        """Write the mark of the file as it is: one page, synced, so that a full or broken disk is found."""
        await self.write(lambda connection: connection.execute(_MARK).close())

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
    await asyncio.to_thread(_prepare, path, deadline_s)
    database = Database(path, deadline_s=deadline_s)
    try:
        await database.connected()
        yield database
    finally:
        await database.close()


def _prepare(path: Path, deadline_s: float) -> None:
    try:
        prepare(path, time.monotonic() + deadline_s)
    except Exception as error:  # The edge of the opening: a driver's error becomes one of ours, any other passes.
        raise translated(error) from error
