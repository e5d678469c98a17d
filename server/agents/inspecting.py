"""What the checks find in records that go by, one page after another. Pure."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from codesynapse.contracts.agents import Bucket, Episode, Memory, content_key
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.quotas import DAY_MS
from codesynapse.server.agents.channels import meant_axis
from codesynapse.server.agents.checks import Found
from codesynapse.server.agents.exported import Terms, is_portable
from codesynapse.server.agents.wording import ahead_ms, cleaned, is_blank
from codesynapse.server.clock import from_rfc3339

REFS_MAX = 5
SHORT = 3
NEAR_TERMS_MIN = 3
FORGOTTEN_MS = 180 * DAY_MS

Recorded = Memory | Episode

# What a model reads and a person does not see: controls but for tab and line ends, directions, fillers, tags, selectors
# of variants. Joiners and the selectors of the basic plane stay out: emoji and many scripts need them.
_hidden = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
).search
_secrets = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bcsk_[A-Za-z0-9_-]{20,}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36,}"
    r"|\bsk-[A-Za-z0-9_-]{32,}|\bxox[abprs]-[A-Za-z0-9-]{20,}"
).search


class Inspector:
    """Looks at every record once, for all that was asked. found: by the name of the check; what finds nothing is
    there as well."""

    def __init__(self, names: Iterable[str], terms: Terms, now_ms: Millis) -> None:
        self.found: dict[str, Found] = {name: Found() for name in names}
        self._terms = terms
        self._now_ms = now_ms
        self._pool: set[str] = set()
        self._copies: list[tuple[Recorded, str]] = []
        self._first: dict[tuple[str, object], object] = {}
        self._memories = {name: check for name, check in MEMORY_CHECKS.items() if name in self.found}
        self._episodes = {name: check for name, check in EPISODE_CHECKS.items() if name in self.found}

    @property
    def needed(self) -> bool:
        """Whether any of its checks looks at records."""
        return bool(self._memories or self._episodes or self.found.keys() & _COMPARING)

    def look(self, records: Iterable[Recorded]) -> None:
        """The next records, in the order of their ids."""
        for record in records:
            checks: Mapping[str, Any] = self._memories if isinstance(record, Memory) else self._episodes
            for name, wrong in checks.items():
                if wrong(record, self._terms, self._now_ms):
                    self._note(name, record)
            if isinstance(record, Memory):
                self._compare_memory(record)
            elif self._repeats("repeated_episode", (record.bucket, record.summary, record.start_time, record.end_time)):
                self._note("repeated_episode", record)

    def end(self) -> None:
        """What only shows once everything went by."""
        for record, key in self._copies:
            if key in self._pool:
                self._note("duplicate_content", record)
        self._copies.clear()

    def _compare_memory(self, memory: Memory) -> None:
        if "duplicate_content" in self.found:
            key = content_key(memory.content)
            if memory.bucket == Bucket():
                self._pool.add(key)
            else:
                self._copies.append((memory, key))
        words = sorted(set(memory.terms))
        if len(words) >= NEAR_TERMS_MIN and self._repeats("near_duplicates", (memory.bucket, tuple(words))):
            self._note("near_duplicates", memory)
        if memory.message_id and "repeated_message_id" in self.found:
            first = self._first.setdefault(("repeated_message_id", memory.message_id), memory.bucket.project_id)
            if first != memory.bucket.project_id:
                self._note("repeated_message_id", memory)

    def _repeats(self, name: str, what: object) -> bool:
        """Whether something went by before, for a check that was asked for. Only its digest is kept."""
        if name not in self.found:
            return False
        place = (name, hashlib.blake2b(repr(what).encode("utf-8", "replace"), digest_size=16).digest())
        seen = place in self._first
        self._first[place] = True
        return seen

    def _note(self, name: str, record: Recorded) -> None:
        found = self.found[name]
        found.count += 1
        found.ids.append(record.id)
        if len(found.refs) < REFS_MAX:
            found.refs.append(record.ref)


def _blank(memory: Memory, _: Terms, __: Millis) -> bool:
    return is_blank(memory.content)


def _wordless(memory: Memory, terms: Terms, _: Millis) -> bool:
    return not memory.terms and not terms(memory.content)


def _stale(memory: Memory, terms: Terms, _: Millis) -> bool:
    return memory.terms != terms(memory.content)


def _stale_episode(episode: Episode, terms: Terms, _: Millis) -> bool:
    return episode.terms != terms(f"{episode.summary}\n{episode.keywords}")


def _marked(memory: Memory, _: Terms, __: Millis) -> bool:
    try:
        return cleaned(memory.content, field="content", maximum=len(memory.content))[0] != memory.content
    except Invalid:
        return False  # Blank, or a mark alone: nothing would be left of it.


def _bad_timestamp(memory: Memory, _: Terms, __: Millis) -> bool:
    return bool(memory.timestamp) and from_rfc3339(memory.timestamp) is None


def _future(memory: Memory, _: Terms, now_ms: Millis) -> bool:
    return ahead_ms(memory.timestamp, now_ms) > 0


def _hidden_characters(memory: Memory, _: Terms, __: Millis) -> bool:
    return _hidden(memory.content) is not None


def _secret(memory: Memory, _: Terms, __: Millis) -> bool:
    return _secrets(memory.content) is not None


def _placeholder_channel(memory: Memory, _: Terms, __: Millis) -> bool:
    return meant_axis(memory.bucket.channel) != memory.bucket.channel


def _placeholder_project(record: Recorded, _: Terms, __: Millis) -> bool:
    return meant_axis(record.bucket.project_id) != record.bucket.project_id


def _episode_times(episode: Episode, _: Terms, __: Millis) -> bool:
    ends = [from_rfc3339(text) for text in (episode.start_time, episode.end_time) if text]
    if None in ends:
        return True
    return len(ends) == 2 and ends[0] > ends[1]  # type: ignore[operator]  # None is excluded above


def _anonymous(memory: Memory, _: Terms, __: Millis) -> bool:
    return not memory.source


def _short(memory: Memory, _: Terms, __: Millis) -> bool:
    return len(memory.content.strip()) < SHORT


def _never_recalled(memory: Memory, _: Terms, now_ms: Millis) -> bool:
    return not memory.recalled and now_ms - memory.created_at_ms > FORGOTTEN_MS


def _unportable(record: Recorded, terms: Terms, _: Millis) -> bool:
    return not is_portable(record, terms)


MEMORY_CHECKS: Mapping[str, Callable[[Memory, Terms, Millis], bool]] = {
    "blank_content": _blank,
    "wordless_content": _wordless,
    "stale_terms": _stale,
    "marked_content": _marked,
    "bad_timestamp": _bad_timestamp,
    "future_timestamp": _future,
    "hidden_characters": _hidden_characters,
    "secret_content": _secret,
    "placeholder_channel": _placeholder_channel,
    "placeholder_project": _placeholder_project,
    "anonymous_source": _anonymous,
    "short_content": _short,
    "never_recalled": _never_recalled,
    "unportable": _unportable,
}
EPISODE_CHECKS: Mapping[str, Callable[[Episode, Terms, Millis], bool]] = {
    "stale_terms": _stale_episode,
    "placeholder_project": _placeholder_project,
    "episode_times": _episode_times,
    "unportable": _unportable,
}
_COMPARING = frozenset({"duplicate_content", "near_duplicates", "repeated_message_id", "repeated_episode"})
