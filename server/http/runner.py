"""Below the application: connections, how many and how long, and requests that aiohttp refuses before any handler.

aiohttp's own answer to what it cannot parse repeats it, as plain text, and its log holds the same. It waits for a head
and for a body as long as the client likes, and takes connections until the process has no file left.
"""

import asyncio
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler

from codesynapse.server.http.guard import plain
from codesynapse.server.limits import Limits
from codesynapse.server.telemetry import fault, log

UNREADABLE = "The request is not valid HTTP, or a header of it is too long."
KEEPALIVE_S = 75.0
"""How long a connection may stay open between two requests; longer than proxies keep theirs."""
FULL_AGAIN_S = 60.0
FILES_KEPT = 128
"""How many files are left to stores and logs."""


class Runner(web.AppRunner):
    """Runs an application with such connections, of which `most` may be open at a time."""

    def __init__(self, application: web.Application, limits: Limits, most: int, **options: Any) -> None:
        super().__init__(application, keepalive_timeout=KEEPALIVE_S, **options)
        self._limits = limits
        self._most = most

    def sweep(self, moment: float) -> None:
        """Cut connections whose head or body is overdue. moment: on the event loop's clock.

        Looked at from outside, since a timer for each request would cost every call.
        """
        assert isinstance(self.server, _Server)
        for connection in self.server.connections:
            if isinstance(connection, _Connection) and connection.overdue(moment, self._limits):
                connection.cut()

    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        server = _Server(
            _expecting(made.request_handler),  # type: ignore[arg-type]  # aiohttp names only its own kind
            request_factory=made.request_factory,
            handler_cancellation=made.handler_cancellation,
            loop=made._loop,
            **made._kwargs,
        )
        server.most = self._most
        return server


def connections_below(most: int) -> int:
    """How many connections, at most `most`, the process's limit of files leaves room for; it is raised if possible."""
    try:
        import resource  # Only where there is such a limit.
    except ImportError:
        return most
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = most + FILES_KEPT
    if soft != resource.RLIM_INFINITY and soft < files:
        soft = files if hard == resource.RLIM_INFINITY else min(files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return most if soft == resource.RLIM_INFINITY else min(most, max(soft - FILES_KEPT, soft // 2))


class _Server(web.Server):
    most = 0
    _told_at = float("-inf")

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)

    def admits(self, moment: float) -> bool:
        """Whether the newest connection, which is counted already, may stay."""
        if len(self._connections) <= self.most:
            return True
        if moment - self._told_at >= FULL_AGAIN_S:
            self._told_at = moment
            log.warning("connections_full", count=self.most)
        return False


class _Connection(web.RequestHandler):
    """head_since: since when a head is awaited; None while a request is served, and between two of them."""

    __slots__ = ("_head_since", "_heard_at")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._head_since: float | None = self._loop.time()
        self._heard_at = self._head_since
        if isinstance(self._manager, _Server) and not self._manager.admits(self._heard_at):
            self.cut()

    def data_received(self, data: bytes) -> None:
        if data:
            self._heard_at = self._loop.time()
            if self._head_since is None and self._waiter is not None:
                self._head_since = self._heard_at
        super().data_received(data)
        if self._messages:
            self._head_since = None

    def overdue(self, moment: float, limits: Limits) -> bool:
        """Whether its head is not complete in time, or its body stands still, other than because we do not read it."""
        if self._head_since is not None:
            return moment - self._head_since >= limits.head_timeout_ms / 1000
        request = self._current_request
        if request is None or request.content.is_eof() or self._reading_paused:
            return False
        return moment - self._heard_at >= limits.body_timeout_ms / 1000

    def cut(self) -> None:
        """Close it at once."""
        if self.transport is not None:
            self.transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if status >= 500 and exc is not None:
            fault("request_failed", exc)
        else:
            log.info("request_unreadable", status=status)
        if request.writer.output_size > 0:
            raise ConnectionError  # An answer has begun; there cannot be another.
        response = plain(status, f"http_{status}", UNREADABLE if status < 500 else "The request failed.")
        response.force_close()
        return response

    def log_exception(self, *args: Any, **kwargs: Any) -> None:
        error = kwargs.get("exc_info")
        if isinstance(error, (web.RequestPayloadError, HttpProcessingError)):
            log.info("request_unreadable", status=400)  # Of the rest of a body, whose request was answered already.
        elif isinstance(error, BaseException):
            fault("connection_failed", error)


def _expecting(handler: Handler) -> Handler:
    """Refuse an unknown `Expect` before aiohttp does, which repeats it."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Expect", "100-continue").lower() != "100-continue":
            return plain(417, "http_417", "Only 100-continue can be expected.")
        return await handler(request)

    return handle
