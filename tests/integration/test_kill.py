"""kill -9 in the middle of writing, and many processes on one home: what was acknowledged is there, nothing is half."""

import asyncio
import random
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from codesynapse.contracts.requirements import requirement
from codesynapse.server.services import backend_of
from tests.integration.cutting import FULL, dice
from tests.integration.harness import Process, Transport, command, fresh, process, start
from tests.integration.load import Call, Writer, move_out, opened
from tests.integration.stdio_peer import StdioPeer, stdio_process

KILLS = 20 if FULL else 2
WRITERS = 8
REPOSITORY_WRITERS = 2


async def register(server: Process, http: aiohttp.ClientSession, session_id: str) -> str:
    body = {"session_id": session_id}
    url = server.base + "/api/v1/execution/sessions"
    async with http.post(url, json=body, headers=server.owner.headers) as answer:
        assert answer.status == 201, await answer.text()
    return session_id


def calling(transport: Transport) -> Call:
    """Tool calls over a transport."""

    async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return (await transport.call(tool, arguments))["structuredContent"]  # type: ignore[no-any-return]

    return call


async def writer_over_http(server: Process, http: aiohttp.ClientSession, scope: str) -> tuple[Writer, Call]:
    """A writer with a session and a transport of its own."""
    session_id = await register(server, http, fresh())
    transport = Transport(http=http, url=server.url, headers=server.owner.bound(session_id))
    await transport.initialize()
    return Writer(name=fresh("w"), tenant=server.tenant, session=session_id, scope=scope), calling(transport)


async def load_until_killed(server: Process, writers: list[tuple[Writer, Call]], acknowledgements: int) -> None:
    """Write from all sides; the process is killed at once after so many acknowledgements."""
    enough, count = asyncio.Event(), 0

    async def write(writer: Writer, call: Call) -> None:
        nonlocal count
        with suppress(aiohttp.ClientError, ConnectionError):
            while True:
                await writer.write(call)
                count += 1
                if count >= acknowledgements:
                    enough.set()

    tasks = [asyncio.create_task(write(*each)) for each in writers]
    await enough.wait()
    await server.kill()
    await asyncio.gather(*tasks)


async def one_kill(server: Process, chance: random.Random) -> list[Writer]:
    """A load that ends with the server's life."""
    async with aiohttp.ClientSession() as http:
        scopes = ["session"] * (WRITERS - REPOSITORY_WRITERS) + ["repository"] * REPOSITORY_WRITERS
        writers = [await writer_over_http(server, http, scope) for scope in scopes]
        await load_until_killed(server, writers, chance.randrange(WRITERS, 8 * WRITERS))
    return [writer for writer, _ in writers]


async def check(
    home: Path, writers: list[Writer], graph: str = "sqlite", *, everybody: bool = True
) -> tuple[int, int, int]:
    """All writes of these writers: how many were tried, acknowledged, and are there. everybody: nobody else wrote."""
    there, in_repository = 0, 0
    async with opened(home, graph) as ports:
        for writer in writers:
            whole = len(await writer.found(ports))
            assert whole <= len(writer.acknowledged) + 1  # One at a time: at most the last one is unknown.
            there += whole
            if writer.scope == "session":
                assert await writer.revision(ports) == whole
            else:
                in_repository += whole
        if everybody:
            shared = next(writer for writer in writers if writer.scope == "repository")
            assert await shared.revision(ports) == in_repository
    return sum(writer.tried for writer in writers), sum(len(writer.acknowledged) for writer in writers), there


async def found_again(server: Process, writer: Writer) -> None:
    """The server that came up answers from what was acknowledged before."""
    async with aiohttp.ClientSession() as http:
        transport = Transport(http=http, url=server.url, headers=server.owner.bound(writer.session))
        await transport.initialize()
        found = await transport.recall(f"{writer.name} 0 0")
        assert found["facts"][0]["subject"] == f"{writer.name} 0 0"


