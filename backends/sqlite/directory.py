"""Organisations, users, memberships, repositories, grants and keys as rows: what changes them, within a transaction."""

import msgspec

from codesynapse.backends.sqlite import transports
from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.rows import level_of, quotas_of
from codesynapse.contracts.accounts import Action, KeyRecord, Level
from codesynapse.contracts.errors import AlreadyExists, NotFound
from codesynapse.contracts.identity import Millis, require_id, require_repository
from codesynapse.contracts.quotas import Quotas, changed_caps

_NOTE = "INSERT INTO audit (at_ms, action, tenant_id, subject_id, target, detail) VALUES (?, ?, ?, ?, ?, ?)"

_ORGANIZATION = "SELECT suspended, quotas FROM organizations WHERE tenant_id = ?"
_NEW_ORGANIZATION = "INSERT INTO organizations (tenant_id, created_at_ms) VALUES (?, ?)"
_SUSPEND_ORGANIZATION = "UPDATE organizations SET suspended = ? WHERE tenant_id = ?"
_SET_QUOTAS = "UPDATE organizations SET quotas = ? WHERE tenant_id = ?"

_USER = "SELECT suspended FROM users WHERE subject_id = ?"
_NEW_USER = "INSERT INTO users (subject_id, created_at_ms) VALUES (?, ?)"
_SUSPEND_USER = "UPDATE users SET suspended = ? WHERE subject_id = ?"

_MEMBER = "SELECT member FROM members WHERE tenant_id = ? AND subject_id = ?"
_SET_MEMBER = """
INSERT INTO members (tenant_id, subject_id, member) VALUES (?, ?, ?)
ON CONFLICT (tenant_id, subject_id) DO UPDATE SET member = excluded.member
"""

_STANDS = """
SELECT 1 FROM members
JOIN users ON users.subject_id = members.subject_id AND NOT users.suspended
JOIN organizations ON organizations.tenant_id = members.tenant_id AND NOT organizations.suspended
WHERE members.tenant_id = ? AND members.subject_id = ? AND member
"""

_REPOSITORY = "SELECT 1 FROM repositories WHERE tenant_id = ? AND repository = ?"
_NEW_REPOSITORY = "INSERT INTO repositories (tenant_id, repository, created_at_ms) VALUES (?, ?, ?)"

_GRANT = "SELECT level FROM grants WHERE tenant_id = ? AND subject_id = ? AND repository = ?"
_SET_GRANT = """
INSERT INTO grants (tenant_id, subject_id, repository, level) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant_id, subject_id, repository) DO UPDATE SET level = excluded.level
"""
_DROP_GRANT = "DELETE FROM grants WHERE tenant_id = ? AND subject_id = ? AND repository = ?"

_KEY_TAKEN = "SELECT 1 FROM keys WHERE (tenant_id = ? AND key_id = ?) OR key_hash = ?"
_NEW_KEY = """
INSERT INTO keys (key_hash, key_id, tenant_id, subject_id, created_at_ms, revoked_at_ms) VALUES (?, ?, ?, ?, ?, ?)
"""
_KEY = "SELECT subject_id, revoked_at_ms FROM keys WHERE tenant_id = ? AND key_id = ?"
_REVOKE_KEY = "UPDATE keys SET revoked_at_ms = ? WHERE tenant_id = ? AND key_id = ?"


def note(
    connection: Connection,
    action: Action,
    now_ms: Millis,
    tenant_id: str | None,
    subject_id: str | None = None,
    *,
    target: str | None = None,
    detail: str | None = None,
) -> None:
    """Write an audit record in the transaction of what it is about; access that it ends takes its transports along."""
    transports.end(connection, action, tenant_id, target)
    connection.execute(_NOTE, (now_ms, action.value, tenant_id, subject_id, target, detail))


def organization(connection: Connection, tenant_id: str) -> tuple[bool, Quotas]:
    """Whether an organisation is suspended, and its caps. Raises NotFound."""
    row = connection.execute(_ORGANIZATION, (tenant_id,)).fetchone()
    if row is None:
        raise NotFound(field="organization")
    suspended, quotas = row
    return bool(suspended), quotas_of(quotas)


def create_organization(connection: Connection, tenant_id: str, now_ms: Millis) -> None:
    require_id(tenant_id, field="organization")
    if connection.execute(_ORGANIZATION, (tenant_id,)).fetchone() is not None:
        raise AlreadyExists(field="organization")
    connection.execute(_NEW_ORGANIZATION, (tenant_id, now_ms))
    note(connection, Action.ORGANIZATION_CREATED, now_ms, tenant_id)


def suspend_organization(connection: Connection, tenant_id: str, now_ms: Millis, *, suspended: bool) -> None:
    before, _ = organization(connection, tenant_id)
    if before != suspended:
        connection.execute(_SUSPEND_ORGANIZATION, (suspended, tenant_id))
        action = Action.ORGANIZATION_SUSPENDED if suspended else Action.ORGANIZATION_RESUMED
        note(connection, action, now_ms, tenant_id)


