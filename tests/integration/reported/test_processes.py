"""A process's first lines, its output, and its end."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.integration.harness import BOTH, LATEST, Process, fresh, process, start
from tests.integration.stateless import KEY, Stateless
from tests.integration.stateless import LATEST as STATELESS
from tests.integration.stdio_peer import LINE_MAX, stdio_environment
from tests.integration.test_kill import register
from tests.integration.tools import HANG_S

META = {KEY + "protocolVersion": STATELESS, KEY + "clientCapabilities": {}}
INITIALIZE = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
PRINTING = """
import sys
from codesynapse.server.tools import graph
recall = graph.GraphTools.recall
async def printing(self, *arguments):
    print("this is no message")
    sys.stdout.flush()
    return await recall(self, *arguments)
graph.GraphTools.recall = printing
from codesynapse.server.__main__ import main
sys.argv = ["codesynapse", "stdio"]
main()
"""


@dataclass(kw_only=True)
class Child:
    """`codesynapse stdio`, to which nothing was said yet. ended: its exit code, once its input has ended."""

    process: asyncio.subprocess.Process

    async def say(self, method: str, params: object, request_id: int | None) -> dict[str, Any]:
        """Send a message; for a request, the next line of the output."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if request_id is not None:
            message["id"] = request_id
        return await self.line(json.dumps(message).encode(), answered=request_id is not None)

    async def line(self, sent: bytes, *, answered: bool = True) -> dict[str, Any]:
        """Send a line as it is; the next line of the output."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(sent + b"\n")
        await self.process.stdin.drain()
        if not answered:
            return {}
        async with asyncio.timeout(HANG_S):
            return json.loads(await self.process.stdout.readline())  # type: ignore[no-any-return]


@asynccontextmanager
async def spoken_to(server: Process, *arguments: str, **env: str) -> AsyncIterator[Child]:
    """The stdio server of a registered session, started with these arguments of the interpreter."""
    async with aiohttp.ClientSession() as http:
        session_id = await register(server, http, fresh())
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, *(arguments or ("-m", "codesynapse.server", "stdio"))),
        env={**stdio_environment(server.home, server.owner, session_id), **env},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LINE_MAX,
    )
    yield Child(process=child)
    async with asyncio.timeout(HANG_S):
        out, _ = await child.communicate(b"")  # Which ends its input.
    assert (child.returncode, out) == (0, b"")


async def test_a_client_that_probes_and_then_initializes_is_served_in_both_eras(tmp_path: Path):
    async with process(tmp_path) as server, spoken_to(server) as child:
        discovered = await child.say("server/discover", {"_meta": META}, 1)
        assert STATELESS in discovered["result"]["supportedVersions"]
        initialized = await child.say("initialize", INITIALIZE, 2)
        assert initialized["result"]["protocolVersion"] == LATEST
        await child.say("notifications/initialized", {}, None)
        assert (await child.say("tools/list", {}, 3))["result"]["tools"]
        assert (await child.say("tools/list", {"_meta": META}, 4))["result"]["resultType"] == "complete"
        assert (await child.say("ping", {}, 5))["result"] == {}


async def test_a_request_that_nobody_knows_before_initialize_is_an_error_and_the_process_lives(tmp_path: Path):
    async with process(tmp_path) as server, spoken_to(server) as child:
        assert (await child.say("server/probe", {}, 1))["error"]["code"] == -32601
        assert (await child.say("server/discover", {}, 2))["id"] == 2
        assert (await child.say("initialize", INITIALIZE, 3))["result"]["protocolVersion"] == LATEST


async def test_a_tool_that_prints_does_not_break_the_output(tmp_path: Path):
    async with process(tmp_path) as server, spoken_to(server, "-c", PRINTING) as child:
        await child.say("initialize", INITIALIZE, 1)
        called = await child.say("tools/call", {"name": "recall_context", "arguments": {"query": "x"}}, 2)
        assert called["result"]["isError"] is False


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
async def test_the_encoding_of_the_machine_changes_nothing_and_half_a_character_loses_no_answer(
    encoding: str, tmp_path: Path
):
    async with process(tmp_path) as server, spoken_to(server, PYTHONIOENCODING=encoding, PYTHONUTF8="0") as child:
        await child.say("initialize", INITIALIZE, 1)
        triple = {"subject": "Ana", "predicate": "likes", "object": "🫖"}
        arguments = {"triples": [triple], "memory_scope": "session"}
        message = {"name": "upsert_graph_triples", "arguments": arguments}
        sent = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": message}
        remembered = await child.line(json.dumps(sent, ensure_ascii=False).encode())
        assert remembered["result"]["structuredContent"]["facts"][0]["object"] == "🫖"
        half = json.dumps({**sent, "id": 3}).replace('"Ana"', '"\\ud83e"').encode()
        broken = await child.line(half)
        assert broken["id"] in (3, None)
        assert "error" in broken or broken["result"]["isError"]
        assert (await child.say("ping", {}, 4))["result"] == {}


async def test_a_session_of_before_a_restart_is_served_and_never_404_while_the_server_starts(tmp_path: Path):
    server = await start(tmp_path)
    async with aiohttp.ClientSession() as http:
        headers = {**server.owner.bound(await register(server, http, fresh())), "Accept": BOTH}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        async with http.post(server.url, json=body, headers=headers) as answer:
            headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        await server.kill()
        port = int(server.base.rpartition(":")[2])
        again = asyncio.create_task(start(tmp_path, port=port, key=server.key))
        try:
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            async with asyncio.timeout(HANG_S):
                while (status := await status_of_post(http, server.url, ping, headers)) is None:
                    pass  # It does not listen before it can serve.
            assert status == 200
        finally:
            await (await again).kill()


async def status_of_post(http: aiohttp.ClientSession, url: str, body: object, headers: dict[str, str]) -> int | None:
    """The status of a request; None where nobody listens."""
    try:
        async with http.post(url, json=body, headers=headers) as answer:
            return answer.status
    except aiohttp.ClientConnectorError:
        return None


async def test_sigterm_with_open_streams_ends_them_cleanly_and_the_process_at_once(tmp_path: Path):
    async with process(tmp_path) as server, aiohttp.ClientSession() as http:
        session_id = await register(server, http, fresh())
        headers = {**server.owner.bound(session_id), "Accept": BOTH}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        async with http.post(server.url, json=body, headers=headers) as answer:
            opened = {**headers, "Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}
        peer = Stateless(http=http, url=server.url, headers=server.owner.bound(session_id))
        listening = peer.stream("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        async with http.get(server.url, headers=opened) as standing, listening as listened:
            await listened.message()
            server.child.send_signal(signal.SIGTERM)
            # Without the last chunk, reading to the end would fail.
            async with asyncio.timeout(HANG_S):
                await standing.read()
                rest = [json.loads(data) for _, data in await listened.rest()]
                assert await server.child.wait() == 0
        assert rest[-1]["result"]["_meta"][KEY + "subscriptionId"] == 1
