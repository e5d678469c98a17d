"""Models at work: a failing embedder costs nobody an answer, and what becomes of a call tells how the embedder is."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from codesynapse.backends.embedders.hashing import HashingEmbedder
from codesynapse.contracts.errors import CodeSynapseError, EmbedderDown, EmbedderMisconfigured, ExecutionCancelled
from codesynapse.contracts.vectors import Vector
from codesynapse.server.hints.health import Cause, Condition
from codesynapse.server.hints.state import Hints
from codesynapse.server.memory import models as models_module
from codesynapse.server.memory.models import Models
from codesynapse.server.memory.recent import RECENT_MS
from tests.server.world import World, world

HANG_S = 10
SERVER = Path(__file__).parent.parent.parent.parent / "server"


class Flaky(HashingEmbedder):
    """The hashing embedder, which fails as a test says. hangs: it never answers."""

    failing: CodeSynapseError | None = None
    hangs = False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.hangs:
            await asyncio.Event().wait()
        if self.failing is not None:
            raise self.failing
        return await super().embed(texts)


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with world() as made:
        yield made


async def test_an_answer_is_a_vector_for_each_text_and_health(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    vectors = await here.models.embed(execution, ["tea", "coffee"])
    assert vectors is not None
    assert [len(vector) for vector in vectors] == [256, 256]
    assert here.hints.health.condition is Condition.HEALTHY


@pytest.mark.parametrize(
    ("failing", "cause"), [(EmbedderDown(), Cause.ENDPOINT), (EmbedderMisconfigured(), Cause.CONFIGURATION)]
)
async def test_a_failure_is_no_vectors_and_the_second_in_a_row_a_fault_until_it_answers(
    here: World, failing: CodeSynapseError, cause: Cause
):
    execution = await here.execution(await here.user("ana"), "s")
    embedder = Flaky()
    models = Models(embedder, here.hints, here.clock, 10_000)
    embedder.failing = failing
    for condition in (Condition.UNKNOWN, Condition.FAULT):
        assert await models.embed(execution, ["tea"]) is None
        assert here.hints.health.condition is condition
    assert here.hints.health.cause is cause
    embedder.failing = None
    assert await models.embed(execution, ["tea"]) is not None
    assert here.hints.health.condition is Condition.HEALTHY


async def test_an_embedder_that_hangs_is_one_that_does_not_answer(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    embedder = Flaky()
    embedder.hangs = True
    models = Models(embedder, here.hints, here.clock, 1)
    for _ in range(2):
        assert await models.embed(execution, ["tea"]) is None
    assert here.hints.health.cause is Cause.ENDPOINT


class Slow(HashingEmbedder):
    """The hashing embedder, which answers once it is let. asked: how many calls it got."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.begun = asyncio.Event()
        self.free = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += 1
        self.begun.set()
        await self.free.wait()
        return await super().embed(texts)


