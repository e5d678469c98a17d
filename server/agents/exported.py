"""An agent's memory as a file: lines of JSON between a first line that says whose it is and a last one that seals it.

The digest is over what was remembered and not over ids, so that an import into an empty server has the same. Pure.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from codesynapse.contracts.agent_work import EpisodeRecord, MemoryRecord, ProfileRecord, Record
from codesynapse.contracts.agents import Bucket, Episode, Memory, NewEpisode, NewMemory, Profile, require_profile
from codesynapse.contracts.errors import CodeSynapseError, ImportRefused, Refused
from codesynapse.contracts.identity import Id, Millis

FORMAT = "codesynapse-agent"
VERSION = 1
LINE_MAX = 512 * 1024
"""Longest line in bytes: a memory of 16,000 characters with all that may be attached needs less."""

Moment = Annotated[int, Meta(ge=0, le=253_402_300_799_999)]
"""Milliseconds since the Unix epoch, to the end of the year 9999."""
Count = Annotated[int, Meta(ge=0, le=1 << 53)]

Terms = Callable[[str], tuple[str, ...]]
"""What a text is found by. Not in the file: another server may have other ways."""


class Header(Struct, frozen=True, kw_only=True, tag_field="kind", tag="header", forbid_unknown_fields=True):
    """The first line."""

    format: str
    version: int
    agent_id: Id


class MemoryLine(Struct, frozen=True, kw_only=True, tag_field="kind", tag="memory", forbid_unknown_fields=True):
    """A memory. id: the caller's own."""

    content: str
    created_at_ms: Moment
    project_id: str = ""
    channel: str = ""
    id: str = ""
    source: Mapping[str, object] = {}
    timestamp: str = ""
    metadata: Mapping[str, object] = {}
    locked: bool = False
    recalled: Count = 0
    recalled_at_ms: Moment | None = None


class EpisodeLine(Struct, frozen=True, kw_only=True, tag_field="kind", tag="episode", forbid_unknown_fields=True):
    """An episode."""

    summary: str
    created_at_ms: Moment
    project_id: str = ""
    channel: str = ""
    keywords: str = ""
    start_time: str = ""
    end_time: str = ""
    resolved: bool = False


class ProfileLine(Struct, frozen=True, kw_only=True, tag_field="kind", tag="profile", forbid_unknown_fields=True):
    """The profile."""

    text: str


class Seal(Struct, frozen=True, kw_only=True, tag_field="kind", tag="end", forbid_unknown_fields=True):
    """The last line. digest: of the lines between. whole: of all lines before this one."""

    memories: int
    episodes: int
    profiles: int
    digest: str
    whole: str


Line = Header | MemoryLine | EpisodeLine | ProfileLine | Seal

_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.Decoder(Line).decode
_COUNTED: Mapping[type, Literal["memories", "episodes", "profiles"]] = {
    MemoryLine: "memories",
    EpisodeLine: "episodes",
    ProfileLine: "profiles",
}


class Counting:
    """What has gone by: how many of each kind, and both digests."""

    def __init__(self) -> None:
        self.counts = {"memories": 0, "episodes": 0, "profiles": 0}
        self._between = hashlib.sha256()
        self._whole = hashlib.sha256()

    def take(self, line: Line, raw: bytes) -> None:
        """raw: the line as it is in the file, with its end."""
        self._whole.update(raw)
        if not isinstance(line, Header):
            self._between.update(raw)
            self.counts[_COUNTED[type(line)]] += 1

    def seal(self) -> Seal:
        """The last line that belongs behind all this."""
        return Seal(**self.counts, digest=self._between.hexdigest(), whole=self._whole.hexdigest())


