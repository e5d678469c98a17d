"""The port `Accounts` in SQLite."""

from codesynapse.backends.sqlite import directory, registry
from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.database import Database
from codesynapse.backends.sqlite.rows import json_array, level_of
from codesynapse.contracts.accounts import (
    Action,
    AuditRecord,
    Authority,
    Caller,
    KeyRecord,
    Level,
    Member,
    Registration,
    RepositoryGrant,
    decide_caller,
    standing,
)
from codesynapse.contracts.binding import Binding, decide_resolution
from codesynapse.contracts.errors import Refused, SessionExpired, SessionUnknown
from codesynapse.contracts.identity import Identity, Millis, require_id, valid_id
from codesynapse.contracts.quotas import Quotas

_ORGANIZATIONS = "SELECT tenant_id FROM organizations ORDER BY tenant_id"
_MEMBERS = """
SELECT subject_id, suspended, member FROM members JOIN users USING (subject_id)
WHERE tenant_id = ? ORDER BY subject_id
"""
_REPOSITORIES = "SELECT repository FROM repositories WHERE tenant_id = ? ORDER BY repository"
_GRANTED = "SELECT repository, level FROM grants WHERE tenant_id = ? AND subject_id = ? ORDER BY repository"
_KEYS = """
SELECT key_id, tenant_id, subject_id, created_at_ms, revoked_at_ms FROM keys
WHERE tenant_id = ? ORDER BY created_at_ms, key_id
"""
_AUDIT = """
SELECT sequence, at_ms, action, tenant_id, subject_id, target, detail FROM audit
WHERE sequence > ? AND action IN (SELECT value FROM json_each(?)) ORDER BY sequence LIMIT ?
"""
_ACTIONS = json_array(Action)
"""A newer release on the same file may write others: they are passed over, and must not stop what ends access."""
_AUDIT_END = "SELECT coalesce(max(sequence), 0) FROM audit"


