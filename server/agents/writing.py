"""Writing to agent memory: what a store keeps, what becomes of repeats, and what a change by id is refused with."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_work import Changed, Kept, Once, Verdict
from codesynapse.contracts.agents import (
    KEYWORDS_MAX,
    PROFILE_MAX,
    SUMMARY_MAX,
    AgentScope,
    Bucket,
    Memory,
    NewEpisode,
    NewMemory,
    require_text,
)
from codesynapse.contracts.errors import AlreadyExists, Invalid, NotFound
from codesynapse.contracts.identity import Execution, Millis, require
from codesynapse.server.agents.scoping import Embed, Recheck, scope_of, sight_of
from codesynapse.server.agents.views import (
    AheadOfClock,
    Archived,
    Deleted,
    Message,
    ProfileUpdated,
    Stored,
    Updated,
)
from codesynapse.server.agents.wording import AHEAD_ALLOWED_MS, ahead_ms, cleaned, folded_source, span, terms_of
from codesynapse.server.clock import Clock, from_rfc3339

QUEUED_OVER = 50
"""From how many entries of history on an episode is queued instead of written while its caller waits."""
ARCHIVE = "archive_episode"
"""The kind of its tasks."""
_REASONS = {"message_id": "duplicate msg_id", "content": "duplicate content"}


class EpisodeTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An episode on its way through the queue: what it will hold, and no turn of the conversation."""

    summary: str
    keywords: str
    project_id: str
    channel: str
    start_time: str
    end_time: str
    resolved: bool

    def episode(self) -> NewEpisode:
        """The episode to keep. Raises Invalid."""
        return NewEpisode(
            summary=self.summary,
            bucket=Bucket(project_id=self.project_id, channel=self.channel),
            keywords=self.keywords,
            start_time=self.start_time,
            end_time=self.end_time,
            resolved=self.resolved,
            terms=terms_of(self.summary, self.keywords),
        )


class NewRecord(Struct, frozen=True, kw_only=True):
    """A memory that can be stored, and what the answer has to say of how it was sent. undated: its time names none."""

    memory: NewMemory
    truncated: bool
    ahead_ms: int
    undated: bool


class NewSummary(Struct, frozen=True, kw_only=True):
    """An episode that can be archived. queued: its history is long."""

    task: EpisodeTask
    truncated: bool
    queued: bool


def new_record(message: Message, bucket: Bucket, *, locked: bool, now_ms: Millis) -> NewRecord:
    """What is to be stored of a message. Raises Invalid for one that cannot be."""
    content, truncated = cleaned(message.content, field="content")
    memory = NewMemory(
        content=content,
        bucket=bucket,
        message_id=message.id,
        source=folded_source(message.source),
        timestamp=message.timestamp,
        metadata=message.metadata or {},
        locked=locked,
        terms=terms_of(content),
    )
    undated = bool(message.timestamp) and from_rfc3339(message.timestamp) is None
    return NewRecord(memory=memory, truncated=truncated, ahead_ms=ahead_ms(message.timestamp, now_ms), undated=undated)


def new_summary(
    summary: str, keywords: str, history: Sequence[Mapping[str, Any]], bucket: Bucket, *, resolved: bool
) -> NewSummary:
    """What is to be archived. Of the history only its first and last moment are kept. Raises Invalid."""
    text, truncated = cleaned(summary, field="summary", maximum=SUMMARY_MAX)
    start_time, end_time = span([entry.get("timestamp") for entry in history])
    task = EpisodeTask(
        summary=text,
        keywords=require_text(keywords, field="keywords", maximum=KEYWORDS_MAX),
        project_id=bucket.project_id,
        channel=bucket.channel,
        start_time=start_time,
        end_time=end_time,
        resolved=resolved,
    )
    return NewSummary(task=task, truncated=truncated, queued=len(history) > QUEUED_OVER)


