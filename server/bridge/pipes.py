"""Standard input and output without blocking the loop: one thread reads, one writes.

Threads, because a pipe, a file and a terminal differ in what an event loop can do with them, and because setting a
descriptor to non-blocking would change it for whoever else holds it. Both are daemons: a read that never returns must
not keep the process alive after SIGTERM.
"""

import asyncio
import os
import queue
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial

from codesynapse.server.bridge.lines import LineSplitter

READ_BYTES = 65_536
CHUNKS_WAITING_MAX = 16
LINES_WAITING_MAX = 64


async def read_lines(descriptor: int, max_bytes: int) -> AsyncIterator[bytes]:
    """The lines of a descriptor until its end; an unfinished last line counts."""
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes] = asyncio.Queue()
    room = threading.Semaphore(CHUNKS_WAITING_MAX)

    def read() -> None:
        chunk = b"-"
        while chunk:
            room.acquire()
            try:
                chunk = os.read(descriptor, READ_BYTES)
            except OSError:
                chunk = b""
            if not _tell(loop, partial(chunks.put_nowait, chunk)):
                return

    threading.Thread(target=read, name="stdin", daemon=True).start()
    splitter = LineSplitter(max_bytes)
    while chunk := await chunks.get():
        room.release()
        for line in splitter.feed(chunk):
            yield line
    for line in splitter.end():
        yield line


class Output:
    """Whole lines out. `broken` is called when nobody reads any more."""

    def __init__(self, descriptor: int, broken: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._broken = broken
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._room = asyncio.Semaphore(LINES_WAITING_MAX)
        self._done = asyncio.Event()
        threading.Thread(target=self._write_all, name="stdout", daemon=True).start()

    async def write(self, line: bytes) -> None:
        """Queue a line; waits while the client leaves too many unread. After a break it is dropped."""
        await self._room.acquire()
        self._lines.put(line + b"\n")

    async def close(self, wait_s: float) -> None:
        """Write out what is queued, for as long as the client takes it and at most this long."""
        self._lines.put(None)
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._done.wait()

    def _write_all(self) -> None:
        open_ = True
        while (line := self._lines.get()) is not None:
            if open_ and not self._write(line):
                open_ = False
                _tell(self._loop, self._broken)
            if not _tell(self._loop, self._room.release):
                return
        _tell(self._loop, self._done.set)

    def _write(self, line: bytes) -> bool:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            return False
        return True


def _tell(loop: asyncio.AbstractEventLoop, what: Callable[[], object]) -> bool:
    """Call something on the loop; whether there still is a loop."""
    try:
        loop.call_soon_threadsafe(what)
    except RuntimeError:
        return False
    return True
