"""fastmcp's client, as it is configured by default."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import peer
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


def made() -> Client[Any]:
    """A client, not connected yet."""
    if peer.COMMAND:
        return Client(
            StdioTransport(peer.COMMAND[0], peer.COMMAND[1:], env=dict(os.environ), keep_alive=False), timeout=60
        )
    return Client(StreamableHttpTransport(peer.URL, headers=peer.HEADERS), timeout=60)


def calling(client: Client[Any]) -> peer.Call:
    """How this client calls a tool; it raises by itself where the result is an error."""

    async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return dict((await client.call_tool(tool, arguments)).structured_content or {})

    return call


async def main() -> None:
    peer.register()
    async with made() as client:
        listed = [tool.name for tool in await client.list_tools()]
        remembered = await peer.remember(calling(client))
        first = await peer.recall(calling(client))
        version = client.session.protocol_version
    async with made() as client:
        second = await peer.recall(calling(client))
    peer.tell(**remembered, listed=listed, version=version, recalled=[first, second])


asyncio.run(main())
