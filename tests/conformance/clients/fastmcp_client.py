"""fastmcp's client, as it is configured by default."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import peer
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

listed: list[str] = []
versions: list[str] = []


def made() -> Client[Any]:
    """A client, not connected yet."""
    if peer.COMMAND:
        transport = StdioTransport(peer.COMMAND[0], peer.COMMAND[1:], env=dict(os.environ), keep_alive=False)
        return Client(transport, timeout=60)
    return Client(StreamableHttpTransport(peer.URL, headers=peer.HEADERS), timeout=60)


@asynccontextmanager
async def connecting() -> AsyncIterator[peer.Call]:
    """A connection, and how a tool is called on it; it raises by itself where the result is an error."""
    async with made() as client:
        listed[:] = [tool.name for tool in await client.list_tools()]
        versions[:] = [client.session.protocol_version]

        async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            return dict((await client.call_tool(tool, arguments)).structured_content or {})

        yield call


asyncio.run(peer.run(connecting, listed, lambda: versions[0]))
