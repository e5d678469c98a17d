"""The peer's side of the benchmark of agent memory: cpersona as it is shipped, with embeddings off.

Runs in an environment of its own. A call goes through the handler that its transports call: validation by the official
SDK, its own guards, the tool. It asks no index for updates meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.agents_child import driven


class Peer:
    """Calls as its transports make them."""

    def __init__(self) -> None:
        # Imported once its settings are in the environment.
        from cpersona import server
        from mcp import types

        self._types = types
        self._handler = server.registry.server.request_handlers[types.CallToolRequest]

    def request(self, tool: str, arguments: dict[str, object]) -> Any:
        params = self._types.CallToolRequestParams(name=tool, arguments=arguments)
        return self._types.CallToolRequest(params=params)

    async def call(self, request: Any) -> Any:
        return await self._handler(request)

    def text(self, answer: Any) -> str:
        return "".join(block.text for block in answer.root.content if block.type == "text")


async def serve() -> None:
    """Open its database and its queue as its own start does, and do what is asked."""
    from cpersona import server, tasks
    from cpersona.database import close_db, init_db

    await init_db()
    try:
        if server.TASK_QUEUE_ENABLED:
            tasks._task_queue = tasks.MemoryTaskQueue()
            await tasks._task_queue.start()
        await driven(Peer())
    finally:
        if tasks._task_queue:
            await tasks._task_queue.stop()
        await close_db()


def main() -> None:
    """Serve until standard input ends."""
    with tempfile.TemporaryDirectory(prefix="cpersona-bench-") as home:
        # Read once, when it is imported.
        os.environ["CPERSONA_DB_PATH"] = str(Path(home, "cpersona.db"))
        os.environ["CPERSONA_EMBEDDING_MODE"] = "none"
        os.environ["CPERSONA_UPDATE_CHECK"] = "false"
        asyncio.run(serve())


if __name__ == "__main__":
    main()
