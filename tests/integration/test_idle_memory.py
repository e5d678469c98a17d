"""What a session costs that only listens, and that it gives all of it back: bytes are counted, never seconds."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from codesynapse.contracts.requirements import requirement
from tests.integration.harness import Process, Transport, fresh, process
from tests.integration.stateless import Stateless
from tests.integration.test_kill import register

FULL = os.environ.get("CODESYNAPSE_FULL") == "1"
STREAMS = 2_000 if FULL else 200
STREAM_KB_MAX = 25
SLACK_KB = 1_024
"""What the server may use besides, whatever the number of streams."""
HANG_S = 120
PLACES = 20
"""How many streams are opened or ended at a time, each over a connection."""
RAISED = {
    "CODESYNAPSE_TRANSPORTS_PER_PRINCIPAL_MAX": "5000",
    "CODESYNAPSE_SUBSCRIPTIONS_PER_PRINCIPAL_MAX": "5000",
    "CODESYNAPSE_LOG_LEVEL": "error",
}


def resident_kb(server: Process) -> int:
    """The memory that is the server's own."""
    status = Path(f"/proc/{server.child.pid}/status").read_text("ascii")
    return int(status.partition("RssAnon:")[2].split()[0])


def files(server: Process) -> int:
    """How many files and connections the server has open."""
    return len(os.listdir(f"/proc/{server.child.pid}/fd"))


async def closed(server: Process, http: aiohttp.ClientSession, most: int) -> None:
    """Ask the server for something until it has noticed that its streams are gone."""
    async with asyncio.timeout(HANG_S):
        while files(server) > most:
            async with http.get(server.base + "/healthz") as answer:
                assert answer.status == 200


@asynccontextmanager
async def listening(server: Process, http: aiohttp.ClientSession, session_id: str, era: str) -> AsyncIterator[None]:
    """So many streams that are open and say nothing; of the session revisions each in a session of its own."""
    headers = server.owner.bound(session_id)
    held: list[tuple[aiohttp.ClientResponse, Transport | None]] = []

    async def one() -> None:
        transport = None
        if era == "modern":
            peer = Stateless(http=http, url=server.url, headers=headers)
            answer = await peer.post(
                peer.message("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            )
        else:
            transport = Transport(http=http, url=server.url, headers=headers)
            await transport.initialize()
            answer = await http.get(server.url, headers={**transport.all_headers(), "Accept": "text/event-stream"})
        assert (answer.status, answer.content_type) == (200, "text/event-stream")
        await answer.content.readany()
        held.append((answer, transport))

    async def some() -> None:
        for _ in range(STREAMS // PLACES):
            await one()

    async def end_some() -> None:
        while held:
            answer, transport = held.pop()
            answer.close()
            if transport is not None:
                async with http.delete(server.url, headers=transport.all_headers()) as ended:
                    assert ended.status == 204

    # A few tasks that work, not one for each stream: the watched loop writes down where each was made.
    await asyncio.gather(*(some() for _ in range(PLACES)))
    assert len(held) == STREAMS
    try:
        yield
    finally:
        await asyncio.gather(*(end_some() for _ in range(PLACES)))


@requirement("good:idle-session")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_an_idle_stream_costs_at_most_25_kb_and_gives_them_back(tmp_path: Path, era: str) -> None:
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None, sock_read=HANG_S)
    async with (
        process(tmp_path, **RAISED) as server,
        aiohttp.ClientSession(connector=connector, timeout=timeout) as http,
    ):
        session_id = await register(server, http, fresh())
        warm = Transport(http=http, url=server.url, headers=server.owner.bound(session_id))
        await warm.initialize()
        await warm.recall("anything")
        before_kb, connections = resident_kb(server), files(server) + PLACES
        async with listening(server, http, session_id, era):
            held_kb = resident_kb(server)
        assert held_kb - before_kb <= STREAM_KB_MAX * STREAMS + SLACK_KB
        await closed(server, http, connections)
        # Python keeps freed memory for itself. Given back is what the same streams can use again.
        async with listening(server, http, session_id, era):
            again_kb = resident_kb(server)
        assert again_kb - held_kb <= STREAM_KB_MAX * STREAMS // 4 + SLACK_KB
        assert await warm.recall("anything")
