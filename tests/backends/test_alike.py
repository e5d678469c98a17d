"""The stores answer alike, whatever is asked of them and in whatever order.

The memory store is held to SQLite about all that it keeps, and to the graph servers about repository memory. Their
session memory is held to the law, and to all other stores', by test_differential.py.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings

from codesynapse.backends import open_backend
from codesynapse.backends.memory import open_memory
from codesynapse.backends.sqlite import open_sqlite
from codesynapse.contracts.errors import CodeSynapseError
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.ports import Backend
from tests.backends.questions import ACCOUNTS, FOUNDED, MEMORY, REPOSITORY, Played, Ports, series
from tests.servers.kinds import TESTED
from tests.servers.running import Record

FACTOR = 10 if os.environ.get("CODESYNAPSE_FULL") == "1" else 1


def ports_of(backend: Backend) -> Ports:
    assert backend.session_memory is not None
    assert backend.repository is not None
    assert backend.vectors is not None
    assert backend.accounts is not None
    return Ports(backend.session_memory, backend.repository, backend.vectors, backend.accounts)


def told(error: CodeSynapseError) -> tuple[object, ...]:
    return (type(error).__name__, error.field, error.limit, error.details)


async def answer(asked: Awaitable[object]) -> object:
    """What a caller learns: the result or the refusal. A refusal inside a result is taken apart, too."""
    try:
        result = await asked
    except CodeSynapseError as error:
        return told(error)
    refusal = getattr(result, "refusal", None)
    return (result.caller, result.binding, told(refusal)) if refusal else result  # type: ignore[attr-defined]


async def compare(steps: Played) -> None:
    """Ask two new stores the same, one step after another, each some milliseconds later."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "codesynapse.db"))
        async with open_memory({}) as reference, open_sqlite({"path": path}) as sqlite:
            await play(steps, ports_of(reference), ports_of(sqlite))


async def play(steps: Played, reference: Ports, other: Ports) -> None:
    now = Millis(1)
    for each, later_ms in steps:
        now = Millis(now + later_ms)
        expected = await answer(each.ask(reference, now))
        assert await answer(each.ask(other, now)) == expected, each


thorough = settings(max_examples=40 * FACTOR, deadline=None, suppress_health_check=list(HealthCheck))


@thorough
@given(series(MEMORY))
def test_both_stores_answer_alike_about_session_memory_and_its_vectors(steps: Played) -> None:
    asyncio.run(compare(steps))


@thorough
@given(series(REPOSITORY))
def test_both_stores_answer_alike_about_repository_memory(steps: Played) -> None:
    asyncio.run(compare(steps))


@pytest.fixture
def side_by_side(graph_server: Record, request: pytest.FixtureRequest) -> Iterator[Callable[[Played], None]]:
    """Plays steps about repository memory on the memory store and on a graph server, open until the test ends."""
    store = TESTED[request.node.callspec.params["graph_server"]].store
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            reference = ports_of(runner.run(stack.enter_async_context(open_memory({}))))
            served = runner.run(stack.enter_async_context(open_backend(store, graph_server.options)))
            assert served.repository is not None

            def played(steps: Played) -> None:
                # Of the other ports nothing is asked.
                own = reference._replace(own=f"{uuid4().hex}-")
                runner.run(play(steps, own, own._replace(repository=served.repository)))

            yield played
        finally:
            runner.run(stack.aclose())


@settings(thorough, max_examples=10 * FACTOR)
@given(steps=series(REPOSITORY))
def test_a_graph_server_answers_about_repository_memory_as_the_memory_store(
    steps: Played, side_by_side: Callable[[Played], None]
) -> None:
    side_by_side(steps)


@thorough
@given(series(ACCOUNTS))
def test_both_stores_answer_alike_about_accounts(steps: Played) -> None:
    asyncio.run(compare([*((each, 0) for each in FOUNDED), *steps]))
