"""A real Neo4j for the adapter's own tests: the one that the run shares, and one of its own for what kills it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import neo4j as driver
import pytest

from codesynapse.backends.neo4j.connection import Database, open_database
from codesynapse.backends.neo4j.options import Options, options_of
from codesynapse.backends.neo4j.store import Neo4jSessionMemory
from tests.servers import neo4j
from tests.servers.running import Record

Ask = Callable[..., Awaitable[list[driver.Record]]]


@pytest.fixture
def options(neo4j_server: Record) -> Options:
    return options_of(neo4j_server.options)


@pytest.fixture
async def database(options: Options) -> AsyncIterator[Database]:
    async with open_database(options) as opened:
        yield opened


@pytest.fixture
async def memory(database: Database) -> Neo4jSessionMemory:
    return Neo4jSessionMemory(database)


@pytest.fixture
async def bare(options: Options) -> AsyncIterator[driver.AsyncDriver]:
    """The driver alone, past the adapter."""
    credentials = (options.user or "", options.password)
    async with driver.AsyncGraphDatabase.driver(options.address, auth=credentials) as opened:
        yield opened


@pytest.fixture
def ask(bare: driver.AsyncDriver) -> Ask:
    """Run a statement by the driver alone."""

    async def run(statement: str, **parameters: object) -> list[driver.Record]:
        async with bare.session(database="neo4j") as session:
            result = await session.run(statement, parameters)
            return [row async for row in result]

    return run


@pytest.fixture
def blocked(ask: Ask) -> Callable[[str], Awaitable[None]]:
    """Waits until some transaction of a tenant waits for a lock."""

    async def wait(tenant: str) -> None:
        statement = (
            "SHOW TRANSACTIONS YIELD status, parameters "
            "WHERE status STARTS WITH 'Blocked' AND parameters.tenant = $tenant RETURN status"
        )
        async with asyncio.timeout(60):
            while not await ask(statement, tenant=tenant):
                pass

    return wait


class OwnServer:
    """A server that a test may kill and start again."""

    def __init__(self, server: neo4j.Neo4j) -> None:
        self.server = server
        self.process = server.launch()

    @property
    def url(self) -> str:
        return self.server.url

    async def kill(self) -> None:
        self.process.kill()
        await asyncio.to_thread(self.process.wait)

    async def start(self) -> None:
        self.process = await asyncio.to_thread(self.server.launch)


@pytest.fixture(scope="session")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    """One a worker, up when a test gets it; a test that kills it starts it again."""
    own = OwnServer(neo4j.new(tmp_path_factory.mktemp("neo4j") / "home"))
    yield own
    with contextlib.suppress(ProcessLookupError):
        own.process.kill()
    own.process.wait()
