"""The servers there are: what each is called, and how one is started in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.servers import hugegraph, neo4j


@dataclass(frozen=True)
class Launched:
    """A server that answers. options: what the backend of this store is given to open it."""

    pid: int
    url: str
    options: dict[str, str]


@dataclass(frozen=True)
class Kind:
    """store: the entry point of the backend that speaks to it. start: in an empty folder, until it answers."""

    name: str
    store: str
    start: Callable[[Path], Launched]


def _neo4j(home: Path) -> Launched:
    server = neo4j.new(home)
    # A fresh server answers slowly on a busy machine.
    options = {"url": server.url, "deadline_ms": "60000"}
    return Launched(pid=server.launch().pid, url=server.url, options=options)


def _hugegraph(version: str) -> Callable[[Path], Launched]:
    def start(home: Path) -> Launched:
        server = hugegraph.new(home, version)
        # The first to come waits for the schema, which takes HugeGraph some ten seconds on a busy machine.
        options = {"url": server.url, "deadline_ms": "60000"}
        return Launched(pid=server.launch().pid, url=server.url, options=options)

    return start


KINDS = {
    kind.name: kind
    for kind in (
        Kind("neo4j", "neo4j", _neo4j),
        Kind("hugegraph-1.5", "hugegraph", _hugegraph("1.5.0")),
        Kind("hugegraph-1.7", "hugegraph", _hugegraph("1.7.0")),
    )
}