class Writer:
    """Writes a file, line by line. Raises what `write` does."""

    def __init__(self, agent_id: str, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._counting = Counting()
        self._put(Header(format=FORMAT, version=VERSION, agent_id=agent_id))

    def record(self, record: Memory | Episode | Profile) -> None:
        """The next record."""
        self._put(_line_of(record))

    def end(self) -> Seal:
        """Seal the file."""
        seal = self._counting.seal()
        self._write(_encode(seal) + b"\n")
        return seal

    def _put(self, line: Line) -> None:
        raw = _encode(line) + b"\n"
        self._counting.take(line, raw)
        self._write(raw)


def _line_of(record: Memory | Episode | Profile) -> Line:
    match record:
        case Memory():
            return MemoryLine(
                content=record.content,
                created_at_ms=record.created_at_ms,
                project_id=record.bucket.project_id,
                channel=record.bucket.channel,
                id=record.message_id,
                source=record.source,
                timestamp=record.timestamp,
                metadata=record.metadata,
                locked=record.locked,
                recalled=record.recalled,
                recalled_at_ms=record.recalled_at_ms,
            )
        case Episode():
            return EpisodeLine(
                summary=record.summary,
                created_at_ms=record.created_at_ms,
                project_id=record.bucket.project_id,
                channel=record.bucket.channel,
                keywords=record.keywords,
                start_time=record.start_time,
                end_time=record.end_time,
                resolved=record.resolved,
            )
        case Profile():
            return ProfileLine(text=record.text)


def is_portable(record: Memory | Episode, terms: Terms) -> bool:
    """Whether an import would take the record as an export writes it."""
    raw = _encode(_line_of(record)) + b"\n"
    if len(raw) >= LINE_MAX:
        return False
    try:
        _record_of(_next(raw, 1), terms, 1)
    except ImportRefused:
        return False
    return True


def header_of(raw: bytes) -> Header:
    """The first line. Raises ImportRefused for a file that is none of these."""
    line = _read(raw)
    if not isinstance(line, Header) or line.format != FORMAT:
        raise refusal("it is no export of an agent")
    if line.version != VERSION:
        raise refusal(f"its version is not {VERSION}")
    return line


def records_of(lines: Iterable[bytes], terms: Terms, counting: Counting | None = None) -> Iterator[Record]:
    """The records of a file, and at its end the proof that it is whole and as it was written.

    lines: each with its end. counting: learns what went by. Raises ImportRefused; then whatever came before must not
    count.
    """
    counting = Counting() if counting is None else counting
    sealed = False
    for number, raw in enumerate(lines, 1):
        if sealed:
            raise refusal("something follows its last line")
        if number == 1:
            counting.take(header_of(raw), raw)
            continue
        line = _next(raw, number)
        if isinstance(line, Seal):
            _check(line, counting.seal())
            sealed = True
            continue
        counting.take(line, raw)
        yield _record_of(line, terms, number)
    if not sealed:
        raise refusal("it is truncated: its last line is missing")


def seal_of(lines: Iterable[bytes], terms: Terms) -> Seal:
    """Read a file to its end, and believe none of it before. Raises ImportRefused."""
    counting = Counting()
    for _ in records_of(lines, terms, counting):
        pass
    return counting.seal()


def _read(raw: bytes) -> Line | None:
    try:
        return _decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _next(raw: bytes, number: int) -> Line:
    if not raw.endswith(b"\n"):
        raise refusal("it is truncated: its last line is not whole")
    line = _read(raw)
    if line is None:
        raise refusal(f"line {number} cannot be read")
    if isinstance(line, Header):
        raise refusal(f"line {number} is a second header")
    return line


def _check(said: Seal, found: Seal) -> None:
    for name in ("memories", "episodes", "profiles"):
        if getattr(said, name) != getattr(found, name):
            raise refusal(f"it was changed: the number of its {name} is not what it says")
    if (said.digest, said.whole) != (found.digest, found.whole):
        raise refusal("it was changed: its digest is not what it says")


def _record_of(line: Line, terms: Terms, number: int) -> Record:
    try:
        match line:
            case MemoryLine():
                return _memory(line, terms)
            case EpisodeLine():
                return _episode(line, terms)
            case ProfileLine():
                return ProfileRecord(text=require_profile(line.text))
    except Refused as error:
        raise _in_line(number, error) from None
    raise AssertionError(line)


def _memory(line: MemoryLine, terms: Terms) -> MemoryRecord:
    return MemoryRecord(
        memory=NewMemory(
            content=line.content,
            bucket=Bucket(project_id=line.project_id, channel=line.channel),
            message_id=line.id,
            source=line.source,
            timestamp=line.timestamp,
            metadata=line.metadata,
            locked=line.locked,
            terms=terms(line.content),
        ),
        created_at_ms=Millis(line.created_at_ms),
        recalled=line.recalled,
        recalled_at_ms=None if line.recalled_at_ms is None else Millis(line.recalled_at_ms),
    )


def _episode(line: EpisodeLine, terms: Terms) -> EpisodeRecord:
    return EpisodeRecord(
        episode=NewEpisode(
            summary=line.summary,
            bucket=Bucket(project_id=line.project_id, channel=line.channel),
            keywords=line.keywords,
            start_time=line.start_time,
            end_time=line.end_time,
            resolved=line.resolved,
            terms=terms(f"{line.summary}\n{line.keywords}"),
        ),
        created_at_ms=Millis(line.created_at_ms),
    )


def _in_line(number: int, error: CodeSynapseError) -> ImportRefused:
    return refusal(f"line {number}: {error.field} must be {error.limit}")


def refusal(why: str) -> ImportRefused:
    """Why a file is not taken; the sentence holds nothing of the file."""
    return ImportRefused(limit=why)
