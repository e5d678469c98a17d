"""What is done to agent memory, as values, and what decides it: grants, idempotency keys, caps, tries. Pure."""

from enum import StrEnum

from msgspec import Struct

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agents import (
    KEY_MAX,
    KEYS_KEPT_MS,
    KIND_MAX,
    PAYLOAD_MAX,
    TRIES_MAX,
    AgentScope,
    NewEpisode,
    NewMemory,
    require_axis,
    require_text,
)
from codesynapse.contracts.errors import AgentForbidden, IdempotencyConflict, Invalid, QuotaExceeded
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.quotas import Quotas


class Once(Struct, frozen=True, kw_only=True):
    """An idempotency key of an agent and the digest of the whole request that it stands for."""

    key: str
    digest: str

    def __post_init__(self) -> None:
        require_text(self.key, field="idempotency_key", maximum=KEY_MAX, minimum=1)


class Kept(Struct, frozen=True, kw_only=True):
    """What became of a record. id: its own, or that of the one it repeats. task_id: where it was queued instead.

    duplicate: the key it has in common with that one, `message_id` or `content`. other_source: that one has another
    source. replayed: the answer of an earlier request with the same idempotency key.
    """

    id: int | None
    created: bool
    duplicate: str | None = None
    other_source: bool = False
    task_id: int | None = None
    replayed: bool = False


class Verdict(StrEnum):
    """What became of a change by id. Missing: not there, or not for this caller to change."""

    DONE = "done"
    MISSING = "missing"
    LOCKED = "locked"
    STALE = "stale"
    DUPLICATE = "duplicate"


class Changed(Struct, frozen=True, kw_only=True):
    """The result of a change by id. holder: of DUPLICATE, the memory of this bucket that holds the text already."""

    verdict: Verdict
    holder: int | None = None

    @property
    def done(self) -> bool:
        return self.verdict is Verdict.DONE


class Tally(Struct, frozen=True, kw_only=True):
    """How many records an agent has, or an operation has touched."""

    memories: int = 0
    episodes: int = 0
    profiles: int = 0
    tasks: int = 0


def told(tally: Tally) -> str:
    """What the audit says of a purge: `name=value` of what there was, one blank between; empty for nothing."""
    return " ".join(f"{name}={count}" for name in tally.__struct_fields__ if (count := getattr(tally, name)))


class Task(Struct, frozen=True, kw_only=True):
    """A queued write. It is done under the grants that its principal then has. tries: failed ones so far, below 3."""

    task_id: int
    scope: AgentScope
    kind: str
    payload: str
    enqueued_at_ms: Millis
    due_at_ms: Millis
    tries: int = 0


class QueueStatus(Struct, frozen=True, kw_only=True):
    """The queue as a principal sees it: tasks of agents that they may read. discarded: after three failures."""

    pending: int
    discarded: int


class MemoryRecord(Struct, frozen=True, kw_only=True):
    """A memory on its way in from an export, with what it had there."""

    memory: NewMemory
    created_at_ms: Millis
    recalled: int = 0
    recalled_at_ms: Millis | None = None


class EpisodeRecord(Struct, frozen=True, kw_only=True):
    """An episode on its way in from an export. One of the same summary in the same bucket is a duplicate."""

    episode: NewEpisode
    created_at_ms: Millis


class ProfileRecord(Struct, frozen=True, kw_only=True):
    """A profile on its way in; it replaces none that is there."""

    text: str


Record = MemoryRecord | EpisodeRecord | ProfileRecord


class TakenIn(Struct, frozen=True, kw_only=True):
    """What an import, or a merge, has added and what it passed over as duplicates."""

    added: Tally
    skipped: Tally
    removed: Tally = Tally()


class MergeMode(StrEnum):
    """What a merge leaves at its source: everything, or what the target had already."""

    COPY = "copy"
    MOVE = "move"


class ChannelMove(Struct, frozen=True, kw_only=True):
    """A memory that shall leave one channel for another."""

    memory_id: int
    from_channel: str
    to_channel: str

    def __post_init__(self) -> None:
        require_axis(self.to_channel, field="channel")


class StoreCheck(StrEnum):
    """What only a store can check of itself; each is 0 where nothing is wrong. What `mend` does stands beside it."""

    INDEX_MISSING = "index_missing"  # Records that no term finds: indexed anew.
    INDEX_ORPHANS = "index_orphans"  # Entries of the index without a record: removed.
    COUNTS_WRONG = "counts_wrong"  # Agents whose figures are not those of their records: counted anew.
    KEYS_WRONG = "keys_wrong"  # Memories whose key of duplicates is not that of their content: derived anew.
    DETAILS_UNREADABLE = "details_unreadable"  # Memories whose source or metadata nobody can read: emptied.
    OWNERLESS = "ownerless"  # Agents without an admin grant: left to the operator.
    KEYS_EXPIRED = "keys_expired"  # Idempotency keys older than a day: removed.
    TASKS_LOST = "tasks_lost"  # Queued tasks of agents that are not there: removed.


def admit_writer(held: Level | None, *, exists: bool, needed: Level = Level.WRITE) -> bool:
    """Whether this write makes the writer the owner of a new agent.

    held: their grant, read in the transaction of the write. exists: whether the agent is there, whoever owns it.
    Raises AgentForbidden where it is and the grant does not suffice, or it is not and nothing may be made.
    """
    if not exists and needed is Level.WRITE:
        return True
    require_agent(held, needed)
    return False


def require_agent(held: Level | None, needed: Level) -> None:
    """Raises AgentForbidden without a grant that suffices, also for an agent that is not there."""
    if held is None or _RANK[held] < _RANK[needed]:
        raise AgentForbidden(field="agent_id")


_RANK = {level: rank for rank, level in enumerate((Level.READ, Level.WRITE, Level.ADMIN))}


def reaching(needed: Level) -> tuple[Level, ...]:
    """The levels that suffice for one."""
    return tuple(level for level, rank in _RANK.items() if rank >= _RANK[needed])


def check_replay(once: Once, digest: str, made_at_ms: Millis, now_ms: Millis) -> bool:
    """Whether a kept answer is given again. digest, made_at_ms: what is kept under the key.

    After a day the key is as one that was never used. Raises IdempotencyConflict for other content under it.
    """
    if now_ms >= made_at_ms + KEYS_KEPT_MS:
        return False
    if digest != once.digest:
        raise IdempotencyConflict(field="idempotency_key")
    return True


def admit_record(cap: str, held: int, quotas: Quotas, *, more: int = 1) -> None:
    """Let records in, or raise QuotaExceeded. cap: the field of Quotas. held: how many there are."""
    limit: int = getattr(quotas, cap)
    if held + more > limit:
        raise QuotaExceeded(field=cap.removesuffix("_max"), limit=limit)


def after_failure(task: Task) -> bool:
    """Whether a task that failed once more is tried again; if not it is discarded, and counted."""
    return task.tries + 1 < TRIES_MAX


def check_merge(source: AgentScope, target: AgentScope) -> None:
    """Raises Invalid where two agents cannot be merged: one and the same, or of different tenants."""
    if (source.tenant_id, source.agent_id) == (target.tenant_id, target.agent_id):
        raise Invalid(field="target_agent_id", limit="another agent than the source")
    if source.principal != target.principal:
        raise Invalid(field="target_agent_id", limit="an agent of the same organisation, for the same user")


def check_task(kind: str, payload: str) -> None:
    """Raises Invalid for a task that cannot be queued."""
    require_text(kind, field="kind", maximum=KIND_MAX, minimum=1)
    require_text(payload, field="payload", maximum=PAYLOAD_MAX)
