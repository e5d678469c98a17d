"""The real HugeGraph servers that the run shares, for the adapter's own tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from codesynapse.backends.hugegraph import open_hugegraph
from codesynapse.backends.hugegraph.address import address_of
from codesynapse.backends.hugegraph.connection import Connection
from codesynapse.backends.hugegraph.repository import GremlinRepositoryGraph
from codesynapse.backends.hugegraph.schema import Schema
from codesynapse.backends.hugegraph.session import Server
from codesynapse.backends.hugegraph.store import GremlinSessionMemory
from codesynapse.contracts.ports import Backend
from tests.servers.running import Record

Ask = Callable[..., Awaitable[list[Any]]]


@pytest.fixture
def url(hugegraph_server: Record) -> str:
    return hugegraph_server.url


@pytest.fixture
async def connection(url: str) -> AsyncIterator[Connection]:
    """A connection to a server that has the schema."""
    opened = Connection(address_of(url), deadline_s=60)
    schema = Schema(opened)
    await schema.ready()
    yield opened
    await schema.close()
    await opened.close()


@pytest.fixture
def server(connection: Connection) -> Server:
    return Server(connection)


@pytest.fixture
def memory(server: Server) -> GremlinSessionMemory:
    return GremlinSessionMemory(server)


@pytest.fixture
def graph(server: Server) -> GremlinRepositoryGraph:
    return GremlinRepositoryGraph(server)


@pytest.fixture
async def another(url: str) -> AsyncIterator[Backend]:
    """A second adapter on the same server, with a connection and a memory of its own."""
    async with open_hugegraph({"url": url, "deadline_ms": "60000"}) as backend:
        yield backend


@pytest.fixture
async def ask(url: str) -> AsyncIterator[Ask]:
    """Run a script past the adapter."""
    opened = Connection(address_of(url), deadline_s=60)

    async def run(script: str, **bindings: object) -> list[Any]:
        return await opened.run(script, bindings)

    yield run
    await opened.close()
