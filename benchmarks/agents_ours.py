"""Our side of the benchmark of agent memory: the composed server over SQLite, with all that a client's call meets.

Each call checks its key and its session again, is decoded, validated, gated and encoded as over HTTP; only HTTP itself
is left out. `--profile FILE` writes where the time of the event loop's thread went.
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
from codesynapse.contracts.identity import Cancellation
from codesynapse.server.cli.first import bootstrap
from codesynapse.server.services import Services, compose, open_ports
from codesynapse.server.sessions.registry import execution_of
from codesynapse.server.settings import load
from codesynapse.server.telemetry import configure_logging
from codesynapse.server.tools.dispatch import answer_json
from codesynapse.server.tools.registry import Answer, ToolContext, no_progress

SESSION_ID = "bench"
CONTEXT = ToolContext(progress=no_progress, log=lambda level, text: None)


class Ours:
    """Calls as the shells make them, under a registered session."""

    def __init__(self, services: Services, key: str) -> None:
        self._services = services
        self._key = key

    def request(self, tool: str, arguments: dict[str, object]) -> Raw:
        return Raw(json.dumps({"name": tool, "arguments": arguments}).encode())

    async def call(self, request: Raw) -> bytes:
        authority = await self._services.sessions.authorize(self._key, SESSION_ID)
        assert authority.binding is not None
        execution = execution_of(authority, authority.binding.identity, Cancellation())
        answer = await self._services.operations.run(execution, "tools/call", request, CONTEXT)
        assert isinstance(answer, Answer)
        return answer_json(answer)

    def text(self, answer: bytes) -> str:
        said: str = json.loads(answer)["content"][0]["text"]
        return said


async def serve(home: str) -> None:
    """Open everything as `codesynapse serve` does, and do what is asked."""
    settings = load({}, {"home": home})
    async with open_ports(settings) as ports:
        services = compose(settings, ports)
        key = await bootstrap(ports.accounts, services.clock)
        authority = await services.sessions.authorize(key, None)
        await services.sessions.register(authority.caller, SESSION_ID)
        await driven(Ours(services, key))


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
