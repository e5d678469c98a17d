"""POST on /mcp at 2026-07-28 and later: identity from the request's own headers, and no state from one to the next."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from aiohttp import web

from codesynapse.contracts.accounts import Authority
from codesynapse.contracts.errors import CodeSynapseError, ExecutionMissing
from codesynapse.contracts.identity import Cancellation, Execution
from codesynapse.server.http.answering import Answering, Frames, cut, event
from codesynapse.server.http.errors import headers_of, status_of
from codesynapse.server.http.exchanges import Exchanges
from codesynapse.server.http.live import Lives
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.errors import refusal_bytes
from codesynapse.server.mcp.messages import INVALID_REQUEST, Message, Notification, ProtocolError, Request
from codesynapse.server.mcp.request import Asked, check_notification, status_of_code
from codesynapse.server.mcp.result import error_of, modern_code
from codesynapse.server.modern.listening import Listening, Subscription
from codesynapse.server.modern.service import LISTS, Modern, broken
from codesynapse.server.modern.tasks import TASK_METHODS, Tasks
from codesynapse.server.sessions.registry import execution_of

Toolsets = frozenset[str] | None
Visible = Callable[[web.Request], Toolsets]
"""The toolsets that a request may see. Raises HeaderInvalid."""


class ModernEndpoint:
    """The endpoint of the stateless revisions."""

    def __init__(
        self,
        *,
        modern: Modern,
        listening: Listening,
        tasks: Tasks,
        lives: Lives,
        exchanges: Exchanges,
        limits: Limits,
        visible: Visible,
        recheck: Callable[[Execution], Awaitable[None]],
    ) -> None:
        self._modern = modern
        self._listening = listening
        self._tasks = tasks
        self._lives = lives
        self._exchanges = exchanges
        self._limits = limits
        self._visible = visible
        self._recheck = recheck

    async def answer(self, request: web.Request, authority: Authority, message: Message) -> web.StreamResponse:
        """The answer to a message of an authorised sender, whose claim was checked. Raises HeaderInvalid."""
        if isinstance(message, Notification):
            check_notification(message, _version(request))
            return web.Response(status=202)
        if not isinstance(message, Request):
            raise ProtocolError(INVALID_REQUEST, "At this revision a client sends requests and notifications only.")
        try:
            toolsets = self._visible(request)
            asked = self._modern.checked(message, headers_of_protocol(request), toolsets)
            return await self._answer(request, authority, asked, toolsets)
        except ProtocolError as error:
            return refused(error, message)
        except CodeSynapseError as error:
            return _refused(error, message)

    async def _answer(
        self, request: web.Request, authority: Authority, asked: Asked, toolsets: Toolsets
    ) -> web.StreamResponse:
        execution = execution_under(authority)
        if asked.method == "subscriptions/listen":
            return await self._listen(request, authority, asked, execution)
        if asked.method in TASK_METHODS:
            return _json(await self._tasks.answer(asked, execution))
        if execution is None:
            if asked.method not in LISTS:
                raise ExecutionMissing
            return _json(await self._modern.answer(asked, None, toolsets, _unheard))
        return await self._run(request, authority, asked, execution, toolsets)

    async def _run(
        self, request: web.Request, authority: Authority, asked: Asked, execution: Execution, toolsets: Toolsets
    ) -> web.StreamResponse:
        """Run in this request's own task, which ends with its connection: closing it is how a client cancels."""
        principal = (authority.caller.tenant_id, authority.caller.subject_id)
        self._lives.enter(principal, 1)
        running = asyncio.current_task()
        assert running is not None
        answering = Answering(request, self._limits)
        self._lives.tasks.add(running)
        try:
            with self._exchanges.running(authority, lambda: cut(request)):
                return await self._answered(answering, asked, execution, toolsets)
        except asyncio.CancelledError:
            execution.cancellation.cancel()
            raise
        finally:
            answering.close()
            self._lives.tasks.discard(running)
            self._lives.leave(principal)

    async def _answered(
        self, answering: Answering, asked: Asked, execution: Execution, toolsets: Toolsets
    ) -> web.StreamResponse:
        try:
            if self._tasks.takes(asked, toolsets):
                payload = await self._tasks.start(asked, execution, toolsets, answering.notify)
            else:
                payload = await self._modern.answer(asked, execution, toolsets, answering.notify)
        except ProtocolError as error:
            refusal = refused(error, asked)
            return await answering.finish(error_of(error, asked.id), lambda: refusal)
        except CodeSynapseError as error:
            refusal = _refused(error, asked)
            return await answering.finish(refusal_bytes(error, asked.id), lambda: refusal)
        except Exception as error:  # The edge of a request: its client waits for an answer with its id.
            told = broken(error)
            refusal = refused(told, asked)
            return await answering.finish(error_of(told, asked.id), lambda: refusal)
        return await answering.finish(payload, lambda: _json(payload))

    async def _listen(
        self, request: web.Request, authority: Authority, asked: Asked, execution: Execution | None
    ) -> web.StreamResponse:
        if execution is None:
            raise ExecutionMissing
        ended = asyncio.Event()
        with self._exchanges.running(authority, lambda: cut(request), finish=ended.set):
            # From here on an end of access cuts it; what ended while the request was read is seen now.
            await self._recheck(execution)
            subscription = await self._listening.open(asked, execution)
            try:
                return await self._follow(request, subscription, ended, execution)
            finally:
                subscription.end()

    async def _follow(
        self, request: web.Request, subscription: Subscription, ended: asyncio.Event, execution: Execution
    ) -> web.StreamResponse:
        frames, wake = Frames(request, self._limits), asyncio.Event()
        subscription.wake = wake.set
        response = await frames.open()
        readable = partial(self._listening.readable, execution)
        ending = asyncio.get_running_loop().create_task(_then(ended, wake.set))
        try:
            while True:
                text = b"".join(event(each) for each in await subscription.take(readable))
                if text:
                    await frames.send(response, text)
                if ended.is_set():
                    await frames.end(response, event(subscription.end()))
                    return response
                await frames.wait(response, wake)
        except ConnectionError:
            return response  # The client is gone, and that ends a subscription.
        finally:
            ending.cancel()


def execution_under(authority: Authority) -> Execution | None:
    """The execution of one request; None for one without execution headers."""
    if authority.binding is None:
        return None
    return execution_of(authority, authority.binding.identity, Cancellation())


def headers_of_protocol(request: web.Request) -> Mapping[str, Sequence[str]]:
    """All values of the headers that repeat what stands in the body, by their names in lower case."""
    found: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        lowered = name.lower()
        if lowered.startswith("mcp-"):
            found.setdefault(lowered, []).append(value)
    return found


def refused(error: ProtocolError, about: Request | Asked) -> web.Response:
    """A JSON-RPC error with this era's status."""
    return _json(error_of(error, about.id), status=status_of_code(modern_code(error.code)))


def _refused(error: CodeSynapseError, about: Request | Asked) -> web.Response:
    """A refusal that no argument decides, with its HTTP status."""
    status = status_of(error)
    return _json(refusal_bytes(error, about.id), status=status, headers=headers_of(status))


def _version(request: web.Request) -> str | None:
    values = request.headers.getall("MCP-Protocol-Version", [])
    return values[0] if values else None


async def _then(ended: asyncio.Event, wake: Callable[[], None]) -> None:
    await ended.wait()
    wake()


def _unheard(_: bytes) -> None:
    """Lists say nothing on the way."""


def _json(body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)
