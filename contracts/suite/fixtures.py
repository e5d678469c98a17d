"""The fixtures of the suite; the plugin registers them once a backend is named."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from codesynapse.contracts import plugin
from codesynapse.contracts.ports import Backend

PORTS = ("session_memory", "repository", "vectors", "accounts", "transports", "agents", "portable")

Opening = Callable[..., AbstractAsyncContextManager[Backend]]
"""Opens the backend anew, each time with the same options and those that are given."""


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def opened_backend(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Backend]:
    """The backend, opened once a run, and asked once where it can be: a server that refuses us is no broken promise."""
    named = request.config.stash[plugin.named_key][request.param]
    async with in_one_task(named.open(tmp_path_factory.mktemp("contract"))) as backend:
        if backend.probe is not None:
            await backend.probe()
        yield backend


@pytest.fixture
def backend(request: pytest.FixtureRequest, opened_backend: Backend) -> Backend:
    """The backend for one test. Fails where its ports are not those that its Features declare."""
    features = plugin.named_of(request.node).features
    for port in PORTS:
        offered = getattr(opened_backend, port) is not None
        assert offered == getattr(features, port), f"Features say {port}={not offered}, the open backend differs"
    return opened_backend


@pytest.fixture
def reopening(request: pytest.FixtureRequest, opened_backend: Backend, tmp_path: Path) -> Opening:
    """Opens the backend as often as a test likes, on one store: `{tmp}` is the test's own folder."""
    named = plugin.named_of(request.node)
    return lambda **more: named.open(tmp_path, **more)


@asynccontextmanager
async def in_one_task(manager: AbstractAsyncContextManager[Backend]) -> AsyncIterator[Backend]:
    """Enter and leave in one task: a fixture is set up and torn down in two, which a task group does not bear."""
    opened: asyncio.Future[Backend] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def hold() -> None:
        async with manager as backend:
            opened.set_result(backend)
            await done.wait()

    task = asyncio.create_task(hold())
    either: list[asyncio.Future[Backend] | asyncio.Task[None]] = [opened, task]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        await task
    try:
        yield await opened
    finally:
        done.set()
        await task
