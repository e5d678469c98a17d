"""Session memory: read, upsert and clear one namespace of the session that executes.

The law and the store decide; this only reads, applies, commits, and reads again where somebody was faster.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from msgspec import structs

from codesynapse.contracts.change import Applied, apply, fitted
from codesynapse.contracts.errors import NamespaceClosed, RevisionConflict, SnapshotTooLarge, Unavailable
from codesynapse.contracts.identity import Execution, require
from codesynapse.contracts.memory import CommitId, Committed, Outcome, Revision, Scope, Snapshot, scope_of
from codesynapse.contracts.ports import SessionMemory
from codesynapse.contracts.triples import Triple
from codesynapse.server.clock import Clock
from codesynapse.server.memory.views import Upserted, ended_facts, upserted

ATTEMPTS = 16
"""How often a commit is tried against other processes' writers before the conflict is reported."""


class Turns:
    """Lets the writers of one scope go one after the other within this process, so that they do not race in vain.

    Only a courtesy: what protects a scope is the revision check inside the store.
    """

    def __init__(self) -> None:
        self._waiting: dict[object, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, scope: object) -> AsyncIterator[None]:
        """Hold the turn of a scope."""
        lock, users = self._waiting.get(scope, (asyncio.Lock(), 0))
        self._waiting[scope] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            _, users = self._waiting[scope]
            if users == 1:
                del self._waiting[scope]
            else:
                self._waiting[scope] = (lock, users - 1)


def new_commit_id(execution: Execution) -> CommitId:
    """The id of an execution's next commit, by which a lost acknowledgement is settled, for all attempts at it."""
    return CommitId(secrets.token_hex(16) if execution.commits is None else execution.commits.take())


def check_expected(expected: int | None, current: Revision) -> None:
    """Raises RevisionConflict, with the current revision, where the caller expected another one."""
    if expected is not None and expected != current:
        raise RevisionConflict(details={"revision": current})


def unheard(_: object) -> None:
    """Nobody wants to know that something changed."""


class SessionEngine:
    """The session memory of whoever executes. changed: told the scope after each commit."""

    def __init__(self, memory: SessionMemory, clock: Clock, changed: Callable[[Scope], None] = unheard) -> None:
        self._memory = memory
        self._clock = clock
        self._changed = changed
        self._turns = Turns()

    async def snapshot(self, execution: Execution, ns: str) -> Snapshot:
        """The authoritative snapshot. Raises SessionExpired and SessionRevoked."""
        now_ms = self._clock()
        return await self._memory.load(scope_of(require(execution, now_ms), ns), now_ms=now_ms)

    async def upsert(
        self,
        execution: Execution,
        ns: str,
        triples: Sequence[Triple],
        *,
        source: str | None,
        expected_revision: int | None,
    ) -> Upserted:
        """Assert and retract. Nothing is committed where nothing changes.

        Raises NamespaceClosed, QuotaExceeded, SnapshotTooLarge, Invalid; RevisionConflict where `expected_revision`
        is not the current one, or where other processes were faster 16 times.
        """
        scope, commit_id = scope_of(require(execution, self._clock()), ns), new_commit_id(execution)
        async with self._turns.of(scope):
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    return await self._try_upsert(execution, commit_id, scope, triples, source, expected_revision)
                except RevisionConflict:
                    if expected_revision is not None or attempt == ATTEMPTS:
                        raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def check(self, execution: Execution, ns: str, triples: Sequence[Triple]) -> None:
        """Raises what an upsert of these refuses whatever revision and room there is: NamespaceClosed, Invalid."""
        snapshot = await self.snapshot(execution, ns)
        if snapshot.closed:
            raise NamespaceClosed
        apply(snapshot.entities, snapshot.facts, triples, self._clock())

    async def clear(self, execution: Execution, ns: str) -> int:
        """Close the namespace for good; how many facts went, 0 where it was closed already."""
        scope, commit_id = scope_of(require(execution, self._clock()), ns), new_commit_id(execution)
        async with self._turns.of(scope):
            for attempt in range(1, ATTEMPTS + 1):
                snapshot = await self.snapshot(execution, ns)
                if snapshot.closed:
                    return 0
                removed = len(snapshot.facts)
                closed = structs.replace(snapshot, entities=(), facts=(), closed=True)
                try:
                    await self._commit(execution, commit_id, closed, snapshot.revision, Outcome(removed=removed))
                except RevisionConflict:
                    if attempt == ATTEMPTS:
                        raise
                else:
                    return removed
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def result(self, execution: Execution, ns: str, commit_id: CommitId) -> Upserted | None:
        """What an upsert of this commit id did, with those of its facts that are still there; None where none is kept.

        Raises SessionExpired and SessionRevoked.
        """
        now_ms = self._clock()
        scope = scope_of(require(execution, now_ms), ns)
        committed = await self._memory.committed(scope, commit_id, now_ms=now_ms)
        if committed is None:
            return None
        snapshot = await self._memory.load(scope, now_ms=now_ms)
        return upserted(committed.outcome, snapshot.facts, snapshot.entities, committed.revision)

    async def _try_upsert(
        self,
        execution: Execution,
        commit_id: CommitId,
        scope: Scope,
        triples: Sequence[Triple],
        source: str | None,
        expected_revision: int | None,
    ) -> Upserted:
        now_ms = self._clock()
        snapshot = await self._memory.load(scope, now_ms=now_ms)
        if snapshot.closed:
            raise NamespaceClosed
        check_expected(expected_revision, snapshot.revision)
        applied = apply(snapshot.entities, snapshot.facts, triples, now_ms, source=source)
        if not applied.changed:
            return upserted(applied.outcome, applied.facts, applied.entities, snapshot.revision)
        committed = await self._commit_fitted(execution, commit_id, snapshot, applied)
        ended = ended_facts(snapshot.facts, applied.changed_facts, now_ms)
        return upserted(committed.outcome, applied.facts, applied.entities, committed.revision, ended)

    async def _commit_fitted(
        self, execution: Execution, commit_id: CommitId, snapshot: Snapshot, applied: Applied
    ) -> Committed:
        """Commit; where the store finds it too large, once more without the oldest closed facts (decision 13)."""
        proposed = structs.replace(snapshot, entities=applied.entities, facts=applied.facts)
        try:
            return await self._commit(execution, commit_id, proposed, snapshot.revision, applied.outcome)
        except SnapshotTooLarge as error:
            # The limit is the organisation's, and only the store knows it.
            smaller = fitted(proposed, self._clock(), limit=int(error.limit or 0))
            if smaller == proposed:
                raise
            return await self._commit(execution, commit_id, smaller, snapshot.revision, applied.outcome)

    async def _commit(
        self, execution: Execution, commit_id: CommitId, proposed: Snapshot, read_revision: Revision, outcome: Outcome
    ) -> Committed:
        # The first commit of a scope fixes its expiry: the binding's, which is the execution's deadline.
        expires_at_ms = proposed.expires_at_ms or execution.deadline_ms
        proposed = structs.replace(proposed, expires_at_ms=expires_at_ms)
        now_ms = self._clock()
        require(execution, now_ms)  # A call that was cancelled by now writes nothing.
        try:
            committed = await self._memory.commit(
                proposed, read_revision=read_revision, commit_id=commit_id, outcome=outcome, now_ms=now_ms
            )
        except Unavailable:
            settled = await self._memory.committed(proposed.scope, commit_id, now_ms=self._clock())
            if settled is None:
                raise
            committed = settled
        self._changed(proposed.scope)
        return committed
