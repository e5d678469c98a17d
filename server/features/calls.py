"""One request as its protocol session runs it: progress, logs and questions, then its answer, or silence."""

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec
from msgspec import Raw, Struct

from codesynapse.contracts.errors import InputUnavailable
from codesynapse.contracts.identity import Execution
from codesynapse.server.features.asking import Asking
from codesynapse.server.features.operations import Operations, Result
from codesynapse.server.features.reporting import Reporter
from codesynapse.server.features.subscriptions import Subscriptions
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.connection import Connection, Run, for_version
from codesynapse.server.mcp.errors import protocol_error
from codesynapse.server.mcp.messages import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    ProtocolError,
    RequestId,
    error_bytes,
    notification_bytes,
    result_bytes,
)
from codesynapse.server.tools.dispatch import Dispatcher, answer_bytes, refused
from codesynapse.server.tools.registry import Answer, ToolContext, no_progress


class Out(Protocol):
    """Where a call's messages go: a stream over HTTP, standard output over stdio.

    asks: whether a request of ours would reach the client there. shared: whether the process serves others beside it.
    """

    @property
    def shared(self) -> bool: ...

    @property
    def asks(self) -> bool: ...

    @property
    def subscriptions(self) -> Subscriptions: ...

    def notify(self, payload: bytes) -> None: ...

    def answer(self, request_id: RequestId, payload: bytes) -> None: ...

    def silence(self, request_id: RequestId) -> None: ...

    def close_stream(self) -> None: ...


class _Uri(Struct):
    uri: str


SUBSCRIBING = frozenset({"resources/subscribe", "resources/unsubscribe"})
_decode_uri = msgspec.json.Decoder(_Uri).decode


class Calls:
    """Runs requests for both shells."""

    def __init__(self, operations: Operations, limits: Limits) -> None:
        self.operations = operations
        self._limits = limits

    @property
    def dispatcher(self) -> Dispatcher:
        return self.operations.dispatcher

    def listen(self, send: Callable[[bytes], None]) -> Callable[[], None]:
        """Send a notification for each list that changed; what is returned ends that."""
        toolbox = self.operations.features.toolbox
        return toolbox.listen(lambda kind: send(notification_bytes(f"notifications/{kind}/list_changed", {})))

    def subscriptions(self, send: Callable[[bytes], None]) -> Subscriptions:
        """The subscriptions of a session, none yet. send: takes notifications that belong to no request."""
        return Subscriptions(self.operations, send, self._limits.subscribed_max)

    async def run(self, execution: Execution, run: Run, connection: Connection, out: Out, version: str) -> None:
        """Run one request and send its answer. A cancelled one sends none."""
        reporter = Reporter(run.name, run.progress_token, out.notify, connection.logs)
        try:
            payload = await self._payload(execution, run, self._context(run, reporter, connection, out), out, version)
        except asyncio.CancelledError:
            out.silence(run.request_id)
            raise
        finally:
            reporter.stop()
        if execution.cancellation.cancelled:
            out.silence(run.request_id)
        else:
            out.answer(run.request_id, payload)

    def _context(self, run: Run, reporter: Reporter, connection: Connection, out: Out) -> ToolContext:
        progress = no_progress if run.progress_token is None else reporter.progress
        capabilities = connection.capabilities
        if not capabilities or not out.asks:
            return ToolContext(progress=progress, log=reporter.log, close_stream=out.close_stream, shared=out.shared)
        asking = Asking(connection, out.notify, self._limits.input_ms / 1000)
        return ToolContext(
            progress=progress,
            log=reporter.log,
            ask=asking.ask,
            close_stream=out.close_stream,
            capabilities=capabilities,
            shared=out.shared,
        )

    async def _payload(self, execution: Execution, run: Run, context: ToolContext, out: Out, version: str) -> bytes:
        """The response, as a client of this revision may see it."""
        try:
            if run.method in SUBSCRIBING:
                result = await _subscribed(execution, run, out)
            else:
                result = await self.operations.run(execution, run.method, run.params, context, run.toolsets)
        except ProtocolError as error:
            return _error(run, error)
        except InputUnavailable as error:
            if run.method != "tools/call":
                return _error(run, protocol_error(error))
            result = refused(error)
        if isinstance(result, Answer):
            return answer_bytes(run.request_id, result, version)
        return result_bytes(run.request_id, for_version(result, version))


async def _subscribed(execution: Execution, run: Run, out: Out) -> Result:
    if run.method == "resources/subscribe":
        await out.subscriptions.add(execution, _uri(run.params))
    else:
        out.subscriptions.remove(_uri(run.params))
    return {}


def _error(run: Run, error: ProtocolError) -> bytes:
    # The URI that was asked for is not repeated.
    data = None if error.code == RESOURCE_NOT_FOUND else error.data
    return error_bytes(run.request_id, error.code, error.text, data)


def _uri(params: Raw) -> str:
    try:
        return _decode_uri(params).uri
    except msgspec.DecodeError:
        raise ProtocolError(INVALID_PARAMS, "The request needs a uri.") from None
