"""A stranger's stores: one that is right, and others with one fault each. They exist only for tests/test_stranger.py.

Each is the memory store with one guard taken out, as somebody might forget it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec import structs

from codesynapse.backends.memory.accounts import DictAccounts
from codesynapse.backends.memory.agents import DictAgents
from codesynapse.backends.memory.graph import DictSessionMemory
from codesynapse.backends.memory.repository import DictRepositoryGraph
from codesynapse.backends.memory.vectors import DictVectorIndex, Shelf
from codesynapse.contracts.accounts import Caller, Registration
from codesynapse.contracts.agent_recall import Candidates, Question
from codesynapse.contracts.agent_work import Changed, Kept, Once, Verdict
from codesynapse.contracts.agents import (
    AgentScope,
    Episode,
    Kind,
    Memory,
    NewMemory,
    Reach,
    Sight,
    Tuning,
    memory_of,
)
from codesynapse.contracts.commit import Stored, check_commit
from codesynapse.contracts.errors import BindingConflict, Unavailable
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import CommitId, Committed, Outcome, Revision, Scope, Snapshot
from codesynapse.contracts.opening import Opener, only, opens
from codesynapse.contracts.ports import Backend, Features
from codesynapse.contracts.vectors import Vector, VectorHit


class LostUpdate(DictSessionMemory):
    """Drops the revision check: whoever writes last wins."""

    async def commit(
        self, proposed: Snapshot, *, read_revision: Revision, commit_id: CommitId, outcome: Outcome, now_ms: Millis
    ) -> Committed:
        root = self._stored(proposed.scope, commit_id).root
        current = Revision(0) if root is None else root.revision
        return await super().commit(
            proposed, read_revision=current, commit_id=commit_id, outcome=outcome, now_ms=now_ms
        )


class ForgottenTombstone(DictSessionMemory):
    """Removes what a revoked session holds, and forgets that it was revoked."""

    async def revoke(self, tenant_id: str, session_id: str, *, now_ms: Millis) -> int:
        removed = await super().revoke(tenant_id, session_id, now_ms=now_ms)
        self.revoked.pop((tenant_id, session_id), None)
        return removed


class QuotaOutside(DictSessionMemory):
    """Reads what others hold before its transaction begins, and trusts it inside."""

    async def commit(
        self, proposed: Snapshot, *, read_revision: Revision, commit_id: CommitId, outcome: Outcome, now_ms: Millis
    ) -> Committed:
        usage = self._stored(proposed.scope, commit_id).usage
        await asyncio.sleep(0)  # others commit meanwhile
        accepted = check_commit(
            structs.replace(self._stored(proposed.scope, commit_id), usage=usage),
            proposed,
            read_revision=read_revision,
            commit_id=commit_id,
            outcome=outcome,
            now_ms=now_ms,
        )
        if accepted.root is not None:
            self._write(proposed.scope, accepted.root, accepted, commit_id)
        return accepted.committed


class ForeignNamespace(DictSessionMemory):
    """Serves an unwritten namespace what another one of the session holds."""

    async def load(self, scope: Scope, *, now_ms: Millis) -> Snapshot:
        served = await super().load(scope, now_ms=now_ms)
        others = [ns for ns in self._namespaces(scope) if ns != scope.ns]
        if served.revision or not others:
            return served
        foreign = await super().load(structs.replace(scope, ns=others[0]), now_ms=now_ms)
        return structs.replace(served, entities=foreign.entities, facts=foreign.facts)


class ExpiryExtended(DictSessionMemory):
    """Takes a later expiry for a renewal, as long as the session lives."""

    async def commit(
        self, proposed: Snapshot, *, read_revision: Revision, commit_id: CommitId, outcome: Outcome, now_ms: Millis
    ) -> Committed:
        held = self._namespaces(proposed.scope).get(proposed.scope.ns)
        if held is not None and now_ms < held.root.expires_at_ms < proposed.expires_at_ms:
            held.root = structs.replace(held.root, expires_at_ms=proposed.expires_at_ms)
        return await super().commit(
            proposed, read_revision=read_revision, commit_id=commit_id, outcome=outcome, now_ms=now_ms
        )


class Reopened(DictSessionMemory):
    """Forgets, while it commits, that a namespace was cleared."""

    def _stored(self, scope: Scope, commit_id: CommitId) -> Stored:
        stored = super()._stored(scope, commit_id)
        return (
            stored if stored.root is None else structs.replace(stored, root=structs.replace(stored.root, closed=False))
        )


class ReplayedAsNew(DictSessionMemory):
    """Does not look for the commit id: what was sent again is applied again."""

    def _stored(self, scope: Scope, commit_id: CommitId) -> Stored:
        return structs.replace(super()._stored(scope, commit_id), earlier=None)


class ForeignHits(DictVectorIndex):
    """Searches all sessions of a tenant and says that the hits are the asker's."""

    async def search(self, scope: Scope, query: Vector, *, model: str, limit: int, now_ms: Millis) -> list[VectorHit]:
        hits = await super().search(scope, query, model=model, limit=limit, now_ms=now_ms)
        for each in [other for other in self._shelf if other.tenant_id == scope.tenant_id and other != scope]:
            hits += await super().search(each, query, model=model, limit=limit, now_ms=now_ms)
        hits.sort(key=lambda hit: (-hit.score, hit.entity))
        return [structs.replace(hit, scope=scope) for hit in hits[:limit]]


