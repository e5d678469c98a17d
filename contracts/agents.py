"""Agent memory as values: memories, episodes and profiles of an agent, the axes that part them, and their bounds. Pure.

An agent is a resource with grants inside a tenant, like a repository; whoever first writes to it owns it. Its memory
lies in buckets of two axes, project and channel; both may be empty, which is the pool that all share.
"""

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec import Struct

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Id, Millis, require_id
from codesynapse.contracts.quotas import DAY_MS

CONTENT_MAX = 16_000
SUMMARY_MAX = 16_000
KEYWORDS_MAX = 2_000
PROFILE_MAX = 2_000
AXIS_MAX = 256
MESSAGE_ID_MAX = 256
TIMESTAMP_MAX = 64
ATTACHED_MAX = 8_000
"""How long the JSON of a memory's source, or of its metadata, may be."""
TERMS_MAX = 4_096
TERM_MAX = 64
KEY_MAX = 128
KIND_MAX = 64
KEYS_KEPT_MS = DAY_MS
PAYLOAD_MAX = 1_000_000
CALIBRATION_MAX = 8_000
TRIES_MAX = 3
LISTED_MAX = 1_000
REFS_MAX = 1_000

_TEXT_LIMIT = "{} characters, without lone surrogates"


def require_text(text: object, *, field: str, maximum: int, minimum: int = 0) -> str:
    """The text itself. Raises Invalid that names the field and the bound, never the value."""
    if not isinstance(text, str) or not minimum <= len(text) <= maximum or not _is_unicode(text):
        raise Invalid(field=field, limit=_TEXT_LIMIT.format(f"{minimum} to {maximum}"))
    return text


def require_axis(value: object, *, field: str) -> str:
    """The value of an axis. Raises Invalid: at most 256 characters, and none that cannot be seen."""
    text = require_text(value, field=field, maximum=AXIS_MAX)
    if any(unicodedata.category(each) == "Cc" for each in text):
        raise Invalid(field=field, limit=f"{AXIS_MAX} characters, without control characters")
    return text


def require_terms(terms: tuple[str, ...]) -> None:
    """Raises Invalid for terms that an index could not hold apart: blank, blanks within, too many or too long."""
    if len(terms) > TERMS_MAX or any(not 0 < len(term) <= TERM_MAX or term.split() != [term] for term in set(terms)):
        raise Invalid(field="terms", limit=f"{TERMS_MAX} words of 1 to {TERM_MAX} characters")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Kind(StrEnum):
    """What a record of an agent is; how its reference begins."""

    MEMORY = "mem"
    EPISODE = "ep"


class Principal(Struct, frozen=True, kw_only=True):
    """Who acts: a user of an organisation, on every agent that their grants reach."""

    tenant_id: Id
    subject_id: Id

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            require_id(getattr(self, name), field=name)


class AgentScope(Struct, frozen=True, kw_only=True):
    """Who acts, on one agent. Raises Invalid for what is no identifier; an empty agent is none."""

    tenant_id: Id
    subject_id: Id
    agent_id: Id

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            require_id(getattr(self, name), field=name)

    @property
    def principal(self) -> Principal:
        return Principal(tenant_id=self.tenant_id, subject_id=self.subject_id)


Sight = AgentScope | Principal
"""One agent, or all that the user's grants reach."""


class AgentGrant(Struct, frozen=True, kw_only=True):
    """An agent and what a user may do with it; without a user, the agent alone."""

    agent_id: Id
    subject_id: Id | None = None
    level: Level | None = None


class Bucket(Struct, frozen=True, kw_only=True):
    """Where a record is written. Omitted and empty are the same here: the shared pool."""

    project_id: str = ""
    channel: str = ""

    def __post_init__(self) -> None:
        require_axis(self.project_id, field="project_id")
        require_axis(self.channel, field="channel")

    @property
    def collides_with(self) -> "Reach":
        """Where an equal record makes this one a duplicate: the bucket itself and what it shares with others."""
        return Reach(project_id=self.project_id, channel=self.channel, exact=True)


class Reach(Struct, frozen=True, kw_only=True):
    """What is read along the two axes.

    project_id: None for all projects, '' for the shared pool alone, a project for it and the shared pool. channel:
    None or '' for all, a channel for it and what has none. exact: '' is the shared pool on both axes.
    """

    project_id: str | None = None
    channel: str | None = None
    exact: bool = False

    def __post_init__(self) -> None:
        require_axis(self.project_id or "", field="project_id")
        require_axis(self.channel or "", field="channel")

    @property
    def projects(self) -> tuple[str, ...] | None:
        """The values of the axis that are seen; None for all of them."""
        return None if self.project_id is None else tuple(dict.fromkeys(("", self.project_id)))

    @property
    def channels(self) -> tuple[str, ...] | None:
        """The values of the axis that are seen; None for all of them."""
        if self.channel is None or not (self.channel or self.exact):
            return None
        return tuple(dict.fromkeys(("", self.channel)))

    def sees(self, bucket: Bucket) -> bool:
        """Whether what lies in a bucket is read."""
        return (self.projects is None or bucket.project_id in self.projects) and (
            self.channels is None or bucket.channel in self.channels
        )


EVERYWHERE = Reach()


