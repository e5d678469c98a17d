"""The wire: Gremlin over one WebSocket, many requests at once. The only file that knows how a server is spoken to.

gremlinpython's own driver runs an event loop inside a thread, or patches the process's; here it is aiohttp's socket on
our loop, and the package's message serializer (wire.py).
"""

import asyncio
import base64
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import aiohttp
import msgspec

from codesynapse.backends.hugegraph import wire
from codesynapse.backends.hugegraph.address import Address
from codesynapse.backends.hugegraph.faults import (
    FORGOTTEN,
    NO_GRAPH,
    NOT_GREMLIN,
    REFUSED,
    UNREACHABLE,
    Late,
    LoggedOut,
    Lost,
    ScriptRefused,
)
from codesynapse.contracts.deadlines import left
from codesynapse.contracts.errors import Invalid, StoreBusy, StoreFault

CONNECT_S = 4.0
"""A server that is down is told of within five seconds. One that took the connection may need longer to answer."""
HEARTBEAT_S = 10.0
"""A server that went without a word is noticed by its silence."""
IN_FLIGHT_MAX = 64
WAITING_MAX = 4_096
ANSWER_MAX = 256 << 20
REQUEST_SIZES = (4 << 20, 1 << 20, 256 << 10, 64 << 10)
"""The server says nowhere how long a request may be: the longest of these that it answers. 64 KiB is its default."""
LOG_INS = 4
"""How often a request is sent that the server refuses since it forgot who asks."""

SUCCESS, NO_CONTENT, PARTIAL = 200, 204, 206
UNAUTHORIZED, AUTHENTICATE, INVALID_ARGUMENTS, TIMEOUT = 401, 407, 499, 598