class ClaimedIdentity(DictAccounts):
    """Lets someone else have a session whose first participant has revoked it."""

    async def register(self, caller: Caller, session_id: str, *, now_ms: Millis) -> Registration:
        try:
            return await super().register(caller, session_id, now_ms=now_ms)
        except BindingConflict:
            if self._bindings[session_id].revoked_at_ms is None:
                raise
            del self._bindings[session_id]
            return await super().register(caller, session_id, now_ms=now_ms)


class DuplicateRace(DictAgents):
    """Looks for an equal memory before its transaction begins, and trusts what it saw."""

    async def store(self, scope: AgentScope, memory: NewMemory, *, once: Once | None, now_ms: Millis) -> Kept:
        kept = await super().store(scope, memory, once=once, now_ms=now_ms) if once else None
        if kept is not None:
            return kept
        tenant = self._tenant(scope.tenant_id)
        agent = tenant.writable(scope)
        seen = agent.duplicate(memory)
        await asyncio.sleep(0)  # others store meanwhile
        if seen is not None or len(agent.memories) >= tenant.quotas.agent_memories_max:
            return await super().store(scope, memory, once=once, now_ms=now_ms)
        new = memory_of(memory, id=tenant.new_id(), agent_id=agent.agent_id, now_ms=now_ms)
        agent.add(new)
        return Kept(id=new.id, created=True)


class LockBetween(DictAgents):
    """Looks at the lock, and writes a moment later, whatever was locked meanwhile."""

    async def update(
        self,
        sight: Sight,
        *,
        memory_id: int,
        content: str,
        terms: Sequence[str],
        read_revision: int | None,
        now_ms: Millis,
    ) -> Changed:
        found = self._memory(sight, memory_id)
        if found is None or found[1].locked or read_revision is not None:
            return await super().update(
                sight,
                memory_id=memory_id,
                content=content,
                terms=terms,
                read_revision=read_revision,
                now_ms=now_ms,
            )
        agent, memory = found
        holder = agent.of_content(memory.bucket, content)
        if content == memory.content or holder is not None:
            return Changed(
                verdict=Verdict.DONE if content == memory.content else Verdict.DUPLICATE,
                holder=None if holder is None or content == memory.content else holder.id,
            )
        await asyncio.sleep(0)  # somebody locks it meanwhile
        agent.add(
            structs.replace(memory, content=content, terms=tuple(terms), revision=memory.revision + 1, locked=False)
        )
        return Changed(verdict=Verdict.DONE)


class AxisLeak(DictAgents):
    """Takes the empty project for an omitted one, so that the shared pool shows everybody's."""

    async def memories(self, sight: Sight, *, reach: Reach, source_id: str, limit: int) -> list[Memory]:
        return await super().memories(sight, reach=_leaking(reach), source_id=source_id, limit=limit)

    async def candidates(self, scope: AgentScope, question: Question) -> Candidates:
        return await super().candidates(scope, structs.replace(question, reach=_leaking(question.reach)))


def _leaking(reach: Reach) -> Reach:
    return structs.replace(reach, project_id=reach.project_id or None)


