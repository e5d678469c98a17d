"""The one way out: what a protocol session has to say, kept until it has been heard.

A `Stream` belongs to one POST or to one standalone GET. Its events are numbered from 0, where 0 is the priming event.
Replaying and following live are the same reading by position, so nothing is lost or doubled in between. The log is
bounded four ways: events a stream, bytes a session, bytes a principal, bytes of the whole process (`Budget`).
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from codesynapse.contracts.errors import TransportUnknown
from codesynapse.contracts.identity import Millis
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.messages import RequestId
from codesynapse.server.mcp.naming import NOWHERE, Asked, Names, Place, carried
from codesynapse.server.mcp.seal import Seal

EVENT_ID_MAX = 256
ALL = "z"
"""Stands in an event id where every request of its stream has its response before it: nothing can be missing."""
STREAM_BYTES = 1_024
"""What a stream costs beside its payloads; counted, so that many small answers stay within the bounds too."""
GONE_MAX = 1_024
"""How many streams a session remembers after their events went, whose names do not carry all of their requests."""


class Event:
    """One message on a stream. sequence: from 1. response: it answers a request, so it may not be dropped.

    answered: which requests of the stream have their response up to here, as bits in their order.
    """

    __slots__ = ("answered", "payload", "response", "sequence")

    def __init__(self, sequence: int, payload: str, *, response: bool, answered: int = 0) -> None:
        self.sequence = sequence
        self.payload = payload
        self.response = response
        self.answered = answered


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
    followed: a reader is at it, so that letting it go would free nothing. number: tells it from all others of its
    session, also from those before a restart. begins: the position before its first event; 0 unless it stands in for
    one whose events are gone. name: what its event ids begin with; made when it is first needed.
    """

    __slots__ = (
        "_answered",
        "_answered_before",
        "_name",
        "_names",
        "_places",
        "begins",
        "events",
        "finished_at_ms",
        "followed",
        "number",
        "requests",
        "sequence",
        "size_bytes",
        "waiting",
        "wake",
        "written",
    )

    def __init__(
        self,
        names: Names,
        requests: tuple[RequestId, ...],
        places: Sequence[Place] = (),
        *,
        instead_of: "Lost | None" = None,
    ) -> None:
        self._names = names
        self._name = None if instead_of is None else instead_of.name
        self._places = places
        self._answered = 0
        self.number = names.number() if instead_of is None else instead_of.number
        self.requests = requests
        self.waiting = list(requests)
        for index in () if instead_of is None else set(range(len(requests))).difference(instead_of.missing):
            self._answered |= 1 << index
            self.waiting.remove(requests[index])
        self._answered_before = self._answered
        self.events: list[Event] = []
        self.begins = 0 if instead_of is None else instead_of.sequence
        self.sequence = self.begins
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

    @property
    def asked(self) -> tuple[Asked, ...]:
        """Its requests, each with the place where it may write."""
        return tuple(Asked(request_id, self.place(index)) for index, request_id in enumerate(self.requests))

    def place(self, index: int) -> Place:
        """Where the request at this place on the stream may write."""
        return self._places[index] if self._places else NOWHERE

    @property
    def name(self) -> str:
        if self._name is None:
            self._name = self._names.name(self.number, self.asked)
        return self._name

    def event_id(self, sequence: int) -> str:
        """The id by which a client resumes behind this event."""
        answered = self._answered_before
        for event in self.events:
            if event.sequence > sequence:
                break
            answered = event.answered
        return self._event_id(sequence, answered)

    def id_of(self, event: Event) -> str:
        """The id of an event of this stream."""
        return self._event_id(event.sequence, event.answered)

    def answer(self, request_id: RequestId) -> bool:
        """Note that a request has its response; whether it was waited for."""
        if request_id not in self.waiting:
            return False
        self.waiting.remove(request_id)
        for index, each in enumerate(self.requests):
            if each == request_id and not self._answered >> index & 1:
                self._answered |= 1 << index
                break
        return True

    def add(self, payload: bytes, *, response: bool) -> None:
        """The next event."""
        self.sequence += 1
        self.events.append(Event(self.sequence, payload.decode("ascii"), response=response, answered=self._answered))
        self.size_bytes += len(payload)

    def _event_id(self, sequence: int, answered: int) -> str:
        if not answered:
            return f"{self.name}.{sequence}"
        everything = answered == (1 << len(self.requests)) - 1
        return f"{self.name}.{sequence}.{ALL if everything else f'{answered:x}'}"


