"""Many records of agents at once in SQLite, each within one transaction."""

from collections.abc import Iterable, Sequence

from msgspec import structs

from codesynapse.backends.sqlite import agent_access, agent_reading, agent_writing
from codesynapse.backends.sqlite.agent_access import Held
from codesynapse.backends.sqlite.agent_rows import tokens
from codesynapse.backends.sqlite.connection import Connection
from codesynapse.contracts.agent_port import Sink
from codesynapse.contracts.agent_work import (
    ChannelMove,
    EpisodeRecord,
    MemoryRecord,
    ProfileRecord,
    Record,
    TakenIn,
    Tally,
    admit_record,
)
from codesynapse.contracts.agents import (
    Bucket,
    Episode,
    Memory,
    NewEpisode,
    NewMemory,
    Profile,
    content_key,
    episode_of,
    memory_of,
    require_profile,
)
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.quotas import Quotas

_PROFILE = "SELECT profile, profile_at_ms FROM agents WHERE tenant_id = ? AND id = ?"
_SET_PROFILE = "UPDATE agents SET profile = ?, profile_at_ms = ? WHERE tenant_id = ? AND id = ?"
_LIKE = """
SELECT EXISTS (
    SELECT 1 FROM agent_episodes
    WHERE tenant_id = ? AND agent = ? AND summary_key = ? AND project_id = ? AND channel = ?
)
"""
_MEMORY_PLACE = "SELECT place FROM agent_memories WHERE tenant_id = ? AND id = ?"
_EPISODE_PLACE = "SELECT place FROM agent_episodes WHERE tenant_id = ? AND id = ?"
_IN_CHANNEL = """
SELECT place, project_id, content_key FROM agent_memories
WHERE tenant_id = ? AND +agent = ? AND id = ? AND channel = ?
"""
_SET_CHANNEL = "UPDATE agent_memories SET channel = ? WHERE tenant_id = ? AND place = ?"

_MEMORY_TERMS = "SELECT place, terms FROM agent_memories WHERE tenant_id = ? AND agent = ?"
_EPISODE_TERMS = "SELECT place, terms FROM agent_episodes WHERE tenant_id = ? AND agent = ?"
_FORGET_MEMORY = "INSERT INTO agent_memory_index (agent_memory_index, rowid, terms) VALUES ('delete', ?, ?)"
_FORGET_EPISODE = "INSERT INTO agent_episode_index (agent_episode_index, rowid, terms) VALUES ('delete', ?, ?)"
_PURGE_MEMORIES = "DELETE FROM agent_memories WHERE tenant_id = ? AND agent = ?"
_PURGE_EPISODES = "DELETE FROM agent_episodes WHERE tenant_id = ? AND agent = ?"
_PURGE_KEYS = "DELETE FROM agent_keys WHERE tenant_id = ? AND agent = ?"
_PURGE_TASKS = "DELETE FROM agent_tasks WHERE tenant_id = ? AND agent = ?"
# Another salt: what the index has not yet cleared away can be asked for by nobody any more.
_PURGE_AGENT = """
UPDATE agents SET salt = randomblob(16), profile = '', profile_at_ms = NULL, tuning = NULL, discarded = 0
WHERE tenant_id = ? AND id = ?
"""


def profile(connection: Connection, held: Held) -> Profile:
    """An agent's profile; empty where there is none."""
    text, updated_at_ms = connection.execute(_PROFILE, (held.tenant_id, held.number)).fetchone()
    return Profile(text=text, updated_at_ms=updated_at_ms)


def set_profile(connection: Connection, held: Held, text: str, now_ms: Millis | None) -> None:
    connection.execute(_SET_PROFILE, (text, now_ms, held.tenant_id, held.number))


def export(connection: Connection, held: Held, sink: Sink) -> Tally:
    """Give everything to a sink; how much it was."""
    known = profile(connection, held)
    if known.text:
        sink(known)
    for record in agent_reading.everything(connection, held):
        sink(record)
    return Tally(memories=held.memories, episodes=held.episodes, profiles=bool(known.text))


