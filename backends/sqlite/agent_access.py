"""Which agents there are in SQLite and who may use them: read within the transaction of what asks."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.directory import note
from codesynapse.backends.sqlite.rows import json_array, level_of, quotas_of
from codesynapse.contracts.accounts import Action, Level
from codesynapse.contracts.agent_work import admit_record, admit_writer, reaching, require_agent
from codesynapse.contracts.agents import AgentGrant, AgentScope, Sight
from codesynapse.contracts.errors import NotFound
from codesynapse.contracts.identity import Millis, require_id
from codesynapse.contracts.quotas import Quotas

_AGENT = """
SELECT id, salt, memories, episodes, terms, keys, level FROM agents
LEFT JOIN agent_grants ON agent = id AND agent_grants.tenant_id = agents.tenant_id AND subject_id = ?
WHERE agents.tenant_id = ? AND agent_id = ?
"""
_REACHED = """
SELECT agent FROM agent_grants
WHERE tenant_id = ? AND subject_id = ? AND level IN (SELECT value FROM json_each(?))
"""
_NEW_AGENT = "INSERT INTO agents (tenant_id, agent_id, salt) VALUES (?, ?, randomblob(16))"
_GRANT = """
INSERT INTO agent_grants (tenant_id, subject_id, agent, level) VALUES (?, ?, ?, ?)
ON CONFLICT (tenant_id, subject_id, agent) DO UPDATE SET level = excluded.level
"""
_WITHDRAW = "DELETE FROM agent_grants WHERE tenant_id = ? AND subject_id = ? AND agent = ?"
_AGENTS = "SELECT agent_id FROM agents WHERE tenant_id = ? ORDER BY agent_id"
_GRANTED = """
SELECT agent_id, level FROM agent_grants JOIN agents ON id = agent
WHERE agent_grants.tenant_id = ?1 AND agents.tenant_id = ?1 AND subject_id = ?2 ORDER BY agent_id
"""
_TENANT = "SELECT quotas, agents, tasks FROM agent_tenants WHERE tenant_id = ?"
_NEW_TENANT = "INSERT OR IGNORE INTO agent_tenants (tenant_id) VALUES (?)"
_SET_QUOTAS = """
INSERT INTO agent_tenants (tenant_id, quotas) VALUES (?, ?)
ON CONFLICT (tenant_id) DO UPDATE SET quotas = excluded.quotas
"""
_LAST_ID = "SELECT last_id FROM agent_tenants WHERE tenant_id = ?"
_NEXT_ID = "UPDATE agent_tenants SET last_id = last_id + 1 WHERE tenant_id = ? RETURNING last_id"


class Held(NamedTuple):
    """An agent as it is held. number: what its rows name it by. terms: how many all its records have."""

    tenant_id: str
    agent_id: str
    number: int
    salt: bytes
    memories: int
    episodes: int
    terms: int
    keys: int


class TenantFigures(NamedTuple):
    """The caps of a tenant, and how many agents and tasks it has."""

    quotas: Quotas
    agents: int
    tasks: int


def figures(connection: Connection, tenant_id: str) -> TenantFigures:
    """A tenant's caps and counts; the defaults where it has nothing yet."""
    row = connection.execute(_TENANT, (tenant_id,)).fetchone()
    quotas, agents, tasks = row or (None, 0, 0)
    return TenantFigures(quotas_of(quotas), agents, tasks)


def level(connection: Connection, scope: AgentScope) -> Level | None:
    """What a user may do with an agent."""
    return _find(connection, scope)[1]


def agent(connection: Connection, scope: AgentScope, needed: Level) -> Held:
    """The agent, for who may use it so. Raises AgentForbidden."""
    held, granted = _find(connection, scope)
    require_agent(granted, needed)
    assert held is not None
    return held


