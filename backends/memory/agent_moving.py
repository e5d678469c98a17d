"""Many records of agents at once, in dicts. Whoever calls these puts the agent back where one of them raises."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import structs

from codesynapse.backends.memory.agent_state import Agent
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
    episode_of,
    memory_of,
    require_profile,
)
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.quotas import Quotas

NewId = Callable[[], int]


def take_in(agent: Agent, records: Iterable[Record], new_id: NewId, quotas: Quotas, now_ms: Millis) -> TakenIn:
    """Add what is not there yet."""
    added, skipped = [0, 0, 0], [0, 0, 0]
    for record in records:
        kind = (MemoryRecord, EpisodeRecord, ProfileRecord).index(type(record))
        counts = added if _taken(agent, record, new_id, quotas, now_ms) else skipped
        counts[kind] += 1
    return TakenIn(added=_tally(added), skipped=_tally(skipped))


def merge(source: Agent, target: Agent, new_id: NewId, quotas: Quotas, now_ms: Millis, *, move: bool) -> TakenIn:
    """Copy what the target has not yet; a move removes it at the source."""
    added, skipped = [0, 0, 0], [0, 0, 0]
    for record in source.records():
        counts = added if _taken(target, _outgoing(record), new_id, quotas, now_ms) else skipped
        counts[isinstance(record, Episode)] += 1
        if move and counts is added:
            source.drop(record.id)
    if source.profile.text:
        if target.profile.text:
            skipped[2] = 1
        else:
            target.profile = source.profile
            added[2] = 1
            source.profile = Profile() if move else source.profile
    return TakenIn(added=_tally(added), skipped=_tally(skipped), removed=_tally(added) if move else Tally())


def move_channels(agent: Agent, moves: Sequence[ChannelMove]) -> list[int]:
    """Move what is still where it was and has no equal where it goes; the ids."""
    moved: list[int] = []
    for each in moves:
        memory = agent.memories.get(each.memory_id)
        if memory is None or memory.bucket.channel != each.from_channel:
            continue
        bucket = Bucket(project_id=memory.bucket.project_id, channel=each.to_channel)
        held = agent.of_content(bucket, memory.content)
        if held is None or held.id == memory.id:
            agent.add(structs.replace(memory, bucket=bucket))
            moved.append(memory.id)
    return moved


def _taken(agent: Agent, record: Record, new_id: NewId, quotas: Quotas, now_ms: Millis) -> bool:
    match record:
        case MemoryRecord():
            if agent.duplicate(record.memory) is not None:
                return False
            admit_record("agent_memories_max", len(agent.memories), quotas)
            kept = memory_of(record.memory, id=new_id(), agent_id=agent.agent_id, now_ms=record.created_at_ms)
            agent.add(structs.replace(kept, recalled=record.recalled, recalled_at_ms=record.recalled_at_ms))
        case EpisodeRecord():
            episode = record.episode
            if agent.episode_like(episode.bucket, episode.summary):
                return False
            admit_record("agent_episodes_max", len(agent.episodes), quotas)
            agent.add(episode_of(episode, id=new_id(), agent_id=agent.agent_id, now_ms=record.created_at_ms))
        case ProfileRecord():
            if agent.profile.text:
                return False
            agent.profile = Profile(text=require_profile(record.text), updated_at_ms=now_ms)
    return True


def _outgoing(record: Memory | Episode) -> Record:
    if isinstance(record, Episode):
        return EpisodeRecord(
            episode=NewEpisode(**{name: getattr(record, name) for name in NewEpisode.__struct_fields__}),
            created_at_ms=record.created_at_ms,
        )
    return MemoryRecord(
        memory=NewMemory(**{name: getattr(record, name) for name in NewMemory.__struct_fields__}),
        created_at_ms=record.created_at_ms,
        recalled=record.recalled,
        recalled_at_ms=record.recalled_at_ms,
    )


def _tally(counts: Sequence[int]) -> Tally:
    memories, episodes, profiles = counts
    return Tally(memories=memories, episodes=episodes, profiles=profiles)
