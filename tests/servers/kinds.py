"""The servers there are: what each is called, and how one is started in a folder of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from tests.servers import hugegraph, neo4j


class Server(Protocol):
    """One server's folder and ports; it can be launched, killed and launched again."""

    @property
    def url(self) -> str: ...

    def launch(self) -> subprocess.Popen[bytes]:
        """Start it and wait until it answers."""


@dataclass(frozen=True)
class Launched:
    """A server that answers. options: what the backend of this store is given to open it."""

    pid: int
    url: str
    options: dict[str, str]


@dataclass(frozen=True)
class Kind:
    """store: the entry point of the backend that speaks to it. new: a server in an empty folder, not launched yet.

    always: whether every run has it, and not `make test-all` alone.
    """

    name: str
    store: str
    new: Callable[[Path], Server]
    always: bool = True

    def start(self, home: Path) -> Launched:
        """Launch one in an empty folder, until it answers."""
        server = self.new(home)
        # A fresh server answers slowly on a busy machine, and the first to come waits for the schema, which takes
        # HugeGraph some ten seconds there.
        options = {"url": server.url, "deadline_ms": "60000"}
        return Launched(pid=server.launch().pid, url=server.url, options=options)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("neo4j", "neo4j", partial(neo4j.new, release=neo4j.LTS)),
        Kind("neo4j-2026", "neo4j", partial(neo4j.new, release=neo4j.NEWEST), always=False),
        Kind("hugegraph-1.5", "hugegraph", partial(hugegraph.new, version="1.5.0")),
        Kind("hugegraph-1.7", "hugegraph", partial(hugegraph.new, version="1.7.0")),
    )
}

TESTED = {name: kind for name, kind in KINDS.items() if kind.always or os.environ.get("CODESYNAPSE_FULL") == "1"}
"""Those that this run has."""

NEO4J = [name for name, kind in TESTED.items() if kind.store == "neo4j"]
