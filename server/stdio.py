"""The other shell: one process, one chat thread, over standard input and output.

Key and id come from the environment. They were checked before anything was read, and are again before every call.
"""

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from codesynapse.contracts.accounts import Authority
from codesynapse.contracts.errors import CodeSynapseError, TooManyCalls
from codesynapse.contracts.identity import Cancellation, Execution
from codesynapse.server.clock import Clock
from codesynapse.server.features.calls import Calls
from codesynapse.server.features.subscriptions import Subscriptions
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.connection import Cancel, Connection, Effect, Reply, Run, ServerInfo
from codesynapse.server.mcp.era import is_modern
from codesynapse.server.mcp.errors import refusal_bytes
from codesynapse.server.mcp.lines import LineSplitter, LineTooLong
from codesynapse.server.mcp.messages import (
    INVALID_REQUEST,
    Message,
    ProtocolError,
    Request,
    RequestId,
    error_bytes,
    is_batch,
    parse,
    parse_batch,
)
from codesynapse.server.modern.lines import ModernLines
from codesynapse.server.modern.service import Modern
from codesynapse.server.sessions.registry import Sessions, execution_of

T = TypeVar("T")
CHUNK = 64 * 1024
CHUNKS_AHEAD = 8
UNWRITTEN_MAX = 256
"""How many messages may wait to be written before nothing more is read."""


class StdioShell:
    """Serves one client on two file descriptors."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        calls: Calls,
        info: ServerInfo,
        limits: Limits,
        clock: Clock,
        toolsets: frozenset[str] | None,
        key: str,
        session_id: str,
        modern: Modern,
    ) -> None:
        self._sessions = sessions
        self._calls = calls
        self._limits = limits
        self._clock = clock
        self._toolsets = toolsets
        self._key = key
        self._session_id = session_id
        self._connection = Connection(calls.operations.catalog, info)
        self._subscriptions: Subscriptions | None = None
        self._running: dict[asyncio.Task[None], tuple[RequestId, Cancellation]] = {}
        self._stop = asyncio.Event()
        self._modern = ModernLines(modern, limits, clock, toolsets, self._authorized)

    def stop(self) -> None:
        """Read no more; finish what runs, then end."""
        self._stop.set()

    async def serve(self, read_fd: int, write_fd: int) -> None:
        """Serve until the input ends, the output breaks, or `stop`."""
        output = _Output(write_fd, self.stop)
        source = _Input(read_fd)
        splitter = LineSplitter(self._limits.body_max_bytes)
        self._subscriptions = subscriptions = self._calls.subscriptions(output.write)
        deafen = self._calls.listen(lambda payload: output.write(payload) if self._connection.initialized else None)
        try:
            while (chunk := await self._unless_stopped(source.read())) is not None:
                for line in splitter.feed(chunk):
                    if not output.has_room and not await self._unless_stopped(output.room()):
                        break
                    await self._line(line, output)
            self._modern.finish()
            if running := set(self._running) | self._modern.running:
                await asyncio.wait(running, timeout=self._limits.shutdown_ms / 1000)
        finally:
            deafen()
            subscriptions.close()
            self._modern.close()
            for task, (_, cancellation) in list(self._running.items()):
                cancellation.cancel()
                task.cancel()
            await output.close(self._limits.shutdown_ms / 1000)

    async def _unless_stopped(self, work: Coroutine[Any, Any, T | None]) -> T | None:
        """What some waiting brings; None after `stop`."""
        waiting = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if waiting.done():
            return waiting.result()
        waiting.cancel()
        return None

    async def _line(self, line: bytes | LineTooLong, output: "_Output") -> None:
        if isinstance(line, LineTooLong):
            text = f"A message is too long. Limit: {self._limits.body_max_bytes} bytes."
            output.write(error_bytes(RequestId(b"null"), INVALID_REQUEST, text))
            return
        items, together = self._messages(line)
        answers = _Answers(output, together=together)
        for item in items:
            try:
                if isinstance(item, ProtocolError):
                    raise item
                # Both eras for the whole life of the process, by each request's own words (mcp.md, §5 #28).
                if isinstance(item, Request) and not together and is_modern(item, None):
                    await self._answer_modern(item, answers)
                else:
                    await self._carry_out(self._connection.receive(item, self._toolsets), answers)
            except ProtocolError as error:
                answers.add(error_bytes(error.request_id, error.code, error.text, error.data))
        answers.end()

    def _messages(self, line: bytes) -> tuple[Sequence[Message | ProtocolError], bool]:
        """The messages of a line, and whether they are a batch."""
        deepest = self._limits.json_depth_max
        try:
            if is_batch(line) and self._connection.version == "2025-03-26":
                return parse_batch(line, deepest=deepest, most=self._limits.batch_max), True
            return [parse(line, deepest=deepest)], False
        except ProtocolError as error:
            return [error], False

    async def _carry_out(self, effect: Effect, answers: "_Answers") -> None:
        match effect:
            case Reply():
                answers.add(effect.payload)
            case Run():
                await self._start(effect, answers)
            case Cancel():
                self._cancel(effect.request_id)
            case _:
                pass

    async def _answer_modern(self, request: Request, answers: "_Answers") -> None:
        asked = self._modern.checked(request)
        if self._modern.static(asked):
            await self._modern.answer(asked, None, answers.add)
        elif (execution := await self._execution(request.id, answers)) is not None:
            work = self._modern.answer(asked, execution, answers.output.write)
            self._run(request.id, execution.cancellation, work, answers)

    async def _start(self, run: Run, answers: "_Answers") -> None:
        """Check key and session again, then run the call beside the reading."""
        execution = await self._execution(run.request_id, answers)
        if execution is not None:
            assert self._subscriptions is not None
            out = _Out(answers, self._subscriptions)
            work = self._calls.run(execution, run, self._connection, out, self._connection.version)
            self._run(run.request_id, execution.cancellation, work, answers)

    async def _execution(self, request_id: RequestId, answers: "_Answers") -> Execution | None:
        """The execution of one more call; None where it was refused and is answered."""
        try:
            if len(self._running) >= self._limits.calls_in_flight_max:
                raise TooManyCalls(limit=self._limits.calls_in_flight_max)
            authority = await self._authorized()
        except CodeSynapseError as error:
            answers.add(refusal_bytes(error, request_id))
            return None
        assert authority.binding is not None
        return execution_of(authority, authority.binding.identity, Cancellation())

    def _run(
        self,
        request_id: RequestId,
        cancellation: Cancellation,
        work: Coroutine[Any, Any, None],
        answers: "_Answers",
    ) -> None:
        task = asyncio.create_task(work)
        self._running[task] = (request_id, cancellation)
        answers.begin()

        def done(finished: asyncio.Task[None]) -> None:
            self._running.pop(finished, None)
            answers.end()

        task.add_done_callback(done)

    async def _authorized(self) -> Authority:
        """What the process's key and session are worth now. Raises what the registry says against them."""
        authority = await self._sessions.authorize(self._key, self._session_id)
        if authority.refusal is not None:
            raise authority.refusal
        return authority

    async def open(self) -> None:
        """Bind to the session that the environment names. Raises what the registry says against it."""
        authority = await self._authorized()
        assert authority.binding is not None
        self._connection.bind(authority.binding.identity)

    def _cancel(self, request_id: RequestId) -> None:
        for task, (running, cancellation) in reversed(list(self._running.items())):
            if running == request_id:
                cancellation.cancel()
                task.cancel()
                return