def set_quotas(connection: Connection, tenant_id: str, quotas: Quotas, now_ms: Millis) -> None:
    _, before = organization(connection, tenant_id)
    detail = changed_caps(before, quotas)
    if detail:
        connection.execute(_SET_QUOTAS, (msgspec.json.encode(quotas).decode(), tenant_id))
        note(connection, Action.QUOTAS_CHANGED, now_ms, tenant_id, detail=detail)


def create_user(connection: Connection, subject_id: str, now_ms: Millis) -> None:
    require_id(subject_id, field="user")
    if connection.execute(_USER, (subject_id,)).fetchone() is not None:
        raise AlreadyExists(field="user")
    connection.execute(_NEW_USER, (subject_id, now_ms))
    note(connection, Action.USER_CREATED, now_ms, None, subject_id, target=subject_id)


def suspend_user(connection: Connection, subject_id: str, now_ms: Millis, *, suspended: bool) -> None:
    if _suspended(connection, subject_id) != suspended:
        connection.execute(_SUSPEND_USER, (suspended, subject_id))
        action = Action.USER_SUSPENDED if suspended else Action.USER_RESUMED
        note(connection, action, now_ms, None, subject_id, target=subject_id)


def set_member(connection: Connection, tenant_id: str, subject_id: str, now_ms: Millis, *, member: bool) -> None:
    organization(connection, tenant_id)
    _suspended(connection, subject_id)
    row = connection.execute(_MEMBER, (tenant_id, subject_id)).fetchone()
    if row is None and not member:
        raise NotFound(field="member")
    if row is None or bool(row[0]) != member:
        connection.execute(_SET_MEMBER, (tenant_id, subject_id, member))
        action = Action.MEMBER_ADDED if member else Action.MEMBER_WITHDRAWN
        note(connection, action, now_ms, tenant_id, subject_id, target=subject_id)


def stands(connection: Connection, tenant_id: str, subject_id: str) -> bool:
    """Whether a user may act in an organisation at all."""
    return connection.execute(_STANDS, (tenant_id, subject_id)).fetchone() is not None


def create_repository(connection: Connection, tenant_id: str, repository: str, now_ms: Millis) -> None:
    require_repository(repository)
    organization(connection, tenant_id)
    if connection.execute(_REPOSITORY, (tenant_id, repository)).fetchone() is not None:
        raise AlreadyExists(field="repository")
    connection.execute(_NEW_REPOSITORY, (tenant_id, repository, now_ms))
    note(connection, Action.REPOSITORY_CREATED, now_ms, tenant_id, target=repository)


def set_grant(
    connection: Connection, tenant_id: str, repository: str, subject_id: str, level: Level | None, now_ms: Millis
) -> None:
    organization(connection, tenant_id)
    if connection.execute(_REPOSITORY, (tenant_id, repository)).fetchone() is None:
        raise NotFound(field="repository")
    _suspended(connection, subject_id)
    place = (tenant_id, subject_id, repository)
    if grant(connection, *place) == level:
        return
    if level is None:
        connection.execute(_DROP_GRANT, place)
        note(connection, Action.GRANT_WITHDRAWN, now_ms, tenant_id, subject_id, target=repository)
    else:
        connection.execute(_SET_GRANT, (*place, level.value))
        note(connection, Action.GRANT_SET, now_ms, tenant_id, subject_id, target=repository, detail=level.value)


def grant(connection: Connection, tenant_id: str, subject_id: str, repository: str) -> Level | None:
    """What a user may do on a repository."""
    row = connection.execute(_GRANT, (tenant_id, subject_id, repository)).fetchone()
    return None if row is None else level_of(row[0])


def create_key(connection: Connection, record: KeyRecord, key_hash: str, now_ms: Millis) -> None:
    require_id(record.key_id, field="key")
    organization(connection, record.tenant_id)
    _suspended(connection, record.subject_id)
    if connection.execute(_KEY_TAKEN, (record.tenant_id, record.key_id, key_hash)).fetchone() is not None:
        raise AlreadyExists(field="key")
    row = (
        key_hash,
        record.key_id,
        record.tenant_id,
        record.subject_id,
        record.created_at_ms,
        record.revoked_at_ms,
    )
    connection.execute(_NEW_KEY, row)
    note(connection, Action.KEY_CREATED, now_ms, record.tenant_id, record.subject_id, target=record.key_id)


def revoke_key(connection: Connection, tenant_id: str, key_id: str, now_ms: Millis) -> None:
    organization(connection, tenant_id)
    row = connection.execute(_KEY, (tenant_id, key_id)).fetchone()
    if row is None:
        raise NotFound(field="key")
    subject_id, revoked_at_ms = row
    if revoked_at_ms is None:
        connection.execute(_REVOKE_KEY, (now_ms, tenant_id, key_id))
        note(connection, Action.KEY_REVOKED, now_ms, tenant_id, subject_id, target=key_id)


def _suspended(connection: Connection, subject_id: str) -> bool:
    """Whether a user is suspended. Raises NotFound."""
    row = connection.execute(_USER, (subject_id,)).fetchone()
    if row is None:
        raise NotFound(field="user")
    return bool(row[0])
