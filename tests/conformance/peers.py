"""The clients that people have, each by every way that it has: registering, remembering, being cut, recalling."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.conformance.installing import Tools
from tests.conformance.outcomes import Outcome
from tests.integration.cutting import cutting_proxy
from tests.integration.harness import Process, environment, fresh
from tests.integration.stdio_peer import stdio_environment

SCRIPTS = Path(__file__).with_name("clients")
FACT = ["Ada Lovelace", "married", "William King"]
WAYS = ("http", "bridge", "stdio")
LEGACY, MODERN = "2025-11-25", "2026-07-28"
CUT_BEHIND = b'"added":1'
"""In the midst of the answer to a write, behind what the tool has done."""
RUN_S = 120


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A client: its script and that script's arguments, and the revision that it must have agreed on."""

    name: str
    script: str
    arguments: tuple[str, ...] = ()
    version: str | None = LEGACY


PEERS = (
    Peer(name="Python SDK, legacy", script="python_sdk.py", arguments=("legacy",)),
    Peer(name="Python SDK, auto", script="python_sdk.py", arguments=("auto",), version=MODERN),
    Peer(name="fastmcp", script="fastmcp_client.py", version=MODERN),
    Peer(name="TypeScript SDK v1", script="typescript_v1.mjs", version=None),
    Peer(name="TypeScript SDK v2", script="typescript_v2.mjs", arguments=("legacy",)),
    Peer(name="TypeScript SDK v2, auto", script="typescript_v2.mjs", arguments=("auto",), version=MODERN),
    Peer(name="Inspector", script="inspector.py", version=None),
)


async def run_all(tools: Tools, server: Process) -> list[Outcome]:
    """Every client by every way. The scripts are run beside the packages that they import."""
    scripts = tools.modules.parent / "clients"
    shutil.rmtree(scripts, ignore_errors=True)
    shutil.copytree(SCRIPTS, scripts)
    return [await run(tools, server, scripts, peer, way) for peer in PEERS for way in WAYS]


async def run(tools: Tools, server: Process, scripts: Path, peer: Peer, way: str) -> Outcome:
    """One client by one way, its line to the server cut in the midst of the answer to its write."""
    name = f"{peer.name} over {way}"
    session_id = fresh()
    async with cutting_proxy(server.url) as proxy:
        proxy.marker = CUT_BEHIND
        cut = replace(server, url=f"http://127.0.0.1:{proxy.port}/mcp")
        env = peer_environment(tools, cut, session_id, way)
        runner = tools.node if peer.script.endswith(".mjs") else tools.python
        try:
            told = await _told([str(runner), str(scripts / peer.script), *peer.arguments], env)
            wrong = faults(peer, way, told, proxy.cuts)
        except (AssertionError, TimeoutError, ValueError) as error:
            return Outcome(part="client", name=name, passed=False, note=repr(error)[-600:])
    note = wrong or f"{told.get('version') or 'revision not told'}, {told['tries']} tries"
    return Outcome(part="client", name=name, passed=not wrong, note=note)


def peer_environment(tools: Tools, server: Process, session_id: str, way: str) -> dict[str, str]:
    """What a script is told. Over pipes it starts the server, or the launcher before it, with its own environment."""
    serving = [sys.executable, "-m", "codesynapse.server"]
    command = {"http": [], "bridge": [*serving, "bridge", "--url", server.url], "stdio": [*serving, "stdio"]}[way]
    started = stdio_environment(server.home, server.owner, session_id)
    if way == "http":
        started = environment(server.home)
    return {
        **started,
        "HOME": str(server.home),
        "PATH": os.pathsep.join([str(tools.node.parent), os.environ["PATH"]]),
        "PEER_URL": server.url,
        "PEER_KEY": server.key,
        "PEER_SESSION": session_id,
        "PEER_COMMAND": json.dumps(command),
        "PEER_INSPECTOR": json.dumps([str(tools.node), str(tools.inspector.resolve())]),
    }


async def _told(command: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """Run a script to its end; what it tells on its last line. Raises AssertionError with what it said instead."""
    child = await asyncio.create_subprocess_exec(
        *command,
        env=dict(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(RUN_S):
            out, errors = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    assert child.returncode == 0, errors.decode()[-500:]
    return json.loads(out.splitlines()[-1])  # type: ignore[no-any-return]


def faults(peer: Peer, way: str, told: Mapping[str, Any], cuts: int) -> str:
    """What is wrong with what a client tells; empty where nothing is."""
    found = []
    if not {"upsert_graph_triples", "recall_context"} <= set(told["listed"]):
        found.append("tools are missing")
    if told["added"] + told["unchanged"] != 1:
        found.append(f"the write was answered with {told['added']} and {told['unchanged']}")
    if told["recalled"] != [FACT, FACT]:
        found.append(f"recalled {told['recalled']}")
    if cuts != (way != "stdio"):  # Over pipes to the server itself there is no line; its process ends instead.
        found.append(f"it was cut {cuts} times")
    if told["tries"] > 1 and peer.version != MODERN:
        # A session's stream is resumed, so that no client notices; the stateless revision has no such thing.
        found.append(f"it asked {told['tries']} times")
    if peer.version is not None and told["version"] != peer.version:
        found.append(f"it speaks {told['version']}")
    return "; ".join(found)