class Position(NamedTuple):
    """Where a client stands on a stream: it has heard everything up to this event."""

    stream: Stream
    sequence: int


class Lost(NamedTuple):
    """Where a client stands on a stream whose events are gone, or that another server had.

    asked: its requests. missing: which of them it has no response to. here: it was this log that let it go.
    """

    name: str
    number: bytes
    sequence: int
    asked: tuple[Asked, ...]
    missing: tuple[int, ...]
    here: bool


class EventLog:
    """All streams of one protocol session."""

    def __init__(self, limits: Limits, budget: Budget, names: Names | None = None) -> None:
        """names: of its streams; without, such as nobody can read but this log."""
        self._limits = limits
        self._budget = budget
        self._names = Names(Seal(secrets.token_bytes(32)), b"") if names is None else names
        self._streams: OrderedDict[bytes, Stream] = OrderedDict()
        self._finished: OrderedDict[bytes, Stream] = OrderedDict()
        self._gone: OrderedDict[bytes, tuple[Asked, ...]] = OrderedDict()
        self._released = False
        self.size_bytes = 0

    def open(self, requests: tuple[RequestId, ...], places: Sequence[Place] = ()) -> Stream:
        """A fresh stream. places: where each request may write; empty: none of them does.

        Raises TransportUnknown after `release`: what it held, nobody would ever give back.
        """
        return self._keep(Stream(self._names, requests, places))

    def reopen(self, lost: Lost) -> Stream:
        """A stream that stands in for one that is gone, for the requests that are missing: its ids go on from there.

        Raises TransportUnknown after `release`.
        """
        if lost.number in self._streams:
            self.forget(self._streams[lost.number])
        requests, places = zip(*lost.asked, strict=True)
        return self._keep(Stream(self._names, requests, places, instead_of=lost))

    def _keep(self, stream: Stream) -> Stream:
        if self._released:
            raise TransportUnknown
        self._streams[stream.number] = stream
        self._grow(stream.size_bytes)
        return stream

    def append(self, stream: Stream, payload: bytes, *, answers: RequestId | None, now_ms: Millis) -> None:
        """Add an event; `answers` names the request that it responds to."""
        if stream.finished or self._streams.get(stream.number) is not stream:
            return
        awaited = answers is not None and stream.answer(answers)
        stream.add(payload, response=answers is not None)
        self._grow(len(payload))
        if awaited and not stream.waiting:
            self._finish(stream, now_ms)
        self._trim(stream)
        if stream.wake is not None:
            stream.wake()

    def settle(self, stream: Stream, request_id: RequestId, now_ms: Millis) -> None:
        """A request that will get no response: it was cancelled."""
        stream.answer(request_id)
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
        if self._streams.get(stream.number) is stream:
            del self._streams[stream.number]
            self._finished.pop(stream.number, None)
            self._grow(-stream.size_bytes)

    def find(self, event_id: str) -> Position | Lost | None:
        """Where a `Last-Event-ID` of this session points.

        A stream and a position, from which everything behind it can be replayed; the requests whose responses are
        gone; or None for a stream that is not of this session, that belonged to no request, or all of whose
        responses came before: nothing is missing. Source: mcp.md, §4.3.5.
        """
        name, _, rest = event_id.partition(".")
        named = self._names.read(name)
        if named is None:
            return None
        number, _, answered = rest.partition(".")
        sequence = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
        stream = self._streams.get(named.number)
        if stream is not None and sequence >= stream.begins:
            return Position(stream, sequence)
        asked = self._gone.get(named.number, named.asked)
        missing = tuple(index for index in range(len(asked)) if not _passed(answered, index))
        return Lost(name, named.number, sequence, asked, missing, named.own) if missing else None

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
        if not carried(stream.asked):
            self._gone[stream.number] = stream.asked
            while len(self._gone) > GONE_MAX:
                self._gone.popitem(last=False)

    def _finish(self, stream: Stream, now_ms: Millis) -> None:
        if not stream.finished:
            stream.finished_at_ms = now_ms
            if self._streams.get(stream.number) is stream:
                self._finished[stream.number] = stream

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


def _passed(answered: str, index: int) -> bool:
    """Whether an event id says that the request at this place had its response. Who changes that harms itself."""
    if answered == ALL:
        return True
    try:
        return bool(int(answered, 16) >> index & 1) if 0 < len(answered) <= 16 else False
    except ValueError:
        return False
