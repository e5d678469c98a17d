"""The one way out: what a protocol session has to say, kept until it has been heard.

A `Stream` belongs to one POST or to one standalone GET. Its events are numbered from 0, where 0 is the priming event.
Replaying and following live are the same reading by position, so nothing is lost or doubled in between. The log is
bounded four ways: events a stream, bytes a session, bytes a principal, bytes of the whole process (`Budget`).
"""

import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from codesynapse.contracts.errors import TransportUnknown
from codesynapse.contracts.identity import Millis
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.messages import NO_ID, RequestId

EVENT_ID_MAX = 256
STREAM_BYTES = 1_024
"""What a stream costs beside its payloads; counted, so that many small answers stay within the bounds too."""
STANDALONE = "s"
"""Stands in the name of a stream that answers no request: who resumes it has lost nothing and gets another one."""
_number = re.compile(r"[1-9a-f][0-9a-f]{0,15}", re.ASCII).fullmatch
GONE_MAX = 1_024
"""How many streams a session remembers by name after their events went, to name the lost requests on resume."""


class Event:
    """One message on a stream. sequence: from 1. response: it answers a request, so it may not be dropped."""

    __slots__ = ("payload", "response", "sequence")

    def __init__(self, sequence: int, payload: str, *, response: bool) -> None:
        self.sequence = sequence
        self.payload = payload
        self.response = response


class Budget:
    """Bytes of events that may be kept: in the whole process, or, as a part of those, by one principal."""

    def __init__(self, limit: int, whole: "Budget | None" = None) -> None:
        self._limit = limit
        self._whole = whole
        self.used = 0

    @property
    def exceeded(self) -> int | None:
        """The bound that is used up; None where there is room."""
        if self.used >= self._limit:
            return self._limit
        return None if self._whole is None else self._whole.exceeded

    def grow(self, size: int) -> None:
        """Count bytes that are kept, or, below 0, given back."""
        self.used += size
        if self._whole is not None:
            self._whole.used += size


class Stream:
    """The events of one exchange.

    waiting: ids of the requests whose responses are still to come; a stream with requests is finished when none is
    left. wake: called after each change; the shell sets it while it follows. written: a reader got it to its end.
    followed: a reader is at it, so that letting it go would free nothing.
    """

    __slots__ = (
        "events",
        "finished_at_ms",
        "followed",
        "id",
        "requests",
        "sequence",
        "size_bytes",
        "waiting",
        "wake",
        "written",
    )

    def __init__(self, stream_id: str, requests: tuple[RequestId, ...]) -> None:
        self.id = stream_id
        self.requests = requests
        self.waiting = list(requests)
        self.events: list[Event] = []
        self.sequence = 0
        self.size_bytes = STREAM_BYTES
        self.finished_at_ms: Millis | None = None
        self.wake: Callable[[], None] | None = None
        self.written = False
        self.followed = False

    @property
    def finished(self) -> bool:
        return self.finished_at_ms is not None

    def after(self, sequence: int) -> Iterator[Event]:
        """Events behind a position, oldest first."""
        return (event for event in self.events if event.sequence > sequence)

    def event_id(self, sequence: int) -> str:
        """The id by which a client resumes behind this event."""
        return f"{self.id}.{sequence}"


class Position(NamedTuple):
    """Where a client stands on a stream: it has heard everything up to this event."""

    stream: Stream
    sequence: int


