"""Builders for accounts: an organisation with a user, a key and a repository, under names that no other test uses."""

import hashlib

from codesynapse.contracts.accounts import Action, AuditRecord, Authority, Caller, KeyRecord, Registration
from codesynapse.contracts.identity import Identity, Millis
from codesynapse.contracts.ports import Accounts
from codesynapse.contracts.suite.worlds import NOW, new_identity, unique


class User:
    """A user with a key of one organisation, and what they ask of the accounts."""

    def __init__(self, accounts: Accounts, tenant_id: str, subject_id: str, *, now_ms: Millis = NOW) -> None:
        self.accounts = accounts
        self.now_ms = now_ms
        self.caller = Caller(tenant_id=tenant_id, subject_id=subject_id, key_id=unique("key"))
        self.key_hash = hashlib.sha256(self.caller.key_id.encode()).hexdigest()

    @property
    def tenant_id(self) -> str:
        return self.caller.tenant_id

    @property
    def subject_id(self) -> str:
        return self.caller.subject_id

    async def take_key(self) -> None:
        """Create the user's key in the organisation."""
        record = KeyRecord(
            key_id=self.caller.key_id,
            tenant_id=self.tenant_id,
            subject_id=self.subject_id,
            created_at_ms=self.now_ms,
        )
        await self.accounts.create_key(record, self.key_hash, now_ms=self.now_ms)

    async def register(self, session_id: str, *, now_ms: Millis | None = None) -> Registration:
        return await self.accounts.register(self.caller, session_id, now_ms=self._at(now_ms))

    async def revoke(self, session_id: str, *, now_ms: Millis | None = None) -> None:
        await self.accounts.revoke(self.tenant_id, session_id, subject_id=self.subject_id, now_ms=self._at(now_ms))

    async def authorize(self, session_id: str | None = None, *, now_ms: Millis | None = None) -> Authority:
        return await self.accounts.authorize(self.key_hash, session_id, now_ms=self._at(now_ms))

    def identity(self, session_id: str) -> Identity:
        return new_identity(tenant=self.tenant_id, subject=self.subject_id, session=session_id)

    def _at(self, now_ms: Millis | None) -> Millis:
        return self.now_ms if now_ms is None else now_ms


async def new_user(accounts: Accounts, *, tenant_id: str | None = None, now_ms: Millis = NOW) -> User:
    """A member with a key: of a new organisation, or of one that is there."""
    if tenant_id is None:
        tenant_id = unique("tenant")
        await accounts.create_organization(tenant_id, now_ms=now_ms)
    subject_id = unique("user")
    await accounts.create_user(subject_id, now_ms=now_ms)
    return await join(accounts, tenant_id, subject_id, now_ms=now_ms)


async def join(accounts: Accounts, tenant_id: str, subject_id: str, *, now_ms: Millis = NOW) -> User:
    """Make a user that is there a member of an organisation, with a key of it."""
    await accounts.set_member(tenant_id, subject_id, member=True, now_ms=now_ms)
    user = User(accounts, tenant_id, subject_id, now_ms=now_ms)
    await user.take_key()
    return user


async def records_since(accounts: Accounts, after: int, *names: str) -> list[AuditRecord]:
    """Audit records behind a sequence number that are about one of these organisations or users."""
    records: list[AuditRecord] = []
    while batch := await accounts.audit(after=after, limit=100):
        records += [record for record in batch if {record.tenant_id, record.subject_id} & set(names)]
        after = batch[-1].sequence
    return records


async def actions_since(accounts: Accounts, after: int, *names: str) -> list[Action]:
    """What these records are about, in their order."""
    return [record.action for record in await records_since(accounts, after, *names)]
