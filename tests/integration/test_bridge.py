"""The launcher between the official client and the real server, each a process of its own."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from codesynapse.contracts.requirements import requirement
from tests.integration.harness import command, environment, fresh, process, start

FACT = {"subject": "Ana", "predicate": "lives_in", "object": "Paris"}


@asynccontextmanager
async def client(url: str, key: str, home: Path, session_id: str = "") -> AsyncIterator[ClientSession]:
    """The official client over a launcher of its own; without an id, with `--thread new`."""
    ids = {"CODESYNAPSE_SESSION_ID": session_id} if session_id else {}
    arguments = ["-m", "codesynapse.server", "bridge", "--url", url, *([] if session_id else ["--thread", "new"])]
    env = environment(home, CODESYNAPSE_API_KEY=key, **ids)
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=env)
    async with stdio_client(parameters) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        yield session


async def remember(session: ClientSession, triple: dict[str, str]) -> dict[str, Any]:
    found = await session.call_tool("upsert_graph_triples", {"triples": [triple], "memory_scope": "session"})
    assert not found.is_error, found
    return dict(found.structured_content or {})


async def recalled(session: ClientSession, query: str) -> list[str]:
    found = await session.call_tool("recall_context", {"query": query})
    assert not found.is_error, found
    return [fact["object"] for fact in (found.structured_content or {})["facts"]]


async def sessions_of(base: str, key: str) -> dict[str, str]:
    """The ids that are registered to the owner of the key, and their states."""
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        aiohttp.ClientSession() as http,
        http.get(base + "/api/v1/execution/sessions", headers=headers) as answer,
    ):
        listed = await answer.json()
    return {each["session_id"]: each["state"] for each in listed["sessions"]}


@requirement("reach:transports")
async def test_what_one_launcher_remembers_another_of_the_same_session_recalls(tmp_path: Path) -> None:
    session_id = fresh()
    async with process(tmp_path) as server:
        async with client(server.url, server.key, tmp_path, session_id) as first:
            tools = {tool.name for tool in (await first.list_tools()).tools}
            assert {"recall_context", "upsert_graph_triples"} <= tools
            assert (await remember(first, {**FACT, "object": "Orléans \u2028 😀"}))["added"] == 1
        async with client(server.url, server.key, tmp_path, session_id) as second:
            assert await recalled(second, "Where does Ana live?") == ["Orléans \u2028 😀"]
        assert await sessions_of(server.base, server.key) == {session_id: "active"}


@requirement("bridge:new-thread")
async def test_launchers_that_make_up_their_ids_share_no_memory(tmp_path: Path) -> None:
    async with process(tmp_path) as server:
        async with (
            client(server.url, server.key, tmp_path) as one,
            client(server.url, server.key, tmp_path) as other,
        ):
            await remember(one, FACT)
            assert await recalled(other, "Where does Ana live?") == []
            assert await recalled(one, "Where does Ana live?") == ["Paris"]
            assert list((await sessions_of(server.base, server.key)).values()) == ["active"] * 2
        # Nobody could ever use them again, and as active ones they would count against everybody else.
        assert list((await sessions_of(server.base, server.key)).values()) == ["revoked"] * 2


async def test_a_launcher_lives_through_a_killed_server_and_forgets_nothing(tmp_path: Path) -> None:
    async with process(tmp_path) as server, client(server.url, server.key, tmp_path, fresh()) as session:
        await remember(session, FACT)
        await server.kill()
        port = int(server.url.removesuffix("/mcp").rpartition(":")[2])
        asking = asyncio.create_task(recalled(session, "Where does Ana live?"))
        revived = await start(tmp_path, port=port, key=server.key)
        try:
            assert await asking == ["Paris"]
            assert (await remember(session, {**FACT, "object": "Lyon"}))["added"] == 1
        finally:
            revived.child.terminate()
            await revived.child.wait()


@requirement("bridge:no-switch")
async def test_after_a_revocation_every_call_says_so_and_no_other_session_is_registered(tmp_path: Path) -> None:
    async with process(tmp_path) as server, client(server.url, server.key, tmp_path) as session:
        await remember(session, FACT)
        (session_id,) = await sessions_of(server.base, server.key)
        status, _, problem = await command(tmp_path, "session", "revoke", session_id)
        assert status == 0, problem
        for _ in range(3):
            with pytest.raises(MCPError) as caught:
                await recalled(session, "Where does Ana live?")
            assert caught.value.error.data["code"] == "revoked"
        assert set(await sessions_of(server.base, server.key)) <= {session_id}


async def test_a_wrong_key_is_told_to_the_client(tmp_path: Path) -> None:
    async with process(tmp_path) as server:
        with pytest.raises(BaseExceptionGroup) as caught:
            async with client(server.url, "csk_wrong", tmp_path, fresh()):
                raise AssertionError("a wrong key opened a session")
        found = caught.value
        while isinstance(found, BaseExceptionGroup):
            (found,) = found.exceptions
        assert isinstance(found, MCPError)
        assert found.error.data["code"] == "unauthenticated"


async def test_without_an_id_the_command_exits_2_and_names_the_variable(tmp_path: Path) -> None:
    env = {"CODESYNAPSE_API_KEY": "csk_x"}
    status, out, problem = await command(tmp_path, "bridge", "--url", "http://127.0.0.1:1/mcp", env=env)
    assert (status, out) == (2, "")
    assert "CODESYNAPSE_SESSION_ID" in problem


async def test_a_request_that_is_piped_in_is_answered_before_the_command_ends(tmp_path: Path) -> None:
    async with process(tmp_path) as server:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "codesynapse.server", "bridge", "--url", server.url, "--thread", "new"),
            env=environment(tmp_path, CODESYNAPSE_API_KEY=server.key),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        opening = {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": params}
        piped = "\n".join(map(json.dumps, (opening, {"jsonrpc": "2.0", "id": "b", "method": "tools/list"})))
        out, _ = await child.communicate(piped.encode())
        assert child.returncode == 0
        answers = [json.loads(line) for line in out.splitlines()]
        assert [(each["id"], "result" in each) for each in answers] == [("a", True), ("b", True)]
