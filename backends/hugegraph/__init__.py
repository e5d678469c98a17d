"""Session and repository memory in Apache HugeGraph 1.5 or later, over Gremlin.

What is promised holds on one HugeGraph server: commits are made one by one under a lock in its process.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

from codesynapse.backends.hugegraph.address import FORM, address_of
from codesynapse.backends.hugegraph.connection import Connection
from codesynapse.backends.hugegraph.portable import GremlinPortable
from codesynapse.backends.hugegraph.probe import probe
from codesynapse.backends.hugegraph.repository import GremlinRepositoryGraph
from codesynapse.backends.hugegraph.session import Server
from codesynapse.backends.hugegraph.store import GremlinSessionMemory
from codesynapse.backends.hugegraph.vectors import GremlinVectorIndex
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.opening import only, opens
from codesynapse.contracts.ports import Backend, Features

DEADLINE_MS = 10_000
DEADLINE_MS_MAX = 600_000


@opens(Features(session_memory=True, repository=True, vectors=True, portable=True, durable=True))
@asynccontextmanager
async def open_hugegraph(options: Mapping[str, str]) -> AsyncIterator[Backend]:
    """A server's graph, connected to when it is first needed, so that a server that is down can come later.

    url: of the Gremlin endpoint (address.py). deadline_ms: how long a call may take, 1 to 600,000.
    """
    only(options, "url", "deadline_ms")
    if "url" not in options:
        raise Invalid(field="url", limit=FORM)
    connection = Connection(address_of(options["url"]), deadline_s=_deadline_ms(options) / 1000)
    server = Server(connection)
    try:
        sessions = GremlinSessionMemory(server)
        yield Backend(
            session_memory=sessions,
            repository=GremlinRepositoryGraph(server),
            vectors=GremlinVectorIndex(server, sessions),
            portable=GremlinPortable(server, sessions),
            probe=partial(probe, connection),
        )
    finally:
        await server.close()


def _deadline_ms(options: Mapping[str, str]) -> int:
    text = options.get("deadline_ms", str(DEADLINE_MS))
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= DEADLINE_MS_MAX:
        raise Invalid(field="deadline_ms", limit=f"1 to {DEADLINE_MS_MAX}")
    return int(text)
