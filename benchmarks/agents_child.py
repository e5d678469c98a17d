"""How a measured server is driven: a line in with calls of one tool, a line out with what each of them took and said.

The standard library alone: the peer's own environment imports it too.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any, Protocol


class Server(Protocol):
    """What is measured. The call alone is: its request comes and its answer goes as over any transport."""

    def request(self, tool: str, arguments: dict[str, object]) -> Any:
        """A call as it arrives."""
        ...

    async def call(self, request: Any) -> Any:
        """The answer as it leaves."""
        ...

    def text(self, answer: Any) -> str:
        """What a model reads of it."""
        ...


async def driven(server: Server) -> None:
    """Do what the lines of standard input say, until they end."""
    print(json.dumps({"ready": True}), flush=True)
    # Beside the loop, so that what a server does by itself goes on meanwhile, as it does between a client's calls.
    while line := await asyncio.to_thread(sys.stdin.readline):
        asked = json.loads(line)
        took = [await timed(server, server.request(asked["tool"], each)) for each in asked["calls"]]
        print(json.dumps(took), flush=True)


async def timed(server: Server, request: Any) -> tuple[float, float, str]:
    """One call: seconds of this process's CPU, all its threads, seconds of wall time, and the text."""
    cpu_s, began = time.process_time(), time.perf_counter()
    answer = await server.call(request)
    took = time.process_time() - cpu_s, time.perf_counter() - began
    return *took, server.text(answer)
