"""A proxy before a server that cuts the connection after a commit was sent and before its answer comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Proxy:
    """url: the server's, with the proxy's port. cuts: how often it has cut."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._port = 0
        self._armed = False
        self.cuts = 0

    @property
    def url(self) -> str:
        return self._url.replace(f":{urlsplit(self._url).port}", f":{self._port}", 1)

    def listen_on(self, port: int) -> None:
        """The port that the proxy has."""
        self._port = port

    def arm(self) -> None:
        """The next commit is sent on; its answer cuts the connection instead of being passed."""
        self._armed = True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, onward = await asyncio.open_connection("127.0.0.1", urlsplit(self._url).port)
        async with asyncio.TaskGroup() as both:
            both.create_task(self._pass(reader, onward, writer, answers=False))
            both.create_task(self._pass(there, writer, onward, answers=True))
        for each in (writer, onward):
            with suppress(ConnectionError):
                await each.wait_closed()

    async def _pass(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, back: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        """Pass on what comes, until one side ends or is cut; then both are closed."""
        with suppress(ConnectionError):
            while data := await source.read(1 << 20):
                # The answer of a commit is short and says that it is done.
                if answers and self._armed and b'"done"' in data:
                    self._armed, self.cuts = False, self.cuts + 1
                    break
                sink.write(data)
                await sink.drain()
        sink.close()
        back.close()


@asynccontextmanager
async def cutting(url: str) -> AsyncIterator[Proxy]:
    """A proxy before the server of a URL; its connections end with it."""
    served: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        served.add(task)
        await proxy.serve(reader, writer)

    proxy = Proxy(url)
    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    proxy.listen_on(listener.sockets[0].getsockname()[1])
    try:
        yield proxy
    finally:
        listener.close()
        await asyncio.gather(*served)
