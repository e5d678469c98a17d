"""Follow a stream over HTTP: replay what came before and stay for what comes, by one and the same reading."""

import asyncio

from aiohttp import web
from aiohttp_sse import EventSourceResponse

from codesynapse.server.http.live import Live
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.stream import Stream


class Follower:
    """One HTTP response that carries a stream's events."""

    def __init__(self, request: web.Request, live: Live, stream: Stream, limits: Limits) -> None:
        self._request = request
        self._live = live
        self._stream = stream
        self._limits = limits
        self._wake = asyncio.Event()
        self._stopped = False
        self._sending = False

    async def follow(self, position: int) -> web.StreamResponse:
        """Send every event behind a position, until the stream is finished, taken over or cut."""
        response = EventSourceResponse(
            sep="\n",
            allow_all_methods=True,
            send_timeout=self._limits.send_timeout_ms / 1000,
            ping_interval=self._limits.heartbeat_ms / 1000,
        )
        response.headers["Cache-Control"] = "no-cache, no-transform"
        if "Origin" in self._request.headers:
            response.headers["Access-Control-Allow-Origin"] = self._request.headers["Origin"]
            response.headers["Vary"] = "Origin"
        # Attached before the first wait, so that a take-over or a revocation in between is not missed.
        self._stream.wake = self._wake.set
        self._live.follow(self._stream, self._stop)
        try:
            await response.prepare(self._request)
            async with response:
                await self._send_all(response, position)
        except (ConnectionError, TimeoutError):
            pass  # The client resumes; the call goes on.
        finally:
            self._live.unfollow(self._stream, self._stop)
        return response

    async def _send_all(self, response: EventSourceResponse, position: int) -> None:
        if self._live.connection.primed:
            # An id at once: whatever is cut from here on can be resumed.
            await self._send(response, "", position, retry=self._limits.sse_retry_ms)
        while not self._stopped:
            self._wake.clear()
            for event in list(self._stream.after(position)):
                if self._stopped:
                    return
                await self._send(response, event.payload, event.sequence)
                position = event.sequence
            if self._stream.finished and self._stream.sequence <= position:
                return
            await self._wake.wait()

    async def _send(self, response: EventSourceResponse, data: str, sequence: int, *, retry: int | None = None) -> None:
        self._sending = True
        await response.send(data, id=self._stream.event_id(sequence), retry=retry)
        self._sending = False

    def _stop(self) -> None:
        """Another reader took over, or access ended. A write that is stuck is cut off."""
        self._stopped = True
        self._wake.set()
        transport = self._request.transport
        if self._sending and transport is not None:
            transport.abort()
