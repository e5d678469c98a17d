"""Whose memory a call is about: from its execution and the agent that it names."""

from collections.abc import Awaitable, Callable, Sequence

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.agent_work import admit_writer, reaching, require_agent
from codesynapse.contracts.agents import AgentScope, Episode, Kind, Memory, Principal, Sight
from codesynapse.contracts.errors import NotFound
from codesynapse.contracts.identity import Execution, Millis, require
from codesynapse.contracts.vectors import Vector

Embed = Callable[[Execution, Sequence[str]], Awaitable[Sequence[Vector] | None]]
"""The embedder; None where it cannot answer now. It learns in passing how it is."""
Recheck = Callable[[Execution], Awaitable[None]]
"""Raises where the credential or the binding of a call has ended meanwhile."""


def scope_of(execution: Execution, agent_id: str, now_ms: Millis) -> AgentScope:
    """One agent. Raises Invalid for what is no name of one, such as an empty text, and what `require` does."""
    identity = require(execution, now_ms)
    return AgentScope(tenant_id=identity.tenant_id, subject_id=identity.subject_id, agent_id=agent_id)


def sight_of(execution: Execution, agent_id: str | None, now_ms: Millis) -> Sight:
    """One agent, or with None all that the caller's grants reach. Raises as `scope_of` does."""
    if agent_id is not None:
        return scope_of(execution, agent_id, now_ms)
    identity = require(execution, now_ms)
    return Principal(tenant_id=identity.tenant_id, subject_id=identity.subject_id)


async def require_writer(agents: AgentMemory, scope: AgentScope) -> None:
    """Raises what a write to the agent would be refused with; nobody has to own it yet."""
    held = await agents.level(scope)
    exists = held is not None or any(each.agent_id == scope.agent_id for each in await agents.agents(scope.tenant_id))
    admit_writer(held, exists=exists)


async def require_level(agents: AgentMemory, scope: AgentScope, level: Level) -> None:
    """Raises AgentForbidden without a grant that suffices."""
    require_agent(await agents.level(scope), level)


async def require_record(
    agents: AgentMemory, sight: Sight, kind: Kind, record_id: int, *, field: str
) -> Memory | Episode:
    """A record that the caller may write. Raises AgentForbidden, and NotFound where there is none of this number."""
    for scope in await scopes_in(agents, sight, Level.WRITE):
        for record in await agents.contents(scope, [(kind, record_id)]):
            return record
    raise NotFound(field=field)


async def scopes_in(agents: AgentMemory, sight: Sight, level: Level) -> list[AgentScope]:
    """The agents in sight that the caller may use so, by name. Raises AgentForbidden for a named one."""
    if isinstance(sight, AgentScope):
        await require_level(agents, sight, level)
        return [sight]
    granted = await agents.agents(sight.tenant_id, sight.subject_id)
    return [
        AgentScope(tenant_id=sight.tenant_id, subject_id=sight.subject_id, agent_id=each.agent_id)
        for each in granted
        if each.level in reaching(level)
    ]