class NewMemory(Struct, frozen=True, kw_only=True):
    """A memory to store. message_id: the caller's own; '' for none. terms: what it is found by, as often as it occurs.

    source: who said it; its `id` is compared exactly. timestamp: as the caller gave it. Raises Invalid.
    """

    content: str
    bucket: Bucket = Bucket()
    message_id: str = ""
    source: Mapping[str, object] = {}
    timestamp: str = ""
    metadata: Mapping[str, object] = {}
    locked: bool = False
    terms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_text(self.content, field="content", maximum=CONTENT_MAX, minimum=1)
        require_text(self.message_id, field="id", maximum=MESSAGE_ID_MAX)
        require_text(self.timestamp, field="timestamp", maximum=TIMESTAMP_MAX)
        attached_json(self.source, field="source")
        attached_json(self.metadata, field="metadata")
        require_terms(self.terms)

    @property
    def source_id(self) -> str:
        return source_id(self.source)


class Memory(Struct, frozen=True, kw_only=True):
    """A memory as it is kept. id: a number within the tenant. revision: 1, and one more a change of its content.

    recalled, recalled_at_ms: how often and when it was last served by a recall.
    """

    id: int
    agent_id: Id
    bucket: Bucket
    content: str
    message_id: str
    source: Mapping[str, object]
    timestamp: str
    metadata: Mapping[str, object]
    locked: bool
    created_at_ms: Millis
    revision: int = 1
    recalled: int = 0
    recalled_at_ms: Millis | None = None
    terms: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        return f"{Kind.MEMORY}:{self.id}"


class NewEpisode(Struct, frozen=True, kw_only=True):
    """An episode to archive. start_time, end_time: the first and last moment of its history, as given; '' for none."""

    summary: str
    bucket: Bucket = Bucket()
    keywords: str = ""
    start_time: str = ""
    end_time: str = ""
    resolved: bool = False
    terms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_text(self.summary, field="summary", maximum=SUMMARY_MAX, minimum=1)
        require_text(self.keywords, field="keywords", maximum=KEYWORDS_MAX)
        require_text(self.start_time, field="start_time", maximum=TIMESTAMP_MAX)
        require_text(self.end_time, field="end_time", maximum=TIMESTAMP_MAX)
        require_terms(self.terms)


class Episode(Struct, frozen=True, kw_only=True):
    """An episode as it is kept. id: a number within the tenant, of the same counter as those of memories."""

    id: int
    agent_id: Id
    bucket: Bucket
    summary: str
    keywords: str
    start_time: str
    end_time: str
    resolved: bool
    created_at_ms: Millis
    terms: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        return f"{Kind.EPISODE}:{self.id}"


class Profile(Struct, frozen=True, kw_only=True):
    """What is known of an agent's user, as one text; '' where there is none."""

    text: str = ""
    updated_at_ms: Millis | None = None


class Tuning(Struct, frozen=True, kw_only=True):
    """How an agent recalls. revision: 0 before the first change; whoever changes it names what they read.

    precision, beta: as they were set, '' and 0 where they were not. threshold: the calibrated gate, None before.
    calibration: what else the calibration found, as JSON.
    """

    precision: str = ""
    beta: float = 0.0
    threshold: float | None = None
    calibration: str = ""
    revision: int = 0

    def __post_init__(self) -> None:
        require_text(self.calibration, field="calibration", maximum=CALIBRATION_MAX)


def attached_json(attached: Mapping[str, object], *, field: str) -> bytes:
    """The JSON of a source or of metadata. Raises Invalid for what has none, or one of more than 8,000 bytes."""
    if not attached:
        return b"{}"
    try:
        encoded = msgspec.json.encode(attached)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Invalid(field=field, limit="a JSON object") from error
    if len(encoded) > ATTACHED_MAX:
        raise Invalid(field=field, limit=f"{ATTACHED_MAX} bytes of JSON")
    return encoded


def source_id(source: Mapping[str, object]) -> str:
    """Who a source is, as it is compared: exactly. '' for nobody."""
    named = source.get("id", "")
    return named if isinstance(named, str) else ""


def source_matches(asked: str, held: str) -> bool:
    """Whether a memory of one source is asked for. asked: '' for any; one that does not end in a letter or digit is a
    prefix, such as `discord:`."""
    if not asked:
        return True
    return held == asked if asked[-1].isalnum() else held.startswith(asked)


def content_key(content: str) -> str:
    """What equal contents have in common: 32 hex digits."""
    return hashlib.blake2b(content.encode("utf-8"), digest_size=16).hexdigest()


def memory_of(new: NewMemory, *, id: int, agent_id: str, now_ms: Millis) -> Memory:
    """A memory as it is kept first."""
    return Memory(
        id=id,
        agent_id=agent_id,
        bucket=new.bucket,
        content=new.content,
        message_id=new.message_id,
        source=new.source,
        timestamp=new.timestamp,
        metadata=new.metadata,
        locked=new.locked,
        created_at_ms=now_ms,
        terms=new.terms,
    )


def episode_of(new: NewEpisode, *, id: int, agent_id: str, now_ms: Millis) -> Episode:
    """An episode as it is kept."""
    return Episode(
        id=id,
        agent_id=agent_id,
        bucket=new.bucket,
        summary=new.summary,
        keywords=new.keywords,
        start_time=new.start_time,
        end_time=new.end_time,
        resolved=new.resolved,
        created_at_ms=now_ms,
        terms=new.terms,
    )


def require_content(content: str, terms: Sequence[str]) -> tuple[str, ...]:
    """The terms of a new content. Raises Invalid, as a NewMemory does."""
    require_text(content, field="content", maximum=CONTENT_MAX, minimum=1)
    require_terms(tuple(terms))
    return tuple(terms)


def require_profile(text: str) -> str:
    """A profile's text. Raises Invalid for one that is blank or too long."""
    require_text(text, field="profile", maximum=PROFILE_MAX, minimum=1)
    if not text.strip():
        raise Invalid(field="profile", limit="not blank")
    return text
