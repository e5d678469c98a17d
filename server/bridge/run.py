"""One run of the launcher: from the first line of the client to the last answer."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, TextIO

import aiohttp

from codesynapse.server.bridge.exchange import CLOSE_S, Call, Server
from codesynapse.server.bridge.lines import Message, error_line, id_of, parse
from codesynapse.server.bridge.options import BridgeOptions, Misconfigured, check
from codesynapse.server.bridge.pipes import Output, read_lines
from codesynapse.server.bridge.refusal import INTERNAL_ERROR, INVALID_REQUEST, Refusal, refusal

CALLS_MAX = 1_024
LOG_LINES_MAX = 200
CONNECT_S = 5.0
FLUSH_S = 0.3

# What later messages wait for: the transport session that it opens.
IN_ORDER = frozenset({"initialize", "notifications/initialized"})

EXIT_OK = 0
EXIT_MISCONFIGURED = 2


async def run_bridge(options: BridgeOptions, stdin: BinaryIO, stdout: BinaryIO, stderr: TextIO) -> int:
    """Forward what the client says until it closes stdin, or SIGTERM, or nobody reads stdout. Answers the exit status.

    Nothing but MCP goes to stdout. stderr gets a few lines without any id, key or address.
    """
    log = _log(stderr)
    try:
        session_id = check(options)
    except Misconfigured as fault:
        log(str(fault))
        return EXIT_MISCONFIGURED
    stop = asyncio.Event()
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=options.silence_s)
    connector = aiohttp.TCPConnector(limit=0)
    with _ended_by_signals(stop):
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as http:
            output = Output(stdout.fileno(), stop.set)
            bridge = Bridge(Server(options, session_id, http, log), output, log)
            reading = asyncio.create_task(bridge.read(stdin.fileno(), options.line_max_bytes))
            stopping = asyncio.create_task(stop.wait())
            await asyncio.wait([reading, stopping], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            await _cancelled([reading])
            await bridge.finish(options.finish_s)
            await output.close(FLUSH_S)
    return EXIT_OK


class Bridge:
    """Takes lines, gives each its task, and answers for the tasks that cannot."""

    def __init__(self, server: Server, output: Output, log: Callable[[str], None]) -> None:
        self._server = server
        self._output = output
        self._log = log
        self._running: dict[Call, asyncio.Task[None]] = {}
        self._gate: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None

    async def read(self, descriptor: int, line_max_bytes: int) -> None:
        """Take every line until there is no other."""
        async for line in read_lines(descriptor, line_max_bytes):
            await self.take(line)

    async def take(self, line: bytes) -> None:
        """Start what a line asks for; what is no message is answered at once."""
        try:
            message = parse(line)
            if len(self._running) >= CALLS_MAX:
                text = f"Too many requests are in flight. Limit: {CALLS_MAX}."
                raise refusal("too_many_calls", text, code=INVALID_REQUEST, limit=CALLS_MAX)
        except Refusal as refused:
            await self._output.write(error_line(id_of(line), refused))
            return
        call = Call(message, self._output.write)
        task = asyncio.create_task(self._serve(call, self._gate))
        self._running[call] = task
        task.add_done_callback(lambda _: self._running.pop(call))
        if message.method in IN_ORDER:
            self._gate = task

    async def finish(self, wait_s: float) -> None:
        """Wait for what is in flight, answer for the rest, and leave the server, with the time that is left."""
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + wait_s + CLOSE_S
        if self._running:
            await asyncio.wait(self._running.values(), timeout=wait_s)
        await _cancelled(list(self._running.values()))
        if self._listening is not None:
            await _cancelled([self._listening])
        await self._server.close(max(CLOSE_S, ends_s - loop.time()))

    async def _serve(self, call: Call, gate: asyncio.Task[None] | None) -> None:
        try:
            if gate is not None:
                await asyncio.wait([gate])
            if call.message.method == "notifications/cancelled":
                await self._cancel(call)
            else:
                await self._server.deliver(call)
            if call.message.method == "notifications/initialized":
                self._begin(call.message)
        except Refusal as refused:
            await self._answer_for(call, refused)
        except asyncio.CancelledError:
            await self._answer_for(call, refusal("stopping", "The launcher stopped before the answer came."))
            raise
        except Exception as error:  # the end of a task: whatever broke, its caller must not wait for ever
            self._log(f"a fault of the launcher: {type(error).__name__}")
            await self._answer_for(call, refusal("fault", "The launcher failed.", code=INTERNAL_ERROR))
        finally:
            call.taken.set()

    def _begin(self, message: Message) -> None:
        """The client is ready: listen for what the server says by itself."""
        self._server.initialized = message
        if self._listening is not None:
            self._listening.cancel()
        self._listening = asyncio.create_task(self._server.listen(self._output.write))

    async def _cancel(self, call: Call) -> None:
        """Withdraw a request. The server is told as soon as it has the request; of one that it never got, it is not."""
        request = call.message.cancels
        running = (each for each in reversed(self._running) if request in each.waiting)
        target = next(running, None)
        if target is not None:
            target.waiting.pop(request)
            if target.message.modern:
                # Without a session, to close the stream is to cancel (mcp.md, N5).
                self._running[target].cancel()
                return
            await target.taken.wait()
            if not target.begun:
                return
        await self._server.deliver(call)

    async def _answer_for(self, call: Call, refused: Refusal) -> None:
        for request_id in call.waiting.values():
            await self._output.write(error_line(request_id, refused))
        if not call.message.ids:
            self._log("a message without an answer could not be delivered")
        call.waiting.clear()


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _log(stderr: TextIO) -> Callable[[str], None]:
    # A client may never read our stderr: a full pipe would stop the loop, so there is an end to what is said.
    lines = iter(range(LOG_LINES_MAX))

    def log(text: str) -> None:
        if next(lines, None) is not None:
            with suppress(OSError, ValueError):
                print(f"codesynapse bridge: {text}", file=stderr, flush=True)

    return log


@contextmanager
def _ended_by_signals(stop: asyncio.Event) -> Iterator[None]:
    loop, caught = asyncio.get_running_loop(), []
    for number in (signal.SIGTERM, signal.SIGINT):
        # Not every platform has them on the loop, and only the main thread may ask for them.
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stop.set)
            caught.append(number)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