class TenantLeak(DictAgents):
    """Serves a record by its number, whichever tenant it is of."""

    async def contents(self, scope: AgentScope, refs: Sequence[tuple[Kind, int]]) -> list[Memory | Episode]:
        own = await super().contents(scope, refs)
        known = {each.id for each in own}
        for tenant in self.tenants.values():
            for agent in tenant.agents.values():
                held = {**agent.memories, **agent.episodes}
                foreign = [held[number] for _, number in refs if number in held and number not in known]
                own += [each for each in foreign if tenant is not self._tenant(scope.tenant_id)]
        return own


class LostTuning(DictAgents):
    """Lets whoever writes a tuning last win, whatever they had read."""

    async def set_tuning(self, scope: AgentScope, tuning: Tuning, *, now_ms: Millis) -> Tuning:
        current = (await super().tuning(scope)).revision
        return await super().set_tuning(scope, structs.replace(tuning, revision=current), now_ms=now_ms)


class OpenDoor(DictAgents):
    """Lets every member of a tenant write to every agent of it."""

    async def store(self, scope: AgentScope, memory: NewMemory, *, once: Once | None, now_ms: Millis) -> Kept:
        agent = self._tenant(scope.tenant_id).agents.get(scope.agent_id)
        owner = scope if agent is None else structs.replace(scope, subject_id=next(iter(agent.grants)))
        return await super().store(owner, memory, once=once, now_ms=now_ms)


def store(
    memory: Callable[[Shelf], DictSessionMemory] = DictSessionMemory,
    vectors: type[DictVectorIndex] = DictVectorIndex,
    accounts: type[DictAccounts] = DictAccounts,
    agents: type[DictAgents] = DictAgents,
) -> Opener:
    """A store of these parts."""

    @opens(Features(session_memory=True, repository=True, vectors=True, accounts=True, agents=True))
    @asynccontextmanager
    async def open_store(options: Mapping[str, str]) -> AsyncIterator[Backend]:
        only(options)
        shelf: Shelf = {}
        sessions, audited = memory(shelf), accounts()
        yield Backend(
            session_memory=sessions,
            repository=DictRepositoryGraph(),
            vectors=vectors(shelf, takes=sessions.takes_vectors),
            accounts=audited,
            agents=agents(audited),
        )

    return open_store


@opens(Features(session_memory=True))
@asynccontextmanager
async def open_small(options: Mapping[str, str]) -> AsyncIterator[Backend]:
    """Session memory alone: the other half of the suite is not for it."""
    only(options)
    yield Backend(session_memory=DictSessionMemory({}))


@opens(Features(session_memory=True, vectors=True))
@asynccontextmanager
async def open_boastful(options: Mapping[str, str]) -> AsyncIterator[Backend]:
    """Declares vectors and has none."""
    only(options)
    yield Backend(session_memory=DictSessionMemory({}))


@opens(Features(session_memory=True))
@asynccontextmanager
async def open_unreachable(options: Mapping[str, str]) -> AsyncIterator[Backend]:
    """A server that is not there."""
    raise ConnectionRefusedError("no server at this address")
    yield Backend()


@opens(Features(session_memory=True))
@asynccontextmanager
async def open_talkative(options: Mapping[str, str]) -> AsyncIterator[Backend]:
    """A server that is not there, and an error that tells all that it was given."""
    raise Unavailable(field="url", limit=f"a server at {options['url']}, asked with {dict(options)}")
    yield Backend()


class Deadly(DictSessionMemory):
    """Takes the whole process with it when it first reads, as a fault in a driver's C code does."""

    async def load(self, scope: Scope, *, now_ms: Millis) -> Snapshot:
        os._exit(3)


open_right = store()
open_deadly = store(Deadly)
open_lost_update = store(LostUpdate)
open_forgotten_tombstone = store(ForgottenTombstone)
open_quota_outside = store(QuotaOutside)
open_foreign_namespace = store(ForeignNamespace)
open_expiry_extended = store(ExpiryExtended)
open_reopened = store(Reopened)
open_replayed_as_new = store(ReplayedAsNew)
open_foreign_hits = store(vectors=ForeignHits)
open_claimed_identity = store(accounts=ClaimedIdentity)
open_duplicate_race = store(agents=DuplicateRace)
open_lock_between = store(agents=LockBetween)
open_axis_leak = store(agents=AxisLeak)
open_tenant_leak = store(agents=TenantLeak)
open_lost_tuning = store(agents=LostTuning)
open_open_door = store(agents=OpenDoor)
