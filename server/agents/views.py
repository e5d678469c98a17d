"""What the tools of agent memory take and answer beside plain values."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from codesynapse.contracts.agents import MESSAGE_ID_MAX, TIMESTAMP_MAX, Episode, Memory
from codesynapse.server.clock import rfc3339

PREVIEW_CHARS = 500
"""How much of a content a recall shows; all of it with full_content, or by get_contents."""

Content = Annotated[str, Meta(min_length=1, description="What to remember; cut after 16,000 characters.")]
MessageId = Annotated[str, Meta(max_length=MESSAGE_ID_MAX, description="Your own id of it; stored once.")]
Source = Annotated[dict[str, Any] | None, Meta(description="Who said it: {type: User|Agent|System, id, name}.")]
Timestamp = Annotated[str, Meta(max_length=TIMESTAMP_MAX, description="When it was said, RFC 3339.")]
Metadata = Annotated[dict[str, Any] | None, Meta(description="Anything, up to 8,000 bytes of JSON.")]


class Message(Struct, forbid_unknown_fields=True, kw_only=True):
    """A memory as it is sent."""

    content: Annotated[str, Meta(min_length=1)]
    id: Annotated[str, Meta(max_length=MESSAGE_ID_MAX)] = ""
    source: dict[str, Any] | None = None
    timestamp: Annotated[str, Meta(max_length=TIMESTAMP_MAX)] = ""
    metadata: dict[str, Any] | None = None


class AheadOfClock(Struct, kw_only=True):
    """A timestamp that lies in the future. It was stored as it is."""

    timestamp: str
    ahead_by_seconds: int
    allowance_seconds: int


class Stored(Struct, kw_only=True):
    """What became of a memory. skipped: it is there already, under `id`; the one that is there stays as it is.

    embedded: whether the embedder took it. timestamp_unreadable: the timestamp is kept as it was sent, and names no
    moment.
    """

    ok: bool
    result: Literal["stored", "skipped"]
    id: int | Literal["no-persist"]
    embedded: bool
    reason: str | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET
    locked: bool | UnsetType = UNSET
    timestamp_ahead_of_clock: AheadOfClock | UnsetType = UNSET
    timestamp_unreadable: bool | UnsetType = UNSET


class Archived(Struct, kw_only=True):
    """What became of an episode. queued: it will be written by itself; then it has a task_id instead of its own."""

    ok: bool
    queued: bool
    task_id: int | None
    episode_id: int | None
    truncated: bool | UnsetType = UNSET


class Updated(Struct, kw_only=True):
    """A memory has another content."""

    ok: bool
    updated_id: int | None
    truncated: bool | UnsetType = UNSET


class Deleted(Struct, kw_only=True):
    """A record is gone."""

    ok: bool
    deleted_id: int | None


class ProfileUpdated(Struct, kw_only=True):
    """The profile was replaced."""

    ok: bool
    profiles_updated: int
    truncated: bool | UnsetType = UNSET


class ProfileView(Struct, kw_only=True):
    """The profile; empty where there is none."""

    profile: str


class MatchReason(Struct, kw_only=True):
    """Why a record was recalled. score: its share of the best match's, in (0, 1]."""

    signal: Literal["lexical"]
    score: float


class Hit(Struct, kw_only=True):
    """A recalled record, or a line of the conversation, which has no ref.

    Without content: max_chars was spent before it; get_contents has it. timestamp: when it was said, or stored.
    id: the caller's own.
    """

    content: str | UnsetType = UNSET
    ref: str | UnsetType = UNSET
    source: Mapping[str, Any] | UnsetType = UNSET
    timestamp: str
    id: str | UnsetType = UNSET
    match_reason: MatchReason | UnsetType = UNSET
    content_truncated: bool | UnsetType = UNSET
    content_len: int | UnsetType = UNSET
    context_type: str | UnsetType = UNSET


class Item(Struct, kw_only=True):
    """A record in full. resolved: of episodes. id: the caller's own. metadata: where there is any."""

    ref: str
    content: str
    source: Mapping[str, Any]
    timestamp: str
    id: str | UnsetType = UNSET
    metadata: Mapping[str, Any] | UnsetType = UNSET
    resolved: bool | UnsetType = UNSET


class Contents(Struct, kw_only=True):
    """Records in full. missing: refs that lead nowhere, or not for this caller. deferred: ask for these next."""

    items: list[Item]
    missing: list[str]
    count: int
    deferred: list[str] | UnsetType = UNSET
    budget_chars: int | UnsetType = UNSET


class MemoryRow(Struct, kw_only=True):
    """A memory in a list."""

    id: int
    agent_id: str
    project_id: str
    content: str
    source: Mapping[str, Any]
    timestamp: str
    created_at: str
    locked: bool
    channel: str


class Memories(Struct, kw_only=True):
    """Memories, the newest first. budget_rows: how many of them fitted into budget_chars."""

    memories: list[MemoryRow]
    count: int
    budget_rows: int | UnsetType = UNSET
    budget_chars: int | UnsetType = UNSET


class EpisodeRow(Struct, kw_only=True):
    """An episode in a list. start_time, end_time: of its history, empty where that is unknown."""

    id: int
    agent_id: str
    project_id: str
    channel: str
    summary: str
    keywords: str
    start_time: str
    end_time: str
    resolved: bool
    created_at: str


class Episodes(Struct, kw_only=True):
    """Episodes, the newest first. budget_rows: how many of them fitted into budget_chars."""

    episodes: list[EpisodeRow]
    count: int
    budget_rows: int | UnsetType = UNSET
    budget_chars: int | UnsetType = UNSET


def content_of(record: Memory | Episode) -> str:
    """A record's text as it is read."""
    return record.content if isinstance(record, Memory) else f"[Episode] {record.summary}"


def time_of(record: Memory | Episode) -> str:
    """When it was said; where nobody knows, when it was stored."""
    said = record.timestamp if isinstance(record, Memory) else record.end_time
    return said or rfc3339(record.created_at_ms)


def item_of(record: Memory | Episode) -> Item:
    """A record in full."""
    item = Item(ref=record.ref, content=content_of(record), source={}, timestamp=time_of(record))
    if isinstance(record, Memory):
        item.source, item.id, item.metadata = record.source, record.message_id or UNSET, record.metadata or UNSET
    else:
        item.resolved = record.resolved
    return item


def memory_row(memory: Memory) -> MemoryRow:
    """A memory as a list shows it."""
    return MemoryRow(
        id=memory.id,
        agent_id=memory.agent_id,
        project_id=memory.bucket.project_id,
        content=memory.content,
        source=memory.source,
        timestamp=memory.timestamp,
        created_at=rfc3339(memory.created_at_ms),
        locked=memory.locked,
        channel=memory.bucket.channel,
    )


def episode_row(episode: Episode) -> EpisodeRow:
    """An episode as a list shows it."""
    return EpisodeRow(
        id=episode.id,
        agent_id=episode.agent_id,
        project_id=episode.bucket.project_id,
        channel=episode.bucket.channel,
        summary=episode.summary,
        keywords=episode.keywords,
        start_time=episode.start_time,
        end_time=episode.end_time,
        resolved=episode.resolved,
        created_at=rfc3339(episode.created_at_ms),
    )
