"""The stateless revisions over one pipe: each request on its own, whatever came before it on the same process."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from codesynapse.contracts.accounts import Authority
from codesynapse.contracts.errors import CodeSynapseError
from codesynapse.contracts.identity import Execution
from codesynapse.server.clock import Clock
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.errors import refusal_bytes
from codesynapse.server.mcp.messages import ProtocolError, Request
from codesynapse.server.mcp.request import Asked
from codesynapse.server.mcp.result import error_of
from codesynapse.server.modern.listening import Listening, Subscription
from codesynapse.server.modern.service import LISTS, Modern, broken
from codesynapse.server.modern.tasks import TASK_METHODS, Tasks

Write = Callable[[bytes], None]


class ModernLines:
    """Answers the requests of one process.

    authorize: the process's own key and session, asked for anew each time. Raises what the registry says against it.
    """

    def __init__(
        self,
        modern: Modern,
        limits: Limits,
        clock: Clock,
        toolsets: frozenset[str] | None,
        authorize: Callable[[], Awaitable[Authority]],
    ) -> None:
        self._modern = modern
        self._listening = Listening(modern.operations, modern.results, limits)
        self.running: set[asyncio.Task[None]] = set()
        self._tasks = Tasks(modern, limits, clock, self.running)
        self._toolsets = toolsets
        self._authorize = authorize
        self._ended = asyncio.Event()

    def checked(self, request: Request) -> Asked:
        """The request, if it is sound. Raises ProtocolError."""
        return self._modern.checked(request, None, self._toolsets)

    def static(self, asked: Asked) -> bool:
        """Whether a request is answered without an execution, at once."""
        return asked.method in LISTS

    async def answer(self, asked: Asked, execution: Execution | None, write: Write) -> None:
        """Answer a request. A cancelled one gets no answer, and nothing is written for it any more."""
        try:
            payload = await self._payload(asked, execution, write)
        except ProtocolError as error:
            payload = error_of(error, asked.id)
        except CodeSynapseError as error:
            payload = refusal_bytes(error, asked.id)
        except Exception as error:  # The edge of a request: its client waits for an answer, whatever broke.
            payload = error_of(broken(error), asked.id)
        if execution is None or not execution.cancellation.cancelled:
            write(payload)

    def finish(self) -> None:
        """End all subscriptions with their last word: the input has ended."""
        self._ended.set()

    def close(self) -> None:
        """End all tasks as well."""
        self._tasks.close()

    async def _payload(self, asked: Asked, execution: Execution | None, write: Write) -> bytes:
        if asked.method in TASK_METHODS:
            return await self._tasks.answer(asked, execution)
        if execution is not None:
            if asked.method == "subscriptions/listen":
                return await self._listen(asked, execution, write)
            if self._tasks.takes(asked, self._toolsets):
                return await self._tasks.start(asked, execution, self._toolsets, write)
        return await self._modern.answer(asked, execution, self._toolsets, write)

    async def _listen(self, asked: Asked, execution: Execution, write: Write) -> bytes:
        subscription = await self._listening.open(asked, execution)
        try:
            return await self._follow(subscription, execution, write)
        finally:
            subscription.end()

    async def _follow(self, subscription: Subscription, execution: Execution, write: Write) -> bytes:
        wake = asyncio.Event()
        subscription.wake = wake.set
        readable = partial(self._readable, execution)
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            while not self._ended.is_set():
                for payload in await subscription.take(readable):
                    write(payload)
                waking = asyncio.ensure_future(wake.wait())
                try:
                    await asyncio.wait({waking, ended}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    waking.cancel()
                wake.clear()
            return subscription.end()
        finally:
            ended.cancel()

    async def _readable(self, execution: Execution, uri: str) -> bool:
        """Whether a change may be told: the session may have been revoked, or a grant withdrawn, since."""
        try:
            authority = await self._authorize()
        except CodeSynapseError:
            return False
        return authority.binding is not None and await self._listening.readable(execution, uri)
