"""The real application with tools to measure. `python -m benchmarks.our_server [--profile FILE]`.

Everything is as in `codesynapse serve`: SQLite in a home of its own, an API key, a registered session, all checks. The
tools are registered as the product's own are; only the caps that the number of idle streams needs are raised.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import signal
import tempfile
from contextlib import nullcontext
from typing import Any

from msgspec import Struct

from benchmarks.serving import FLOOD, announce
from codesynapse.contracts.identity import Execution
from codesynapse.server.app import Server, listening
from codesynapse.server.cli.first import bootstrap
from codesynapse.server.services import compose, open_ports
from codesynapse.server.settings import load
from codesynapse.server.telemetry import configure_logging
from codesynapse.server.tools.registry import Tool, Toolbox, ToolContext

SESSION_ID = "bench"
STREAMS_MAX = 20_000


class Echo(Struct, frozen=True):
    """What the tool takes, and what it answers."""

    text: str


async def echo(_: Execution, arguments: Any, __: ToolContext) -> Echo:
    """The no-op."""
    return Echo(arguments.text)


async def tell(_: Execution, arguments: Any, context: ToolContext) -> Echo:
    """Say how far it is, then the same: at the stateless revision, what comes before an answer makes it a stream."""
    context.progress(1, None, "one")
    return Echo(arguments.text)


async def flood(_: Execution, arguments: Any, context: ToolContext) -> Echo:
    """Say more than any buffer takes."""
    for step in range(1, FLOOD + 1):
        context.progress(step, None, arguments.text)
        if step % 100 == 0:
            await asyncio.sleep(0)
    return Echo("")


def register_tools(toolbox: Toolbox) -> None:
    """Add the tools by the product's own way."""
    for handler in (echo, tell, flood):
        tool = Tool(
            name=handler.__name__,
            title=handler.__name__,
            description="Say it again.",
            toolset="bench",
            arguments=Echo,
            answer=Echo,
            handler=handler,
            read_only=True,
        )
        toolbox.register(tool)


async def serve(home: str) -> None:
    """Serve until SIGTERM."""
    raised = ("transports_per_principal_max", "transports_max", "subscriptions_per_principal_max")
    settings = load({}, {"home": home, "port": 0, **dict.fromkeys(raised, STREAMS_MAX)})
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with open_ports(settings) as ports:
        services = compose(settings, ports)
        register_tools(services.toolbox)
        key = await bootstrap(ports.accounts, services.clock)
        authority = await services.sessions.authorize(key, None)
        await services.sessions.register(authority.caller, SESSION_ID)
        async with listening(Server(services)) as url:
            bound = {"X-CodeSynapse-Session": SESSION_ID, "X-CodeSynapse-Parent-Session": SESSION_ID}
            announce(url, {"Authorization": f"Bearer {key}", **bound})
            await ended.wait()


def main() -> None:
    """Serve; with --profile, write where the time of the event loop's thread went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", help="file for cProfile's statistics")
    options = parser.parse_args()
    configure_logging("warning")
    profile = cProfile.Profile() if options.profile else None
    with tempfile.TemporaryDirectory() as home, profile or nullcontext():
        asyncio.run(serve(home))
    if profile is not None:
        profile.dump_stats(options.profile)


if __name__ == "__main__":
    main()
