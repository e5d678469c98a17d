"""A chat session's binding to one organisation and one user: registered once, for seven days, for good (seed 0)."""

from enum import Enum

from msgspec import Struct, structs

from codesynapse.contracts.errors import (
    ActiveCapacity,
    BindingConflict,
    Invalid,
    RetainedCapacity,
    SessionExpired,
    SessionNotRegistered,
    SessionRevoked,
)
from codesynapse.contracts.identity import Identity, Millis
from codesynapse.contracts.quotas import Quotas

DASHBOARD_PREFIX = "web:"
"""Sessions of the dashboard: only its own function makes them, and registration refuses the prefix."""


class BindingState(Enum):
    """What a binding is at a moment."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Binding(Struct, frozen=True, kw_only=True):
    """One chat session bound to one participant.

    expires_at_ms: fixed at registration, never moved. revoked_at_ms, expired_at_ms: tombstones; the second is
    written when the expiry is first observed, so that a clock set back cannot reopen the thread.
    """

    identity: Identity
    registered_at_ms: Millis
    expires_at_ms: Millis
    revoked_at_ms: Millis | None = None
    expired_at_ms: Millis | None = None

    def state(self, now_ms: Millis) -> BindingState:
        """The state at a moment. A revocation outweighs an expiry."""
        if self.revoked_at_ms is not None:
            return BindingState.REVOKED
        if self.expired_at_ms is not None or now_ms >= self.expires_at_ms:
            return BindingState.EXPIRED
        return BindingState.ACTIVE


class RegistryUsage(Struct, frozen=True, kw_only=True):
    """How many bindings an organisation has: active ones, and all that are kept (tombstones too)."""

    active: int
    retained: int


def decide_registration(
    existing: Binding | None, asked: Identity, usage: RegistryUsage, quotas: Quotas, now_ms: Millis
) -> Binding:
    """The binding after a registration: the existing one as it is, or a new one.

    Raises BindingConflict where another participant holds it, live or tombstoned; SessionRevoked and SessionExpired
    for one's own; RetainedCapacity and ActiveCapacity at the organisation's caps; Invalid for a reserved prefix.
    Source: seed 0, "Registration is idempotent for that binding".
    """
    if asked.session_id.startswith(DASHBOARD_PREFIX):
        raise Invalid(field="session_id", limit=f"no {DASHBOARD_PREFIX} prefix")
    if existing is not None:
        if existing.identity != asked:
            raise BindingConflict
        _require_active(existing, now_ms)
        return existing
    if usage.retained >= quotas.sessions_retained_max:
        raise RetainedCapacity(limit=quotas.sessions_retained_max)
    if usage.active >= quotas.sessions_active_max:
        raise ActiveCapacity(limit=quotas.sessions_active_max)
    expires_at_ms = Millis(now_ms + quotas.session_lifetime_ms)
    return Binding(identity=asked, registered_at_ms=now_ms, expires_at_ms=expires_at_ms)


def decide_resolution(existing: Binding | None, *, tenant_id: str, subject_id: str, now_ms: Millis) -> Binding:
    """The binding that a participant may execute under.

    Raises SessionNotRegistered for an unknown *or foreign* id: to anyone else an id looks like one that never
    existed. Its owner is told SessionRevoked or SessionExpired.
    """
    if existing is None or (existing.identity.tenant_id, existing.identity.subject_id) != (tenant_id, subject_id):
        raise SessionNotRegistered
    _require_active(existing, now_ms)
    return existing


def revoked(existing: Binding, now_ms: Millis) -> Binding:
    """The binding with its revocation tombstone; a second revocation keeps the first moment."""
    if existing.revoked_at_ms is not None:
        return existing
    return structs.replace(existing, revoked_at_ms=now_ms)


def observed(existing: Binding, now_ms: Millis) -> Binding:
    """The binding with its expiry tombstone, if its time is over."""
    if existing.expired_at_ms is None and now_ms >= existing.expires_at_ms:
        return structs.replace(existing, expired_at_ms=now_ms)
    return existing


def _require_active(existing: Binding, now_ms: Millis) -> None:
    match existing.state(now_ms):
        case BindingState.REVOKED:
            raise SessionRevoked
        case BindingState.EXPIRED:
            raise SessionExpired
        case BindingState.ACTIVE:
            return
