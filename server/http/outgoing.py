"""What leaves for a request of a session revision: a call's messages onto its stream, or one plain JSON answer."""

import asyncio

from codesynapse.server.clock import Clock
from codesynapse.server.features.calls import Calls
from codesynapse.server.features.subscriptions import Subscriptions
from codesynapse.server.http.live import Live
from codesynapse.server.mcp.messages import RequestId
from codesynapse.server.mcp.stream import Stream


class Waiting:
    """Whoever waits for a plain JSON answer."""

    def __init__(self) -> None:
        self.over = asyncio.Event()

    def stop(self) -> None:
        self.over.set()

    def cut_if_stuck(self, _: float) -> None:
        pass  # It has sent nothing yet.


class Outgoing:
    """Where a call's messages go. asks: the client takes them as a stream, so that a question would reach it."""

    __slots__ = ("_calls", "_clock", "_live", "_stream", "asks")
    shared = True

    def __init__(self, live: Live, stream: Stream, clock: Clock, asks: bool, calls: Calls) -> None:
        self._live, self._stream, self._clock, self.asks, self._calls = live, stream, clock, asks, calls

    @property
    def subscriptions(self) -> Subscriptions:
        """Those of the session, made when there is a first one."""
        if self._live.subscriptions is None:
            self._live.subscriptions = self._calls.subscriptions(self._live.tell)
        return self._live.subscriptions

    def notify(self, payload: bytes) -> None:
        """A notification that belongs to the call."""
        self._live.log.append(self._stream, payload, answers=None, now_ms=self._clock())

    def answer(self, request_id: RequestId, payload: bytes) -> None:
        """The call's response."""
        self._live.log.append(self._stream, payload, answers=request_id, now_ms=self._clock())

    def silence(self, request_id: RequestId) -> None:
        """The call was cancelled: there is no response."""
        self._live.log.settle(self._stream, request_id, self._clock())

    def close_stream(self) -> None:
        """Let the reader go, if it knows how to come back: it was given an event id and when to try again."""
        if self._live.connection.primed and self.asks:
            self._live.cut(self._stream)
