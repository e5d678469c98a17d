"""The real Neo4j that the run shares, for the adapter's own tests: through the adapter, and past it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import neo4j as driver
import pytest

from codesynapse.backends.neo4j.connection import Database, open_database
from codesynapse.backends.neo4j.options import Options, options_of
from codesynapse.backends.neo4j.store import Neo4jSessionMemory
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
