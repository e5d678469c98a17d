"""Follow a stream over HTTP: replay what came before and stay for what comes, by one and the same reading."""

import asyncio

from aiohttp import web
from aiohttp_sse import EventSourceResponse

from codesynapse.server.http.guard import readable
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
        self._sending_since: float | None = None

    async def follow(self, position: int) -> web.StreamResponse:
        """Send every event behind a position, until the stream is finished, taken over or cut."""
        # Attached before the first wait, so that a take-over or a revocation in between is not missed.
        self._stream.wake = self._wake.set
        self._live.follow(self._stream, self)
        response = self._response()
        try:
            # A quick call has its answer by now: then all of it leaves in one write.
            await asyncio.sleep(0)
            await response.prepare(self._request)
            async with response:
                await self._send_all(response, position)
        except (ConnectionError, TimeoutError):
            pass  # The client resumes; the call goes on.
        finally:
            self._live.unfollow(self._stream, self)
        return response

    def stop(self) -> None:
        """Another reader took over, or access ended. A write that is stuck is cut off."""
        self._stopped = True
        self._wake.set()
        if self._sending_since is not None:
            self._abort()

    def cut_if_stuck(self, moment: float) -> None:
        """Disconnect a client that does not read; it resumes. moment: on the event loop's clock.

        Looked at from outside, since a timer for each write would cost every call.
        """
        since = self._sending_since
        if since is not None and moment - since >= self._limits.send_timeout_ms / 1000:
            self._abort()

    def _response(self) -> EventSourceResponse:
        response = EventSourceResponse(
            sep="\n",
            allow_all_methods=True,
            # A peer that vanished without a word is noticed on a standalone stream, which would stay for ever.
            send_timeout=None if self._stream.requests else self._limits.send_timeout_ms / 1000,
            ping_interval=self._limits.heartbeat_ms / 1000,
        )
        response.headers["Cache-Control"] = "no-cache, no-transform"
        response.headers.update(readable(self._request))
        return response

    async def _send_all(self, response: EventSourceResponse, position: int) -> None:
        # At 2025-11-25 an id at once: whatever is cut from here on can be resumed.
        text = self._priming(position) if self._live.connection.primed else ""
        while not self._stopped:
            self._wake.clear()
            for event in self._stream.after(position):
                text += f"id: {self._stream.id_of(event)}\ndata: {event.payload}\n\n"
                position = event.sequence
            self._sending_since = asyncio.get_running_loop().time()
            if self._stream.finished:
                await response.write_eof(text.encode("ascii"))
                self._live.log.written(self._stream)
                return
            if text:
                await response.write(text.encode("ascii"))
            self._sending_since, text = None, ""
            await self._wake.wait()
        if text and not self._live.closed:
            # Let go before its first event, as a tool may do: without an id the client could not come back.
            await response.write(text.encode("ascii"))

    def _priming(self, position: int) -> str:
        return f"id: {self._stream.event_id(position)}\nretry: {self._limits.sse_retry_ms}\ndata: \n\n"

    def _abort(self) -> None:
        transport = self._request.transport
        if transport is not None:
            transport.abort()
