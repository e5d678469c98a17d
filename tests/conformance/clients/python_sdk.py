"""The official Python SDK's client. Its argument: how it finds the era, `legacy` or `auto`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import peer
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


@asynccontextmanager
async def connected(mode: str) -> AsyncIterator[Client]:
    """A client, connected."""
    if peer.COMMAND:
        parameters = StdioServerParameters(command=peer.COMMAND[0], args=peer.COMMAND[1:], env=dict(os.environ))
        async with Client(parameters, mode=mode, read_timeout_seconds=60) as client:
            yield client
    else:
        async with httpx2.AsyncClient(headers=peer.HEADERS, timeout=60) as http:
            transport = streamable_http_client(peer.URL, http_client=http)
            async with Client(transport, mode=mode, read_timeout_seconds=60) as client:
                yield client


def calling(client: Client) -> peer.Call:
    """How this client calls a tool."""

    async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        called = await client.call_tool(tool, arguments)
        assert not called.is_error, called
        return dict(called.structured_content or {})

    return call


async def main(mode: str) -> None:
    peer.register()
    async with connected(mode) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        remembered = await peer.remember(calling(client))
        first = await peer.recall(calling(client))
        version = client.protocol_version
    async with connected(mode) as client:
        second = await peer.recall(calling(client))
    peer.tell(**remembered, listed=listed, version=version, recalled=[first, second])


asyncio.run(main(sys.argv[1]))
