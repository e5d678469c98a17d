"""The queue of agents' writes in SQLite. Who deletes a task's row has it: the deletion is the claim."""

from collections.abc import Sequence

from codesynapse.backends.sqlite import agent_access
from codesynapse.backends.sqlite.agent_access import Held
from codesynapse.backends.sqlite.agent_rows import task_of_row
from codesynapse.backends.sqlite.connection import Connection
from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_work import Kept, QueueStatus, Task, admit_record, after_failure
from codesynapse.contracts.agents import AgentScope, Sight
from codesynapse.contracts.identity import Millis

_NEXT = "UPDATE agent_tenants SET last_task = last_task + 1 WHERE tenant_id = ? RETURNING last_task"
_ENQUEUE = """
INSERT INTO agent_tasks (tenant_id, task_id, subject_id, agent, agent_id, kind, enqueued_at_ms, due_at_ms, payload)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_TASK = """
SELECT tenant_id, task_id, subject_id, agent_id, kind, payload, enqueued_at_ms, due_at_ms, tries FROM agent_tasks
"""
# The one statement that names no tenant: a worker serves them all, and gets each task with its own.
_DUE = f"{_TASK} WHERE due_at_ms <= ? ORDER BY due_at_ms, enqueued_at_ms, tenant_id, task_id LIMIT ?"
_HELD = f"{_TASK} WHERE tenant_id = ? AND task_id = ?"
_REMOVE = "DELETE FROM agent_tasks WHERE tenant_id = ? AND task_id = ?"
# A key that answers "queued" for what will never be written would keep its caller from sending it again.
_FREE_KEY = """
DELETE FROM agent_keys
WHERE tenant_id = ?1 AND agent IN (SELECT id FROM agents WHERE tenant_id = ?1 AND agent_id = ?2)
    AND CASE WHEN json_valid(answer) THEN json_extract(answer, '$.task_id') END = ?3
"""
_RETRY = "UPDATE agent_tasks SET tries = tries + 1, due_at_ms = ? WHERE tenant_id = ? AND task_id = ?"
_GIVEN_UP = "UPDATE agents SET discarded = discarded + 1 WHERE tenant_id = ? AND agent_id = ?"
_ALIVE = """
SELECT task_id FROM agent_tasks WHERE tenant_id = ? AND task_id IN (SELECT value FROM json_each(?))
"""
_PENDING = "SELECT count(*) FROM agent_tasks WHERE tenant_id = ? AND agent IN (SELECT value FROM json_each(?))"
_DISCARDED = """
SELECT coalesce(sum(discarded), 0) FROM agents WHERE tenant_id = ? AND id IN (SELECT value FROM json_each(?))
"""


def enqueue(connection: Connection, scope: AgentScope, held: Held, kind: str, payload: str, now_ms: Millis) -> Kept:
    """Queue a task that is due at once."""
    tenant = agent_access.figures(connection, scope.tenant_id)
    admit_record("agent_tasks_max", tenant.tasks, tenant.quotas)
    (task_id,) = connection.execute(_NEXT, (scope.tenant_id,)).fetchone()
    row = (*(scope.tenant_id, task_id, scope.subject_id, held.number, scope.agent_id), kind, now_ms, now_ms, payload)
    connection.execute(_ENQUEUE, row)
    return Kept(id=None, created=False, task_id=task_id)


def due(connection: Connection, now_ms: Millis, limit: int) -> list[Task]:
    """Tasks of all tenants whose time has come."""
    return [task_of_row(row) for row in connection.execute(_DUE, (now_ms, max(limit, 0)))]


def remove(connection: Connection, task: Task) -> bool:
    """Whether the task was there."""
    return bool(connection.execute(_REMOVE, (task.scope.tenant_id, task.task_id)).rowcount)


def discard(connection: Connection, task: Task) -> bool:
    """Remove a task that shall not be done, and the key that answers for it; whether the task was there."""
    there = remove(connection, task)
    if there:
        connection.execute(_FREE_KEY, (task.scope.tenant_id, task.scope.agent_id, task.task_id))
    return there


def failed(connection: Connection, task: Task, retry_at_ms: Millis) -> bool:
    """Whether a task that failed is tried again."""
    row = connection.execute(_HELD, (task.scope.tenant_id, task.task_id)).fetchone()
    if row is None:
        return False
    held = task_of_row(row)
    if after_failure(held):
        connection.execute(_RETRY, (retry_at_ms, held.scope.tenant_id, held.task_id))
        return True
    discard(connection, held)
    connection.execute(_GIVEN_UP, (held.scope.tenant_id, held.scope.agent_id))
    return False


def alive(connection: Connection, tenant_id: str, task_ids: Sequence[int]) -> list[int]:
    """Those that are queued, in the order in which they were named."""
    rows = connection.execute(_ALIVE, (tenant_id, agent_access.numbers(task_ids)))
    queued = {task_id for (task_id,) in rows}
    return [each for each in task_ids if each in queued]


def status(connection: Connection, sight: Sight) -> QueueStatus:
    """The queue of the agents in sight."""
    asked = (sight.tenant_id, agent_access.numbers(agent_access.seen(connection, sight, Level.READ)))
    (pending,) = connection.execute(_PENDING, asked).fetchone()
    (discarded,) = connection.execute(_DISCARDED, asked).fetchone()
    return QueueStatus(pending=pending, discarded=discarded)
