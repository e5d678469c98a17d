"""The shell over HTTP: the only asyncio and aiohttp at this edge."""
