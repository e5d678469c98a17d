"""Files that wait to be fetched, or to be imported: each has an owner, an end, and a name that nobody can guess.

The files have no name on the disk, so that nothing is left of them when the process ends, however it ends. They are
in this process alone.
"""

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from msgspec import Struct

from codesynapse.contracts.errors import QuotaExceeded
from codesynapse.contracts.identity import Millis

KEPT_MS = 10 * 60 * 1000
PER_OWNER_MAX = 4
MOST = 64

Owner = tuple[str, ...]
"""Who may have a file: the parts of an identity that must be the same."""


class Waiting(Struct, frozen=True, kw_only=True):
    """A file on the shelf. agent_id: whose memory it is, where that is known. size: in bytes."""

    owner: Owner
    file: BinaryIO
    size: int
    agent_id: str
    expires_at_ms: Millis


class Shelf:
    """The files of one kind. An owner who is full gives up their own oldest; a full shelf refuses the newcomer."""

    def __init__(self, *, kept_ms: int = KEPT_MS, per_owner_max: int = PER_OWNER_MAX, most: int = MOST) -> None:
        self._kept_ms = kept_ms
        self._per_owner_max = per_owner_max
        self._most = most
        self._waiting: dict[bytes, Waiting] = {}
        self._coming: dict[Owner, int] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    @contextmanager
    def coming(self, owner: Owner) -> Iterator[None]:
        """A place for a file that is being written. Raises QuotaExceeded."""
        count = self._coming.get(owner, 0)
        if count >= self._per_owner_max or sum(self._coming.values()) >= self._most:
            raise QuotaExceeded(field="pending_files", limit=self._per_owner_max)
        self._coming[owner] = count + 1
        try:
            yield
        finally:
            self._coming[owner] -= 1
            if not self._coming[owner]:
                del self._coming[owner]

    def put(self, owner: Owner, file: BinaryIO, *, size: int, agent_id: str = "", now_ms: Millis) -> tuple[str, Millis]:
        """Keep a file; the name that fetches it, and until when. Raises QuotaExceeded, and then closes the file."""
        self.sweep(now_ms)
        own = [name for name, each in self._waiting.items() if each.owner == owner]
        if len(own) >= self._per_owner_max:
            self._drop(own[0])
        if len(self._waiting) >= self._most:
            file.close()
            raise QuotaExceeded(field="pending_files", limit=self._most)
        token = secrets.token_urlsafe(32)
        expires_at_ms = Millis(now_ms + self._kept_ms)
        self._waiting[_digest(token)] = Waiting(
            owner=owner, file=file, size=size, agent_id=agent_id, expires_at_ms=expires_at_ms
        )
        return token, expires_at_ms

    def look(self, owner: Owner, token: str, now_ms: Millis) -> Waiting | None:
        """A file of one's own, which stays; None for any other, and for one whose time is over."""
        self.sweep(now_ms)
        waiting = self._waiting.get(_digest(token))
        return waiting if waiting is not None and waiting.owner == owner else None

    def take(self, owner: Owner, token: str, now_ms: Millis) -> Waiting | None:
        """A file of one's own, for the only time. Whoever takes it closes it."""
        waiting = self.look(owner, token, now_ms)
        if waiting is not None:
            del self._waiting[_digest(token)]
        return waiting

    def sweep(self, now_ms: Millis) -> int:
        """Drop what nobody fetched in time; how many."""
        over = [name for name, each in self._waiting.items() if now_ms >= each.expires_at_ms]
        for name in over:
            self._drop(name)
        return len(over)

    def clear(self) -> None:
        """Drop everything."""
        for name in list(self._waiting):
            self._drop(name)

    def _drop(self, name: bytes) -> None:
        self._waiting.pop(name).file.close()


def _digest(token: str) -> bytes:
    """What stands for a name here: looking one up must not tell how much of it was right."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
