"""Records of agents written into SQLite, within a transaction: kept, changed and removed with their index."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from codesynapse.backends.sqlite import agent_access
from codesynapse.backends.sqlite.agent_access import Held
from codesynapse.backends.sqlite.agent_rows import episode_row, memory_row, terms_text, tokens
from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.faults import decoding
from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_work import Changed, Kept, Once, Verdict, admit_record, check_replay
from codesynapse.contracts.agents import (
    AgentScope,
    Bucket,
    Episode,
    Memory,
    NewEpisode,
    NewMemory,
    Sight,
    content_key,
    episode_of,
    memory_of,
)
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.quotas import Quotas

# What is nearest comes first: the bucket itself before what it shares with others.
_OF_MESSAGE = """
SELECT id, source_id FROM agent_memories
WHERE tenant_id = ? AND agent = ? AND message_id = ? AND message_id <> '' AND project_id IN ('', ?)
ORDER BY project_id DESC LIMIT 1
"""
_OF_CONTENT = """
SELECT id, source_id FROM agent_memories
WHERE tenant_id = ? AND agent = ? AND content_key = ? AND project_id IN ('', ?) AND channel IN ('', ?)
ORDER BY project_id DESC, channel DESC LIMIT 1
"""
_NEW_MEMORY = """
INSERT INTO agent_memories (tenant_id, agent, id, project_id, channel, source_id, created_at_ms, term_count, locked,
    revision, recalled, recalled_at_ms, message_id, content_key, terms, timestamp, source, metadata, content)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_NEW_EPISODE = """
INSERT INTO agent_episodes (tenant_id, agent, id, project_id, channel, created_at_ms, term_count, resolved,
    summary_key, terms, start_time, end_time, keywords, summary)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_INDEX_MEMORY = "INSERT INTO agent_memory_index (rowid, terms) VALUES (?, ?)"
_INDEX_EPISODE = "INSERT INTO agent_episode_index (rowid, terms) VALUES (?, ?)"
_FORGET_MEMORY = "INSERT INTO agent_memory_index (agent_memory_index, rowid, terms) VALUES ('delete', ?, ?)"
_FORGET_EPISODE = "INSERT INTO agent_episode_index (agent_episode_index, rowid, terms) VALUES ('delete', ?, ?)"

_MEMORY = """
SELECT place, agent, salt, locked, revision, content_key, project_id, channel, agent_memories.terms
FROM agent_memories JOIN agents ON agents.id = agent
WHERE agent_memories.tenant_id = ? AND agent_memories.id = ? AND agent IN (SELECT value FROM json_each(?))
"""
_EPISODE = """
SELECT place, salt, agent_episodes.terms FROM agent_episodes JOIN agents ON agents.id = agent
WHERE agent_episodes.tenant_id = ? AND agent_episodes.id = ? AND agent IN (SELECT value FROM json_each(?))
"""
# The lock is a condition of the write itself, whatever was read before.
_UPDATE = """
UPDATE agent_memories
SET content = ?, content_key = ?, terms = ?, term_count = ?, revision = revision + 1
WHERE tenant_id = ? AND place = ? AND NOT locked
"""
_DELETE_MEMORY = "DELETE FROM agent_memories WHERE tenant_id = ? AND place = ? AND NOT locked"
_DROP_MEMORY = "DELETE FROM agent_memories WHERE tenant_id = ? AND place = ?"
_DROP_EPISODE = "DELETE FROM agent_episodes WHERE tenant_id = ? AND place = ?"
_SET_LOCKED = "UPDATE agent_memories SET locked = ? WHERE tenant_id = ? AND place = ?"

_KEPT = "SELECT digest, made_at_ms, answer FROM agent_keys WHERE tenant_id = ? AND agent = ? AND key = ?"
_KEEP = """
INSERT INTO agent_keys (tenant_id, agent, key, digest, made_at_ms, answer) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (agent, key) DO UPDATE
SET digest = excluded.digest, made_at_ms = excluded.made_at_ms, answer = excluded.answer
"""

_DONE, _MISSING = Changed(verdict=Verdict.DONE), Changed(verdict=Verdict.MISSING)
_LOCKED, _STALE = Changed(verdict=Verdict.LOCKED), Changed(verdict=Verdict.STALE)
_answer = decoding(msgspec.json.Decoder(Kept).decode)


def written(
    connection: Connection, scope: AgentScope, write: Callable[[Held, Quotas], Kept], once: Once | None, now_ms: Millis
) -> Kept:
    """The answer of a write to an agent, or the kept one of its idempotency key."""
    held = agent_access.writable(connection, scope, now_ms)
    quotas = agent_access.figures(connection, scope.tenant_id).quotas
    if once is None:
        return write(held, quotas)
    row = _kept(connection, held, once)
    if row is None:
        admit_record("agent_keys_max", held.keys, quotas)
    elif (replayed := _replayed(row, once, now_ms)) is not None:
        return replayed
    answer = write(held, quotas)
    text = msgspec.json.encode(answer).decode()
    connection.execute(_KEEP, (held.tenant_id, held.number, once.key, once.digest, now_ms, text))
    return answer


def foreseen(
    connection: Connection, scope: AgentScope, new: NewMemory | None, once: Once | None, now_ms: Millis
) -> Kept | None:
    """What a write would answer without writing anything."""
    held = agent_access.written_to(connection, scope)
    if held is None:
        return None
    row = None if once is None else _kept(connection, held, once)
    replayed = None if once is None or row is None else _replayed(row, once, now_ms)
    if replayed is not None or new is None:
        return replayed
    return duplicate(connection, held, new)


def store(connection: Connection, held: Held, new: NewMemory, quotas: Quotas, now_ms: Millis) -> Kept:
    """Keep a memory, unless it is there."""
    repeated = duplicate(connection, held, new)
    if repeated is not None:
        return repeated
    admit_record("agent_memories_max", held.memories, quotas)
    number = agent_access.next_id(connection, held.tenant_id)
    add_memory(connection, held, memory_of(new, id=number, agent_id=held.agent_id, now_ms=now_ms))
    return Kept(id=number, created=True)


def archive(connection: Connection, held: Held, new: NewEpisode, quotas: Quotas, now_ms: Millis) -> Kept:
    """Keep an episode."""
    admit_record("agent_episodes_max", held.episodes, quotas)
    number = agent_access.next_id(connection, held.tenant_id)
    add_episode(connection, held, episode_of(new, id=number, agent_id=held.agent_id, now_ms=now_ms))
    return Kept(id=number, created=True)


def duplicate(connection: Connection, held: Held, new: NewMemory) -> Kept | None:
    """The answer to a memory that is there already."""
    key, row = "message_id", None
    if new.message_id:
        asked = (held.tenant_id, held.number, new.message_id, new.bucket.project_id)
        row = connection.execute(_OF_MESSAGE, asked).fetchone()
    if row is None:
        key, row = "content", of_content(connection, held.tenant_id, held.number, content_key(new.content), new.bucket)
    if row is None:
        return None
    number, source = row
    return Kept(id=number, created=False, duplicate=key, other_source=source != new.source_id)


def of_content(connection: Connection, tenant_id: str, agent: int, key: str, bucket: Bucket) -> tuple[int, str] | None:
    """The id and the source of the memory whose content makes one in this bucket a duplicate."""
    row = connection.execute(_OF_CONTENT, (tenant_id, agent, key, bucket.project_id, bucket.channel)).fetchone()
    return None if row is None else (row[0], row[1])


def add_memory(connection: Connection, held: Held, memory: Memory) -> None:
    """Write a memory and index it."""
    place = connection.execute(_NEW_MEMORY, (held.tenant_id, held.number, *memory_row(memory))).lastrowid
    connection.execute(_INDEX_MEMORY, (place, tokens(held.salt, memory.terms)))


def add_episode(connection: Connection, held: Held, episode: Episode) -> None:
    """Write an episode and index it."""
    place = connection.execute(_NEW_EPISODE, (held.tenant_id, held.number, *episode_row(episode))).lastrowid
    connection.execute(_INDEX_EPISODE, (place, tokens(held.salt, episode.terms)))


def update(
    connection: Connection,
    sight: Sight,
    memory_id: int,
    content: str,
    terms: Sequence[str],
    read_revision: int | None,
) -> Changed:
    """Replace the content of a memory that is not locked."""
    row = _memory(connection, sight, memory_id)
    if row is None:
        return _MISSING
    place, agent, salt, locked, revision, held_key, project_id, channel, held_terms = row
    if locked:
        return _LOCKED
    if read_revision not in (None, revision):
        return _STALE
    key = content_key(content)
    if key == held_key:
        return _DONE
    bucket = Bucket(project_id=project_id, channel=channel)
    holder = of_content(connection, sight.tenant_id, agent, key, bucket)
    if holder is not None:
        return Changed(verdict=Verdict.DUPLICATE, holder=holder[0])
    values = (content, key, terms_text(terms), len(terms), sight.tenant_id, place)
    if not connection.execute(_UPDATE, values).rowcount:
        return _LOCKED
    connection.execute(_FORGET_MEMORY, (place, tokens(salt, held_terms.split())))
    connection.execute(_INDEX_MEMORY, (place, tokens(salt, terms)))
    return _DONE


def set_locked(connection: Connection, sight: Sight, memory_id: int, *, locked: bool) -> Changed:
    """Lock a memory, or unlock it."""
    row = _memory(connection, sight, memory_id)
    if row is None:
        return _MISSING
    connection.execute(_SET_LOCKED, (locked, sight.tenant_id, row[0]))
    return _DONE


def delete_memory(connection: Connection, sight: Sight, memory_id: int) -> Changed:
    """Remove a memory that is not locked."""
    row = _memory(connection, sight, memory_id)
    if row is None:
        return _MISSING
    place, _, salt, *_, held_terms = row
    if not connection.execute(_DELETE_MEMORY, (sight.tenant_id, place)).rowcount:
        return _LOCKED
    connection.execute(_FORGET_MEMORY, (place, tokens(salt, held_terms.split())))
    return _DONE


def delete_episode(connection: Connection, sight: Sight, episode_id: int) -> Changed:
    """Remove an episode."""
    agents = agent_access.numbers(agent_access.seen(connection, sight, Level.WRITE))
    row = connection.execute(_EPISODE, (sight.tenant_id, episode_id, agents)).fetchone()
    if row is None:
        return _MISSING
    place, salt, held_terms = row
    drop_episode(connection, sight.tenant_id, place, tokens(salt, held_terms.split()))
    return _DONE


def drop_memory(connection: Connection, tenant_id: str, place: int, indexed: str) -> None:
    """Remove a memory, locked or not. indexed: what the index was given for it."""
    connection.execute(_DROP_MEMORY, (tenant_id, place))
    connection.execute(_FORGET_MEMORY, (place, indexed))


def drop_episode(connection: Connection, tenant_id: str, place: int, indexed: str) -> None:
    """Remove an episode. indexed: what the index was given for it."""
    connection.execute(_DROP_EPISODE, (tenant_id, place))
    connection.execute(_FORGET_EPISODE, (place, indexed))


def _memory(connection: Connection, sight: Sight, memory_id: int) -> tuple[Any, ...] | None:
    agents = agent_access.numbers(agent_access.seen(connection, sight, Level.WRITE))
    row: tuple[Any, ...] | None = connection.execute(_MEMORY, (sight.tenant_id, memory_id, agents)).fetchone()
    return row


def _kept(connection: Connection, held: Held, once: Once) -> tuple[str, Millis, str] | None:
    """Digest, moment and answer under an idempotency key."""
    row: tuple[str, Millis, str] | None = connection.execute(_KEPT, (held.tenant_id, held.number, once.key)).fetchone()
    return row


def _replayed(row: tuple[str, Millis, str], once: Once, now_ms: Millis) -> Kept | None:
    """The kept answer, where its key still holds. Raises IdempotencyConflict."""
    digest, made_at_ms, text = row
    if not check_replay(once, digest, made_at_ms, now_ms):
        return None
    return msgspec.structs.replace(_answer(text), replayed=True)
