"""Below the application: requests that aiohttp refuses before any handler, answered and logged without what was sent.

aiohttp's own answer to what it cannot parse repeats it, as plain text, and its log holds the same.
"""

from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from codesynapse.server.http.guard import plain
from codesynapse.server.telemetry import fault, log

UNREADABLE = "The request is not valid HTTP, or a header of it is too long."


class Runner(web.AppRunner):
    """Runs an application with such connections."""

    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        return _Server(
            _expecting(made.request_handler),  # type: ignore[arg-type]
            request_factory=made.request_factory,
            handler_cancellation=made.handler_cancellation,
            loop=made._loop,
            **made._kwargs,
        )


class _Server(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class _Connection(web.RequestHandler):
    __slots__ = ()

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
        if isinstance(error, BaseException):
            fault("connection_failed", error)


def _expecting(handler: Handler) -> Handler:
    """Refuse an unknown `Expect` before aiohttp does, which repeats it."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Expect", "100-continue").lower() != "100-continue":
            return plain(417, "http_417", "Only 100-continue can be expected.")
        return await handler(request)

    return handle