class _Answers:
    """Where the answers to one line go: each out at once, or, to a batch, all as one array when the last is there."""

    def __init__(self, output: "_Output", *, together: bool) -> None:
        self.output = output
        self._together = together
        self._open = 1
        self._waiting: list[bytes] = []

    def add(self, payload: bytes) -> None:
        """One answer."""
        if self._together:
            self._waiting.append(payload)
        else:
            self.output.write(payload)

    def begin(self) -> None:
        """A call has begun, whose answer is to come."""
        self._open += 1

    def end(self) -> None:
        """A call is over, with or without an answer, or the line was read."""
        self._open -= 1
        if not self._open and self._waiting:
            self.output.write(b"[" + b",".join(self._waiting) + b"]")


class _Out:
    """A call's messages go straight to standard output, its answer with those to the same line."""

    asks = True
    shared = False

    def __init__(self, answers: _Answers, subscriptions: Subscriptions) -> None:
        self._answers = answers
        self.subscriptions = subscriptions

    def notify(self, payload: bytes) -> None:
        self._answers.output.write(payload)

    def answer(self, _: RequestId, payload: bytes) -> None:
        self._answers.add(payload)

    def silence(self, _: RequestId) -> None:
        pass

    def close_stream(self) -> None:
        pass  # There is one stream, and it stays.


class _Input:
    """Bytes of a descriptor, read by a thread of their own: a pipe, a file and a terminal all block alike.

    The thread is a daemon, since nothing can wake it from a read when the process is told to end.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._ahead = threading.Semaphore(CHUNKS_AHEAD)
        threading.Thread(target=self._read_all, name="stdin", daemon=True).start()

    async def read(self) -> bytes | None:
        """The next bytes, None at the end."""
        chunk = await self._chunks.get()
        self._ahead.release()
        return chunk or None

    def _read_all(self) -> None:
        while True:
            self._ahead.acquire()
            try:
                chunk = os.read(self._fd, CHUNK)
            except OSError:
                chunk = b""
            try:
                self._loop.call_soon_threadsafe(self._chunks.put_nowait, chunk)
            except RuntimeError:
                return  # The loop is gone: the process is ending.
            if not chunk:
                return


class _Output:
    """Lines to a descriptor, in order, written by a thread, so that a slow reader never holds up the loop.

    The thread is a daemon as well: a client that reads no more must not keep the process from its end.
    """

    def __init__(self, fd: int, broken: Callable[[], None]) -> None:
        self._fd = fd
        self._broken = broken
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unwritten = 0
        self._room = asyncio.Event()
        self._room.set()
        self._ended = asyncio.Event()
        threading.Thread(target=self._write_all, name="stdout", daemon=True).start()

    def write(self, payload: bytes) -> None:
        """Send one message; after the client has gone, nothing is kept for it."""
        if self._ended.is_set():
            return
        self._lines.put(payload + b"\n")
        self._unwritten += 1
        if self._unwritten >= UNWRITTEN_MAX:
            self._room.clear()

    @property
    def has_room(self) -> bool:
        return self._room.is_set()

    async def room(self) -> bool:
        """Wait until the client has read some of what it was sent."""
        return await self._room.wait()

    async def close(self, timeout_s: float) -> None:
        """Write what is left, as far as the client reads it in time."""
        self._lines.put(None)
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._ended.wait()

    def _write_all(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                _write(self._fd, line)
                self._loop.call_soon_threadsafe(self._written)
            self._loop.call_soon_threadsafe(self._end)
        except OSError:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._break)
        except RuntimeError:
            pass  # The loop is gone: the process is ending.

    def _written(self) -> None:
        self._unwritten -= 1
        if self._unwritten < UNWRITTEN_MAX // 2:
            self._room.set()

    def _end(self) -> None:
        self._ended.set()
        self._room.set()

    def _break(self) -> None:
        self._end()
        self._broken()


def _write(fd: int, line: bytes) -> None:
    view = memoryview(line)
    while view:
        view = view[os.write(fd, view) :]
