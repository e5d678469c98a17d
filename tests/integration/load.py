"""A write load whose acknowledgements are kept, and what must be on the disk for them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.memory import Entity, EntityId, Fact, Scope
from codesynapse.contracts.repository import RepositoryScope
from codesynapse.contracts.triples import Triple
from codesynapse.server.cli.first import issue_key
from codesynapse.server.clock import system_clock
from codesynapse.server.services import Ports, open_ports
from codesynapse.server.settings import load
from tests.integration.harness import Process, fresh

FACTS = 3
Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Calls a tool; its structured content."""


@dataclass(kw_only=True)
class Writer:
    """Writes groups of facts, named after itself and a number, into one scope. What was acknowledged is kept."""

    name: str
    tenant: str
    session: str
    scope: str = "session"
    tried: int = 0
    acknowledged: list[int] = field(default_factory=list)
    revisions: list[int] = field(default_factory=list)
    conflicts: int = 0

    def triples(self, number: int) -> list[dict[str, str]]:
        return [
            {"subject": f"{self.name} {number} {fact}", "predicate": "is", "object": f"there {fact}"}
            for fact in range(FACTS)
        ]

    async def write(self, call: Call) -> None:
        """One more group, repeated while a conflict is reported; an acknowledgement names all facts as added."""
        number = self.tried
        self.tried += 1
        while True:
            answer = await call("upsert_graph_triples", {"triples": self.triples(number), "memory_scope": self.scope})
            if answer.get("code") != "revision_conflict":
                break
            assert answer["revision"] >= 0
            self.conflicts += 1
        assert answer.get("added") == FACTS, answer
        self.acknowledged.append(number)
        self.revisions.append(answer["revision"])

    async def found(self, ports: Ports) -> list[int]:
        """The numbers of the groups that are stored; each with all of its facts. The acknowledged ones are there."""
        _, entities, facts = await stored(ports, self)
        names = {entity.id: entity.name for entity in entities}
        subjects = {names[fact.subject] for fact in facts}
        groups = [sum(triple["subject"] in subjects for triple in self.triples(number)) for number in range(self.tried)]
        assert set(groups) <= {0, FACTS}, "half of a write is there"
        whole = [number for number, count in enumerate(groups) if count]
        assert set(self.acknowledged) <= set(whole), "an acknowledged write is lost"
        return whole

    async def revision(self, ports: Ports) -> int:
        """The revision of the scope."""
        return (await stored(ports, self))[0]


async def stored(ports: Ports, writer: Writer) -> tuple[int, tuple[Entity, ...], tuple[Fact, ...]]:
    """Revision, entities and facts of what a writer wrote to, read straight from the store."""
    if writer.scope == "session":
        scope = Scope(tenant_id=writer.tenant, session_id=writer.session, ns="default")
        snapshot = await ports.session_memory.load(scope, now_ms=system_clock())
        return snapshot.revision, snapshot.entities, snapshot.facts
    repository = RepositoryScope(tenant_id=writer.tenant, repository="default")
    written = [triple for number in range(writer.tried) for triple in writer.triples(number)]
    pairs = [(subject_id(triple), "is") for triple in written]
    part = await ports.repository.read(repository, pairs=pairs, entities=())
    return part.revision, part.entities, part.facts


def subject_id(triple: dict[str, str]) -> EntityId:
    return Triple(subject=triple["subject"], predicate=triple["predicate"], object=triple["object"]).subject_id


@asynccontextmanager
async def opened(home: Path, graph: str = "sqlite") -> AsyncIterator[Ports]:
    """The stores of a home, beside whatever process runs on it."""
    settings = await asyncio.to_thread(load, {"CODESYNAPSE_HOME": str(home), "CODESYNAPSE_GRAPH": graph})
    async with open_ports(settings) as ports:
        yield ports


async def move_out(server: Process) -> None:
    """Give the server's owner an organisation of a new name: a graph server is shared by tests, and so is `home`."""
    async with opened(server.home) as ports:
        accounts, now_ms = ports.accounts, system_clock()
        server.tenant = fresh("org")
        await accounts.create_organization(server.tenant, now_ms=now_ms)
        await accounts.create_repository(server.tenant, "default", now_ms=now_ms)
        await accounts.set_member(server.tenant, "owner", member=True, now_ms=now_ms)
        await accounts.set_grant(server.tenant, "default", "owner", Level.ADMIN, now_ms=now_ms)
        server.key = await issue_key(accounts, system_clock, server.tenant, "owner")