@requirement("survive:restart")
async def test_every_acknowledged_write_survives_kill_9_and_none_is_half_there(
    tmp_path: Path, graph: str, capfd: pytest.CaptureFixture[str]
) -> None:
    chance, writers = dice("kill -9 under load"), list[Writer]()
    server = await start(tmp_path, CODESYNAPSE_GRAPH=graph)
    try:
        await move_out(server)
        for _ in range(KILLS):
            newest = await one_kill(server, chance)
            writers += newest
            # It must come up again, on the very home.
            server = await start(tmp_path, key=server.key, tenant=server.tenant, CODESYNAPSE_GRAPH=graph)
            await check(tmp_path, newest, graph, everybody=False)
            await found_again(
                server, next(each for each in reversed(writers) if each.acknowledged and each.scope == "session")
            )
        tried, acknowledged, there = await check(tmp_path, writers, graph)
        server.child.terminate()
        assert await server.child.wait() == 0
    finally:
        if server.child.returncode is None:
            await server.kill()
    out, err = capfd.readouterr()
    print(f"{out}{backend_of(graph)}: {KILLS} kills: {tried} writes tried, {acknowledged} acknowledged, {there} there")
    assert "locked" not in err


WRITES_EACH = 20 if FULL else 8


async def write_all(writer: Writer, call: Call) -> None:
    for _ in range(WRITES_EACH):
        await writer.write(call)


def calling_over_stdio(peer: StdioPeer) -> Call:
    async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = await peer.call(tool, arguments)
        return answer["result"]["structuredContent"]  # type: ignore[no-any-return]

    return call


async def over_stdio(home: Path, server: Process, session_id: str, errors: list[str]) -> list[Writer]:
    """One stdio process that writes to its session, then to the repository."""
    writers = [
        Writer(name=fresh("w"), tenant="home", session=session_id, scope=scope) for scope in ("session", "repository")
    ]
    async with stdio_process(home, server.owner, session_id, errors) as peer:
        for writer in writers:
            await write_all(writer, calling_over_stdio(peer))
    return writers


async def over_http(server: Process, http: aiohttp.ClientSession) -> list[Writer]:
    """Two clients of the running server, one in its session and one in the repository."""
    pairs = [await writer_over_http(server, http, scope) for scope in ("session", "repository")]
    await asyncio.gather(*(write_all(writer, call) for writer, call in pairs))
    return [writer for writer, _ in pairs]


async def by_command_line(home: Path) -> tuple[list[str], str]:
    """Keys made, sessions registered and listed while the others write: the ids registered, and all that was said."""
    said, registered = "", []
    for _ in range(2):
        registered.append(fresh())
        commands = (["key", "create"], ["session", "register", registered[-1]], ["session", "list"])
        for code, out, err in [await command(home, *each) for each in commands]:
            assert code == 0, err
            said += out + err
    return registered, said


@requirement("home:several")
async def test_a_server_three_stdio_processes_and_the_command_line_share_a_home_and_lose_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    errors: list[str] = []
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(process(tmp_path))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        sessions = [await register(server, http, fresh()) for _ in range(3)]
        *written, (registered, said) = await asyncio.gather(
            *(over_stdio(tmp_path, server, session_id, errors) for session_id in sessions),
            over_http(server, http),
            by_command_line(tmp_path),
        )
        writers = [writer for some in written for writer in some]
        _, keys, _ = await command(tmp_path, "key", "list")
        _, listed, _ = await command(tmp_path, "session", "list")
    tried, acknowledged, there = await check(tmp_path, writers)
    assert tried == acknowledged == there == 8 * WRITES_EACH
    assert len(keys.splitlines()) == 1 + len(registered)
    assert [session_id for session_id in (*registered, *sessions) if session_id not in listed] == []
    out, err = capfd.readouterr()
    assert "locked" not in said + "".join(errors) + out + err
    print(f"{there} writes of 5 processes; {sum(writer.conflicts for writer in writers)} conflicts were reported")
