"""The queue of agents' writes, in a dict."""

from collections.abc import Collection, Sequence

from msgspec import structs

from codesynapse.contracts.agent_work import Task, after_failure
from codesynapse.contracts.agents import AgentScope
from codesynapse.contracts.identity import Millis


class Queue:
    """Tasks of all tenants, by tenant and number; a number is given once in its tenant."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, int], Task] = {}
        self._last: dict[str, int] = {}

    def add(self, scope: AgentScope, kind: str, payload: str, now_ms: Millis) -> int:
        """Queue a task that is due at once; its number."""
        task_id = self._last[scope.tenant_id] = self._last.get(scope.tenant_id, 0) + 1
        self._tasks[scope.tenant_id, task_id] = Task(
            task_id=task_id, scope=scope, kind=kind, payload=payload, enqueued_at_ms=now_ms, due_at_ms=now_ms
        )
        return task_id

    def due(self, now_ms: Millis, limit: int) -> list[Task]:
        """Tasks whose time has come, the longest due first, then the first enqueued."""
        waiting = [task for task in self._tasks.values() if task.due_at_ms <= now_ms]
        waiting.sort(key=lambda each: (each.due_at_ms, each.enqueued_at_ms, each.scope.tenant_id, each.task_id))
        return waiting[: max(limit, 0)]

    def has(self, task: Task) -> bool:
        return (task.scope.tenant_id, task.task_id) in self._tasks

    def remove(self, task: Task) -> bool:
        """Whether the task was there."""
        return self._tasks.pop((task.scope.tenant_id, task.task_id), None) is not None

    def failed(self, task: Task, retry_at_ms: Millis) -> bool | None:
        """Whether a task that failed is tried again; None where it is gone."""
        held = self._tasks.get((task.scope.tenant_id, task.task_id))
        if held is None:
            return None
        if not after_failure(held):
            self.remove(held)
            return False
        self._tasks[task.scope.tenant_id, task.task_id] = structs.replace(
            held, tries=held.tries + 1, due_at_ms=retry_at_ms
        )
        return True

    def alive(self, tenant_id: str, task_ids: Sequence[int]) -> list[int]:
        """Those that are queued."""
        return [each for each in task_ids if (tenant_id, each) in self._tasks]

    def of(self, tenant_id: str, agents: Collection[str]) -> list[Task]:
        """The tasks of some agents."""
        tasks = [task for (tenant, _), task in self._tasks.items() if tenant == tenant_id]
        return [task for task in tasks if task.scope.agent_id in agents]

    def held(self, tenant_id: str) -> int:
        """How many tasks a tenant has."""
        return sum(tenant == tenant_id for tenant, _ in self._tasks)

    def purge(self, tenant_id: str, agent_id: str) -> None:
        """Remove an agent's tasks."""
        for task in self.of(tenant_id, {agent_id}):
            self.remove(task)
