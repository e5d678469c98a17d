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

MODE = sys.argv[1]
listed: list[str] = []
versions: list[str] = []


@asynccontextmanager
async def connected() -> AsyncIterator[Client]:
    """A client, connected."""
    if peer.COMMAND:
        parameters = StdioServerParameters(command=peer.COMMAND[0], args=peer.COMMAND[1:], env=dict(os.environ))
        async with Client(parameters, mode=MODE, read_timeout_seconds=60) as client:
            yield client
    else:
        async with httpx2.AsyncClient(headers=peer.HEADERS, timeout=60) as http:
            transport = streamable_http_client(peer.URL, http_client=http)
            async with Client(transport, mode=MODE, read_timeout_seconds=60) as client:
                yield client


@asynccontextmanager
async def connecting() -> AsyncIterator[peer.Call]:
    """A connection, and how a tool is called on it."""
    async with connected() as client:
        listed[:] = [tool.name for tool in (await client.list_tools()).tools]
        versions[:] = [client.protocol_version]

        async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
            called = await client.call_tool(tool, arguments)
            assert not called.is_error, called
            return dict(called.structured_content or {})

        yield call


asyncio.run(peer.run(connecting, listed, lambda: versions[0]))