def once_of(key: str | None, request: object) -> Once | None:
    """An idempotency key with the digest of the request that it stands for; None without one."""
    if key is None:
        return None
    digest = hashlib.blake2b(msgspec.json.encode(request, order="deterministic"), digest_size=16).hexdigest()
    return Once(key=key, digest=digest)


class Writing:
    """The writes. recheck: whether the caller may still act, asked right before each."""

    def __init__(self, agents: AgentMemory, embed: Embed, recheck: Recheck, clock: Clock) -> None:
        self._agents = agents
        self._embed = embed
        self._recheck = recheck
        self._clock = clock

    async def store(self, execution: Execution, agent_id: str, new: NewRecord, *, once: Once | None) -> Stored:
        """Keep a memory, or say which one it repeats.

        Raises AlreadyExists where the same text is there and somebody else said it, and as the port does.
        """
        scope = scope_of(execution, agent_id, self._clock())
        embedded = await self._embed(execution, [new.memory.content]) is not None
        now_ms = await self._now(execution)
        kept = await self._agents.store(scope, new.memory, once=once, now_ms=now_ms)
        require_source(kept)
        return _stored(kept, new, embedded=embedded)

    async def stored_before(
        self, execution: Execution, agent_id: str, new: NewRecord, *, once: Once | None
    ) -> Stored | None:
        """What `store` answered under this idempotency key before. Writes nothing, and raises what it would raise."""
        now_ms = self._clock()
        kept = await self._agents.foresee(scope_of(execution, agent_id, now_ms), new.memory, once=once, now_ms=now_ms)
        if kept is None:
            return None
        require_source(kept)
        if not kept.replayed:
            return None
        embedded = await self._embed(execution, [new.memory.content]) is not None
        return _stored(kept, new, embedded=embedded)

    async def archived_before(
        self, execution: Execution, agent_id: str, new: NewSummary, *, once: Once | None
    ) -> Archived | None:
        """What archiving answered under this idempotency key before. Writes nothing, and raises what it would raise."""
        now_ms = self._clock()
        kept = await self._agents.foresee(scope_of(execution, agent_id, now_ms), None, once=once, now_ms=now_ms)
        return None if kept is None else archived(kept, truncated=new.truncated)

    async def require_free(self, execution: Execution, memory: Memory, content: str) -> None:
        """Raises AlreadyExists where a text that a memory shall have is another's already."""
        text, _ = cleaned(content, field="content")
        if text == memory.content:
            return
        now_ms = self._clock()
        new = NewMemory(content=text, bucket=memory.bucket, terms=terms_of(text))
        kept = await self._agents.foresee(scope_of(execution, memory.agent_id, now_ms), new, once=None, now_ms=now_ms)
        if kept is not None:
            require_done(Changed(verdict=Verdict.DUPLICATE, holder=kept.id), "memory_id")

    async def archive(self, execution: Execution, agent_id: str, new: NewSummary, *, once: Once | None) -> Archived:
        """Keep an episode at once."""
        scope = scope_of(execution, agent_id, self._clock())
        episode = new.task.episode()
        await self._embed(execution, [episode.summary])
        now_ms = await self._now(execution)
        return archived(await self._agents.archive(scope, episode, once=once, now_ms=now_ms), truncated=new.truncated)

    async def ready(self, execution: Execution, agent_id: str) -> AgentScope:
        """The scope of a write that is about to be queued. Raises where the caller may not act any more."""
        scope = scope_of(execution, agent_id, self._clock())
        await self._now(execution)
        return scope

    async def update(self, execution: Execution, agent_id: str | None, memory_id: int, content: str) -> Updated:
        """Replace a memory's text. Raises NotFound, Invalid where it is locked, AlreadyExists for a repeated text."""
        sight = sight_of(execution, agent_id, self._clock())
        text, truncated = cleaned(content, field="content")
        await self._embed(execution, [text])
        now_ms = await self._now(execution)
        changed = await self._agents.update(
            sight, memory_id=memory_id, content=text, terms=terms_of(text), read_revision=None, now_ms=now_ms
        )
        require_done(changed, "memory_id")
        return Updated(ok=True, updated_id=memory_id, truncated=truncated or UNSET)

    async def delete_memory(self, execution: Execution, agent_id: str | None, memory_id: int) -> Deleted:
        """Remove a memory. Raises NotFound, and Invalid where it is locked."""
        sight = sight_of(execution, agent_id, self._clock())
        now_ms = await self._now(execution)
        require_done(await self._agents.delete_memory(sight, memory_id=memory_id, now_ms=now_ms), "memory_id")
        return Deleted(ok=True, deleted_id=memory_id)

    async def delete_episode(self, execution: Execution, agent_id: str | None, episode_id: int) -> Deleted:
        """Remove an episode. Raises NotFound."""
        sight = sight_of(execution, agent_id, self._clock())
        now_ms = await self._now(execution)
        require_done(await self._agents.delete_episode(sight, episode_id=episode_id, now_ms=now_ms), "episode_id")
        return Deleted(ok=True, deleted_id=episode_id)

    async def update_profile(self, execution: Execution, agent_id: str, profile: str) -> ProfileUpdated:
        """Replace the profile. Raises Invalid for a blank one; the old one then stays."""
        scope = scope_of(execution, agent_id, self._clock())
        text, truncated = cleaned(profile, field="profile", maximum=PROFILE_MAX)
        await self._agents.set_profile(scope, text, now_ms=await self._now(execution))
        return ProfileUpdated(ok=True, profiles_updated=1, truncated=truncated or UNSET)

    async def _now(self, execution: Execution) -> Millis:
        """The moment of a write: a call that was cancelled, or whose access ended, by now writes nothing."""
        await self._recheck(execution)
        now_ms = self._clock()
        require(execution, now_ms)
        return now_ms


