"""Our side of the benchmark of agent memory: the composed server over SQLite, called where its transports call it.

A call is decoded, validated, gated, checked again before it writes, and encoded. As on the other side, no transport and
no credential is measured; `make bench-mcp` measures those. `--profile FILE` writes where the time of the event loop's
thread went.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import tempfile
from contextlib import nullcontext

from msgspec import Raw

from benchmarks.agents_child import driven
from codesynapse.contracts.accounts import Authority
from codesynapse.contracts.identity import Cancellation, Execution
from codesynapse.server.cli.first import bootstrap
from codesynapse.server.features.operations import Result
from codesynapse.server.services import Services, compose, open_ports
from codesynapse.server.sessions.registry import execution_of
from codesynapse.server.settings import load
from codesynapse.server.telemetry import configure_logging
from codesynapse.server.tools.registry import Answer, ToolContext, no_progress

SESSION_ID = "bench"
CONTEXT = ToolContext(progress=no_progress, log=lambda level, text: None)


class Ours:
    """Calls as the shells make them, under a registered session. authority: whose."""

    def __init__(self, services: Services, authority: Authority) -> None:
        self._run = services.operations.run
        self._authority = authority

    def request(self, tool: str, arguments: dict[str, object]) -> tuple[Execution, Raw]:
        assert self._authority.binding is not None
        execution = execution_of(self._authority, self._authority.binding.identity, Cancellation())
        return execution, Raw(json.dumps({"name": tool, "arguments": arguments}).encode())

    async def call(self, request: tuple[Execution, Raw]) -> Result:
        execution, params = request
        return await self._run(execution, "tools/call", params, CONTEXT)

    def text(self, answer: Result) -> str:
        assert isinstance(answer, Answer)
        assert answer.structured is not None
        return answer.structured.decode()


async def serve(home: str) -> None:
    """Open everything as `codesynapse serve` does, and do what is asked."""
    settings = load({}, {"home": home})
    async with open_ports(settings) as ports:
        services = compose(settings, ports)
        key = await bootstrap(ports.accounts, services.clock)
        authority = await services.sessions.authorize(key, None)
        await services.sessions.register(authority.caller, SESSION_ID)
        await driven(Ours(services, await services.sessions.authorize(key, SESSION_ID)))


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", help="file for cProfile's statistics")
    options = parser.parse_args()
    configure_logging("warning")
    profile = cProfile.Profile() if options.profile else None
    with tempfile.TemporaryDirectory(prefix="codesynapse-bench-") as home, profile or nullcontext():
        asyncio.run(serve(home))
    if profile is not None:
        profile.dump_stats(options.profile)


if __name__ == "__main__":
    main()
