"""Names of streams: what a client carries, so that its requests can be answered by a server that never met them. Pure.

A name is sealed for its session. It holds the stream's number, and of each request its id and where it may write; so
it can be read after a restart, and on another server, but by no one else and for no other session.
"""

import secrets
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from codesynapse.server.mcp.messages import NO_ID, RequestId
from codesynapse.server.mcp.seal import TAG_BYTES, Seal

NAME_MAX = 232
"""Characters. With the position behind it an event id stays within 256."""
ID_CARRIED_MAX = 64
"""Bytes of the longest request id that a name carries; a longer one can be named only by the server that got it."""
READ, SESSION, REPOSITORY, ELSEWHERE = range(4)
_UNNAMED = 255
_FORMAT = 1
_EPOCH_BYTES = 6
_NUMBER_BYTES = 10
_DIGEST_BYTES = 6
_ROOM = NAME_MAX * 3 // 4 - TAG_BYTES - 1 - _NUMBER_BYTES


class Place(NamedTuple):
    """Where a call may write. kind: READ nowhere; SESSION, REPOSITORY memory; ELSEWHERE where no result is kept.

    digest: of the namespace's or the repository's name, 6 bytes; a name can be found by it among those that are there.
    """

    kind: int
    digest: bytes = b""


NOWHERE = Place(READ)
UNKNOWN = Place(ELSEWHERE)


def place(kind: int, name: str) -> Place:
    """A namespace of session memory, or a repository."""
    return Place(kind, name_digest(name))


def name_digest(name: str) -> bytes:
    """What a name carries of a namespace or a repository."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


class Asked(NamedTuple):
    """One request of a stream. request_id: NO_ID where the name does not carry it."""

    request_id: RequestId
    place: Place = NOWHERE


class Named(NamedTuple):
    """What a name says. asked: in the order of the requests; a last one without an id may stand for several.

    own: the stream is one of this very log.
    """

    number: bytes
    asked: tuple[Asked, ...]
    own: bool


class Names:
    """The names of one session's streams."""

    def __init__(self, seal: Seal, session: bytes) -> None:
        """session: what tells it from all others, also in another process."""
        self._seal = seal
        self._session = session
        self._epoch = secrets.token_bytes(_EPOCH_BYTES)
        self._given = 0

    def number(self) -> bytes:
        """The next stream's number, 10 bytes; a mere counter would repeat after a restart."""
        self._given += 1
        return self._epoch + self._given.to_bytes(_NUMBER_BYTES - _EPOCH_BYTES, "big")

    def name(self, number: bytes, asked: Sequence[Asked]) -> str:
        """The name of a stream, at most NAME_MAX characters of the URL-safe base64 alphabet."""
        return self._seal.seal(bytes([_FORMAT]) + number + _packed(asked), self._session)

    def read(self, name: str) -> Named | None:
        """What a name of this session says, whichever server gave it; None for any other text."""
        plain = self._seal.open(name, self._session) if len(name) <= NAME_MAX else None
        if plain is None or plain[0] != _FORMAT:
            return None
        number = plain[1 : 1 + _NUMBER_BYTES]
        return Named(number, _unpacked(plain[1 + _NUMBER_BYTES :]), number.startswith(self._epoch))


def commit_seed(session: bytes, number: bytes, index: int) -> bytes:
    """From what the ids of a call's commits follow: its session, its stream, and its place on that."""
    return blake2b(session + number + index.to_bytes(4, "big"), digest_size=16, person=b"codesynapse.call").digest()


def carried(asked: Sequence[Asked]) -> bool:
    """Whether a name carries the ids of all these requests."""
    return all(each.request_id != NO_ID for each in _unpacked(_packed(asked)))


def _packed(asked: Sequence[Asked]) -> bytes:
    packed = b""
    for request_id, (kind, digest) in asked:
        if len(request_id) > ID_CARRIED_MAX:
            entry = bytes([_UNNAMED])
        else:
            entry = bytes([kind]) + digest + bytes([len(request_id)]) + request_id
        # Room for the mark of those that are left out.
        if len(packed) + len(entry) + 1 > _ROOM:
            return packed + bytes([_UNNAMED])
        packed += entry
    return packed


def _unpacked(packed: bytes) -> tuple[Asked, ...]:
    """The requests; what was sealed is what was packed."""
    asked, at = [], 0
    while at < len(packed):
        kind = packed[at]
        at += 1
        if kind == _UNNAMED:
            asked.append(Asked(NO_ID, UNKNOWN))
            continue
        digest = packed[at : at + _DIGEST_BYTES] if kind in (SESSION, REPOSITORY) else b""
        at += len(digest)
        size = packed[at]
        asked.append(Asked(RequestId(packed[at + 1 : at + 1 + size]), Place(kind, digest)))
        at += 1 + size
    return tuple(asked)