def archived(kept: Kept, *, truncated: bool) -> Archived:
    """What is answered of an episode that was kept, or queued."""
    queued = kept.task_id is not None
    return Archived(
        ok=True,
        queued=queued,
        task_id=kept.task_id,
        episode_id=None if queued else kept.id,
        truncated=truncated or UNSET,
    )


def require_done(changed: Changed, field: str) -> None:
    """Raises what became of a change by id that was not done.

    What is not there and what is another's look the same; that a memory is locked learns only who may write it.
    """
    match changed.verdict:
        case Verdict.DONE:
            return
        case Verdict.LOCKED:
            raise Invalid(field=field, limit="a memory that is not locked; unlock_memory first")
        case Verdict.DUPLICATE:
            raise AlreadyExists(field="content", details=_holder(changed.holder))
        case _:
            raise NotFound(field=field)


def require_source(kept: Kept) -> None:
    """Raises AlreadyExists where a text is there and somebody else said it."""
    if kept.duplicate == "content" and kept.other_source:
        raise AlreadyExists(field="content", limit="one source", details=_holder(kept.id))


def _stored(kept: Kept, new: NewRecord, *, embedded: bool) -> Stored:
    assert kept.id is not None
    stored = Stored(
        ok=True,
        result="stored" if kept.created else "skipped",
        id=kept.id,
        embedded=embedded and kept.created,
        truncated=new.truncated or UNSET,
    )
    if kept.duplicate is not None:
        stored.reason = _REASONS[kept.duplicate]
    elif new.memory.locked:
        stored.locked = True
    if new.undated and kept.created:
        stored.timestamp_unreadable = True
    if new.ahead_ms and kept.created:
        stored.timestamp_ahead_of_clock = AheadOfClock(
            timestamp=new.memory.timestamp,
            ahead_by_seconds=new.ahead_ms // 1_000,
            allowance_seconds=AHEAD_ALLOWED_MS // 1_000,
        )
    return stored


def _holder(memory_id: int | None) -> dict[str, int]:
    return {} if memory_id is None else {"id": memory_id}
