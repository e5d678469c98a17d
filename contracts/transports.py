"""Protocol sessions as they outlive their process: what is kept of one, what ends it, and the port that keeps them.

Nothing that was said in one is kept here, and its id only as a hash.
"""

import hashlib
from collections.abc import Collection, Mapping
from typing import Protocol

from msgspec import Struct

from codesynapse.contracts.accounts import Action, AuditRecord, Caller
from codesynapse.contracts.errors import RebindRefused
from codesynapse.contracts.identity import Id, Millis

CAPABILITIES_MAX_BYTES = 8_192
ENDS_KEPT_MS = 3_600_000
"""How long it is told that a session was closed: whoever shares the store looks far more often."""


class TransportRecord(Struct, frozen=True, kw_only=True):
    """One protocol session. It belongs to the credential that opened it.

    key: `transport_key` of its id. capabilities: what the client declared, as JSON of at most CAPABILITIES_MAX_BYTES.
    used_at_ms: of its last use, minutes late. session_id, expires_at_ms: its binding; None until it is bound.
    """

    key: str
    caller: Caller
    version: str
    capabilities: bytes
    opened_at_ms: Millis
    used_at_ms: Millis
    initialized: bool = False
    log_level: str = "info"
    session_id: Id | None = None
    expires_at_ms: Millis | None = None


class TransportEnd(Struct, frozen=True, kw_only=True):
    """That a session was closed, in the order in which it was."""

    sequence: int
    key: str


def transport_key(transport_id: str) -> str:
    """What an id is known by: 32 hex digits, from which nobody gets back to it."""
    # The id is a bearer secret within its credential: no table holds a copy.
    return hashlib.blake2b(transport_id.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def check_rebind(kept: TransportRecord, session_id: str | None) -> None:
    """Raises RebindRefused where a session that is bound would be bound to another chat session, or to none."""
    if kept.session_id is not None and kept.session_id != session_id:
        raise RebindRefused


def ends(record: AuditRecord, caller: Caller, session_id: str | None) -> bool:
    """Whether an audit record of `accounts.ENDING` ends the protocol session of a credential and a binding."""
    match record.action:
        case Action.ORGANIZATION_SUSPENDED:
            return caller.tenant_id == record.tenant_id
        case Action.USER_SUSPENDED:
            return caller.subject_id == record.target
        case Action.MEMBER_WITHDRAWN:
            return (caller.tenant_id, caller.subject_id) == (record.tenant_id, record.target)
        case Action.KEY_REVOKED:
            return (caller.tenant_id, caller.key_id) == (record.tenant_id, record.target)
        case Action.SESSION_REVOKED | Action.SESSION_EXPIRED:
            return session_id is not None and session_id == record.target
        case _:
            return False


class Transports(Protocol):
    """Protocol sessions beside the accounts, so that one outlives the server that opened it, or moves to another.

    What ends access in the accounts forgets the sessions it ends, in its own transaction (`ends`).
    """

    async def open(self, record: TransportRecord, *, spared: Collection[str], own_max: int, all_max: int) -> None:
        """Keep a new session, as it is; one that is kept already stays.

        With `own_max` of its principal's there, the longest unused ones that are not `spared` (keys) are closed for
        it; nobody else's ever is. Raises ServerFull with `all_max` kept in all.
        """
        ...

    async def find(self, key: str) -> TransportRecord | None:
        """The session of a key, also one that is idle for long and not yet swept."""
        ...

    async def change(self, record: TransportRecord) -> None:
        """Write its flag, level, binding and use. The binding is written once, whoever was first.

        Raises TransportUnknown where it is not kept any more, RebindRefused where it is bound otherwise.
        """
        ...

    async def touch(self, uses: Mapping[str, Millis]) -> None:
        """Note when each was used last, by its key; what is not kept any more is passed over. No use is set back."""
        ...

    async def close(self, key: str, *, now_ms: Millis) -> None:
        """Forget a session, and tell so in `ends`. Repeatable; for an unknown key nothing happens."""
        ...

    async def ends(self, *, after: int, limit: int) -> list[TransportEnd]:
        """Which were closed, behind a sequence number, oldest first; each is told for an hour."""
        ...

    async def ends_end(self) -> int:
        """The newest sequence number that was given, 0 before the first."""
        ...

    async def sweep(self, *, idle_since_ms: Millis, new_since_ms: Millis, now_ms: Millis, limit: int) -> int:
        """Forget up to `limit` sessions: unused since, or never initialised and unused since, or past their expiry.

        How many went. Nobody is told: where one is in use, its server touches it.
        """
        ...
