"""Organisations, users, keys, grants, chat sessions and their audit, in dicts."""

from dataclasses import dataclass, field

from msgspec import structs

from codesynapse.backends.memory.transports import DictTransports
from codesynapse.contracts.accounts import (
    ENDING,
    Action,
    AuditRecord,
    Authority,
    Caller,
    Credential,
    KeyRecord,
    Level,
    Member,
    Registration,
    RepositoryGrant,
    decide_caller,
    standing,
)
from codesynapse.contracts.binding import (
    Binding,
    BindingState,
    RegistryUsage,
    decide_registration,
    decide_resolution,
    observed,
    revoked,
)
from codesynapse.contracts.errors import (
    AlreadyExists,
    NotFound,
    Refused,
    SessionExpired,
    SessionUnknown,
)
from codesynapse.contracts.identity import Identity, Millis, require_id, require_repository
from codesynapse.contracts.quotas import Quotas, changed_caps

BINDINGS_LISTED_MAX = 1_000


@dataclass(slots=True)
class _Organization:
    """members: by user, and whether the membership stands. repositories: by name, and the grants of each by user."""

    suspended: bool = False
    quotas: Quotas = field(default_factory=Quotas)
    members: dict[str, bool] = field(default_factory=dict)
    repositories: dict[str, dict[str, Level]] = field(default_factory=dict)
    keys: dict[str, KeyRecord] = field(default_factory=dict)


