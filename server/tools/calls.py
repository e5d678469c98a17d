"""One tool call as a protocol session runs it: progress and logs on the way, then its answer, or silence."""

import asyncio
from typing import Protocol

from codesynapse.contracts.identity import Execution
from codesynapse.server.mcp.connection import LOG_LEVELS, Connection, RunTool
from codesynapse.server.mcp.messages import RequestId, notification_bytes
from codesynapse.server.tools.dispatch import Dispatcher, answer_bytes
from codesynapse.server.tools.registry import ToolContext, no_progress


class Out(Protocol):
    """Where a call's messages go: a stream over HTTP, standard output over stdio."""

    def notify(self, payload: bytes) -> None: ...

    def answer(self, request_id: RequestId, payload: bytes) -> None: ...

    def silence(self, request_id: RequestId) -> None: ...


class Calls:
    """Runs calls for both shells."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.dispatcher = dispatcher

    async def run(self, execution: Execution, run: RunTool, connection: Connection, out: Out, version: str) -> None:
        """Run one call and send its answer. A cancelled one sends none."""
        try:
            context = _context(run, connection, out)
            answer = await self.dispatcher.call(execution, run.name, run.arguments, context)
        except asyncio.CancelledError:
            out.silence(run.request_id)
            raise
        if execution.cancellation.cancelled:
            out.silence(run.request_id)
        else:
            out.answer(run.request_id, answer_bytes(run.request_id, answer, version))


def _context(run: RunTool, connection: Connection, out: Out) -> ToolContext:
    token, highest = run.progress_token, float("-inf")

    def progress(value: float, total: float | None = None, message: str | None = None) -> None:
        nonlocal highest
        # mcp.md, L11: values must rise.
        if value <= highest:
            return
        highest = value
        params: dict[str, object] = {"progressToken": token, "progress": value}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        out.notify(notification_bytes("notifications/progress", params))

    def log(level: str, text: str) -> None:
        if level in LOG_LEVELS and connection.logs(level):
            params = {"level": level, "logger": run.name, "data": text}
            out.notify(notification_bytes("notifications/message", params))

    return ToolContext(progress=no_progress if token is None else progress, log=log)
