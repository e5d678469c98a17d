"""Patience with a server that is away, and work that is shared."""

from __future__ import annotations

import asyncio

import pytest

from codesynapse.server.bridge.options import BridgeOptions
from codesynapse.server.bridge.refusal import Refusal, Unsent, unreachable
from codesynapse.server.bridge.waiting import Patience, Shared


async def test_patience_ends_with_the_reason_of_the_absence() -> None:
    patience = Patience(BridgeOptions(url="", api_key="", pause_s=0.001, unreachable_s=0.05))
    later = Unsent(unreachable("Reason"))

    async def wait_on() -> None:
        while True:
            await patience.wait(later)

    with pytest.raises(Refusal) as caught:
        await wait_on()
    assert caught.value is later.refusal


async def test_shared_work_is_done_once_for_all_who_wait_and_again_for_who_comes_later() -> None:
    shared, go, runs = Shared(), asyncio.Event(), []

    async def work() -> None:
        runs.append(1)
        await go.wait()

    waiting = [asyncio.create_task(shared.run(work)) for _ in range(3)]
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(*waiting)
    assert len(runs) == 1
    await shared.run(work)
    assert len(runs) == 2


async def test_one_who_stops_waiting_does_not_stop_the_work_of_the_others() -> None:
    shared, go, done = Shared(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await go.wait()
        done.set()

    impatient, patient = (asyncio.create_task(shared.run(work)) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    go.set()
    await patient
    assert done.is_set()


async def test_stopped_work_ends_for_all() -> None:
    shared = Shared()
    shared.stop()
    waiting = asyncio.create_task(shared.run(asyncio.Event().wait))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    shared.stop()
    with pytest.raises(asyncio.CancelledError):
        await waiting
