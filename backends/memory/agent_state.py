"""What one agent has, in dicts: its records, what they are found by, and what makes them duplicates."""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from msgspec import structs

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_recall import (
    EPISODES_MAX,
    MEMORIES_MAX,
    POSTINGS_MAX,
    Candidate,
    Candidates,
    Question,
    choose,
    looked_up,
    weights_of,
)
from codesynapse.contracts.agent_work import Kept, Once, StoreCheck, admit_record, check_replay
from codesynapse.contracts.agents import (
    KEYS_KEPT_MS,
    Bucket,
    Episode,
    Kind,
    Memory,
    NewMemory,
    Profile,
    Tuning,
    content_key,
    source_id,
    source_matches,
)
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.quotas import Quotas

Recorded = Memory | Episode
R = TypeVar("R", Memory, Episode)


@dataclass(slots=True)
class KeptAnswer:
    """What an idempotency key answers."""

    digest: str
    answer: Kept
    made_at_ms: Millis


@dataclass(slots=True)
class Agent:
    """One agent. index: the records of each term. by_message, by_content: the memory that holds a key of duplicates."""

    agent_id: str
    grants: dict[str, Level] = field(default_factory=dict)
    memories: dict[int, Memory] = field(default_factory=dict)
    episodes: dict[int, Episode] = field(default_factory=dict)
    index: dict[str, set[int]] = field(default_factory=dict)
    by_message: dict[tuple[str, str], int] = field(default_factory=dict)
    by_content: dict[tuple[str, str, str], int] = field(default_factory=dict)
    total_terms: int = 0
    profile: Profile = field(default_factory=Profile)
    tuning: Tuning = field(default_factory=Tuning)
    keys: dict[str, KeptAnswer] = field(default_factory=dict)
    discarded: int = 0

    def snapshot(self) -> "Agent":
        """A copy that later changes do not reach; records are values and shared."""
        copied = copy.copy(self)
        for name in ("grants", "memories", "episodes", "by_message", "by_content", "keys"):
            setattr(copied, name, dict(getattr(self, name)))
        copied.index = {term: set(ids) for term, ids in self.index.items()}
        return copied

    def replayed(self, once: Once, now_ms: Millis) -> Kept | None:
        """The kept answer of an idempotency key, where there is one. Raises IdempotencyConflict."""
        kept = self.keys.get(once.key)
        if kept is None or not check_replay(once, kept.digest, kept.made_at_ms, now_ms):
            return None
        return structs.replace(kept.answer, replayed=True)

    def once(self, once: Once, write: "Callable[[Agent], Kept]", quotas: Quotas, now_ms: Millis) -> Kept:
        """The kept answer of an idempotency key, or that of the write, which is kept. Raises what the write does."""
        replayed = self.replayed(once, now_ms)
        if replayed is not None:
            return replayed
        if once.key not in self.keys:
            admit_record("agent_keys_max", len(self.keys), quotas)
        answer = write(self)
        self.keys[once.key] = KeptAnswer(once.digest, answer, now_ms)
        return answer

    def free_key(self, task_id: int) -> None:
        """Forget the idempotency key that answers for a task which will never be done."""
        for key in [key for key, kept in self.keys.items() if kept.answer.task_id == task_id]:
            del self.keys[key]

    def add(self, record: Recorded) -> None:
        """Take in a record under its id; one that is there is replaced."""
        self.drop(record.id)
        if isinstance(record, Memory):
            self.memories[record.id] = record
            self.by_content[(*_place(record.bucket), content_key(record.content))] = record.id
            if record.message_id:
                self.by_message[record.bucket.project_id, record.message_id] = record.id
        else:
            self.episodes[record.id] = record
        self.total_terms += len(record.terms)
        for term in record.terms:
            self.index.setdefault(term, set()).add(record.id)

    def drop(self, record_id: int) -> Recorded | None:
        """Remove a record and whatever finds it; the record."""
        record = self.memories.pop(record_id, None) or self.episodes.pop(record_id, None)
        if record is None:
            return None
        if isinstance(record, Memory):
            del self.by_content[(*_place(record.bucket), content_key(record.content))]
            if record.message_id:
                del self.by_message[record.bucket.project_id, record.message_id]
        self.total_terms -= len(record.terms)
        for term in set(record.terms):
            self.index[term].discard(record_id)
            if not self.index[term]:
                del self.index[term]
        return record

    def of_message(self, bucket: Bucket, message_id: str) -> Memory | None:
        """The memory of this message id that makes another one in a bucket a duplicate."""
        if not message_id:
            return None
        for project in _near(bucket.collides_with.projects, bucket.project_id):
            if (held := self.by_message.get((project, message_id))) is not None:
                return self.memories[held]
        return None

    def of_content(self, bucket: Bucket, content: str) -> Memory | None:
        """The memory of this content that makes another one in a bucket a duplicate."""
        key, reach = content_key(content), bucket.collides_with
        for project in _near(reach.projects, bucket.project_id):
            for channel in _near(reach.channels, bucket.channel):
                if (held := self.by_content.get((project, channel, key))) is not None:
                    return self.memories[held]
        return None

    def duplicate(self, memory: NewMemory) -> Kept | None:
        """The answer to a memory that is there already."""
        key, held = "message_id", self.of_message(memory.bucket, memory.message_id)
        if held is None:
            key, held = "content", self.of_content(memory.bucket, memory.content)
        if held is None:
            return None
        other = source_id(held.source) != memory.source_id
        return Kept(id=held.id, created=False, duplicate=key, other_source=other)

    def episode_like(self, bucket: Bucket, summary: str) -> bool:
        """Whether a bucket holds an episode of this summary."""
        return any(each.bucket == bucket and each.summary == summary for each in self.episodes.values())

    def records(self) -> list[Recorded]:
        """All records, in the order of their ids."""
        return sorted([*self.memories.values(), *self.episodes.values()], key=lambda each: each.id)

    def faults(self, check: StoreCheck, now_ms: Millis) -> list[str]:
        """What a check finds. A dict of ours has no index apart from what it holds: most cannot find anything."""
        if check is StoreCheck.KEYS_EXPIRED:
            return [key for key, kept in self.keys.items() if now_ms >= kept.made_at_ms + KEYS_KEPT_MS]
        if check is StoreCheck.OWNERLESS and Level.ADMIN not in self.grants.values():
            return [self.agent_id]
        return []

    def candidates(self, question: Question) -> Candidates:
        """What the law chooses of this agent's records."""
        asked = question.asked
        total = len(self.memories) + len(self.episodes)
        frequencies = {term: len(self.index[term]) for term in asked if term in self.index}
        weights = weights_of(asked, frequencies, total)
        terms = looked_up(weights, frequencies)
        chosen = choose(self._postings(terms, self.memories, question), weights, MEMORIES_MAX)
        rows = [_candidate(Kind.MEMORY, self.memories[each]) for each in chosen]
        if question.with_episodes:
            chosen = choose(self._postings(terms, self.episodes, question), weights, EPISODES_MAX)
            rows += [_candidate(Kind.EPISODE, self.episodes[each]) for each in chosen]
        return Candidates(rows=tuple(rows), total=total, total_terms=self.total_terms, frequencies=frequencies)

    def _postings(
        self, terms: Sequence[str], held: dict[int, Memory] | dict[int, Episode], question: Question
    ) -> Iterator[tuple[str, list[int]]]:
        for term in terms:
            seen = (each for each in self.index[term] if each in held and asked_for(held[each], question))
            yield term, sorted(seen, reverse=True)[:POSTINGS_MAX]


def asked_for(record: Recorded, question: Question) -> bool:
    """Whether a record lies within what a question reaches."""
    if not question.reach.sees(record.bucket):
        return False
    return isinstance(record, Episode) or source_matches(question.source_id, source_id(record.source))


def newest(records: Iterable[R]) -> list[R]:
    """Records in the order of lists: the newest first, then by id."""
    return sorted(records, key=lambda each: (-each.created_at_ms, -each.id))


def _candidate(kind: Kind, record: Recorded) -> Candidate:
    return Candidate(kind, record.id, record.created_at_ms, " ".join(record.terms))


def _place(bucket: Bucket) -> tuple[str, str]:
    return bucket.project_id, bucket.channel


def _near(values: tuple[str, ...] | None, own: str) -> tuple[str, ...]:
    """The values of an axis that collide, one's own first."""
    return tuple(dict.fromkeys((own, *(values or ()))))
