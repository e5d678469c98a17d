"""Work that is done again and again beside the requests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from codesynapse.server.telemetry import fault


async def every(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Do some work again and again; what fails once is tried again the next time."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await work()
        except Exception as error:  # The edge of a task: without the loop, no ended access would close its streams.
            fault("loop_failed", error)


@asynccontextmanager
async def repeating(seconds: float, work: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Do some work again and again as long as the block lasts."""
    task = asyncio.create_task(every(seconds, work))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
