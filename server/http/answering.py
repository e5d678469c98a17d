"""The answer to one request of the stateless revisions: JSON if it comes quickly, a stream if something comes before.

A stream is never resumed: its client closes it to cancel (mcp.md, N4 and N5). Source of when: mcp.md, §4.3.19.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from aiohttp import web

from codesynapse.server.http.guard import readable
from codesynapse.server.http.requests import accepts_stream
from codesynapse.server.limits import Limits

HEARTBEAT = b": \n\n"


class Frames:
    """A stream of events to one client, written by whoever awaits `send`."""

    def __init__(self, request: web.Request, limits: Limits) -> None:
        self._request = request
        self._limits = limits

    async def open(self) -> web.StreamResponse:
        """The response, its head sent."""
        response = web.StreamResponse()
        response.content_type = "text/event-stream"
        response.headers["Cache-Control"] = "no-cache, no-transform"
        response.headers["X-Accel-Buffering"] = "no"
        response.headers.update(readable(self._request))
        await response.prepare(self._request)
        return response

    async def send(self, response: web.StreamResponse, data: bytes) -> None:
        """Write; a client that does not read for too long is disconnected. Raises ConnectionError."""
        await self._within(response.write(data))

    async def end(self, response: web.StreamResponse, data: bytes) -> None:
        """Write the last of it, likewise: what the call holds must not wait for a reader for ever."""
        await self._within(response.write_eof(data))

    async def _within(self, writing: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(self._limits.send_timeout_ms / 1000):
                await writing
        except TimeoutError:
            cut(self._request)
            raise ConnectionResetError from None

    async def wait(self, response: web.StreamResponse, wake: asyncio.Event) -> None:
        """Wait until something is there, with a comment now and then: silence looks dead to proxies and clients."""
        while True:
            try:
                async with asyncio.timeout(self._limits.heartbeat_ms / 1000):
                    await wake.wait()
                    wake.clear()
                    return
            except TimeoutError:
                await self.send(response, HEARTBEAT)


class Answering:
    """The way out of one call, which runs in the request's own task; the stream, once there is one, in another."""

    def __init__(self, request: web.Request, limits: Limits) -> None:
        self._request = request
        self._limits = limits
        self._stream: _Stream | None = None
        self._streams = accepts_stream(request.headers)
        self._timer: asyncio.TimerHandle | None = None
        if self._streams:
            self._timer = asyncio.get_running_loop().call_later(limits.stream_after_ms / 1000, self._begin)

    def notify(self, payload: bytes) -> None:
        """Something comes before the answer. Where too much waits, the oldest goes: it may be dropped."""
        if self._streams:
            self._begin().add(payload)

    async def finish(self, payload: bytes, json: Callable[[], web.Response]) -> web.StreamResponse:
        """Send the answer. json: what it is where there is no stream."""
        self._stop_timer()
        return json() if self._stream is None else await self._stream.finish(payload)

    def close(self) -> None:
        """Whatever happened: nothing is left behind."""
        self._stop_timer()
        if self._stream is not None:
            self._stream.writer.cancel()

    def _begin(self) -> "_Stream":
        if self._stream is None:
            self._stream = _Stream(Frames(self._request, self._limits), self._limits.events_max)
        return self._stream

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Stream:
    """The stream of one call, written by a task of its own."""

    def __init__(self, frames: Frames, most: int) -> None:
        self._frames = frames
        self._waiting: deque[bytes] = deque(maxlen=most)
        self._wake = asyncio.Event()
        self._last: bytes | None = None
        self.writer = asyncio.get_running_loop().create_task(self._write())
        self.writer.add_done_callback(_looked_at)

    def add(self, payload: bytes) -> None:
        """Something comes before the answer."""
        self._waiting.append(payload)
        self._wake.set()

    async def finish(self, payload: bytes) -> web.StreamResponse:
        """The answer ends the stream."""
        self._last = payload
        self._wake.set()
        return await self.writer

    async def _write(self) -> web.StreamResponse:
        response = await self._frames.open()
        while True:
            text = b"".join(event(each) for each in self._waiting)
            self._waiting.clear()
            if self._last is not None:
                await self._frames.end(response, text + event(self._last))
                return response
            if text:
                await self._frames.send(response, text)
            await self._frames.wait(response, self._wake)


def event(payload: bytes) -> bytes:
    """One event of a stream: one line of data, LF alone."""
    return b"data: " + payload + b"\n\n"


def cut(request: web.Request) -> None:
    """Disconnect a client. That cancels its request."""
    if request.transport is not None:
        request.transport.abort()


def _looked_at(writer: asyncio.Task[web.StreamResponse]) -> None:
    if not writer.cancelled():
        writer.exception()  # The client is gone; its request is cancelled by that.
