"""The queue of agents' writes at work: rows in the store, and beside them, in this process, who queued each.

Seed 1 §5: a queued write is dropped while the key that queued it is paused. The deletion of a row is the claim, so
that several processes may work on one queue.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_work import Kept, Once, ProfileRecord, Task
from codesynapse.contracts.agents import TRIES_MAX, AgentScope, NewEpisode
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis
from codesynapse.server.agents.writing import ARCHIVE, EpisodeTask
from codesynapse.server.clock import Clock
from codesynapse.server.hints.attribution import dropped
from codesynapse.server.hints.session_key import Bucket
from codesynapse.server.hints.state import Hints
from codesynapse.server.telemetry import fault, log

BATCH = 100
ROUNDS_MAX = 1_000
RETRY_MS = 30_000
GRACE_MS = 10_000
"""How long a due task is left to the process that queued it, which alone knows whose pause may drop it."""
OWN_MAX = 4_096
"""How many tasks a process knows to be its own; older ones wait like another's."""
QUEUE_S = 1.0
"""How often a process looks for work."""

Effect = NewEpisode | ProfileRecord
Stands = Callable[[str, str], Awaitable[bool]]
"""Whether a user may act in an organisation at all: `Accounts.stands`."""


class Kind(Struct, frozen=True, kw_only=True):
    """What a kind of task does. effect(payload): what is written; raises Invalid for what is no such payload.

    derived: it follows from what is stored already, such as an index, and no pause drops it.
    """

    effect: Callable[[str], Effect]
    derived: bool = False


class _Unreadable(Exception):
    """A task that nobody here can ever do."""


def archived_episode(payload: str) -> NewEpisode:
    """The episode that a task holds. Raises Invalid."""
    try:
        return msgspec.json.decode(payload, type=EpisodeTask).episode()
    except msgspec.DecodeError:
        raise Invalid(field="payload", limit="an episode") from None


KINDS: Final[Mapping[str, Kind]] = {ARCHIVE: Kind(effect=archived_episode)}


class QueuedWrites:
    """Puts tasks into the queue, and works them off: one round is `run`."""

    def __init__(
        self, agents: AgentMemory, stands: Stands, hints: Hints, clock: Clock, kinds: Mapping[str, Kind] = KINDS
    ) -> None:
        self._agents = agents
        self._stands = stands
        self._hints = hints
        self._clock = clock
        self._kinds = kinds
        # Held from a task's row to its attribution: nobody here may find the one without the other.
        self._noting = asyncio.Lock()
        self._own: dict[tuple[str, int], None] = {}

    async def put(self, scope: AgentScope, kind: str, payload: str, *, once: Once | None, bucket: Bucket) -> Kept:
        """Queue a write. bucket: of the caller, whose pause may drop it until it is done. Raises as the port does."""
        async with self._noting:
            kept = await self._agents.enqueue(scope, kind, payload, once=once, now_ms=self._clock())
            if kept.task_id is not None and not kept.replayed:
                self._hints.attribution.record(kept.task_id, bucket)
                self._own[scope.tenant_id, kept.task_id] = None
                if len(self._own) > OWN_MAX:
                    del self._own[next(iter(self._own))]
        return kept

    async def run(self) -> int:
        """Work off what is due, the longest due first; how many tasks were looked at.

        Raises Unavailable where the store does not answer: then everything stays, for the next round.
        """
        seen = 0
        for _ in range(ROUNDS_MAX):
            async with self._noting:
                tasks = await self._agents.due(now_ms=self._clock(), limit=BATCH)
            ours = [task for task in tasks if self._is_ours(task)]
            for task in ours:
                await self._work(task)
            seen += len(ours)
            if len(tasks) < BATCH or not ours:
                break
        await self._reconcile()
        return seen

    def _is_ours(self, task: Task) -> bool:
        """Whether this process queued a task, or has left it long enough to the one that did."""
        own = (task.scope.tenant_id, task.task_id) in self._own
        return own or self._clock() >= task.due_at_ms + GRACE_MS

    async def _work(self, task: Task) -> None:
        if await self._over(task, self._clock()):
            self._hints.attribution.forget(task.scope.tenant_id, [task.task_id])
            self._own.pop((task.scope.tenant_id, task.task_id), None)

    async def _over(self, task: Task, now_ms: Millis) -> bool:
        """Whether the task's row is gone now: dropped, done, or given up."""
        kind = self._kinds.get(task.kind)
        principal = (task.scope.tenant_id, task.scope.subject_id)
        hints = self._hints
        derived = kind is not None and kind.derived
        if dropped(hints.attribution, hints.pauses, task.task_id, principal, now_ms, derived=derived):
            await self._agents.discard(task)
            return True
        if not await self._stands(*principal):
            # A session that is over ends nothing that it has queued; a user who is out does.
            log.warning("task_without_standing")
            await self._give_up(task, now_ms)
            return True
        try:
            await self._agents.claim(task, self._effect(kind, task.payload), now_ms=now_ms)
        except _Unreadable as error:
            fault("task_unreadable", error)
            await self._give_up(task, now_ms)
        except Exception as error:  # The edge of a task: those behind it have to be done as well.
            fault("task_failed", error)
            return not await self._agents.failed(task, retry_at_ms=Millis(now_ms + RETRY_MS))
        return True

    def _effect(self, kind: Kind | None, payload: str) -> Effect:
        if kind is None:
            raise _Unreadable
        try:
            return kind.effect(payload)
        except Invalid as error:
            raise _Unreadable from error

    async def _give_up(self, task: Task, now_ms: Millis) -> None:
        """Remove a task that shall never be tried again. It is counted as one that failed as often as it may."""
        for _ in range(TRIES_MAX):
            if not await self._agents.failed(task, retry_at_ms=now_ms):
                log.warning("task_given_up")
                return

    async def _reconcile(self) -> None:
        """Forget who queued what is gone by other hands: an agent's deletion, or another process."""
        for tenant_id, asked in self._hints.attribution.chunks():
            there = await self._agents.alive(tenant_id, asked)
            self._hints.attribution.reconcile(tenant_id, asked, there)
