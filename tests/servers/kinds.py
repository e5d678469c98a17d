"""The servers there are: what each is called, and how one is started in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.servers import neo4j


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
    return Launched(pid=server.launch().pid, url=server.url, options={"url": server.url})


KINDS = {kind.name: kind for kind in (Kind("neo4j", "neo4j", _neo4j),)}
