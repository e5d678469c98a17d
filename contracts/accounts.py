"""Organisations, users, keys and grants as values, and what a credential is worth. Pure."""

import hashlib
import hmac
import re
import secrets
from enum import StrEnum

from msgspec import Struct

from codesynapse.contracts.binding import Binding
from codesynapse.contracts.errors import (
    CodeSynapseError,
    GrantInsufficient,
    Invalid,
    MembershipWithdrawn,
    RepositoryForbidden,
    Suspended,
    Unauthenticated,
)
from codesynapse.contracts.identity import Id, Millis

KEY_PREFIX = "csk_"
_key = re.compile(r"csk_[A-Za-z0-9_-]{43}").fullmatch


class Level(StrEnum):
    """What a grant on a repository allows; each includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


_ORDER = (Level.READ, Level.WRITE, Level.ADMIN)


class Action(StrEnum):
    """What an audit record is about."""

    ORGANIZATION_CREATED = "organization_created"
    ORGANIZATION_SUSPENDED = "organization_suspended"
    ORGANIZATION_RESUMED = "organization_resumed"
    QUOTAS_CHANGED = "quotas_changed"
    USER_CREATED = "user_created"
    USER_SUSPENDED = "user_suspended"
    USER_RESUMED = "user_resumed"
    MEMBER_ADDED = "member_added"
    MEMBER_WITHDRAWN = "member_withdrawn"
    REPOSITORY_CREATED = "repository_created"
    GRANT_SET = "grant_set"
    GRANT_WITHDRAWN = "grant_withdrawn"
    KEY_CREATED = "key_created"
    KEY_REVOKED = "key_revoked"
    SESSION_REGISTERED = "session_registered"
    SESSION_REVOKED = "session_revoked"
    SESSION_EXPIRED = "session_expired"
    AGENT_CREATED = "agent_created"
    AGENT_GRANT_SET = "agent_grant_set"
    AGENT_GRANT_WITHDRAWN = "agent_grant_withdrawn"
    AGENT_PURGED = "agent_purged"
    AGENT_MOVED = "agent_moved"


ENDING = frozenset(
    {
        Action.ORGANIZATION_SUSPENDED,
        Action.USER_SUSPENDED,
        Action.MEMBER_WITHDRAWN,
        Action.KEY_REVOKED,
        Action.SESSION_REVOKED,
        Action.SESSION_EXPIRED,
    }
)
"""Actions that end someone's access, so that open streams must close."""


class Caller(Struct, frozen=True, kw_only=True):
    """Who a credential belongs to. The principal is (tenant, subject)."""

    tenant_id: Id
    subject_id: Id
    key_id: Id


class Authority(Struct, frozen=True, kw_only=True):
    """What one request may do: who calls, and under which binding.

    refusal: why the session that was named is not theirs to use; raised only once the transport session was found,
    since that is checked first. Both are None where no session was named.
    """

    caller: Caller
    binding: Binding | None = None
    refusal: CodeSynapseError | None = None


class Credential(Struct, frozen=True, kw_only=True):
    """What a store knows of a key when it is shown. Decided by `decide_caller`."""

    caller: Caller
    key_revoked: bool
    user_suspended: bool
    organization_suspended: bool
    member: bool


class KeyRecord(Struct, frozen=True, kw_only=True):
    """An API key as it is listed; the key itself is nowhere stored."""

    key_id: Id
    tenant_id: Id
    subject_id: Id
    created_at_ms: Millis
    revoked_at_ms: Millis | None = None


class Member(Struct, frozen=True, kw_only=True):
    """A user of an organisation."""

    subject_id: Id
    suspended: bool
    withdrawn: bool


class RepositoryGrant(Struct, frozen=True, kw_only=True):
    """A repository and what a user may do there; level None: no grant."""

    repository: Id
    subject_id: Id | None = None
    level: Level | None = None


class Registration(Struct, frozen=True, kw_only=True):
    """The binding after a registration, and whether this one made it."""

    binding: Binding
    created: bool


class AuditRecord(Struct, frozen=True, kw_only=True):
    """What happened, in the order it was committed. target: a user, key, repository, session or
    agent, as the action says."""

    sequence: int
    at_ms: Millis
    action: Action
    tenant_id: Id | None
    subject_id: Id | None = None
    target: str | None = None
    detail: str | None = None


def new_key() -> str:
    """A fresh API key: `csk_` and 32 random bytes. It is shown once."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def key_hash(key: str) -> str | None:
    """SHA-256 of a key in hex, or None for what is no key at all. Only this is stored."""
    # A slow hash adds nothing to 256 random bits.
    return hashlib.sha256(key.encode()).hexdigest() if _key(key) else None


def decide_caller(credential: Credential | None, shown_hash: str, stored_hash: str | None) -> Caller:
    """The caller behind a key. Raises Unauthenticated, Suspended, MembershipWithdrawn."""
    if credential is None or stored_hash is None or not hmac.compare_digest(shown_hash, stored_hash):
        raise Unauthenticated
    return standing(credential)


def standing(credential: Credential | None) -> Caller:
    """The caller, if the key still works and its user and organisation are in good standing."""
    if credential is None or credential.key_revoked:
        raise Unauthenticated
    if credential.user_suspended or credential.organization_suspended:
        raise Suspended
    if not credential.member:
        raise MembershipWithdrawn
    return credential.caller


def require_level(held: Level | None, needed: Level) -> None:
    """Raises RepositoryForbidden without a grant, also for a repository that is not there; GrantInsufficient."""
    if held is None:
        raise RepositoryForbidden(field="repo")
    if _ORDER.index(held) < _ORDER.index(needed):
        raise GrantInsufficient(field="repo")


def level_named(name: str) -> Level:
    """The level of this name. Raises Invalid."""
    if name not in set(Level):
        raise Invalid(field="level", limit=", ".join(Level))
    return Level(name)