class _Request:
    """A request that waits for its answer."""

    __slots__ = ("done", "rows")

    def __init__(self) -> None:
        self.done: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self.rows: list[Any] = []

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class _Line:
    """One socket, and the requests that wait on it."""

    def __init__(self, http: aiohttp.ClientSession, socket: aiohttp.ClientWebSocketResponse, address: Address) -> None:
        self._http = http
        self._socket = socket
        self._credential = base64.b64encode(f"\0{address.user}\0{address.password}".encode()).decode()
        self._waiting: dict[str, _Request] = {}
        self._idle = asyncio.Event()
        self.forgotten = False
        self._listener = asyncio.create_task(self._listen())

    @property
    def alive(self) -> bool:
        return not self.forgotten and not self._listener.done() and not self._socket.closed

    async def ask(self, message: bytes, request_id: str) -> list[Any]:
        """The rows of an answer. Raises Lost, StoreFault, ScriptRefused, Late."""
        waiting = self._waiting[request_id] = _Request()
        self._idle.clear()
        try:
            await self._socket.send_bytes(message)
            return await waiting.done
        except (ConnectionError, aiohttp.ClientError) as error:
            raise Lost(field=UNREACHABLE) from error
        finally:
            del self._waiting[request_id]
            if not self._waiting:
                self._idle.set()
            if waiting.done.done() and not waiting.done.cancelled():
                waiting.done.exception()

    async def leave(self, within_s: float) -> None:
        """Close the socket once nothing waits for its answer any more."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._idle.wait()
        await self.close()

    async def close(self) -> None:
        """Close the socket; whatever waits fails."""
        self._listener.cancel()
        with suppress(asyncio.CancelledError):
            await self._listener
        with suppress(TimeoutError, ConnectionError, aiohttp.ClientError):
            async with asyncio.timeout(1):
                await self._socket.close()
        await self._http.close()

    async def _listen(self) -> None:
        try:
            async for frame in self._socket:
                if frame.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                    await self._take(wire.answer(frame.data))
        except (msgspec.MsgspecError, ConnectionError, aiohttp.ClientError):
            pass
        finally:
            for waiting in self._waiting.values():
                waiting.fail(Lost(field=UNREACHABLE))
            # The loop that is being closed has no time for a farewell.
            with suppress(asyncio.CancelledError, ConnectionError, aiohttp.ClientError):
                async with asyncio.timeout(0.2):
                    await self._socket.close()

    async def _take(self, answer: wire.Answer) -> None:
        request_id, code = answer.request_id, answer.status.code
        waiting = self._waiting.get(request_id or "")
        if code == AUTHENTICATE and request_id is not None:
            args = {"sasl": self._credential, "saslMechanism": "PLAIN"}
            await self._socket.send_bytes(wire.request(request_id, "authentication", args))
        elif waiting is None or waiting.done.done():
            return
        elif code in (SUCCESS, NO_CONTENT, PARTIAL):
            waiting.rows.extend(answer.result.data or ())
            if code != PARTIAL:
                waiting.done.set_result(waiting.rows)
        else:
            waiting.fail(self._fault(answer.status))

    def _fault(self, status: wire.Status) -> Exception:
        if status.code == UNAUTHORIZED:
            return StoreFault(field=REFUSED)
        if status.code == TIMEOUT:
            return Late()
        if (status.message or "").startswith(FORGOTTEN):
            self.forgotten = True
            return LoggedOut(status.code)
        return ScriptRefused(status.code)


class Connection:
    """A server, connected to when it is first needed and again whenever the line was lost."""

    def __init__(self, address: Address, *, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        self._address = address
        self._line: _Line | None = None
        self._left: set[asyncio.Task[None]] = set()
        self._connecting = asyncio.Lock()
        self._in_flight = asyncio.Semaphore(IN_FLIGHT_MAX)
        self._asked = 0
        self._aliases: Mapping[str, str] | None = None
        self.request_max = address.request_max

    async def run(self, script: str, bindings: Mapping[str, object], *, within_s: float | None = None) -> list[Any]:
        """The rows of a script's answer.

        Raises StoreBusy where too many wait or the time is over (Late: it was sent), Lost where the connection broke
        after sending, StoreFault where no server answers as it should, Invalid for a request that is too long.
        """
        if self._asked >= WAITING_MAX:
            raise StoreBusy(field="requests to the graph store", limit=WAITING_MAX)
        self._asked += 1
        seconds = left(self.deadline_s if within_s is None else within_s)
        try:
            async with asyncio.timeout(seconds) as timer, self._in_flight:
                for _ in range(LOG_INS - 1):
                    with suppress(LoggedOut):
                        return await self._ask(script, bindings, timer)
                return await self._ask(script, bindings, timer)
        except TimeoutError:
            raise Late from None
        finally:
            self._asked -= 1

    async def close(self) -> None:
        if self._line is not None:
            await self._line.close()
            self._line = None
        for leaving in self._left:
            leaving.cancel()
        await asyncio.gather(*self._left, return_exceptions=True)

    async def _ask(self, script: str, bindings: Mapping[str, object], timer: asyncio.Timeout) -> list[Any]:
        line = await self._connected()
        seconds = (timer.when() or 0) - asyncio.get_running_loop().time()
        request_id = str(uuid.uuid4())
        args = {
            "gremlin": script,
            "bindings": bindings,
            "language": "gremlin-groovy",
            "aliases": self._aliases,
            # The server gives up when we do, so that a script that waits for its lock does not write later.
            "evaluationTimeout": max(1, int(seconds * 1000)),
        }
        message = wire.request(request_id, "eval", args)
        if self.request_max is not None and len(message) > self.request_max:
            raise Invalid(
                field="size of the request to the graph store (raise its maxContentLength)",
                limit=self.request_max,
                details={"size": len(message)},
            )
        return await line.ask(message, request_id)

    async def _connected(self) -> _Line:
        if self._line is not None and self._line.alive:
            return self._line
        async with self._connecting:
            if self._line is None or not self._line.alive:
                self._leave()
                self._line = await self._introduced()
            return self._line

    def _leave(self) -> None:
        """Give up a line that is dead, or that knows us no longer: what waits on that one is still answered."""
        if self._line is not None:
            leaving = asyncio.create_task(self._line.leave(self.deadline_s))
            self._left.add(leaving)
            leaving.add_done_callback(self._left.discard)
            self._line = None

    async def _introduced(self) -> _Line:
        """A new line to a server that knows us and our graph."""
        line = await self._dial()
        try:
            self._aliases = await self._greeted(line)
            if self.request_max is None:
                self.request_max = await self._probed()
        except BaseException:
            await line.close()
            raise
        return line

    async def _dial(self) -> _Line:
        # One session a socket: a handshake on a connection that was used for HTTP is refused.
        http = aiohttp.ClientSession()
        try:
            async with asyncio.timeout(CONNECT_S):
                socket = await http.ws_connect(self._address.endpoint, max_msg_size=ANSWER_MAX, heartbeat=HEARTBEAT_S)
        except aiohttp.WSServerHandshakeError as error:
            await http.close()
            raise StoreFault(field=REFUSED if error.status == UNAUTHORIZED else NOT_GREMLIN) from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            await http.close()
            raise StoreFault(field=UNREACHABLE) from error
        except BaseException:
            await http.close()
            raise
        return _Line(http, socket, self._address)

    async def _greeted(self, line: _Line) -> Mapping[str, str]:
        """The aliases that this server knows: 1.7 puts a graph into a space, 1.5 does not."""
        for name in self._names():
            aliases = {"graph": name, "g": f"__g_{name}"}
            request_id = str(uuid.uuid4())
            args = {"gremlin": "1", "language": "gremlin-groovy", "aliases": aliases, "evaluationTimeout": 10_000}
            try:
                await line.ask(wire.request(request_id, "eval", args), request_id)
            except ScriptRefused as error:
                if error.status != INVALID_ARGUMENTS:
                    raise
            else:
                return aliases
        raise StoreFault(field=NO_GRAPH)

    def _names(self) -> Sequence[str]:
        return (f"DEFAULT-{self._address.graph}", self._address.graph)

    async def _probed(self) -> int:
        """The longest request that the server takes. It closes the connection on a longer one, so each has its own."""
        for size in REQUEST_SIZES:
            line = await self._dial()
            request_id = str(uuid.uuid4())
            args = {"gremlin": "1", "language": "gremlin-groovy", "bindings": {"filler": ""}, "aliases": self._aliases}
            filler = "x" * (size - len(wire.request(request_id, "eval", args)))
            try:
                await line.ask(wire.request(request_id, "eval", {**args, "bindings": {"filler": filler}}), request_id)
            except Lost:
                continue
            else:
                return size
            finally:
                await line.close()
        return REQUEST_SIZES[-1] // 2
