"""Waiting for a server that is away, and for work that another task does already."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from codesynapse.server.bridge.options import BridgeOptions
from codesynapse.server.bridge.refusal import Unsent

PAUSE_MAX_S = 2.0


class Shared:
    """Work that one does and everybody waits for who needs it meanwhile."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    async def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start it, or join it. Raises what it raises."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(work())
            # Whoever waits may have left; then nobody else asks for the exception.
            self._task.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._task)

    def stop(self) -> None:
        """End it where it runs."""
        if self._task is not None:
            self._task.cancel()


class Patience:
    """How long to go on with a server that is away, in pauses that grow."""

    def __init__(self, options: BridgeOptions) -> None:
        self._loop = asyncio.get_running_loop()
        self._ends_s = self._loop.time() + options.unreachable_s
        self._pause_s = options.pause_s

    async def wait(self, later: Unsent) -> None:
        """Pause. Raises what the server's absence means, when its time is over."""
        if self._loop.time() + self._pause_s > self._ends_s:
            raise later.refusal
        await asyncio.sleep(max(self._pause_s, later.after_s))
        self._pause_s = min(2 * self._pause_s, PAUSE_MAX_S)
