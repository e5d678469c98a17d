"""One time for all that a call asks of the stores: what one operation took, the next has no more."""

import asyncio
from types import SimpleNamespace

import pytest

from codesynapse.contracts import deadlines
from codesynapse.contracts.deadlines import left, renew, within


class Clock:
    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(deadlines, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


def test_without_a_call_an_operation_has_its_own_time() -> None:
    assert left(3) == 3
    renew()
    assert left(3) == 3


def test_what_one_operation_took_the_next_has_no_more(clock: Clock) -> None:
    with within(10):
        assert (left(3), left(60)) == (3, 10)
        clock.now_s += 8
        assert (left(1), left(3), left(60)) == (1, 2, 2)
        clock.now_s += 8
        assert left(3) == 0
    assert left(3) == 3


def test_a_question_to_somebody_lets_the_time_begin_anew(clock: Clock) -> None:
    with within(10):
        clock.now_s += 600
        renew()
        assert left(60) == 10


async def test_the_tasks_of_a_call_share_its_time_and_other_calls_have_their_own(clock: Clock) -> None:
    async def call(seconds: float) -> tuple[float, float]:
        with within(seconds):
            before = await asyncio.create_task(asyncio.sleep(0, left(60)))
            await asyncio.create_task(asyncio.to_thread(renew))
            return before, left(60)

    assert await asyncio.gather(call(10), call(20)) == [(10, 10), (20, 20)]
