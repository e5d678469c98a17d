"""The one point at which a declared session key becomes a bucket (seed 1 §3)."""

from msgspec import Struct

from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Identity

TRANSPORT_KEY = "transport"
"""The bucket that every caller without a key shares; declaring its very name joins it (decision 4)."""

KEY_MAX = 256

Principal = tuple[str, str]
"""Tenant and subject: no bucket reaches beyond them (decision 1)."""


def resolve_session_key(declared: str | None) -> tuple[str, bool]:
    """The effective key, and whether the caller declared one.

    Blanks around it do not count; an empty or blank key is none. Raises Invalid beyond KEY_MAX characters, which are
    counted before that (decision 3).
    """
    if isinstance(declared, str):
        if len(declared) > KEY_MAX:
            raise Invalid(field="session_key", limit=f"<= {KEY_MAX} characters")
        stripped = declared.strip()
        if stripped and stripped != TRANSPORT_KEY:
            return stripped, True
    return TRANSPORT_KEY, False


class Bucket(Struct, frozen=True, kw_only=True):
    """Where a call lands: one key of one principal. declared: whether the caller gave the key."""

    principal: Principal
    key: str
    declared: bool

    @property
    def scope(self) -> str:
        """How far what is kept in it reaches: `session`, or `process` for all callers without a key."""
        return "session" if self.declared else "process"


def bucket_of(identity: Identity, declared: str | None) -> Bucket:
    """The bucket of a call. Raises Invalid as `resolve_session_key` does."""
    key, known = resolve_session_key(declared)
    return Bucket(principal=(identity.tenant_id, identity.subject_id), key=key, declared=known)
