"""The registry of chat sessions as rows: who shows a key, which binding they name, and what becomes of it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.directory import note
from codesynapse.backends.sqlite.faults import decoding
from codesynapse.backends.sqlite.rows import quotas_of
from codesynapse.contracts.accounts import Action, Caller, Credential, Registration
from codesynapse.contracts.binding import Binding, RegistryUsage, decide_registration, observed, revoked
from codesynapse.contracts.errors import SessionExpired, SessionUnknown
from codesynapse.contracts.identity import Identity, Millis
from codesynapse.contracts.quotas import Quotas

BINDINGS_LISTED_MAX = 1_000

# One read, so that what it says of the key, the standing and the binding is of one moment.
_BY_HASH = """
SELECT keys.key_hash, keys.tenant_id, keys.subject_id, keys.key_id, keys.revoked_at_ms IS NOT NULL,
    users.suspended, organizations.suspended, coalesce(members.member, 0),
    bindings.session_id, bindings.tenant_id, bindings.subject_id, bindings.registered_at_ms, bindings.expires_at_ms,
    bindings.revoked_at_ms, bindings.expired_at_ms
FROM keys
JOIN users ON users.subject_id = keys.subject_id
JOIN organizations ON organizations.tenant_id = keys.tenant_id
LEFT JOIN members ON members.tenant_id = keys.tenant_id AND members.subject_id = keys.subject_id
LEFT JOIN bindings ON bindings.session_id = :session
WHERE keys.key_hash = :hash
"""
_BY_ID = """
SELECT keys.key_hash, keys.tenant_id, keys.subject_id, keys.key_id, keys.revoked_at_ms IS NOT NULL,
    users.suspended, organizations.suspended, coalesce(members.member, 0),
    bindings.session_id, bindings.tenant_id, bindings.subject_id, bindings.registered_at_ms, bindings.expires_at_ms,
    bindings.revoked_at_ms, bindings.expired_at_ms
FROM keys
JOIN users ON users.subject_id = keys.subject_id
JOIN organizations ON organizations.tenant_id = keys.tenant_id
LEFT JOIN members ON members.tenant_id = keys.tenant_id AND members.subject_id = keys.subject_id
LEFT JOIN bindings ON bindings.session_id = :session
WHERE keys.tenant_id = :tenant AND keys.key_id = :key AND keys.subject_id = :subject
"""
_BINDING = """
SELECT session_id, tenant_id, subject_id, registered_at_ms, expires_at_ms, revoked_at_ms, expired_at_ms
FROM bindings WHERE session_id = ?
"""
_OWN_BINDINGS = """
SELECT session_id, tenant_id, subject_id, registered_at_ms, expires_at_ms, revoked_at_ms, expired_at_ms
FROM bindings WHERE tenant_id = ? AND subject_id = ? ORDER BY registered_at_ms DESC, session_id LIMIT ?
"""
_RETAINED = "SELECT retained FROM registries WHERE tenant_id = ?"
_ACTIVE = """
SELECT count(*) FROM bindings
WHERE tenant_id = ? AND expires_at_ms > ? AND revoked_at_ms IS NULL AND expired_at_ms IS NULL
"""
_QUOTAS = "SELECT quotas FROM organizations WHERE tenant_id = ?"
_REGISTER = """
INSERT INTO bindings (session_id, tenant_id, subject_id, registered_at_ms, expires_at_ms) VALUES (?, ?, ?, ?, ?)
"""
_OWED = """
SELECT session_id, tenant_id, subject_id, registered_at_ms, expires_at_ms, revoked_at_ms, expired_at_ms
FROM bindings WHERE revoked_at_ms IS NOT NULL AND NOT cleaned ORDER BY revoked_at_ms, session_id LIMIT ?
"""
_CLEANED = "UPDATE bindings SET cleaned = 1 WHERE session_id = ? AND revoked_at_ms IS NOT NULL"
_LAY_TOMBSTONES = "UPDATE bindings SET revoked_at_ms = ?, expired_at_ms = ? WHERE session_id = ?"


class Shown(NamedTuple):
    """What one read says of a key that was shown, and of the session named with it."""

    stored_hash: str | None
    credential: Credential | None
    binding: Binding | None


def by_hash(connection: Connection, key_hash: str, session_id: str | None) -> Any:
    """The row of a key by its hash, with the binding of a session; for `shown`."""
    return connection.execute(_BY_HASH, {"hash": key_hash, "session": session_id}).fetchone()


def by_id(connection: Connection, identity: Identity, key_id: str) -> Any:
    """The row of a participant's key by its id, with the binding of their session; for `shown`."""
    bounds = {
        "tenant": identity.tenant_id,
        "subject": identity.subject_id,
        "session": identity.session_id,
        "key": key_id,
    }
    return connection.execute(_BY_ID, bounds).fetchone()


