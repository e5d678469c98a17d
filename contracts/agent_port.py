"""The port of agent memory: what the server asks of a store that keeps it.

Every call names its tenant and who acts; grants are read in the transaction, or the snapshot, of the call itself.
Raises AgentForbidden without a grant that suffices and for an agent that is not there, which look the same. A record
of another tenant, or of an agent out of reach, does not exist.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from codesynapse.contracts.accounts import Level
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
)
from codesynapse.contracts.agents import (
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
)
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.quotas import Quotas

Sink = Callable[[Memory | Episode | Profile], None]


class AgentMemory(Protocol):
    """Memories, episodes and profiles of agents, the queue of their writes, and how each agent recalls.

    A call is whole or not at all, and no read sees half of one. Ids are numbers within the tenant, given once; a later
    record has the higher one. What repeats a record is decided inside the transaction that would write it.

    Where the store keeps accounts too, an agent's beginning, a changed grant, a withdrawal and a purge of what was
    there each write an audit record in the transaction of what it is about.
    """

    # --- Agents and who may use them. ---

    async def level(self, scope: AgentScope) -> Level | None:
        """What a user may do with an agent; None without a grant, and for an agent that is not there."""
        ...

    async def set_level(
        self, tenant_id: str, agent_id: str, subject_id: str, level: Level | None, *, now_ms: Millis
    ) -> None:
        """An operator sets a user's grant, or with None withdraws it. Repeatable. Raises NotFound without the agent."""
        ...

    async def agents(self, tenant_id: str, subject_id: str | None = None) -> list[AgentGrant]:
        """All agents of an organisation, or those that a user has a grant on, by name."""
        ...

    async def set_quotas(self, tenant_id: str, quotas: Quotas) -> None:
        """Write the caps in force for the tenant's agents."""
        ...

    # --- Writing. Each needs the level write; the first write to an agent makes it, with an admin grant. ---

    async def store(self, scope: AgentScope, memory: NewMemory, *, once: Once | None, now_ms: Millis) -> Kept:
        """Keep a memory, unless its message id or its content is there already: in its bucket, or in what that shares.

        Nothing of the one that is there changes. once: the answer is kept under this key for a day, and given again.
        Raises IdempotencyConflict, QuotaExceeded.
        """
        ...

    async def archive(self, scope: AgentScope, episode: NewEpisode, *, once: Once | None, now_ms: Millis) -> Kept:
        """Keep an episode; the same one twice is two. Raises as `store`."""
        ...

    async def foresee(
        self, scope: AgentScope, memory: NewMemory | None, *, once: Once | None, now_ms: Millis
    ) -> Kept | None:
        """What a write would answer without writing, and writes nothing itself; None where it would write.

        That is the kept answer of its idempotency key or, of a memory to store, the one that it repeats. memory: None
        for `archive` and `enqueue`. An agent that is not there is not made. Raises AgentForbidden and
        IdempotencyConflict as the write does.
        """
        ...

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
        """Replace the content of a memory that is not locked when it is written.

        read_revision: the change is STALE where the memory has another by then; None for any. The same content again
        is done, and changes nothing.
        """
        ...

    async def set_locked(self, sight: Sight, *, memory_id: int, locked: bool, now_ms: Millis) -> Changed:
        """Lock a memory against updates and deletion, or unlock it. Repeatable."""
        ...

    async def delete_memory(self, sight: Sight, *, memory_id: int, now_ms: Millis) -> Changed:
        """Remove a memory that is not locked when it is removed."""
        ...

    async def delete_episode(self, sight: Sight, *, episode_id: int, now_ms: Millis) -> Changed:
        """Remove an episode."""
        ...

    async def set_profile(self, scope: AgentScope, text: str, *, now_ms: Millis) -> None:
        """Replace the profile. Raises Invalid for one that is empty or too long."""
        ...

    async def set_tuning(self, scope: AgentScope, tuning: Tuning, *, now_ms: Millis) -> Tuning:
        """Replace how an agent recalls, as what was read at `tuning.revision`; as it is kept then.

        Raises RevisionConflict where somebody else wrote in between.
        """
        ...

    async def note_recalls(self, scope: AgentScope, memory_ids: Sequence[int], *, now_ms: Millis) -> None:
        """These were served by a recall. Needs the level read; what is not there any more is passed over."""
        ...

    # --- Reading. Each needs the level read. ---

    async def candidates(self, scope: AgentScope, question: Question) -> Candidates:
        """What `contracts.agent_recall` chooses: at most 256 memories and 64 episodes that share a term."""
        ...

    async def contents(self, scope: AgentScope, refs: Sequence[tuple[Kind, int]]) -> list[Memory | Episode]:
        """These records of the agent, in this order; those that are not there are left out."""
        ...

    async def memories(self, sight: Sight, *, reach: Reach, source_id: str, limit: int) -> list[Memory]:
        """The newest memories, then by id, the newest first. source_id: as a recall takes it."""
        ...

    async def episodes(self, sight: Sight, *, reach: Reach, limit: int) -> list[Episode]:
        """The newest episodes, then by id, the newest first."""
        ...

    async def scan(self, scope: AgentScope, *, after: int, limit: int) -> list[Memory | Episode]:
        """The agent's records behind an id, in the order of their ids, at most `limit` (1 to 1,000)."""
        ...

    async def profile(self, scope: AgentScope) -> Profile:
        """The profile; empty where there is none."""
        ...

    async def tuning(self, scope: AgentScope) -> Tuning:
        """How the agent recalls; the defaults at revision 0 before the first change."""
        ...

    async def tally(self, sight: Sight) -> Tally:
        """How many records there are."""
        ...

    # --- Many at once, each in one transaction. ---

    async def purge(self, scope: AgentScope, *, now_ms: Millis) -> Tally:
        """Remove all that an agent has, locked or not, with its queued tasks and kept answers. Needs the level admin.

        The agent stays, and so do its grants.
        """
        ...

    async def merge(
        self, source: AgentScope, target: AgentScope, *, mode: MergeMode, dry_run: bool, now_ms: Millis
    ) -> TakenIn:
        """Copy what the target has not yet; MOVE removes what was copied, locked or not, and leaves the rest.

        Needs the level read at the source, write for a move, which is audited as AGENT_MOVED with what went. Episodes
        of one summary in one bucket are equal here. A dry run changes nothing and answers alike. Raises Invalid where
        both are one agent.
        """
        ...

    async def move_channels(
        self, scope: AgentScope, moves: Sequence[ChannelMove], *, dry_run: bool, now_ms: Millis
    ) -> list[int]:
        """Move memories to another channel, locked or not; the ids of those that went.

        One that is in another channel by now, or whose content is there already, stays.
        """
        ...

    async def export(self, scope: AgentScope, sink: Sink) -> Tally:
        """Give the profile, if any, and then every record in the order of ids to `sink`, out of one snapshot.

        The sink may run in a thread of the store's. What it raises ends the export.
        """
        ...

    async def take_in(self, scope: AgentScope, records: Iterable[Record], *, dry_run: bool, now_ms: Millis) -> TakenIn:
        """Add records, all or, where the iterable raises, none. It may be read in a thread of the store's.

        Memories that `store` would pass over are skipped, episodes of a summary that is in their bucket, and a profile
        where there is one. Raises QuotaExceeded. A dry run changes nothing and answers alike.
        """
        ...

    # --- The queue. Its worker acts for nobody: what it does it does as the task's own principal. ---

    async def enqueue(self, scope: AgentScope, kind: str, payload: str, *, once: Once | None, now_ms: Millis) -> Kept:
        """Queue a write, under the grants of a write. Raises as `store`."""
        ...

    async def due(self, *, now_ms: Millis, limit: int) -> list[Task]:
        """Tasks of all tenants whose time has come, the longest due first, then the first enqueued."""
        ...

    async def claim(self, task: Task, effect: NewEpisode | ProfileRecord, *, now_ms: Millis) -> Kept | None:
        """Remove the task and write its effect, in one transaction; None where the task is gone: it is done already.

        Raises AgentForbidden where its principal may not write any more, and QuotaExceeded; the task then stays.
        """
        ...

    async def discard(self, task: Task) -> bool:
        """Remove a task that shall not be done, and the idempotency key that answers for it; whether it was there."""
        ...

    async def failed(self, task: Task, *, retry_at_ms: Millis) -> bool:
        """A task has failed: it is due again at that moment, or, the third time, discarded and counted.

        Whether it will be tried again; False as well where it is gone.
        """
        ...

    async def alive(self, tenant_id: str, task_ids: Sequence[int]) -> list[int]:
        """Those of these tasks that are still queued."""
        ...

    async def queue_status(self, sight: Sight) -> QueueStatus:
        """How many tasks wait, and how many were given up, of agents that the caller may read."""
        ...

    # --- Health. ---

    async def check(self, scope: AgentScope, check: StoreCheck, *, now_ms: Millis) -> int:
        """How many faults of one kind the agent has. Needs the level read."""
        ...

    async def mend(self, scope: AgentScope, check: StoreCheck, *, now_ms: Millis) -> int:
        """Repair the faults of one kind, as `StoreCheck` says; how many. Needs the level write."""
        ...

    async def sweep(self, *, now_ms: Millis, limit: int) -> int:
        """Remove up to `limit` idempotency keys older than a day; how many."""
        ...

    async def probe(self) -> None:
        """A durable write that changes nothing that could be read. Raises Unavailable where any write would."""
        ...
