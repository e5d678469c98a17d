"""`make conformance`: the suite on a server with fixtures and on the product's own, the auditor, and the clients.

Ends with `N passed, M failed`. Arguments name the parts that are wanted; without any, all are.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import aiohttp

from codesynapse.server.clock import system_clock
from tests.conformance import audit, peers, suite
from tests.conformance.fixtures import register_fixtures
from tests.conformance.installing import ROOT, Tools, installed
from tests.conformance.outcomes import Outcome, told
from tests.conformance.proxy import adding
from tests.integration.harness import Person, Process, fresh, process, product
from tests.integration.stdio_peer import stdio_environment
from tests.integration.test_kill import register

OUT = ROOT / "build" / "conformance"
HANDED = ("CODESYNAPSE_", "PYTHON")
Part = Callable[[Tools], Awaitable[list[Outcome]]]


def told_headers(person: Person, session_id: str) -> Callable[[], dict[str, str]]:
    """The three headers of a request: each new protocol session may be bound to the same chat session."""
    headers = person.bound(session_id)
    return lambda: headers


@contextmanager
def home() -> Iterator[Path]:
    """A folder for one server."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        yield Path(folder)


@asynccontextmanager
async def own_server() -> AsyncIterator[tuple[Process, str, str]]:
    """The product's own server as people start it, a registered session, and the URL that adds the headers."""
    with home() as folder:
        async with process(folder, CODESYNAPSE_LOG_LEVEL="error", CODESYNAPSE_SSE_RETRY_MS="100") as server:
            async with aiohttp.ClientSession() as http:
                session_id = await register(server, http, fresh())
            async with adding(server.url, told_headers(server.owner, session_id)) as url:
                yield server, session_id, url


async def with_fixtures(tools: Tools) -> list[Outcome]:
    """Both sets of requirements on the product's parts with the fixtures registered beside its own tools."""
    results = []
    with home() as folder:
        async with product(clock=system_clock, home=folder) as server:
            register_fixtures(server.services)
            person = await server.person()
            headers = told_headers(person, await server.register(person))
            async with adding(server.url, headers) as url:
                for requirements in suite.REQUIREMENTS:
                    found = await suite.run(tools, url, requirements, OUT / f"fixtures-{requirements}")
                    results += suite.outcomes(requirements, found)
    return results


async def without_fixtures(tools: Tools) -> list[Outcome]:
    """Both sets on the product's own server, as far as they need no fixture."""
    results = []
    async with own_server() as (_, _, url):
        for requirements in suite.REQUIREMENTS:
            found = await suite.run(tools, url, requirements, OUT / f"product-{requirements}")
            results += suite.outcomes_without_fixtures(requirements, found)
    return results


async def audited(tools: Tools) -> list[Outcome]:
    """The auditor on the product's own server, over HTTP and over pipes."""
    async with own_server() as (server, session_id, url):
        places = {"HOME": str(server.home), "PATH": os.environ["PATH"]}
        over_http = audit.kept(await audit.run(tools, [url], {**os.environ, **places}), OUT / "mcpscore-http.json")
        env = {**stdio_environment(server.home, server.owner, session_id), **places}
        # The auditor hands its own environment to a server only where it is told to.
        handed = [part for name in env if name.startswith(HANDED) for part in ("--env", name)]
        command = [*handed, "--stdio", sys.executable, "-m", "codesynapse.server", "stdio"]
        over_pipes = audit.kept(await audit.run(tools, command, env), OUT / "mcpscore-stdio.json")
    return [*audit.outcomes("HTTP", over_http), *audit.outcomes("stdio", over_pipes)]


async def by_clients(tools: Tools) -> list[Outcome]:
    """What people's clients get, each cut in the midst of a write."""
    async with own_server() as (server, _, _):
        return await peers.run_all(tools, server)


PARTS: dict[str, Part] = {
    "suite": with_fixtures,
    "product": without_fixtures,
    "mcpscore": audited,
    "clients": by_clients,
}


async def run(names: list[str]) -> int:
    """Run the named parts, print what each found, and answer the exit code."""
    tools = await asyncio.to_thread(installed)
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    results: list[Outcome] = []
    for name in names:
        found = await PARTS[name](tools)
        for outcome in found:
            print(outcome.line(), flush=True)
        results += found
    last, code = told(results)
    print(last)
    return code


def main() -> int:
    """The command line."""
    names = sys.argv[1:] or list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"The parts are {', '.join(PARTS)}.", file=sys.stderr)
        return 2
    return asyncio.run(run(names))


if __name__ == "__main__":
    sys.exit(main())