class EventLog:
    """All streams of one protocol session."""

    def __init__(self, limits: Limits, budget: Budget) -> None:
        self._limits = limits
        self._budget = budget
        self._name = secrets.token_urlsafe(6)
        self._opened = 0
        self._streams: OrderedDict[str, Stream] = OrderedDict()
        self._finished: OrderedDict[str, Stream] = OrderedDict()
        self._gone: OrderedDict[str, tuple[RequestId, ...]] = OrderedDict()
        self._released = False
        self.size_bytes = 0

    def open(self, requests: tuple[RequestId, ...]) -> Stream:
        """A fresh stream. Its name begins with the log's random one: a mere counter would repeat after a restart.

        Raises TransportUnknown after `release`: what it held, nobody would ever give back.
        """
        if self._released:
            raise TransportUnknown
        self._opened += 1
        mark = "" if requests else STANDALONE
        stream = Stream(f"{self._name}{mark}{self._opened:x}", requests)
        self._streams[stream.id] = stream
        self._grow(stream.size_bytes)
        return stream

    def append(self, stream: Stream, payload: bytes, *, answers: RequestId | None, now_ms: Millis) -> None:
        """Add an event; `answers` names the request that it responds to."""
        if stream.finished or stream.id not in self._streams:
            return
        stream.sequence += 1
        stream.events.append(Event(stream.sequence, payload.decode("ascii"), response=answers is not None))
        stream.size_bytes += len(payload)
        self._grow(len(payload))
        if answers is not None and answers in stream.waiting:
            stream.waiting.remove(answers)
            if not stream.waiting:
                self._finish(stream, now_ms)
        self._trim(stream)
        if stream.wake is not None:
            stream.wake()

    def settle(self, stream: Stream, request_id: RequestId, now_ms: Millis) -> None:
        """A request that will get no response: it was cancelled."""
        if request_id in stream.waiting:
            stream.waiting.remove(request_id)
        if not stream.waiting:
            self._finish(stream, now_ms)
        if stream.wake is not None:
            stream.wake()

    def end(self, stream: Stream, now_ms: Millis) -> None:
        """Close a stream that answers nothing: a standalone one that was taken over."""
        self._finish(stream, now_ms)
        if stream.wake is not None:
            stream.wake()

    def forget(self, stream: Stream) -> None:
        """Let a stream go that nobody can resume: its answer went out on a plain JSON response."""
        if self._streams.pop(stream.id, None) is not None:
            self._finished.pop(stream.id, None)
            self._grow(-stream.size_bytes)

    def find(self, event_id: str) -> Position | tuple[RequestId, ...] | None:
        """Where a `Last-Event-ID` of this session points.

        A stream and a position, from which everything behind it can be replayed; the ids of requests whose
        responses are gone, or no id's where they are not known any more; or None for a stream that is not of this
        session, or that belonged to no request. Source: mcp.md, §4.3.5.
        """
        name, _, number = event_id.rpartition(".")
        stream = self._streams.get(name)
        if stream is None:
            return self._gone.get(name) or ((NO_ID,) if self._gave(name) else None)
        sequence = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
        return Position(stream, sequence)

    def expire(self, now_ms: Millis) -> None:
        """Let go of responses that were kept for ten minutes."""
        oldest_kept = now_ms - self._limits.response_kept_ms
        while (stream := self._oldest_finished()) is not None:
            if stream.finished_at_ms is None or stream.finished_at_ms > oldest_kept:
                return
            self._drop(stream)

    def make_room(self) -> None:
        """With the budget used up, this session's finished responses go, until it is not."""
        while self._budget.exceeded and (stream := self._next_to_go()) is not None:
            self._drop(stream)

    def written(self, stream: Stream) -> None:
        """A reader got a finished stream to its end: beyond the session's bytes, it is not kept any longer."""
        stream.written = True
        self._trim(stream)

    def release(self) -> None:
        """Give everything back, for good: the session has ended."""
        self._released = True
        for stream in list(self._streams.values()):
            self.forget(stream)
        self._gone.clear()

    def _trim(self, stream: Stream) -> None:
        while len(stream.events) > self._limits.events_max:
            if not self._shorten(stream):
                break
        while self.size_bytes > self._limits.session_bytes_max:
            going = self._next_to_go()
            if going is None or (going is stream and not going.written):
                break
            self._drop(going)
        while self.size_bytes > self._limits.session_bytes_max and self._shorten(stream):
            pass

    def _shorten(self, stream: Stream) -> bool:
        """Drop the oldest event that answers nothing; a response is never dropped from a stream that goes on."""
        for event in stream.events:
            if not event.response:
                stream.events.remove(event)
                stream.size_bytes -= len(event.payload)
                self._grow(-len(event.payload))
                return True
        return False

    def _drop(self, stream: Stream) -> None:
        self.forget(stream)
        if stream.requests:
            self._gone[stream.id] = stream.requests
            while len(self._gone) > GONE_MAX:
                self._gone.popitem(last=False)

    def _finish(self, stream: Stream, now_ms: Millis) -> None:
        if not stream.finished:
            stream.finished_at_ms = now_ms
            if stream.id in self._streams:
                self._finished[stream.id] = stream

    def _gave(self, name: str) -> bool:
        """Whether a stream of requests had this name."""
        number = name.removeprefix(self._name)
        return number != name and _number(number) is not None and int(number, 16) <= self._opened

    def _oldest_finished(self) -> Stream | None:
        return next(iter(self._finished.values()), None)

    def _next_to_go(self) -> Stream | None:
        """The oldest finished stream that was written out, or else the oldest finished one that nobody is reading."""
        written = (stream for stream in self._finished.values() if stream.written)
        unread = (stream for stream in self._finished.values() if not stream.followed)
        return next(written, None) or next(unread, None)

    def _grow(self, size: int) -> None:
        self.size_bytes += size
        self._budget.grow(size)
