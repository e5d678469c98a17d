"""The Inspector's command line: a process for each call."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import peer

listed: list[str] = []
INSPECTOR: list[str] = json.loads(os.environ["PEER_INSPECTOR"])


def command_line(*arguments: str) -> list[str]:
    """How the Inspector is run once."""
    if not peer.COMMAND:
        headers = [f"{name}: {value}" for name, value in peer.HEADERS.items()]
        return [*INSPECTOR, "--cli", peer.URL, "--transport", "http", "--header", *headers, *arguments]
    # It hands its own environment to a server only where it is told to.
    told = [f"{name}={value}" for name, value in os.environ.items() if name.startswith(("CODESYNAPSE_", "PYTHON"))]
    handed = [part for each in told for part in ("-e", each)]
    return [*INSPECTOR, "--cli", "--transport", "stdio", *arguments, *handed, "--", *peer.COMMAND]


async def inspect(*arguments: str) -> dict[str, Any]:
    """Run the Inspector once; what it prints."""
    child = await asyncio.create_subprocess_exec(
        *command_line(*arguments), stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
    )
    printed, _ = await child.communicate()
    assert child.returncode == 0, f"the Inspector ended with {child.returncode}: {printed.decode()[-300:]}"
    return dict(json.loads(printed))


async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool; each argument is JSON."""
    pairs = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in arguments.items()]
    result = await inspect("--method", "tools/call", "--tool-name", tool, "--tool-arg", *pairs)
    assert not result.get("isError"), result
    return dict(result["structuredContent"])


@asynccontextmanager
async def connecting() -> AsyncIterator[peer.Call]:
    """Every call connects by itself."""
    listed[:] = [tool["name"] for tool in (await inspect("--method", "tools/list"))["tools"]]
    yield call


asyncio.run(peer.run(connecting, listed, lambda: None))