class Broken(Slow):
    """It fails in a way that no embedder should."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        await super().embed(texts)
        raise KeyError(texts[0])


def probing() -> asyncio.Task[Any]:
    """The call that goes on without a caller."""
    (probe,) = [each for each in asyncio.all_tasks() if "_told" in repr(each.get_coro())]
    return probe


async def test_in_a_fault_nobody_waits_for_the_deadline_and_one_call_goes_on_until_it_is_answered(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    embedder = Slow()
    for _ in range(2):
        here.hints.embedding_failed(Cause.ENDPOINT)
    models = Models(embedder, here.hints, here.clock, 600_000, patience_s=0.001)
    async with asyncio.timeout(HANG_S):
        for text in ("one", "two", "three"):
            assert await models.embed(execution, [text]) is None
    assert (embedder.asked, here.hints.health.condition) == (1, Condition.FAULT)
    probe = probing()
    embedder.free.set()
    assert await probe is not None
    assert here.hints.health.condition is Condition.HEALTHY
    assert await models.embed(execution, ["four"]) is not None
    assert embedder.asked == 2


async def test_a_caller_who_leaves_in_a_fault_ends_no_call_and_the_end_of_the_server_does(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    embedder = Slow()
    for _ in range(2):
        here.hints.embedding_failed(Cause.ENDPOINT)
    models = Models(embedder, here.hints, here.clock, 600_000, patience_s=600.0)
    asking = asyncio.create_task(models.embed(execution, ["one"]))
    await embedder.begun.wait()
    asking.cancel()
    await asyncio.wait([asking])
    async with asyncio.timeout(HANG_S):
        assert await models.embed(execution, ["two"]) is None
    probe = probing()
    models.close()
    await asyncio.wait([probe])
    assert (probe.cancelled(), embedder.asked) == (True, 1)
    models.close()


async def test_a_call_that_breaks_after_its_caller_left_is_logged_without_its_text(
    here: World, monkeypatch: pytest.MonkeyPatch
):
    execution = await here.execution(await here.user("ana"), "s")
    broken, logged = Broken(), list[str]()
    monkeypatch.setattr(models_module, "fault", lambda event, error: logged.append(f"{event} {type(error).__name__}"))
    unheard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
    for _ in range(2):
        here.hints.embedding_failed(Cause.ENDPOINT)
    models = Models(broken, here.hints, here.clock, 600_000, patience_s=0.001)
    async with asyncio.timeout(HANG_S):
        assert await models.embed(execution, ["one"]) is None
    probe = probing()
    broken.free.set()
    await asyncio.wait([probe])
    del probe, models
    await asyncio.sleep(0)
    gc.collect()
    assert (logged, unheard) == (["embedding_failed KeyError"], [])


async def test_without_an_embedder_there_are_no_vectors_and_no_failures(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    hints = Hints(embedder=False)
    assert await Models(None, hints, here.clock, 10_000).embed(execution, ["tea"]) is None
    assert hints.health.condition is Condition.HINT


class Counted(HashingEmbedder):
    """The hashing embedder, which remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Sequence[str]] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked.append(texts)
        return await super().embed(texts)


async def test_a_repeated_text_is_not_asked_again_for_a_minute_nor_known_to_somebody_else(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    stranger = await here.execution(await here.user("ben"), "t")
    embedder = Counted()
    models = Models(embedder, here.hints, here.clock, 10_000)
    first = await models.embed(execution, ["tea"])
    assert await models.embed(execution, ["tea"]) == first
    assert embedder.asked == [["tea"]]
    assert await models.embed(stranger, ["tea"]) == first
    here.clock.advance(seconds=RECENT_MS / 1_000)
    assert await models.embed(execution, ["tea"]) == first
    assert embedder.asked == [["tea"]] * 3


async def test_a_repeated_text_proves_neither_a_recovery_nor_an_outage(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    embedder = Flaky()
    models = Models(embedder, here.hints, here.clock, 10_000)
    await models.embed(execution, ["tea"])
    embedder.failing = EmbedderDown()
    assert await models.embed(execution, ["tea"]) is not None
    assert here.hints.health.failures == 0
    for text in ("one", "two"):
        assert await models.embed(execution, [text]) is None
    assert await models.embed(execution, ["tea"]) is not None
    assert here.hints.health.condition is Condition.FAULT
    embedder.failing = None
    assert await models.embed(execution, ["three"]) is not None
    assert here.hints.health.condition is Condition.HEALTHY


async def test_nothing_is_embedded_for_an_execution_that_has_ended(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    embedder = Counted()
    models = Models(embedder, here.hints, here.clock, 10_000)
    assert await models.embed(execution, ["tea"]) is not None
    execution.cancellation.cancel()
    with pytest.raises(ExecutionCancelled):
        await models.embed(execution, ["coffee"])
    assert embedder.asked == [["tea"]]


def test_only_models_ask_an_embedder_so_that_each_text_has_an_execution():
    asking = [
        path.relative_to(SERVER).as_posix()
        for path in SERVER.rglob("*.py")
        if "embedder.embed(" in path.read_text(encoding="utf-8")
    ]
    assert asking == ["memory/models.py"]
