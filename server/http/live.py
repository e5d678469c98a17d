"""Protocol sessions that are alive: their connection, their running calls, their followers, and the table of all.

This is in-process state, one of the two places that may hold any. A call is a task of its session and not of the
request that brought it, so that it survives a cut; its answer goes into the session's `EventLog`.
"""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Coroutine
from typing import Any, Protocol

from codesynapse.contracts.accounts import ENDING, AuditRecord, Caller
from codesynapse.contracts.errors import EventsFull, ServerFull, TooManyCalls, TooManyTransports, TransportUnknown
from codesynapse.contracts.identity import Cancellation, Identity, Millis
from codesynapse.contracts.transports import ends as ends_transport
from codesynapse.contracts.transports import transport_key
from codesynapse.server.clock import Clock
from codesynapse.server.features.subscriptions import Subscriptions
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.connection import Connection
from codesynapse.server.mcp.messages import RequestId
from codesynapse.server.mcp.naming import Names
from codesynapse.server.mcp.seal import Seal
from codesynapse.server.mcp.stream import Budget, EventLog, Stream

Principal = tuple[str, str]
SHARES = 4
"""One principal may keep one of so many parts of all events, so that none can use up everybody's."""


UNTOLD_MAX = 64
"""How many different notifications wait for a client that does not listen yet."""


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
    """One protocol session. It belongs to the credential that opened it.

    key: what its id is known by. kept: its state as it was last written to the accounts, for `keeping`.
    """

    def __init__(self, transport_id: str, caller: Caller, connection: Connection, log: EventLog, clock: Clock) -> None:
        self.id = transport_id
        self.key = transport_key(transport_id)
        self.kept: object = None
        self.caller = caller
        self.connection = connection
        self.log = log
        self.calls: list[Call] = []
        self.followers: dict[bytes, Reader] = {}
        self.standalone: Stream | None = None
        self.untold: OrderedDict[bytes, None] = OrderedDict()
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
        attached = self.followers.get(stream.number)
        self.followers[stream.number] = reader
        stream.followed = True
        if attached is not None:
            attached.stop()

    def unfollow(self, stream: Stream, reader: Reader) -> None:
        """Detach a reader, if it is still this one."""
        if self.followers.get(stream.number) is reader:
            del self.followers[stream.number]
            stream.followed = False
            self.touch()

    def cut(self, stream: Stream) -> None:
        """Detach whoever follows a stream."""
        attached = self.followers.pop(stream.number, None)
        if attached is not None:
            stream.followed = False
            self.touch()
            attached.stop()

    def tell(self, payload: bytes) -> None:
        """Send a notification that belongs to no request; before the client listens for such, each is kept once."""
        if self.standalone is not None:
            self.log.append(self.standalone, payload, answers=None, now_ms=self._clock())
            return
        self.untold[payload] = None
        if len(self.untold) > UNTOLD_MAX:
            self.untold.popitem(last=False)

    def listen(self) -> Stream:
        """A fresh stream for what belongs to no request; the one before it is over, and its reader is cut."""
        if self.standalone is not None:
            self.log.end(self.standalone, self._clock())
            self.cut(self.standalone)
            self.log.forget(self.standalone)
        self.standalone = self.log.open(())
        while self.untold:
            self.tell(self.untold.popitem(last=False)[0])
        return self.standalone

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
    """All protocol sessions of this process, and what each principal uses.

    endings: counts what ended access, so that who waited for a store sees whether something did meanwhile.
    displaced: keys of sessions that had to go for others of their principal, for `keeping` to forget them as well.
    """

    def __init__(self, limits: Limits, clock: Clock, seal: Seal | None = None) -> None:
        """seal: of event ids; without, such as end with this process."""
        self._limits = limits
        self._clock = clock
        self._seal = Seal(secrets.token_bytes(32)) if seal is None else seal
        self.endings = 0
        self.displaced: list[str] = []
        self._table: dict[str, Live] = {}
        self._of_principal: dict[Principal, OrderedDict[str, Live]] = {}
        self._in_flight: dict[Principal, int] = {}
        self._shares: dict[Principal, Budget] = {}
        self.budget = Budget(limits.events_bytes_max)
        self.tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._table)

    def find(self, transport_id: str, caller: Caller) -> Live:
        """The session of this id and this very credential. Raises TransportUnknown for any other."""
        live = self._table.get(transport_key(transport_id))
        if live is None or live.caller != caller:
            raise TransportUnknown
        self._of_principal[live.principal].move_to_end(live.key)
        return live

    def open(self, caller: Caller, connection: Connection) -> Live:
        """A new session. Raises TooManyTransports where all of the principal's are busy, ServerFull."""
        return self._enter(secrets.token_urlsafe(32), caller, connection, self.displaced)

    def revive(self, transport_id: str, caller: Caller, connection: Connection) -> Live:
        """A session of another process, or of this one before. Raises as `open`; the one that makes room is kept."""
        return self._enter(transport_id, caller, connection, [])

    def keys_of(self, caller: Caller) -> list[str]:
        """The keys of a principal's sessions here, least recently used first."""
        return list(self._of_principal.get((caller.tenant_id, caller.subject_id), ()))

    def uses(self, since_ms: Millis, now_ms: Millis) -> list[tuple[str, Millis]]:
        """Which sessions were used after a moment, and when last; those in use, now."""
        last = ((live.key, live.used_at_ms if live.idle else now_ms) for live in self._table.values())
        return [(key, used_at_ms) for key, used_at_ms in last if used_at_ms > since_ms]

    def drop(self, key: str) -> None:
        """End the session of a key, if it is here: it was closed elsewhere."""
        self.endings += 1
        if key in self._table:
            self.close(self._table[key])

    def _enter(self, transport_id: str, caller: Caller, connection: Connection, displaced: list[str]) -> Live:
        own = self._of_principal.get((caller.tenant_id, caller.subject_id), OrderedDict())
        if len(own) >= self._limits.transports_per_principal_max:
            idle = next((live for live in own.values() if live.idle), None)
            if idle is None:
                raise TooManyTransports(limit=self._limits.transports_per_principal_max)
            self.close(idle)
            displaced.append(idle.key)
        if len(self._table) >= self._limits.transports_max:
            raise ServerFull(limit=self._limits.transports_max)
        names = Names(self._seal, transport_key(transport_id).encode())
        log = EventLog(self._limits, self._share(caller), names)
        live = Live(transport_id, caller, connection, log, self._clock)
        self._table[live.key] = live
        self._of_principal.setdefault(live.principal, OrderedDict())[live.key] = live
        return live

    def close(self, live: Live) -> None:
        """End a session and forget it."""
        key = live.key
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
            self.endings += 1
            for live in [each for each in self._table.values() if ends(record, each.caller, each.connection.identity)]:
                self.close(live)

    def close_all(self) -> None:
        """Close every session: the server stops."""
        for live in list(self._table.values()):
            self.close(live)


def ends(record: AuditRecord, caller: Caller, identity: Identity | None) -> bool:
    """Whether a record ended the access of this caller, under this identity."""
    return ends_transport(record, caller, None if identity is None else identity.session_id)
