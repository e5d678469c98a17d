"""Two servers of this process over the very same stores, for what they share and what each knows alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp

from codesynapse.server.app import Server, listening
from codesynapse.server.clock import ManualClock
from codesynapse.server.services import compose, open_ports
from codesynapse.server.settings import load
from tests.integration.harness import START_MS, Product


@asynccontextmanager
async def two_servers(
    *, store: str = "memory", home: Path | None = None, **overrides: object
) -> AsyncIterator[tuple[Product, Product]]:
    """Two servers in this process over the very same stores, each with its own memory of what runs."""
    environment = {"CODESYNAPSE_HOME": str(home or "unused"), "CODESYNAPSE_PORT": "0", "CODESYNAPSE_LOG_LEVEL": "error"}
    settings = await asyncio.to_thread(load, environment, {"graph": store, "accounts": store, **overrides})
    clock = ManualClock(START_MS)
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        open_ports(settings) as ports,
        aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=60)) as http,
        AsyncExitStack() as stack,
    ):
        servers = [Server(compose(settings, ports, clock=clock)) for _ in range(2)]
        urls = [await stack.enter_async_context(listening(each)) for each in servers]
        one, two = (
            Product(server=server, url=url, http=http, clock=clock) for server, url in zip(servers, urls, strict=True)
        )
        yield one, two