@decoding
def shown(row: Sequence[Any] | None) -> Shown:
    """What a row of `by_hash` or `by_id` means."""
    if row is None:
        return Shown(None, None, None)
    stored_hash, tenant_id, subject_id, key_id, key_revoked, user_suspended, organization_suspended, member = row[:8]
    credential = Credential(
        caller=Caller(tenant_id=tenant_id, subject_id=subject_id, key_id=key_id),
        key_revoked=bool(key_revoked),
        user_suspended=bool(user_suspended),
        organization_suspended=bool(organization_suspended),
        member=bool(member),
    )
    return Shown(stored_hash, credential, None if row[8] is None else _binding_of(row[8:]))


def register(connection: Connection, caller: Caller, session_id: str, now_ms: Millis) -> Registration | SessionExpired:
    """Bind a session, as the law decides. An observed expiry is returned, since its tombstone has to stay."""
    asked = Identity(
        tenant_id=caller.tenant_id,
        subject_id=caller.subject_id,
        session_id=session_id,
        parent_session_id=session_id,
    )
    existing = _binding(connection, session_id)
    usage, quotas = _usage(connection, caller.tenant_id, now_ms), _caps(connection, caller.tenant_id)
    try:
        binding = decide_registration(existing, asked, usage, quotas, now_ms)
    except SessionExpired as error:
        observe(connection, session_id, now_ms)
        return error
    if existing is None:
        place = (session_id, caller.tenant_id, caller.subject_id, binding.registered_at_ms, binding.expires_at_ms)
        connection.execute(_REGISTER, place)
        _note(connection, Action.SESSION_REGISTERED, now_ms, binding)
    return Registration(binding=binding, created=existing is None)


def revoke(connection: Connection, tenant_id: str, session_id: str, subject_id: str | None, now_ms: Millis) -> Binding:
    """Lay the tombstone of a revocation. Raises SessionUnknown."""
    existing = _binding(connection, session_id)
    if (
        existing is None
        or existing.identity.tenant_id != tenant_id
        or subject_id not in (None, existing.identity.subject_id)
    ):
        raise SessionUnknown
    return _replace(connection, existing, revoked(existing, now_ms), Action.SESSION_REVOKED, now_ms)


def observe(connection: Connection, session_id: str, now_ms: Millis) -> None:
    """Lay the tombstone of an expiry, once."""
    existing = _binding(connection, session_id)
    if existing is not None:
        _replace(connection, existing, observed(existing, now_ms), Action.SESSION_EXPIRED, now_ms)


def own_bindings(connection: Connection, caller: Caller) -> list[Binding]:
    """A caller's bindings, newest first."""
    rows = connection.execute(_OWN_BINDINGS, (caller.tenant_id, caller.subject_id, BINDINGS_LISTED_MAX))
    return [_binding_of(row) for row in rows]


def cleanups_owed(connection: Connection, limit: int) -> list[Identity]:
    """Revoked sessions whose memory may still be there, the longest revoked first."""
    return [_binding_of(row).identity for row in connection.execute(_OWED, (max(limit, 0),))]


def cleaned(connection: Connection, session_id: str) -> None:
    """Note that the memory of a revoked session is gone."""
    connection.execute(_CLEANED, (session_id,))


def _replace(connection: Connection, before: Binding, after: Binding, action: Action, now_ms: Millis) -> Binding:
    if after is not before:
        tombstones = (after.revoked_at_ms, after.expired_at_ms, after.identity.session_id)
        connection.execute(_LAY_TOMBSTONES, tombstones)
        _note(connection, action, now_ms, after)
    return after


def _binding(connection: Connection, session_id: str) -> Binding | None:
    row = connection.execute(_BINDING, (session_id,)).fetchone()
    return None if row is None else _binding_of(row)


@decoding
def _binding_of(row: Sequence[Any]) -> Binding:
    session_id, tenant_id, subject_id, registered_at_ms, expires_at_ms, revoked_at_ms, expired_at_ms = row
    return Binding(
        identity=Identity(
            tenant_id=tenant_id, subject_id=subject_id, session_id=session_id, parent_session_id=session_id
        ),
        registered_at_ms=registered_at_ms,
        expires_at_ms=expires_at_ms,
        revoked_at_ms=revoked_at_ms,
        expired_at_ms=expired_at_ms,
    )


def _usage(connection: Connection, tenant_id: str, now_ms: Millis) -> RegistryUsage:
    retained = connection.execute(_RETAINED, (tenant_id,)).fetchone()
    (active,) = connection.execute(_ACTIVE, (tenant_id, now_ms)).fetchone()
    return RegistryUsage(active=active, retained=0 if retained is None else retained[0])


def _caps(connection: Connection, tenant_id: str) -> Quotas:
    row = connection.execute(_QUOTAS, (tenant_id,)).fetchone()
    return quotas_of(None if row is None else row[0])


def _note(connection: Connection, action: Action, now_ms: Millis, binding: Binding) -> None:
    identity = binding.identity
    note(connection, action, now_ms, identity.tenant_id, identity.subject_id, target=identity.session_id)
