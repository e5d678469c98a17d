"""Servers of a worker's or a test's own, for what kills its server."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import tools
from tests.servers.kinds import KINDS, TESTED, Kind


class OwnServer:
    """A server that a test may kill and start again; down at first. name: its kind's. store: its backend."""

    def __init__(self, kind: Kind, home: Path) -> None:
        tools.require()
        self.name, self.store = kind.name, kind.store
        self.server = kind.new(home)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return self.server.url

    async def kill(self) -> None:
        """kill -9."""
        await asyncio.to_thread(self.end)

    async def start(self) -> None:
        await asyncio.to_thread(self.launch)

    def launch(self) -> None:
        """Let it be up."""
        if self.process is None or self.process.poll() is not None:
            self.process = self.server.launch()

    def end(self) -> None:
        """Let it be down, without a chance to tidy up."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="session")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    """A Neo4j, one a worker, up when a test gets it; a test that kills it starts it again."""
    own = OwnServer(KINDS["neo4j"], tmp_path_factory.mktemp("neo4j") / "home")
    own.launch()
    yield own
    own.end()


@pytest.fixture(params=list(TESTED))
def killed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OwnServer]:
    """A server of each kind, which is down; whatever state a test leaves it in is put right behind it."""
    shared: OwnServer | None = request.getfixturevalue("own_server") if request.param == "neo4j" else None
    own = shared or OwnServer(KINDS[request.param], tmp_path / "server")
    own.end()
    yield own
    own.end()
    if shared is not None:
        shared.launch()
