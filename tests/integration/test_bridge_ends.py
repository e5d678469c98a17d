"""The launcher as clients start it, over plain pipes: both eras, whatever ends it, and nothing but MCP on stdout."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_types.methods import validate_server_result

from codesynapse.contracts.requirements import requirement
from codesynapse.server.bridge.exchange import CLOSE_S
from codesynapse.server.bridge.options import BridgeOptions
from codesynapse.server.bridge.run import FLUSH_S
from tests.integration.harness import Process, environment, fresh, process, start
from tests.integration.stateless import KEY, LATEST

CALLS = 40
HANG_S = 60
NOWHERE = "http://127.0.0.1:9/mcp"
OPENING = {
    "jsonrpc": "2.0",
    "id": "open",
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def modern(request_id: object, method: str, **params: Any) -> dict[str, Any]:
    meta = {KEY + "protocolVersion": LATEST, KEY + "clientCapabilities": {}}
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {**params, "_meta": meta}}


def legacy(request_id: object, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def written(number: int) -> dict[str, Any]:
    """The parameters of a call that remembers one fact."""
    triple = {"subject": f"item {number}", "predicate": "is", "object": "there"}
    return {"name": "upsert_graph_triples", "arguments": {"triples": [triple], "memory_scope": "session"}}


def whole(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """The messages of an output, of which every line must be one."""
    messages = [json.loads(line) for line in lines]
    for message in messages:
        assert message["jsonrpc"] == "2.0"
        assert ("method" in message) != ("result" in message or "error" in message)
    return messages


@asynccontextmanager
async def bridge(url: str, key: str, home: Path, session_id: str = "") -> AsyncIterator[asyncio.subprocess.Process]:
    ids = {"CODESYNAPSE_SESSION_ID": session_id} if session_id else {}
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "codesynapse.server", "bridge", "--url", url, *([] if ids else ["--thread", "new"])),
        env=environment(home, CODESYNAPSE_API_KEY=key, **ids),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def piped(url: str, key: str, home: Path, said: Iterable[object], session_id: str = "") -> list[dict[str, Any]]:
    """What a launcher answers to all of this and the end of input."""
    async with bridge(url, key, home, session_id) as child, asyncio.timeout(HANG_S):
        text = b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in said)
        out, _ = await child.communicate(text)
        assert child.returncode == 0
    return whole(out.splitlines())


async def asked(child: asyncio.subprocess.Process, message: dict[str, Any]) -> dict[str, Any]:
    """One request and its answer."""
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(json.dumps(message).encode() + b"\n")
    async with asyncio.timeout(HANG_S):
        (answer,) = whole([await child.stdout.readline()])
    assert answer["id"] == message["id"], answer
    return answer


@requirement("bridge:both-eras")
async def test_one_launcher_speaks_both_eras_to_its_client_and_to_the_server(tmp_path: Path) -> None:
    async with process(tmp_path) as server, bridge(server.url, server.key, tmp_path) as child:
        discovered = await asked(child, modern(1, "server/discover"))
        validate_server_result("server/discover", LATEST, discovered["result"])
        opened = await asked(child, OPENING)
        assert opened["result"]["protocolVersion"] == "2025-11-25"
        added = await asked(child, modern(2, "tools/call", **written(1)))
        assert (added["result"]["resultType"], added["result"]["structuredContent"]["added"]) == ("complete", 1)
        again = await asked(child, legacy(3, "tools/call", **written(1)))
        assert "resultType" not in again["result"]
        assert (again["result"]["structuredContent"]["added"], again["result"]["structuredContent"]["unchanged"]) == (
            0,
            1,
        )


@requirement("bridge:restart")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_read_is_answered_through_a_restart_of_the_server(tmp_path: Path, era: str) -> None:
    async with process(tmp_path) as server, bridge(server.url, server.key, tmp_path, fresh()) as child:
        if era == "legacy":
            await asked(child, OPENING)
        make = modern if era == "modern" else legacy
        await asked(child, make(1, "tools/call", **written(1)))
        await server.kill()
        query = {"name": "recall_context", "arguments": {"query": "Is item 1 there?"}}
        asking = asyncio.create_task(asked(child, make(2, "tools/call", **query)))
        revived: Process | None = None
        try:
            revived = await start(tmp_path, port=int(server.base.rpartition(":")[2]), key=server.key)
            facts = (await asking)["result"]["structuredContent"]["facts"]
            assert [fact["object"] for fact in facts] == ["there"]
        finally:
            asking.cancel()
            if revived is not None:
                revived.child.terminate()
                await revived.child.wait()


@requirement("bridge:ends")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_every_call_before_the_end_of_input_is_answered_and_no_write_is_lost(tmp_path: Path, era: str) -> None:
    """Each has its result, or the launcher's own error where its time was over, and what has a result is stored."""
    session_id = fresh()
    make = modern if era == "modern" else legacy
    opening: list[object] = [] if era == "modern" else [OPENING, READY]
    async with process(tmp_path) as server:
        calls = [make(number, "tools/call", **written(number)) for number in range(CALLS)]
        answers = await piped(server.url, server.key, tmp_path, [*opening, *calls], session_id)
        results = {each["id"]: each for each in answers if each.get("id") != "open"}
        assert set(results) == set(range(CALLS))
        assert len(answers) == CALLS + len(opening) // 2
        stored = {number for number, each in results.items() if "result" in each}
        assert all(each["error"]["data"]["code"] == "stopping" for each in results.values() if "error" in each)
        again = [modern(number, "tools/call", **written(number)) for number in stored]
        found = await piped(server.url, server.key, tmp_path, again, session_id)
        repeated = [each["result"]["structuredContent"]["unchanged"] for each in found if "result" in each]
        assert repeated == [1] * len(repeated)


@requirement("bridge:ends")
def test_what_the_end_of_input_may_take_is_under_two_seconds() -> None:
    options = BridgeOptions(url=NOWHERE, api_key="k")
    assert options.finish_s + CLOSE_S + FLUSH_S < 2


@requirement("bridge:stdout")
@pytest.mark.parametrize("key", ["right", "wrong", "nobody there"])
async def test_nothing_but_mcp_is_written_to_stdout_whatever_happens(tmp_path: Path, key: str) -> None:
    noise = [b"\n", b"no json\n", b"\xff\xfe\n", b'{"jsonrpc":"2.0"}\n', b"[]\n", b"x" * 5_000_000 + b"\n"]
    said = [OPENING, READY, *noise, modern(1, "tools/list"), legacy(2, "tools/list"), legacy(3, "no/such"), b'{"half":']
    async with process(tmp_path) as server:
        url, offered = (NOWHERE if key == "nobody there" else server.url), server.key if key != "wrong" else "csk_x"
        answers = await piped(url, offered, tmp_path, said)
        # Each request has one answer, each line that is none an error without an id.
        assert sorted(str(each["id"]) for each in answers if each["id"] is not None) == ["1", "2", "3", "open"]
        assert len([each for each in answers if each["id"] is None]) >= 4
        assert any("result" in each for each in answers) == (key == "right")