def writable(connection: Connection, scope: AgentScope, now_ms: Millis) -> Held:
    """The agent for a write, made by its first. Raises AgentForbidden, QuotaExceeded."""
    held, granted = _find(connection, scope)
    if admit_writer(granted, exists=held is not None):
        tenant = figures(connection, scope.tenant_id)
        admit_record("agents_max", tenant.agents, tenant.quotas)
        connection.execute(_NEW_TENANT, (scope.tenant_id,))
        number = connection.execute(_NEW_AGENT, (scope.tenant_id, scope.agent_id)).lastrowid
        connection.execute(_GRANT, (scope.tenant_id, scope.subject_id, number, Level.ADMIN.value))
        note(connection, Action.AGENT_CREATED, now_ms, scope.tenant_id, scope.subject_id, target=scope.agent_id)
        held, _ = _find(connection, scope)
    assert held is not None
    return held


def written_to(connection: Connection, scope: AgentScope) -> Held | None:
    """The agent that a write would find; None where it would make it. Raises AgentForbidden."""
    held, granted = _find(connection, scope)
    admit_writer(granted, exists=held is not None)
    return held


def seen(connection: Connection, sight: Sight, needed: Level) -> list[int]:
    """The numbers of the agents in sight that a principal may use so. Raises AgentForbidden for a named one."""
    if isinstance(sight, AgentScope):
        return [agent(connection, sight, needed).number]
    levels = json_array(reaching(needed))
    return [number for (number,) in connection.execute(_REACHED, (sight.tenant_id, sight.subject_id, levels))]


def set_level(
    connection: Connection, tenant_id: str, agent_id: str, subject_id: str, granted: Level | None, now_ms: Millis
) -> None:
    """Set a user's grant, or withdraw it. Raises NotFound without the agent."""
    require_id(subject_id, field="user")
    row = connection.execute(_AGENT, (subject_id, tenant_id, agent_id)).fetchone()
    if row is None:
        raise NotFound(field="agent_id")
    number, before = row[0], row[-1]
    if before == (None if granted is None else granted.value):
        return
    if granted is None:
        connection.execute(_WITHDRAW, (tenant_id, subject_id, number))
        note(connection, Action.AGENT_GRANT_WITHDRAWN, now_ms, tenant_id, subject_id, target=agent_id)
    else:
        connection.execute(_GRANT, (tenant_id, subject_id, number, granted.value))
        note(connection, Action.AGENT_GRANT_SET, now_ms, tenant_id, subject_id, target=agent_id, detail=granted.value)


def listed(connection: Connection, tenant_id: str, subject_id: str | None) -> list[AgentGrant]:
    """All agents, or those that a user has a grant on."""
    if subject_id is None:
        return [AgentGrant(agent_id=name) for (name,) in connection.execute(_AGENTS, (tenant_id,))]
    return [
        AgentGrant(agent_id=name, subject_id=subject_id, level=level_of(granted))
        for name, granted in connection.execute(_GRANTED, (tenant_id, subject_id))
    ]


def set_quotas(connection: Connection, tenant_id: str, quotas: Quotas) -> None:
    connection.execute(_SET_QUOTAS, (tenant_id, msgspec.json.encode(quotas).decode()))


def next_id(connection: Connection, tenant_id: str) -> int:
    """A number for a new record."""
    (number,) = connection.execute(_NEXT_ID, (tenant_id,)).fetchone()
    return int(number)


def last_id(connection: Connection, tenant_id: str) -> int:
    """The number of the tenant's newest record, 0 before the first."""
    row = connection.execute(_LAST_ID, (tenant_id,)).fetchone()
    return 0 if row is None else int(row[0])


def numbers(each: Sequence[int]) -> str:
    """Numbers as a JSON array for `json_each`."""
    return msgspec.json.encode(each).decode()


def _find(connection: Connection, scope: AgentScope) -> tuple[Held | None, Level | None]:
    row = connection.execute(_AGENT, (scope.subject_id, scope.tenant_id, scope.agent_id)).fetchone()
    if row is None:
        return None, None
    *figures_, granted = row
    return Held(scope.tenant_id, scope.agent_id, *figures_), None if granted is None else level_of(granted)
