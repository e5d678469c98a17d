"""The port `AgentMemory` in SQLite. Grants are read in the transaction, or the snapshot, of what they allow."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeVar

import msgspec
from msgspec import structs

from codesynapse.backends.sqlite import (
    agent_access,
    agent_checks,
    agent_moving,
    agent_queue,
    agent_reading,
    agent_writing,
)
from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.database import Database
from codesynapse.backends.sqlite.directory import note
from codesynapse.backends.sqlite.faults import decoding
from codesynapse.contracts.accounts import Action, Level
from codesynapse.contracts.agent_port import Sink
from codesynapse.contracts.agent_recall import Candidates, Question
from codesynapse.contracts.agent_work import (
    Changed,
    ChannelMove,
    Kept,
    MergeMode,
    Once,
    ProfileRecord,
    QueueStatus,
    Record,
    StoreCheck,
    TakenIn,
    Tally,
    Task,
    check_merge,
    check_task,
    told,
)
from codesynapse.contracts.agents import (
    KEYS_KEPT_MS,
    AgentGrant,
    AgentScope,
    Episode,
    Kind,
    Memory,
    NewEpisode,
    NewMemory,
    Profile,
    Reach,
    Sight,
    Tuning,
    require_content,
    require_profile,
)
from codesynapse.contracts.errors import CodeSynapseError, RevisionConflict, StoreFault
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.quotas import Quotas

T = TypeVar("T")

_TUNING = "SELECT tuning FROM agents WHERE tenant_id = ? AND id = ?"
_SET_TUNING = "UPDATE agents SET tuning = ? WHERE tenant_id = ? AND id = ?"
_NOTE_RECALLS = """
UPDATE agent_memories SET recalled = recalled + 1, recalled_at_ms = ?
WHERE tenant_id = ? AND +agent = ? AND id IN (SELECT value FROM json_each(?))
"""
# Of all tenants, like every sweep: what is old is nobody's any more.
_SWEEP = """
DELETE FROM agent_keys WHERE (agent, key) IN (
    SELECT agent, key FROM agent_keys WHERE made_at_ms <= ? ORDER BY made_at_ms LIMIT ?
)
"""
_tuning = decoding(msgspec.json.Decoder(Tuning).decode)


UNREADABLE = Tuning(precision="unreadable")
"""What stands for a tuning that means nothing. No precision has this name: recall takes the default, a check of the
health finds it, and who sets another replaces it."""


class DryRun(CodeSynapseError):
    """A dry run is over: what it wrote is undone."""


class SqliteAgents:
    """The port `AgentMemory`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def level(self, scope: AgentScope) -> Level | None:
        return await self._database.ask(lambda each: agent_access.level(each, scope))

    async def set_level(
        self, tenant_id: str, agent_id: str, subject_id: str, level: Level | None, *, now_ms: Millis
    ) -> None:
        await self._database.write(
            lambda each: agent_access.set_level(each, tenant_id, agent_id, subject_id, level, now_ms)
        )

    async def agents(self, tenant_id: str, subject_id: str | None = None) -> list[AgentGrant]:
        return await self._database.ask(lambda each: agent_access.listed(each, tenant_id, subject_id))

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        await self._database.write(lambda each: agent_access.set_quotas(each, tenant_id, quotas))

    async def store(self, scope: AgentScope, memory: NewMemory, *, once: Once | None, now_ms: Millis) -> Kept:
        def work(connection: Connection) -> Kept:
            return agent_writing.written(
                connection,
                scope,
                lambda held, quotas: agent_writing.store(connection, held, memory, quotas, now_ms),
                once,
                now_ms,
            )

        return await self._database.write(work)

    async def archive(self, scope: AgentScope, episode: NewEpisode, *, once: Once | None, now_ms: Millis) -> Kept:
        def work(connection: Connection) -> Kept:
            return agent_writing.written(
                connection,
                scope,
                lambda held, quotas: agent_writing.archive(connection, held, episode, quotas, now_ms),
                once,
                now_ms,
            )

        return await self._database.write(work)

    async def foresee(
        self, scope: AgentScope, memory: NewMemory | None, *, once: Once | None, now_ms: Millis
    ) -> Kept | None:
        return await self._database.ask(lambda each: agent_writing.foreseen(each, scope, memory, once, now_ms))

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
        terms = require_content(content, terms)
        return await self._database.write(
            lambda each: agent_writing.update(each, sight, memory_id, content, terms, read_revision)
        )

    async def set_locked(self, sight: Sight, *, memory_id: int, locked: bool, now_ms: Millis) -> Changed:
        return await self._database.write(lambda each: agent_writing.set_locked(each, sight, memory_id, locked=locked))

    async def delete_memory(self, sight: Sight, *, memory_id: int, now_ms: Millis) -> Changed:
        return await self._database.write(lambda each: agent_writing.delete_memory(each, sight, memory_id))

    async def delete_episode(self, sight: Sight, *, episode_id: int, now_ms: Millis) -> Changed:
        return await self._database.write(lambda each: agent_writing.delete_episode(each, sight, episode_id))

    async def set_profile(self, scope: AgentScope, text: str, *, now_ms: Millis) -> None:
        require_profile(text)
        await self._database.write(
            lambda each: agent_moving.set_profile(each, agent_access.writable(each, scope, now_ms), text, now_ms)
        )

    async def set_tuning(self, scope: AgentScope, tuning: Tuning, *, now_ms: Millis) -> Tuning:
        def work(connection: Connection) -> Tuning:
            held = agent_access.writable(connection, scope, now_ms)
            current = _read_tuning(connection, held)
            if tuning.revision != current.revision:
                raise RevisionConflict(details={"revision": current.revision})
            kept = structs.replace(tuning, revision=tuning.revision + 1)
            text = msgspec.json.encode(kept).decode()
            connection.execute(_SET_TUNING, (text, held.tenant_id, held.number))
            return kept

        return await self._database.write(work)

    async def note_recalls(self, scope: AgentScope, memory_ids: Sequence[int], *, now_ms: Millis) -> None:
        def work(connection: Connection) -> None:
            held = agent_reading.readable(connection, scope)
            named = agent_access.numbers(memory_ids)
            connection.execute(_NOTE_RECALLS, (now_ms, held.tenant_id, held.number, named))

        await self._database.write(work)

    async def candidates(self, scope: AgentScope, question: Question) -> Candidates:
        return await self._search(
            scope, lambda each: agent_reading.candidates(each, agent_reading.readable(each, scope), question)
        )

    async def contents(self, scope: AgentScope, refs: Sequence[tuple[Kind, int]]) -> list[Memory | Episode]:
        return await self._search(
            scope, lambda each: agent_reading.contents(each, agent_reading.readable(each, scope), refs)
        )

    async def memories(self, sight: Sight, *, reach: Reach, source_id: str, limit: int) -> list[Memory]:
        return await self._search(sight, lambda each: agent_reading.memories(each, sight, reach, source_id, limit))

    async def episodes(self, sight: Sight, *, reach: Reach, limit: int) -> list[Episode]:
        return await self._search(sight, lambda each: agent_reading.episodes(each, sight, reach, limit))

    async def scan(self, scope: AgentScope, *, after: int, limit: int) -> list[Memory | Episode]:
        return await self._search(
            scope, lambda each: agent_reading.scan(each, agent_reading.readable(each, scope), after, limit)
        )

    async def profile(self, scope: AgentScope) -> Profile:
        return await self._search(scope, lambda each: agent_moving.profile(each, agent_reading.readable(each, scope)))

    async def tuning(self, scope: AgentScope) -> Tuning:
        return await self._search(scope, lambda each: _read_tuning(each, agent_reading.readable(each, scope)))

    async def tally(self, sight: Sight) -> Tally:
        return await self._search(sight, lambda each: agent_reading.tally(each, sight))

    async def purge(self, scope: AgentScope, *, now_ms: Millis) -> Tally:
        def work(connection: Connection) -> Tally:
            held = agent_access.agent(connection, scope, Level.ADMIN)
            gone = agent_reading.tally(connection, scope)
            agent_moving.purge(connection, held)
            if gone != Tally():
                place = (scope.tenant_id, scope.subject_id)
                note(connection, Action.AGENT_PURGED, now_ms, *place, target=scope.agent_id, detail=told(gone))
            return gone

        return await self._database.write(work, scrubs=True)

    async def merge(
        self, source: AgentScope, target: AgentScope, *, mode: MergeMode, dry_run: bool, now_ms: Millis
    ) -> TakenIn:
        check_merge(source, target)
        move = mode is MergeMode.MOVE

        def work(connection: Connection) -> TakenIn:
            given = agent_access.agent(connection, source, Level.WRITE if move else Level.READ)
            taking = _taking(connection, target, now_ms)
            taken = agent_moving.merge(connection, given, taking, move=move)
            if taken.removed != Tally():
                place = (source.tenant_id, source.subject_id)
                note(connection, Action.AGENT_MOVED, now_ms, *place, target=source.agent_id, detail=told(taken.removed))
            return taken

        return await self._whole(work, dry_run=dry_run)

    async def move_channels(
        self, scope: AgentScope, moves: Sequence[ChannelMove], *, dry_run: bool, now_ms: Millis
    ) -> list[int]:
        def work(connection: Connection) -> list[int]:
            held = agent_access.agent(connection, scope, Level.WRITE)
            return agent_moving.move_channels(connection, held, moves)

        return await self._whole(work, dry_run=dry_run)

    async def export(self, scope: AgentScope, sink: Sink) -> Tally:
        return await self._search(
            scope, lambda each: agent_moving.export(each, agent_reading.readable(each, scope), sink)
        )

    async def take_in(self, scope: AgentScope, records: Iterable[Record], *, dry_run: bool, now_ms: Millis) -> TakenIn:
        return await self._whole(
            lambda each: agent_moving.take_in(_taking(each, scope, now_ms), records), dry_run=dry_run
        )

    async def enqueue(self, scope: AgentScope, kind: str, payload: str, *, once: Once | None, now_ms: Millis) -> Kept:
        check_task(kind, payload)

        def work(connection: Connection) -> Kept:
            return agent_writing.written(
                connection,
                scope,
                lambda held, _: agent_queue.enqueue(connection, scope, held, kind, payload, now_ms),
                once,
                now_ms,
            )

        return await self._database.write(work)

    async def due(self, *, now_ms: Millis, limit: int) -> list[Task]:
        return await self._database.ask(lambda each: agent_queue.due(each, now_ms, limit))

    async def claim(self, task: Task, effect: NewEpisode | ProfileRecord, *, now_ms: Millis) -> Kept | None:
        def work(connection: Connection) -> Kept | None:
            if not agent_queue.remove(connection, task):
                return None
            held = agent_access.agent(connection, task.scope, Level.WRITE)
            if isinstance(effect, ProfileRecord):
                agent_moving.set_profile(connection, held, require_profile(effect.text), now_ms)
                return Kept(id=None, created=True)
            quotas = agent_access.figures(connection, held.tenant_id).quotas
            return agent_writing.archive(connection, held, effect, quotas, now_ms)

        return await self._database.write(work)

    async def discard(self, task: Task) -> bool:
        return await self._database.write(lambda each: agent_queue.discard(each, task))

    async def failed(self, task: Task, *, retry_at_ms: Millis) -> bool:
        return await self._database.write(lambda each: agent_queue.failed(each, task, retry_at_ms))

    async def alive(self, tenant_id: str, task_ids: Sequence[int]) -> list[int]:
        return await self._database.ask(lambda each: agent_queue.alive(each, tenant_id, task_ids))

    async def queue_status(self, sight: Sight) -> QueueStatus:
        return await self._database.ask(lambda each: agent_queue.status(each, sight))

    async def check(self, scope: AgentScope, check: StoreCheck, *, now_ms: Millis) -> int:
        return await self._search(
            scope, lambda each: agent_checks.check(each, agent_reading.readable(each, scope), check, now_ms)
        )

    async def mend(self, scope: AgentScope, check: StoreCheck, *, now_ms: Millis) -> int:
        return await self._database.write(
            lambda each: agent_checks.mend(each, agent_access.agent(each, scope, Level.WRITE), check, now_ms)
        )

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        bounds = (now_ms - KEYS_KEPT_MS, max(limit, 0))
        return await self._database.write(lambda each: each.execute(_SWEEP, bounds).rowcount)

    async def probe(self) -> None:
        await self._database.probe()

    async def _search(self, sight: Sight, work: Callable[[Connection], T]) -> T:
        return await self._database.search(sight.tenant_id, work)

    async def _whole(self, work: Callable[[Connection], T], *, dry_run: bool) -> T:
        """The result of a write of many rows; a dry run is a write that is refused once its result is known."""
        if not dry_run:
            return await self._database.write(work)
        results: list[T] = []

        def tried(connection: Connection) -> None:
            results.append(work(connection))
            raise DryRun

        with suppress(DryRun):
            await self._database.write(tried)
        return results[0]


def _taking(connection: Connection, scope: AgentScope, now_ms: Millis) -> agent_moving.Taking:
    held = agent_access.writable(connection, scope, now_ms)
    quotas = agent_access.figures(connection, scope.tenant_id).quotas
    return agent_moving.Taking(connection, held, quotas, now_ms)


def _read_tuning(connection: Connection, held: agent_access.Held) -> Tuning:
    (text,) = connection.execute(_TUNING, (held.tenant_id, held.number)).fetchone()
    if text is None:
        return Tuning()
    try:
        return _tuning(text)
    except StoreFault:
        return UNREADABLE
