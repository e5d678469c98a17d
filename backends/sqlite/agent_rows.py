"""Memories, episodes and tasks as rows, and back."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from codesynapse.backends.sqlite.faults import decoding
from codesynapse.contracts.agent_work import Task
from codesynapse.contracts.agents import (
    AgentScope,
    Bucket,
    Episode,
    Memory,
    attached_json,
    content_key,
    source_id,
)

_attached = msgspec.json.Decoder(dict[str, Any])


def attached_of(text: str) -> dict[str, Any] | None:
    """A source or metadata; None for what is none."""
    try:
        return _attached.decode(text)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        return None


def tokens(salt: bytes, terms: Iterable[str]) -> str:
    """What an index is given for terms: 16 hex digits each, one blank between; each different term once."""
    return " ".join(token(salt, term) for term in dict.fromkeys(terms))


def token(salt: bytes, term: str) -> str:
    """The word under which an agent's index holds a term."""
    return hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8, key=salt).hexdigest()


def terms_text(terms: Sequence[str]) -> str:
    """Terms as a column holds them."""
    return " ".join(terms)


def memory_row(memory: Memory) -> tuple[Any, ...]:
    """(id, project_id, channel, source_id, created_at_ms, term_count, locked, revision, recalled, recalled_at_ms,
    message_id, content_key, terms, timestamp, source, metadata, content)."""
    return (
        *(memory.id, memory.bucket.project_id, memory.bucket.channel, source_id(memory.source)),
        *(memory.created_at_ms, len(memory.terms), memory.locked, memory.revision),
        *(memory.recalled, memory.recalled_at_ms, memory.message_id, content_key(memory.content)),
        *(terms_text(memory.terms), memory.timestamp),
        attached_json(memory.source, field="source").decode(),
        attached_json(memory.metadata, field="metadata").decode(),
        memory.content,
    )


@decoding
def memory_of_row(row: Sequence[Any]) -> Memory:
    """The memory of a row (agent_id, id, project_id, channel, created_at_ms, locked, revision, recalled,
    recalled_at_ms, message_id, terms, timestamp, source, metadata, content).

    What was remembered outlives what was attached to it: a source or metadata that cannot be read is served as empty,
    and found by StoreCheck.DETAILS_UNREADABLE.
    """
    agent_id, number, project_id, channel, created_at_ms, locked, revision, *rest = row
    recalled, recalled_at_ms, message_id, terms, timestamp, source, metadata, content = rest
    return Memory(
        id=number,
        agent_id=agent_id,
        bucket=Bucket(project_id=project_id, channel=channel),
        content=content,
        message_id=message_id,
        source=attached_of(source) or {},
        timestamp=timestamp,
        metadata=attached_of(metadata) or {},
        locked=bool(locked),
        created_at_ms=created_at_ms,
        revision=revision,
        recalled=recalled,
        recalled_at_ms=recalled_at_ms,
        terms=tuple(terms.split(" ")) if terms else (),
    )


def episode_row(episode: Episode) -> tuple[Any, ...]:
    """(id, project_id, channel, created_at_ms, term_count, resolved, summary_key, terms, start_time, end_time,
    keywords, summary)."""
    return (
        *(episode.id, episode.bucket.project_id, episode.bucket.channel, episode.created_at_ms, len(episode.terms)),
        *(episode.resolved, content_key(episode.summary), terms_text(episode.terms)),
        *(episode.start_time, episode.end_time, episode.keywords, episode.summary),
    )


@decoding
def episode_of_row(row: Sequence[Any]) -> Episode:
    """The episode of a row (agent_id, id, project_id, channel, created_at_ms, resolved, terms, start_time, end_time,
    keywords, summary)."""
    agent_id, number, project_id, channel, created_at_ms, resolved, terms, start, end, keywords, summary = row
    return Episode(
        id=number,
        agent_id=agent_id,
        bucket=Bucket(project_id=project_id, channel=channel),
        summary=summary,
        keywords=keywords,
        start_time=start,
        end_time=end,
        resolved=bool(resolved),
        created_at_ms=created_at_ms,
        terms=tuple(terms.split(" ")) if terms else (),
    )


@decoding
def task_of_row(row: Sequence[Any]) -> Task:
    """The task of a row (tenant_id, task_id, subject_id, agent_id, kind, payload, enqueued_at_ms, due_at_ms, tries)."""
    tenant_id, task_id, subject_id, agent_id, kind, payload, enqueued_at_ms, due_at_ms, tries = row
    return Task(
        task_id=task_id,
        scope=AgentScope(tenant_id=tenant_id, subject_id=subject_id, agent_id=agent_id),
        kind=kind,
        payload=payload,
        enqueued_at_ms=enqueued_at_ms,
        due_at_ms=due_at_ms,
        tries=tries,
    )
