"""The registry of chat sessions: who may execute under which id.

The id comes from the caller, always. Nothing here ever makes one, and nothing is cached: each request asks the store.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from codesynapse.contracts.accounts import Authority, Caller, Level, Registration, key_hash, require_level
from codesynapse.contracts.binding import Binding
from codesynapse.contracts.errors import (
    ExecutionMissing,
    HeaderInvalid,
    Invalid,
    Refused,
    SessionNotRegistered,
    Unauthenticated,
    Unavailable,
)
from codesynapse.contracts.identity import Cancellation, CommitIds, Execution, Identity, require, valid_id
from codesynapse.contracts.ports import Accounts, SessionMemory, VectorIndex
from codesynapse.server.clock import Clock
from codesynapse.server.telemetry import fault

SESSION_HEADER = "X-CodeSynapse-Session"
PARENT_HEADER = "X-CodeSynapse-Parent-Session"


class Claim(Struct, frozen=True):
    """What a request's execution headers, or a launcher's environment, say: a well-formed id, nothing, or a fault.

    fault is raised only after the transport session was found: that is checked first.
    """

    session_id: str | None = None
    fault: Refused | None = None


def claim(sessions: list[str], parents: list[str], *, names: tuple[str, str]) -> Claim:
    """Read the two values. names: what to call them in an error.

    Both absent is no claim. One alone is ExecutionMissing; a repeated or malformed one, or a parent that differs, is
    HeaderInvalid that names it.
    """
    if not sessions and not parents:
        return Claim()
    for values, name in zip((sessions, parents), names, strict=True):
        if len(values) > 1 or (values and not valid_id(values[0])):
            return Claim(fault=HeaderInvalid(field=name))
    if not sessions or not parents:
        return Claim(fault=ExecutionMissing(field=names[0] if not sessions else names[1]))
    if sessions != parents:
        return Claim(fault=HeaderInvalid(field=names[1], limit=f"the same as {names[0]}"))
    return Claim(session_id=sessions[0])


class Sessions:
    """Registers, resolves and revokes. `ended` is called after a revocation, so that open streams close at once."""

    def __init__(self, accounts: Accounts, memory: SessionMemory, vectors: VectorIndex | None, clock: Clock) -> None:
        self._accounts = accounts
        self._memory = memory
        self._vectors = vectors
        self._clock = clock
        self.ended: Callable[[], Awaitable[None]] | None = None

    async def authorize(self, key: str | None, session_id: str | None) -> Authority:
        """Who shows this key, and under which binding. Raises Unauthenticated, Suspended, MembershipWithdrawn."""
        shown = None if key is None else key_hash(key)
        if shown is None:
            raise Unauthenticated
        return await self._accounts.authorize(shown, session_id, now_ms=self._clock())

    async def register(self, caller: Caller, session_id: object) -> Registration:
        """Bind the id that a runtime supplies. Raises Invalid, BindingConflict, capacity errors and tombstones."""
        if not valid_id(session_id) or not isinstance(session_id, str):
            raise Invalid(field="session_id", limit="1 to 128 letters, digits or ._:-")
        return await self._accounts.register(caller, session_id, now_ms=self._clock())

    async def listed(self, caller: Caller) -> list[Binding]:
        """The caller's own bindings, newest first."""
        return await self._accounts.bindings(caller)

    async def revoke(self, caller: Caller, session_id: object, *, operator: bool = False) -> Binding:
        """End a session for good: its tombstone first, which is the moment execution stops; then its memory goes.

        Raises Invalid, and SessionUnknown for an unknown or foreign id. A failed cleanup cannot restore access:
        the sweeper finishes it.
        """
        if not valid_id(session_id) or not isinstance(session_id, str):
            raise Invalid(field="session_id", limit="1 to 128 letters, digits or ._:-")
        now_ms = self._clock()
        subject_id = None if operator else caller.subject_id
        binding = await self._accounts.revoke(caller.tenant_id, session_id, subject_id=subject_id, now_ms=now_ms)
        if self.ended is not None:
            await self.ended()
        await self.clean(caller.tenant_id, session_id)
        return binding

    async def clean(self, tenant_id: str, session_id: str) -> bool:
        """Remove a revoked session's memory and vectors; whether it worked."""
        try:
            await self._memory.revoke(tenant_id, session_id, now_ms=self._clock())
            if self._vectors is not None:
                await self._vectors.drop(tenant_id, session_id)
            await self._accounts.cleaned(session_id)
        except Unavailable as error:
            fault("cleanup_failed", error)
            return False
        return True

    async def recheck(self, execution: Execution) -> None:
        """Check again that a running call may go on: key, user, organisation, membership and session."""
        identity = require(execution, self._clock())
        if execution.key_id is None:
            raise SessionNotRegistered
        await self._accounts.recheck(identity, execution.key_id, now_ms=self._clock())

    async def recheck_writing(self, execution: Execution, repository: str) -> None:
        """Check again, right before a durable write, that it is still allowed."""
        await self.recheck(execution)
        await self.require_repository(execution, repository, Level.WRITE)

    async def require_repository(self, execution: Execution, repository: str, level: Level) -> None:
        """Raises RepositoryForbidden or GrantInsufficient. Asked for every call; nothing is remembered."""
        identity = require(execution, self._clock())
        if not valid_id(repository):
            raise Invalid(field="repo", limit="1 to 128 letters, digits or ._:-")
        held = await self._accounts.grant(identity.tenant_id, repository, identity.subject_id)
        require_level(held, level)

    async def readable(self, execution: Execution) -> list[str]:
        """The repositories that the caller may read, by name."""
        identity = require(execution, self._clock())
        held = await self._accounts.repositories(identity.tenant_id, identity.subject_id)
        return sorted(each.repository for each in held if each.level is not None)


def execution_of(
    authority: Authority, identity: Identity, cancellation: Cancellation, commits: CommitIds | None = None
) -> Execution:
    """The execution of one call under a resolved binding."""
    assert authority.binding is not None
    return Execution(
        identity=identity,
        actor_id=authority.caller.subject_id,
        key_id=authority.caller.key_id,
        deadline_ms=authority.binding.expires_at_ms,
        cancellation=cancellation,
        commits=commits,
    )
