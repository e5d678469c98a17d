"""What holds for every service over memory: an execution comes first, and no call passes without one that holds."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import codesynapse.server.memory
from codesynapse.contracts.errors import ExecutionCancelled, ExecutionExpired, ExecutionMissing
from tests.server.world import REPO, World, triple, world

CALLS: dict[str, dict[str, Any]] = {
    "SessionEngine.snapshot": {"ns": REPO},
    "SessionEngine.upsert": {
        "ns": REPO,
        "triples": [triple("a", "is", "b")],
        "source": None,
        "expected_revision": None,
    },
    "SessionEngine.check": {"ns": REPO, "triples": [triple("a", "is", "b")]},
    "SessionEngine.clear": {"ns": REPO},
    "SessionEngine.result": {"ns": REPO, "commit_id": "c"},
    "RepositoryEngine.result": {"repository": REPO, "commit_id": "c"},
    "RepositoryEngine.upsert": {
        "repository": REPO,
        "triples": [triple("a", "is", "b")],
        "source": None,
        "expected_revision": None,
    },
    "RepositoryEngine.check": {"repository": REPO, "triples": [triple("a", "is", "b")]},
    "RepositoryEngine.candidates": {"repository": REPO, "terms": ["a"], "history": False},
    "RepositoryEngine.search": {"repository": REPO, "query": "a", "labels": [], "limit": 1, "cursor": None},
    "RepositoryEngine.overview": {"repository": REPO, "limit": 1},
    "RepositoryEngine.neighbourhood": {"repository": REPO, "names": ["a"], "depth": 1, "limit": 1},
    "Recall.session": {"ns": REPO, "query": "a", "limit": 1},
    "Recall.repository": {"repository": REPO, "query": "a", "limit": 1},
    "Models.embed": {"texts": ["a"]},
    "Recall.read": {"ns": REPO, "query": None, "limit": 1},
}
# Not a service: it holds a place in line and touches no memory.
COURTESY = {"Turns.of"}


def public_async() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public async function and method that server.memory defines."""
    for found in pkgutil.iter_modules(codesynapse.server.memory.__path__):
        module = importlib.import_module(f"{codesynapse.server.memory.__name__}.{found.name}")
        owners = [
            kind for kind in vars(module).values() if inspect.isclass(kind) and kind.__module__ == module.__name__
        ]
        for owner in (module, *owners):
            for name, function in vars(owner).items():
                bare = inspect.unwrap(function) if callable(function) else function
                is_async = inspect.iscoroutinefunction(bare) or inspect.isasyncgenfunction(bare)
                if is_async and not name.startswith("_") and bare.__module__ == module.__name__:
                    yield (f"{owner.__name__}.{name}" if inspect.isclass(owner) else name), bare


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with world() as made:
        yield made


def bound(here: World, name: str) -> Callable[..., Any]:
    owner, method = name.split(".")
    services = (here.engine, here.repository, here.recall, here.models)
    (service,) = [each for each in services if type(each).__name__ == owner]
    found: Callable[..., Any] = getattr(service, method)
    return found


def test_every_service_takes_an_execution_first():
    for name, function in public_async():
        if name not in COURTESY:
            parameters = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
            assert parameters[0].name == "execution", name
            assert str(parameters[0].annotation).endswith("Execution'>") or parameters[0].annotation == "Execution", (
                name
            )
            assert parameters[0].default is inspect.Parameter.empty, name


def test_every_service_is_called_here():
    assert {name for name, _ in public_async()} == set(CALLS) | COURTESY


@pytest.mark.parametrize("name", CALLS)
async def test_without_an_execution_nothing_is_served(here: World, name: str):
    with pytest.raises(ExecutionMissing):
        await bound(here, name)(None, **CALLS[name])


@pytest.mark.parametrize("name", CALLS)
async def test_a_cancelled_execution_is_refused(here: World, name: str):
    execution = await here.execution(await here.user("ana"), "s")
    await bound(here, name)(execution, **CALLS[name])
    execution.cancellation.cancel()
    with pytest.raises(ExecutionCancelled):
        await bound(here, name)(execution, **CALLS[name])


@pytest.mark.parametrize("name", CALLS)
async def test_an_execution_past_its_deadline_is_refused(here: World, name: str):
    execution = await here.execution(await here.user("ana"), "s")
    here.clock.advance(days=7)
    with pytest.raises(ExecutionExpired):
        await bound(here, name)(execution, **CALLS[name])
