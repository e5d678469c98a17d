"""Protocol sessions that are alive: their connection, their running calls, their followers, and the table of all.

This is in-process state, one of the two places that may hold any. A call is a task of its session and not of the
request that brought it, so that it survives a cut; its answer goes into the session's `EventLog`.
"""

import asyncio
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Coroutine
from typing import Any, Protocol

from codesynapse.contracts.accounts import ENDING, Action, AuditRecord, Caller
from codesynapse.contracts.errors import EventsFull, ServerFull, TooManyCalls, TooManyTransports, TransportUnknown
from codesynapse.contracts.identity import Cancellation, Identity, Millis
from codesynapse.server.clock import Clock
from codesynapse.server.features.subscriptions import Subscriptions
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.connection import Connection
from codesynapse.server.mcp.messages import RequestId
from codesynapse.server.mcp.stream import Budget, EventLog, Stream

Principal = tuple[str, str]
SHARES = 4
"""One principal may keep one of so many parts of all events, so that none can use up everybody's."""


class Call:
    """One running tool call."""

    __slots__ = ("cancellation", "request_id", "stream", "task")

    def __init__(self, request_id: RequestId, stream: Stream) -> None:
        self.request_id = request_id
        self.stream = stream
        self.cancellation = Cancellation()
        self.task: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        """Stop it. What it has committed stays whole; what it has not is never written."""
        self.cancellation.cancel()
        if self.task is not None:
            self.task.cancel()


class Reader(Protocol):
    """Who follows a stream."""

    def stop(self) -> None:
        """Another reader took over, or the session ended."""
        ...

    def cut_if_stuck(self, moment: float) -> None:
        """Disconnect a client that does not read."""
        ...