class DictAccounts:
    """The port `Accounts`."""

    def __init__(self) -> None:
        self._organizations: dict[str, _Organization] = {}
        self._suspended_users: dict[str, bool] = {}
        self._key_of_hash: dict[str, tuple[str, str]] = {}
        self._bindings: dict[str, Binding] = {}
        self._audit: list[AuditRecord] = []
        self._cleaned: set[str] = set()
        self.transports = DictTransports()

    async def create_organization(self, tenant_id: str, *, now_ms: Millis) -> None:
        require_id(tenant_id, field="organization")
        if tenant_id in self._organizations:
            raise AlreadyExists(field="organization")
        self._organizations[tenant_id] = _Organization()
        self.note(Action.ORGANIZATION_CREATED, now_ms, tenant_id)

    async def organizations(self) -> list[str]:
        return sorted(self._organizations)

    async def suspend_organization(self, tenant_id: str, *, suspended: bool, now_ms: Millis) -> None:
        organization = self._organization(tenant_id)
        if organization.suspended != suspended:
            organization.suspended = suspended
            action = Action.ORGANIZATION_SUSPENDED if suspended else Action.ORGANIZATION_RESUMED
            self.note(action, now_ms, tenant_id)

    async def set_quotas(self, tenant_id: str, quotas: Quotas, *, now_ms: Millis) -> None:
        organization = self._organization(tenant_id)
        detail = changed_caps(organization.quotas, quotas)
        if detail:
            organization.quotas = quotas
            self.note(Action.QUOTAS_CHANGED, now_ms, tenant_id, detail=detail)

    async def quotas(self, tenant_id: str) -> Quotas:
        return self._organization(tenant_id).quotas

    async def create_user(self, subject_id: str, *, now_ms: Millis) -> None:
        require_id(subject_id, field="user")
        if subject_id in self._suspended_users:
            raise AlreadyExists(field="user")
        self._suspended_users[subject_id] = False
        self.note(Action.USER_CREATED, now_ms, None, subject_id, target=subject_id)

    async def suspend_user(self, subject_id: str, *, suspended: bool, now_ms: Millis) -> None:
        self._require_user(subject_id)
        if self._suspended_users[subject_id] != suspended:
            self._suspended_users[subject_id] = suspended
            action = Action.USER_SUSPENDED if suspended else Action.USER_RESUMED
            self.note(action, now_ms, None, subject_id, target=subject_id)

    async def set_member(self, tenant_id: str, subject_id: str, *, member: bool, now_ms: Millis) -> None:
        organization = self._organization(tenant_id)
        self._require_user(subject_id)
        before = organization.members.get(subject_id)
        if before is None and not member:
            raise NotFound(field="member")
        if before != member:
            organization.members[subject_id] = member
            action = Action.MEMBER_ADDED if member else Action.MEMBER_WITHDRAWN
            self.note(action, now_ms, tenant_id, subject_id, target=subject_id)

    async def members(self, tenant_id: str) -> list[Member]:
        return [
            Member(subject_id=subject, suspended=self._suspended_users[subject], withdrawn=not member)
            for subject, member in sorted(self._organization(tenant_id).members.items())
        ]

    async def stands(self, tenant_id: str, subject_id: str) -> bool:
        organization = self._organizations.get(tenant_id, _Organization(suspended=True))
        suspended = organization.suspended or self._suspended_users.get(subject_id, True)
        return not suspended and organization.members.get(subject_id, False)

    async def create_repository(self, tenant_id: str, repository: str, *, now_ms: Millis) -> None:
        require_repository(repository)
        organization = self._organization(tenant_id)
        if repository in organization.repositories:
            raise AlreadyExists(field="repository")
        organization.repositories[repository] = {}
        self.note(Action.REPOSITORY_CREATED, now_ms, tenant_id, target=repository)

    async def set_grant(
        self, tenant_id: str, repository: str, subject_id: str, level: Level | None, *, now_ms: Millis
    ) -> None:
        grants = self._organization(tenant_id).repositories.get(repository)
        if grants is None:
            raise NotFound(field="repository")
        self._require_user(subject_id)
        if grants.get(subject_id) == level:
            return
        if level is None:
            del grants[subject_id]
            self.note(Action.GRANT_WITHDRAWN, now_ms, tenant_id, subject_id, target=repository)
        else:
            grants[subject_id] = level
            self.note(Action.GRANT_SET, now_ms, tenant_id, subject_id, target=repository, detail=level.value)

    async def grant(self, tenant_id: str, repository: str, subject_id: str) -> Level | None:
        organization = self._organizations.get(tenant_id, _Organization())
        return organization.repositories.get(repository, {}).get(subject_id)

    async def repositories(self, tenant_id: str, subject_id: str | None = None) -> list[RepositoryGrant]:
        named = sorted(self._organization(tenant_id).repositories.items())
        if subject_id is None:
            return [RepositoryGrant(repository=name) for name, _ in named]
        return [
            RepositoryGrant(repository=name, subject_id=subject_id, level=grants[subject_id])
            for name, grants in named
            if subject_id in grants
        ]

    async def create_key(self, record: KeyRecord, key_hash: str, *, now_ms: Millis) -> None:
        require_id(record.key_id, field="key")
        organization = self._organization(record.tenant_id)
        self._require_user(record.subject_id)
        if record.key_id in organization.keys or key_hash in self._key_of_hash:
            raise AlreadyExists(field="key")
        organization.keys[record.key_id] = record
        self._key_of_hash[key_hash] = (record.tenant_id, record.key_id)
        self.note(Action.KEY_CREATED, now_ms, record.tenant_id, record.subject_id, target=record.key_id)

    async def revoke_key(self, tenant_id: str, key_id: str, *, now_ms: Millis) -> None:
        keys = self._organization(tenant_id).keys
        if key_id not in keys:
            raise NotFound(field="key")
        record = keys[key_id]
        if record.revoked_at_ms is None:
            keys[key_id] = structs.replace(record, revoked_at_ms=now_ms)
            self.note(Action.KEY_REVOKED, now_ms, tenant_id, record.subject_id, target=key_id)

    async def keys(self, tenant_id: str) -> list[KeyRecord]:
        keys = self._organization(tenant_id).keys.values()
        return sorted(keys, key=lambda record: (record.created_at_ms, record.key_id))

    async def authorize(self, key_hash: str, session_id: str | None, *, now_ms: Millis) -> Authority:
        # The dict found the key by its hash, so what is stored equals what was shown.
        place = self._key_of_hash.get(key_hash)
        credential = None if place is None else self._credential(*place)
        caller = decide_caller(credential, key_hash, None if place is None else key_hash)
        if session_id is None:
            return Authority(caller=caller)
        try:
            return Authority(caller=caller, binding=self._resolve(session_id, caller, now_ms))
        except Refused as refusal:
            return Authority(caller=caller, refusal=refusal)

    async def recheck(self, identity: Identity, key_id: str, *, now_ms: Millis) -> Binding:
        credential = self._credential(identity.tenant_id, key_id)
        if credential is not None and credential.caller.subject_id != identity.subject_id:
            credential = None
        return self._resolve(identity.session_id, standing(credential), now_ms)

    async def register(self, caller: Caller, session_id: str, *, now_ms: Millis) -> Registration:
        asked = Identity(
            tenant_id=caller.tenant_id,
            subject_id=caller.subject_id,
            session_id=session_id,
            parent_session_id=session_id,
        )
        existing = self._bindings.get(session_id)
        quotas = self._organizations.get(caller.tenant_id, _Organization()).quotas
        try:
            binding = decide_registration(existing, asked, self._usage(caller.tenant_id, now_ms), quotas, now_ms)
        except SessionExpired:
            self._observe(session_id, now_ms)
            raise
        if existing is None:
            self._bindings[session_id] = binding
            self._note_session(Action.SESSION_REGISTERED, now_ms, binding)
        return Registration(binding=binding, created=existing is None)

    async def bindings(self, caller: Caller) -> list[Binding]:
        own = [
            binding
            for binding in self._bindings.values()
            if (binding.identity.tenant_id, binding.identity.subject_id) == (caller.tenant_id, caller.subject_id)
        ]
        own.sort(key=lambda binding: (-binding.registered_at_ms, binding.identity.session_id))
        return own[:BINDINGS_LISTED_MAX]

    async def revoke(self, tenant_id: str, session_id: str, *, subject_id: str | None, now_ms: Millis) -> Binding:
        existing = self._bindings.get(session_id)
        if (
            existing is None
            or existing.identity.tenant_id != tenant_id
            or subject_id not in (None, existing.identity.subject_id)
        ):
            raise SessionUnknown
        binding = revoked(existing, now_ms)
        if binding is not existing:
            self._bindings[session_id] = binding
            self._note_session(Action.SESSION_REVOKED, now_ms, binding)
        return binding

    async def cleanups_owed(self, *, limit: int) -> list[Identity]:
        owed = sorted(
            (binding.revoked_at_ms, session_id)
            for session_id, binding in self._bindings.items()
            if binding.revoked_at_ms is not None and session_id not in self._cleaned
        )
        return [self._bindings[session_id].identity for _, session_id in owed[:limit]]

    async def cleaned(self, session_id: str) -> None:
        binding = self._bindings.get(session_id)
        if binding is not None and binding.revoked_at_ms is not None:
            self._cleaned.add(session_id)

    async def audit(self, *, after: int, limit: int) -> list[AuditRecord]:
        start = max(after, 0)
        return self._audit[start : start + max(limit, 0)]

    async def audit_end(self) -> int:
        return len(self._audit)

    async def probe(self) -> None:
        """Nothing to try: a dict that can be read can be written."""

    def _resolve(self, session_id: str, caller: Caller, now_ms: Millis) -> Binding:
        existing = self._bindings.get(session_id)
        try:
            return decide_resolution(existing, tenant_id=caller.tenant_id, subject_id=caller.subject_id, now_ms=now_ms)
        except SessionExpired:
            self._observe(session_id, now_ms)
            raise

    def _observe(self, session_id: str, now_ms: Millis) -> None:
        """Lay the tombstone of an expiry, once."""
        existing = self._bindings[session_id]
        binding = observed(existing, now_ms)
        if binding is not existing:
            self._bindings[session_id] = binding
            self._note_session(Action.SESSION_EXPIRED, now_ms, binding)

    def _credential(self, tenant_id: str, key_id: str) -> Credential | None:
        organization = self._organizations.get(tenant_id)
        record = None if organization is None else organization.keys.get(key_id)
        if organization is None or record is None:
            return None
        return Credential(
            caller=Caller(tenant_id=tenant_id, subject_id=record.subject_id, key_id=key_id),
            key_revoked=record.revoked_at_ms is not None,
            user_suspended=self._suspended_users[record.subject_id],
            organization_suspended=organization.suspended,
            member=organization.members.get(record.subject_id, False),
        )

    def _usage(self, tenant_id: str, now_ms: Millis) -> RegistryUsage:
        own = [each for each in self._bindings.values() if each.identity.tenant_id == tenant_id]
        active = sum(binding.state(now_ms) is BindingState.ACTIVE for binding in own)
        return RegistryUsage(active=active, retained=len(own))

    def _organization(self, tenant_id: str) -> _Organization:
        if tenant_id not in self._organizations:
            raise NotFound(field="organization")
        return self._organizations[tenant_id]

    def _require_user(self, subject_id: str) -> None:
        if subject_id not in self._suspended_users:
            raise NotFound(field="user")

    def _note_session(self, action: Action, now_ms: Millis, binding: Binding) -> None:
        identity = binding.identity
        self.note(action, now_ms, identity.tenant_id, identity.subject_id, target=identity.session_id)

    def note(
        self,
        action: Action,
        now_ms: Millis,
        tenant_id: str | None,
        subject_id: str | None = None,
        *,
        target: str | None = None,
        detail: str | None = None,
    ) -> None:
        """Write an audit record, in the step of what it is about; access that it ends takes its transports along."""
        record = AuditRecord(
            sequence=len(self._audit) + 1,
            at_ms=now_ms,
            action=action,
            tenant_id=tenant_id,
            subject_id=subject_id,
            target=target,
            detail=detail,
        )
        self._audit.append(record)
        if action in ENDING:
            self.transports.end(record)
