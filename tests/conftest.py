"""What all tests share: the contract plugin, the markers, and a watched event loop for the integration tests."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

# The entry point is switched off in pyproject.toml: it would import our code before coverage starts.
pytest_plugins = ["codesynapse.contracts.plugin", "tests.servers.plugin", "tests.servers.own"]

INTEGRATION = Path(__file__).parent / "integration"
OURS = ["codesynapse.server", "codesynapse.backends", "codesynapse.contracts"]


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers of this repository's own tests; the plugin registers those of the suite."""
    config.addinivalue_line("markers", "integration: runs a whole server; the event loop is watched")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies under tests/integration, so that nobody can forget to."""
    for item in items:
        if INTEGRATION in item.path.parents:
            item.add_marker("integration")


@pytest.fixture
async def debugged_loop() -> AsyncIterator[asyncio.AbstractEventLoop]:
    """The test's own event loop, in asyncio's debug mode while the test runs."""
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    yield loop
    loop.set_debug(False)


@pytest.fixture(autouse=True)
def watched_loop(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail an integration test in which our code blocks the event loop, or misuses it.

    A server that holds thousands of open streams stands still for all of them whenever one handler reads a file or
    waits for SQLite on the loop. Such a call passes every functional test, so it is looked for here: blockbuster
    raises at the call when one of our frames is below it, and the debug mode reports calls from a wrong thread and
    coroutines that nobody awaited. Only our frames count: a test may read its own files.
    """
    if request.node.get_closest_marker("integration") is None:
        yield
        return
    if inspect.iscoroutinefunction(getattr(request.node, "obj", None)):
        request.getfixturevalue("debugged_loop")
    with blockbuster_ctx(OURS):
        yield
