"""The tasks extension: calls that go on while their client asks now and then how far they are (mcp.md, N29).

In-process state beside the running calls, like theirs: a task ends with its process. Its id is a secret that works for
its own execution alone.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from codesynapse.contracts.accounts import ENDING, AuditRecord, Caller
from codesynapse.contracts.errors import ExecutionMissing, TooManyCalls
from codesynapse.contracts.identity import Execution, Identity, Millis
from codesynapse.server.clock import Clock, rfc3339
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.messages import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError, ascii_safe
from codesynapse.server.mcp.request import Asked
from codesynapse.server.mcp.result import TASKS_EXTENSION, capability_missing, modern_code
from codesynapse.server.mcp.state import Rounds, acceptable
from codesynapse.server.modern.service import Modern, Notify, answered, asking, check_declared
from codesynapse.server.telemetry import fault
from codesynapse.server.tools.registry import Answer, Answers, InputRequest, InputRequired

TASK_METHODS: Final = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})
POLL_MS: Final = 500
"""How often a client is told to ask."""


class Task:
    """One call. waiting: the questions without an answer. outcome: the members that a task's end adds."""

    def __init__(self, execution: Execution, now_ms: Millis) -> None:
        self.id = secrets.token_urlsafe(24)
        self.execution = execution
        self.status = "working"
        self.created_at_ms = now_ms
        self.updated_at_ms = now_ms
        self.waiting: dict[str, InputRequest] = {}
        self.answers: dict[str, dict[str, Any]] = {}
        self.answered = asyncio.Event()
        self.outcome: dict[str, Any] = {}
        self.running: asyncio.Task[None] | None = None

    @property
    def ended(self) -> bool:
        return self.status in ("completed", "failed", "cancelled")

    def turn(self, status: str, now_ms: Millis, **outcome: Any) -> None:
        """Go into another status; the last one stays."""
        if not self.ended:
            self.status, self.updated_at_ms, self.outcome = status, now_ms, outcome

    def cancel(self) -> None:
        """Stop it. What it has committed stays whole."""
        self.execution.cancellation.cancel()
        if self.running is not None:
            self.running.cancel()


class _Params(Struct):
    taskId: str
    inputResponses: dict[str, Raw] = {}


class _Named(Struct):
    name: Any = None


_decode = msgspec.json.Decoder(_Params).decode
_decode_named = msgspec.json.Decoder(_Named).decode
_decode_answer = msgspec.json.Decoder(dict[str, Any]).decode


