"""What tests of services share: the memory store, one organisation with its people, and executions of theirs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from codesynapse.backends import open_backend
from codesynapse.backends.embedders.hashing import HashingEmbedder
from codesynapse.contracts.accounts import Caller, KeyRecord, Level, key_hash, new_key
from codesynapse.contracts.identity import Cancellation, Execution
from codesynapse.contracts.triples import Triple
from codesynapse.server.clock import ManualClock
from codesynapse.server.hints.state import Hints
from codesynapse.server.memory.engine import SessionEngine
from codesynapse.server.memory.models import Models
from codesynapse.server.memory.recall import Recall
from codesynapse.server.memory.repository import RepositoryEngine
from codesynapse.server.services import Ports
from codesynapse.server.sessions.registry import Sessions, execution_of

START_MS = 1_800_000_000_000
TENANT, REPO = "acme", "default"


@dataclass(kw_only=True)
class World:
    """Services over the memory store, on a clock that a test moves."""

    ports: Ports
    clock: ManualClock
    sessions: Sessions
    engine: SessionEngine
    repository: RepositoryEngine
    recall: Recall
    hints: Hints
    models: Models
    keys: dict[str, str] = field(default_factory=dict)

    async def user(self, subject: str, *, tenant: str = TENANT, level: Level | None = Level.ADMIN) -> Caller:
        """A member with a key, and a grant on `default`."""
        accounts = self.ports.accounts
        await accounts.create_user(subject, now_ms=self.clock())
        await accounts.set_member(tenant, subject, member=True, now_ms=self.clock())
        if level is not None:
            await accounts.set_grant(tenant, REPO, subject, level, now_ms=self.clock())
        key = new_key()
        shown = key_hash(key)
        assert shown is not None
        record = KeyRecord(key_id=f"key-{subject}", tenant_id=tenant, subject_id=subject, created_at_ms=self.clock())
        await accounts.create_key(record, shown, now_ms=self.clock())
        self.keys[subject] = key
        return Caller(tenant_id=tenant, subject_id=subject, key_id=record.key_id)

    async def execution(self, caller: Caller, session_id: str) -> Execution:
        """Register a session, if it is not yet, and resolve it."""
        await self.sessions.register(caller, session_id)
        authority = await self.sessions.authorize(self.keys[caller.subject_id], session_id)
        assert authority.binding is not None
        return execution_of(authority, authority.binding.identity, Cancellation())


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """A fresh one with the organisation `acme` and its repository `default`."""
    clock = ManualClock(START_MS)
    async with open_backend("memory", {}) as backend:
        assert backend.accounts is not None
        assert backend.session_memory is not None
        assert backend.repository is not None
        ports = Ports(
            accounts=backend.accounts,
            session_memory=backend.session_memory,
            repository=backend.repository,
            vectors=backend.vectors,
            agents=backend.agents,
        )
        await ports.accounts.create_organization(TENANT, now_ms=clock())
        await ports.accounts.create_repository(TENANT, REPO, now_ms=clock())
        sessions = Sessions(ports.accounts, ports.session_memory, ports.vectors, clock)
        engine = SessionEngine(ports.session_memory, clock)
        repository = RepositoryEngine(ports.repository, clock, sessions.recheck_writing)
        recall = Recall(engine, repository, clock)
        hints = Hints(embedder=True)
        yield World(
            ports=ports,
            clock=clock,
            sessions=sessions,
            engine=engine,
            repository=repository,
            recall=recall,
            hints=hints,
            models=Models(HashingEmbedder(), hints, clock, 10_000),
        )


def triple(subject: str, predicate: str, object_: str, **more: Any) -> Triple:
    """A statement."""
    return Triple(subject=subject, predicate=predicate, object=object_, **more)


async def upsert(engine: Any, execution: Execution, *triples: Triple, ns: str = REPO, **more: Any) -> Any:
    """An upsert with nothing else said."""
    sent: Sequence[Triple] = triples
    return await engine.upsert(execution, ns, sent, **{"source": None, "expected_revision": None, **more})