class Taking:
    """Records on their way into an agent, and what became of them."""

    def __init__(self, connection: Connection, held: Held, quotas: Quotas, now_ms: Millis) -> None:
        self._connection = connection
        self._held = held
        self._quotas = quotas
        self._now_ms = now_ms
        self._added = Tally()
        self._skipped = Tally()

    @property
    def taken(self) -> TakenIn:
        return TakenIn(added=self._added, skipped=self._skipped)

    def take(self, record: Record) -> bool:
        """Add a record, unless it is there already; whether it was added."""
        match record:
            case MemoryRecord():
                kind, added = "memories", self._memory(record)
            case EpisodeRecord():
                kind, added = "episodes", self._episode(record)
            case ProfileRecord():
                kind, added = "profiles", self._profile(record)
        if added:
            self._added = _more(self._added, kind)
        else:
            self._skipped = _more(self._skipped, kind)
        return added

    def _memory(self, record: MemoryRecord) -> bool:
        if agent_writing.duplicate(self._connection, self._held, record.memory) is not None:
            return False
        admit_record("agent_memories_max", self._held.memories + self._added.memories, self._quotas)
        number = agent_access.next_id(self._connection, self._held.tenant_id)
        kept = memory_of(record.memory, id=number, agent_id=self._held.agent_id, now_ms=record.created_at_ms)
        counted = structs.replace(kept, recalled=record.recalled, recalled_at_ms=record.recalled_at_ms)
        agent_writing.add_memory(self._connection, self._held, counted)
        return True

    def _episode(self, record: EpisodeRecord) -> bool:
        held, bucket = self._held, record.episode.bucket
        asked = (held.tenant_id, held.number, content_key(record.episode.summary), bucket.project_id, bucket.channel)
        (like,) = self._connection.execute(_LIKE, asked).fetchone()
        if like:
            return False
        admit_record("agent_episodes_max", held.episodes + self._added.episodes, self._quotas)
        number = agent_access.next_id(self._connection, held.tenant_id)
        kept = episode_of(record.episode, id=number, agent_id=held.agent_id, now_ms=record.created_at_ms)
        agent_writing.add_episode(self._connection, held, kept)
        return True

    def _profile(self, record: ProfileRecord) -> bool:
        if profile(self._connection, self._held).text:
            return False
        set_profile(self._connection, self._held, require_profile(record.text), self._now_ms)
        return True


def take_in(taking: Taking, records: Iterable[Record]) -> TakenIn:
    """Add what is not there yet."""
    for record in records:
        taking.take(record)
    return taking.taken


def merge(connection: Connection, source: Held, taking: Taking, *, move: bool) -> TakenIn:
    """Copy what the target has not yet; a move removes it at the source."""
    for record in agent_reading.everything(connection, source):
        if taking.take(_outgoing(record)) and move:
            _drop(connection, source, record)
    known = profile(connection, source)
    if known.text and taking.take(ProfileRecord(text=known.text)) and move:
        set_profile(connection, source, "", None)
    taken = taking.taken
    return structs.replace(taken, removed=taken.added) if move else taken


def move_channels(connection: Connection, held: Held, moves: Sequence[ChannelMove]) -> list[int]:
    """Move what is still where it was and has no equal where it goes; the ids."""
    moved: list[int] = []
    for each in moves:
        asked = (held.tenant_id, held.number, each.memory_id, each.from_channel)
        row = connection.execute(_IN_CHANNEL, asked).fetchone()
        if row is None:
            continue
        place, project_id, key = row
        bucket = Bucket(project_id=project_id, channel=each.to_channel)
        holder = agent_writing.of_content(connection, held.tenant_id, held.number, key, bucket)
        if holder is None or holder[0] == each.memory_id:
            connection.execute(_SET_CHANNEL, (each.to_channel, held.tenant_id, place))
            moved.append(each.memory_id)
    return moved


def purge(connection: Connection, held: Held) -> None:
    """Remove all that an agent has."""
    place = (held.tenant_id, held.number)
    found = connection.execute(_MEMORY_TERMS, place).fetchall()
    connection.executemany(_FORGET_MEMORY, [(each, tokens(held.salt, terms.split())) for each, terms in found])
    found = connection.execute(_EPISODE_TERMS, place).fetchall()
    connection.executemany(_FORGET_EPISODE, [(each, tokens(held.salt, terms.split())) for each, terms in found])
    connection.execute(_PURGE_MEMORIES, place)
    connection.execute(_PURGE_EPISODES, place)
    connection.execute(_PURGE_KEYS, place)
    connection.execute(_PURGE_TASKS, place)
    connection.execute(_PURGE_AGENT, place)


def _drop(connection: Connection, held: Held, record: Memory | Episode) -> None:
    indexed = tokens(held.salt, record.terms)
    if isinstance(record, Memory):
        (place,) = connection.execute(_MEMORY_PLACE, (held.tenant_id, record.id)).fetchone()
        agent_writing.drop_memory(connection, held.tenant_id, place, indexed)
    else:
        (place,) = connection.execute(_EPISODE_PLACE, (held.tenant_id, record.id)).fetchone()
        agent_writing.drop_episode(connection, held.tenant_id, place, indexed)


def _outgoing(record: Memory | Episode) -> Record:
    if isinstance(record, Episode):
        episode = NewEpisode(**{name: getattr(record, name) for name in NewEpisode.__struct_fields__})
        return EpisodeRecord(episode=episode, created_at_ms=record.created_at_ms)
    return MemoryRecord(
        memory=NewMemory(**{name: getattr(record, name) for name in NewMemory.__struct_fields__}),
        created_at_ms=record.created_at_ms,
        recalled=record.recalled,
        recalled_at_ms=record.recalled_at_ms,
    )


def _more(tally: Tally, kind: str) -> Tally:
    return structs.replace(tally, **{kind: getattr(tally, kind) + 1})