class Tasks:
    """All tasks of this process. running: takes each task that runs, so that the server waits for it at its end."""

    def __init__(self, modern: Modern, limits: Limits, clock: Clock, running: set[asyncio.Task[None]]) -> None:
        self._modern = modern
        self._limits = limits
        self._clock = clock
        self._running = running
        self._tasks: dict[str, Task] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def takes(self, asked: Asked, toolsets: frozenset[str] | None) -> bool:
        """Whether a call becomes a task: its tool may, and its client understands it.

        Raises ProtocolError for a tool that runs as a task alone, and a client that does not.
        """
        if asked.method != "tools/call":
            return False
        toolbox = self._modern.operations.features.toolbox
        name = _decode_named(asked.params).name
        if not isinstance(name, str) or not toolbox.catalog.shows(name, toolsets):
            return False
        support = toolbox.tool(name).task_support
        if support == "required" and not asked.extends(TASKS_EXTENSION):
            raise capability_missing({"extensions": {TASKS_EXTENSION: {}}}, asked.id)
        return support != "forbidden" and asked.extends(TASKS_EXTENSION)

    async def start(self, asked: Asked, execution: Execution, toolsets: frozenset[str] | None, notify: Notify) -> bytes:
        """Begin a call as a task; the response that names it, or what comes before it. Raises TooManyCalls."""
        rounds = self._modern.rounds(asked, execution)
        try:
            refusal = await self._modern.prepare(asked, execution, notify, asking(asked, rounds))
        except InputRequired as needed:
            return self._modern.ask(asked, rounds, needed.requests)
        if refusal is not None:
            return self._modern.response(asked, refusal)
        task = self._begun(execution)
        running = asyncio.get_running_loop().create_task(self._run(task, asked, toolsets, rounds))
        task.running = running
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return self._modern.results.task(asked.id, self._shown(task))

    def _begun(self, execution: Execution) -> Task:
        now_ms = self._clock()
        self.sweep(now_ms)
        principal = _principal(execution)
        if sum(_principal(each.execution) == principal for each in self._tasks.values()) >= self._most:
            raise TooManyCalls(limit=self._most)
        task = Task(execution, now_ms)
        self._tasks[task.id] = task
        return task

    async def answer(self, asked: Asked, execution: Execution | None) -> bytes:
        """The response to a method of the extension. Raises ProtocolError, ExecutionMissing."""
        if execution is None:
            raise ExecutionMissing
        if not asked.extends(TASKS_EXTENSION):
            raise capability_missing({"extensions": {TASKS_EXTENSION: {}}}, asked.id)
        try:
            params = _decode(asked.params)
        except msgspec.DecodeError:
            text = f"{asked.method} needs a taskId, and inputResponses that are an object."
            raise ProtocolError(INVALID_PARAMS, text, asked.id) from None
        task = self._find(params.taskId, execution)
        if task is None:
            raise ProtocolError(INVALID_PARAMS, "There is no such task.", asked.id)
        result: dict[str, Any] = {}
        match asked.method:
            case "tasks/get":
                result = {**self._shown(task), **task.outcome}
            case "tasks/update":
                self._hear(task, params.inputResponses)
            case _:
                self._cancel(task)
        return self._modern.results.complete(asked.id, asked.method, result)

    def sweep(self, now_ms: Millis) -> None:
        """Forget what was kept for long enough, and end what runs beyond it or beyond its session."""
        for task in list(self._tasks.values()):
            expired = now_ms - task.created_at_ms >= self._limits.task_kept_ms
            if expired or now_ms >= task.execution.deadline_ms:
                self._drop(task)

    def end(self, record: AuditRecord, ends: Callable[[AuditRecord, Caller, Identity | None], bool]) -> None:
        """Drop those whose access an audit record ended."""
        if record.action in ENDING:
            for task in list(self._tasks.values()):
                if ends(record, _caller(task.execution), task.execution.identity):
                    self._drop(task)

    def close(self) -> None:
        """End all: the server stops."""
        for task in list(self._tasks.values()):
            self._drop(task)

    @property
    def _most(self) -> int:
        return self._limits.tasks_per_principal_max

    def _find(self, task_id: str, execution: Execution) -> Task | None:
        """The task of this id, for the execution that began it: another one's does not exist."""
        self.sweep(self._clock())
        task = self._tasks.get(task_id)
        return task if task is not None and task.execution.identity == execution.identity else None

    def _drop(self, task: Task) -> None:
        del self._tasks[task.id]
        task.cancel()

    def _cancel(self, task: Task) -> None:
        """Cancel it; one that has ended stays as it is, and its client is answered alike."""
        if not task.ended:
            task.turn("cancelled", self._clock())
            task.cancel()

    def _hear(self, task: Task, responses: Mapping[str, Raw]) -> None:
        """Take the answers that a question waits for; others are passed over, and what does not fit is asked again."""
        for key, request in list(task.waiting.items()):
            try:
                answer = _decode_answer(responses.get(key, Raw(b"null")))
            except msgspec.DecodeError:
                continue
            if acceptable(request.method, request.params, answer):
                task.answers[key] = answer
                del task.waiting[key]
        self._show_waiting(task)
        task.answered.set()

    def _show_waiting(self, task: Task) -> None:
        if task.waiting:
            task.turn("input_required", self._clock(), inputRequests=dict(task.waiting))
        else:
            task.turn("working", self._clock())

    async def _run(self, task: Task, asked: Asked, toolsets: frozenset[str] | None, rounds: Rounds) -> None:
        async def ask(requests: Mapping[str, InputRequest]) -> Answers:
            check_declared(asked, requests)
            task.answers |= answered(rounds, requests)
            task.waiting |= {key: each for key, each in requests.items() if key not in task.answers}
            self._show_waiting(task)
            while not requests.keys() <= task.answers.keys():
                task.answered.clear()
                await task.answered.wait()
            return {key: task.answers.pop(key) for key in requests}

        try:
            answer = await self._modern.run(asked, task.execution, toolsets, _unheard, ask)
            assert isinstance(answer, Answer)
            result = Raw(ascii_safe(self._modern.tool_result(answer)))
            task.turn("completed", self._clock(), result=result)
        except ProtocolError as error:
            told = {"code": modern_code(error.code), "message": error.text}
            task.turn("failed", self._clock(), error=told if error.data is None else {**told, "data": error.data})
        except asyncio.CancelledError:
            task.turn("cancelled", self._clock())
            raise
        except Exception as error:  # The edge of a task: its client asks for its end.
            fault("task_failed", error)
            task.turn("failed", self._clock(), error={"code": INTERNAL_ERROR, "message": "The call failed."})

    def _shown(self, task: Task) -> dict[str, Any]:
        return {
            "taskId": task.id,
            "status": task.status,
            "createdAt": rfc3339(task.created_at_ms),
            "lastUpdatedAt": rfc3339(task.updated_at_ms),
            "ttlMs": self._limits.task_kept_ms,
            "pollIntervalMs": POLL_MS,
        }


def _principal(execution: Execution) -> tuple[str, str]:
    return (execution.identity.tenant_id, execution.identity.subject_id)


def _caller(execution: Execution) -> Caller:
    assert execution.key_id is not None
    identity = execution.identity
    return Caller(tenant_id=identity.tenant_id, subject_id=identity.subject_id, key_id=execution.key_id)


def _unheard(_: bytes) -> None:
    """A task's progress is not told (mcp.md, N29)."""
