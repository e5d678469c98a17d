"""A Neo4j of a worker's own, for the tests that kill their server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import pytest

from tests.servers import neo4j, tools


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
    tools.require()
    own = OwnServer(neo4j.new(tmp_path_factory.mktemp("neo4j") / "home"))
    yield own
    with contextlib.suppress(ProcessLookupError):
        own.process.kill()
    own.process.wait()