class SqliteAccounts:
    """The port `Accounts`. What decides is read and written in one transaction; the law itself is the contracts'."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create_organization(self, tenant_id: str, *, now_ms: Millis) -> None:
        await self._database.write(lambda each: directory.create_organization(each, tenant_id, now_ms))

    async def organizations(self) -> list[str]:
        return await self._database.ask(lambda each: [row[0] for row in each.execute(_ORGANIZATIONS)])

    async def suspend_organization(self, tenant_id: str, *, suspended: bool, now_ms: Millis) -> None:
        await self._database.write(
            lambda each: directory.suspend_organization(each, tenant_id, now_ms, suspended=suspended)
        )

    async def set_quotas(self, tenant_id: str, quotas: Quotas, *, now_ms: Millis) -> None:
        await self._database.write(lambda each: directory.set_quotas(each, tenant_id, quotas, now_ms))

    async def quotas(self, tenant_id: str) -> Quotas:
        return await self._database.ask(lambda each: directory.organization(each, tenant_id)[1])

    async def create_user(self, subject_id: str, *, now_ms: Millis) -> None:
        await self._database.write(lambda each: directory.create_user(each, subject_id, now_ms))

    async def suspend_user(self, subject_id: str, *, suspended: bool, now_ms: Millis) -> None:
        await self._database.write(lambda each: directory.suspend_user(each, subject_id, now_ms, suspended=suspended))

    async def set_member(self, tenant_id: str, subject_id: str, *, member: bool, now_ms: Millis) -> None:
        await self._database.write(
            lambda each: directory.set_member(each, tenant_id, subject_id, now_ms, member=member)
        )

    async def members(self, tenant_id: str) -> list[Member]:
        def work(connection: Connection) -> list[Member]:
            directory.organization(connection, tenant_id)
            return [
                Member(subject_id=subject_id, suspended=bool(suspended), withdrawn=not member)
                for subject_id, suspended, member in connection.execute(_MEMBERS, (tenant_id,))
            ]

        return await self._database.ask(work)

    async def stands(self, tenant_id: str, subject_id: str) -> bool:
        return await self._database.ask(lambda each: directory.stands(each, tenant_id, subject_id))

    async def create_repository(self, tenant_id: str, repository: str, *, now_ms: Millis) -> None:
        await self._database.write(lambda each: directory.create_repository(each, tenant_id, repository, now_ms))

    async def set_grant(
        self, tenant_id: str, repository: str, subject_id: str, level: Level | None, *, now_ms: Millis
    ) -> None:
        await self._database.write(
            lambda each: directory.set_grant(each, tenant_id, repository, subject_id, level, now_ms)
        )

    async def grant(self, tenant_id: str, repository: str, subject_id: str) -> Level | None:
        if not valid_id(repository):
            return None
        return await self._database.ask(lambda each: directory.grant(each, tenant_id, subject_id, repository))

    async def repositories(self, tenant_id: str, subject_id: str | None = None) -> list[RepositoryGrant]:
        def work(connection: Connection) -> list[RepositoryGrant]:
            directory.organization(connection, tenant_id)
            if subject_id is None:
                return [RepositoryGrant(repository=row[0]) for row in connection.execute(_REPOSITORIES, (tenant_id,))]
            return [
                RepositoryGrant(repository=name, subject_id=subject_id, level=level_of(level))
                for name, level in connection.execute(_GRANTED, (tenant_id, subject_id))
            ]

        return await self._database.ask(work)

    async def create_key(self, record: KeyRecord, key_hash: str, *, now_ms: Millis) -> None:
        await self._database.write(lambda each: directory.create_key(each, record, key_hash, now_ms))

    async def revoke_key(self, tenant_id: str, key_id: str, *, now_ms: Millis) -> None:
        await self._database.write(lambda each: directory.revoke_key(each, tenant_id, key_id, now_ms))

    async def keys(self, tenant_id: str) -> list[KeyRecord]:
        def work(connection: Connection) -> list[KeyRecord]:
            directory.organization(connection, tenant_id)
            return [
                KeyRecord(
                    key_id=key_id,
                    tenant_id=tenant,
                    subject_id=subject_id,
                    created_at_ms=created_at_ms,
                    revoked_at_ms=revoked_at_ms,
                )
                for key_id, tenant, subject_id, created_at_ms, revoked_at_ms in connection.execute(_KEYS, (tenant_id,))
            ]

        return await self._database.ask(work)

    async def authorize(self, key_hash: str, session_id: str | None, *, now_ms: Millis) -> Authority:
        # What is no id is nobody's session; a header may even hold what cannot be bound to a query.
        named = session_id if valid_id(session_id) else None
        row = await self._database.ask(lambda each: registry.by_hash(each, key_hash, named))
        stored_hash, credential, binding = registry.shown(row)
        caller = decide_caller(credential, key_hash, stored_hash)
        if session_id is None:
            return Authority(caller=caller)
        try:
            return Authority(caller=caller, binding=await self._resolved(binding, caller, now_ms))
        except Refused as refusal:
            return Authority(caller=caller, refusal=refusal)

    async def recheck(self, identity: Identity, key_id: str, *, now_ms: Millis) -> Binding:
        row = await self._database.ask(lambda each: registry.by_id(each, identity, key_id))
        _, credential, binding = registry.shown(row)
        return await self._resolved(binding, standing(credential), now_ms)

    async def register(self, caller: Caller, session_id: str, *, now_ms: Millis) -> Registration:
        require_id(session_id, field="session_id")
        registered = await self._database.write(lambda each: registry.register(each, caller, session_id, now_ms))
        if isinstance(registered, SessionExpired):
            raise registered
        return registered

    async def bindings(self, caller: Caller) -> list[Binding]:
        return await self._database.ask(lambda each: registry.own_bindings(each, caller))

    async def revoke(self, tenant_id: str, session_id: str, *, subject_id: str | None, now_ms: Millis) -> Binding:
        if not valid_id(session_id):
            raise SessionUnknown
        return await self._database.write(lambda each: registry.revoke(each, tenant_id, session_id, subject_id, now_ms))

    async def cleanups_owed(self, *, limit: int) -> list[Identity]:
        return await self._database.ask(lambda each: registry.cleanups_owed(each, limit))

    async def cleaned(self, session_id: str) -> None:
        await self._database.write(lambda each: registry.cleaned(each, session_id))

    async def audit(self, *, after: int, limit: int) -> list[AuditRecord]:
        def work(connection: Connection) -> list[AuditRecord]:
            return [
                AuditRecord(
                    sequence=sequence,
                    at_ms=at_ms,
                    action=Action(action),
                    tenant_id=tenant_id,
                    subject_id=subject_id,
                    target=target,
                    detail=detail,
                )
                for sequence, at_ms, action, tenant_id, subject_id, target, detail in connection.execute(
                    _AUDIT, (after, _ACTIONS, max(limit, 0))
                )
            ]

        return await self._database.ask(work)

    async def audit_end(self) -> int:
        def work(connection: Connection) -> int:
            (end,) = connection.execute(_AUDIT_END).fetchone()
            return int(end)

        return await self._database.ask(work)

    async def probe(self) -> None:
        await self._database.probe()

    async def _resolved(self, binding: Binding | None, caller: Caller, now_ms: Millis) -> Binding:
        """The binding that a caller may execute under. An expiry that is observed is on the disk before it is told."""
        try:
            return decide_resolution(binding, tenant_id=caller.tenant_id, subject_id=caller.subject_id, now_ms=now_ms)
        except SessionExpired:
            if binding is not None and binding.expired_at_ms is None:
                session_id = binding.identity.session_id
                await self._database.write(lambda each: registry.observe(each, session_id, now_ms))
            raise