class Live:
    """One protocol session. It belongs to the credential that opened it."""

    def __init__(self, caller: Caller, connection: Connection, log: EventLog, clock: Clock) -> None:
        self.id = secrets.token_urlsafe(32)
        self.caller = caller
        self.connection = connection
        self.log = log
        self.calls: list[Call] = []
        self.followers: dict[str, Reader] = {}
        self.standalone: Stream | None = None
        self.subscriptions: Subscriptions | None = None
        self._clock = clock
        self.used_at_ms = clock()
        self.deadline_ms: Millis | None = None
        self.closed = False

    @property
    def principal(self) -> Principal:
        return (self.caller.tenant_id, self.caller.subject_id)

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nobody listens."""
        return not self.calls and not self.followers

    def touch(self) -> None:
        """It was used, or its use ends now: who is cut off has all the idle time to come back."""
        self.used_at_ms = self._clock()

    def follow(self, stream: Stream, reader: Reader) -> None:
        """Attach a reader to a stream; one that was there already is half-dead and must go."""
        attached = self.followers.get(stream.id)
        self.followers[stream.id] = reader
        stream.followed = True
        if attached is not None:
            attached.stop()

    def unfollow(self, stream: Stream, reader: Reader) -> None:
        """Detach a reader, if it is still this one."""
        if self.followers.get(stream.id) is reader:
            del self.followers[stream.id]
            stream.followed = False
            self.touch()

    def cut(self, stream: Stream) -> None:
        """Detach whoever follows a stream."""
        attached = self.followers.pop(stream.id, None)
        if attached is not None:
            stream.followed = False
            self.touch()
            attached.stop()

    def tell(self, payload: bytes) -> None:
        """Send a notification that belongs to no request, to a client that listens for such."""
        if self.standalone is not None:
            self.log.append(self.standalone, payload, answers=None, now_ms=self._clock())

    def cancel(self, request_id: RequestId) -> None:
        """Cancel the newest running call of this id; an unknown one is ignored."""
        for call in reversed(self.calls):
            if call.request_id == request_id:
                call.cancel()
                return

    def close(self) -> None:
        """End it: running calls are cancelled, readers are cut, events are given back."""
        self.closed = True
        for call in list(self.calls):
            call.cancel()
        for reader in list(self.followers.values()):
            reader.stop()
        self.followers.clear()
        if self.subscriptions is not None:
            self.subscriptions.close()
        self.log.release()


class Lives:
    """All protocol sessions of this process, and what each principal uses."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._table: dict[bytes, Live] = {}
        self._of_principal: dict[Principal, OrderedDict[bytes, Live]] = {}
        self._in_flight: dict[Principal, int] = {}
        self._shares: dict[Principal, Budget] = {}
        self.budget = Budget(limits.events_bytes_max)
        self.tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._table)

    def find(self, transport_id: str, caller: Caller) -> Live:
        """The session of this id and this very credential. Raises TransportUnknown for any other."""
        live = self._table.get(_hash(transport_id))
        if live is None or live.caller != caller:
            raise TransportUnknown
        self._of_principal[live.principal].move_to_end(_hash(transport_id))
        return live

    def open(self, caller: Caller, connection: Connection) -> Live:
        """A new session. Raises TooManyTransports where all of the principal's are busy, ServerFull."""
        own = self._of_principal.get((caller.tenant_id, caller.subject_id), OrderedDict())
        if len(own) >= self._limits.transports_per_principal_max:
            idle = next((live for live in own.values() if live.idle), None)
            if idle is None:
                raise TooManyTransports(limit=self._limits.transports_per_principal_max)
            self.close(idle)
        if len(self._table) >= self._limits.transports_max:
            raise ServerFull(limit=self._limits.transports_max)
        live = Live(caller, connection, EventLog(self._limits, self._share(caller)), self._clock)
        self._table[_hash(live.id)] = live
        self._of_principal.setdefault(live.principal, OrderedDict())[_hash(live.id)] = live
        return live

    def close(self, live: Live) -> None:
        """End a session and forget it."""
        key = _hash(live.id)
        if self._table.pop(key, None) is None:
            return
        own = self._of_principal[live.principal]
        del own[key]
        if not own:
            del self._of_principal[live.principal]
            del self._shares[live.principal]
        live.close()

    def _share(self, caller: Caller) -> Budget:
        """What a principal may keep, over all its sessions."""
        share = Budget(self._limits.events_bytes_max // SHARES, self.budget)
        return self._shares.setdefault((caller.tenant_id, caller.subject_id), share)

    def make_room(self, live: Live) -> None:
        """Before a call: at its principal's share of all events, or at their total, the principal's finished
        responses go, this session's first.

        Raises EventsFull where that is not enough: nobody's room is made at another principal's cost.
        """
        share = self._shares[live.principal]
        if share.exceeded:
            live.log.make_room()
            for other in self._of_principal[live.principal].values():
                other.log.make_room()
            if limit := share.exceeded:
                raise EventsFull(limit=limit)

    def enter(self, principal: Principal, calls: int) -> None:
        """Reserve places for calls. Raises TooManyCalls."""
        if not calls:
            return
        held = self._in_flight.get(principal, 0)
        if held + calls > self._limits.calls_in_flight_max:
            raise TooManyCalls(limit=self._limits.calls_in_flight_max)
        self._in_flight[principal] = held + calls

    def leave(self, principal: Principal) -> None:
        """Give one place back."""
        left = self._in_flight[principal] - 1
        if left:
            self._in_flight[principal] = left
        else:
            del self._in_flight[principal]

    def run(self, live: Live, call: Call, work: Coroutine[Any, Any, None]) -> None:
        """Run a call as a task of its session. `enter` reserved its place; it is given back when the task ends."""
        task = asyncio.get_running_loop().create_task(work)
        call.task = task
        live.calls.append(call)
        self.tasks.add(task)

        def done(finished: asyncio.Task[None]) -> None:
            self.tasks.discard(finished)
            live.calls.remove(call)
            live.touch()
            live.touch()
            self.leave(live.principal)

        task.add_done_callback(done)

    def tell(self, payload: bytes) -> None:
        """Send a notification to every client that listens for what belongs to no request."""
        for live in self._table.values():
            if live.connection.initialized:
                live.tell(payload)

    def sweep(self, now_ms: Millis) -> None:
        """End what is idle for too long, never initialised, or past its binding's deadline; drop old responses."""
        moment = asyncio.get_running_loop().time()
        for live in list(self._table.values()):
            kept_ms = self._limits.idle_ms if live.connection.initialized else self._limits.uninitialized_ms
            expired = live.deadline_ms is not None and now_ms >= live.deadline_ms
            if expired or (live.idle and now_ms - live.used_at_ms >= kept_ms):
                self.close(live)
            else:
                live.log.expire(now_ms)
                for reader in list(live.followers.values()):
                    reader.cut_if_stuck(moment)

    def end(self, record: AuditRecord) -> None:
        """Close the sessions whose access an audit record ended."""
        if record.action in ENDING:
            for live in [each for each in self._table.values() if ends(record, each.caller, each.connection.identity)]:
                self.close(live)

    def close_all(self) -> None:
        """Close every session: the server stops."""
        for live in list(self._table.values()):
            self.close(live)


def ends(record: AuditRecord, caller: Caller, identity: Identity | None) -> bool:
    """Whether a record ended the access of this caller, under this identity."""
    match record.action:
        case Action.ORGANIZATION_SUSPENDED:
            return caller.tenant_id == record.tenant_id
        case Action.USER_SUSPENDED:
            return caller.subject_id == record.target
        case Action.MEMBER_WITHDRAWN:
            return (caller.tenant_id, caller.subject_id) == (record.tenant_id, record.target)
        case Action.KEY_REVOKED:
            return caller.key_id == record.target
        case _:
            return identity is not None and identity.session_id == record.target


def _hash(transport_id: str) -> bytes:
    # The id is a bearer secret within its credential: the table holds no copy that could be compared byte by byte.
    return hashlib.blake2b(transport_id.encode("utf-8", "surrogateescape"), digest_size=16).digest()
