"""Every port in one SQLite file: the store of `codesynapse serve` where nothing else is configured."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from codesynapse.backends.sqlite.accounts import SqliteAccounts
from codesynapse.backends.sqlite.agents import SqliteAgents
from codesynapse.backends.sqlite.database import open_database
from codesynapse.backends.sqlite.graph import SqliteSessionMemory
from codesynapse.backends.sqlite.portable import SqlitePortable
from codesynapse.backends.sqlite.repository import SqliteRepositoryGraph
from codesynapse.backends.sqlite.transports import SqliteTransports
from codesynapse.backends.sqlite.vectors import SqliteVectorIndex
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.opening import only, opens
from codesynapse.contracts.ports import Backend, Features

DEADLINE_MS = 10_000
DEADLINE_MS_MAX = 600_000


@opens(
    Features(
        session_memory=True,
        repository=True,
        vectors=True,
        accounts=True,
        transports=True,
        agents=True,
        portable=True,
        durable=True,
    )
)
@asynccontextmanager
async def open_sqlite(options: Mapping[str, str]) -> AsyncIterator[Backend]:
    """A database file, safe between several processes.

    path: the file; without it, one that is removed at the end. deadline_ms: how long a call may wait for another
    process, 1 to 600,000.
    """
    only(options, "path", "deadline_ms")
    deadline_s = _deadline_ms(options) / 1000
    async with _place(options) as path, open_database(path, deadline_s=deadline_s) as database:
        yield Backend(
            session_memory=SqliteSessionMemory(database),
            repository=SqliteRepositoryGraph(database),
            vectors=SqliteVectorIndex(database),
            accounts=SqliteAccounts(database),
            transports=SqliteTransports(database),
            agents=SqliteAgents(database),
            portable=SqlitePortable(database),
        )


@asynccontextmanager
async def _place(options: Mapping[str, str]) -> AsyncIterator[Path]:
    """The path of the file."""
    if "path" in options:
        if not options["path"] or "\0" in options["path"]:
            raise Invalid(field="path", limit="the path of a file")
        yield Path(options["path"])
        return
    folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="codesynapse-")
    try:
        yield Path(folder, "codesynapse.db")
    finally:
        await asyncio.to_thread(shutil.rmtree, folder)


def _deadline_ms(options: Mapping[str, str]) -> int:
    text = options.get("deadline_ms", str(DEADLINE_MS))
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= DEADLINE_MS_MAX:
        raise Invalid(field="deadline_ms", limit=f"1 to {DEADLINE_MS_MAX}")
    return int(text)
