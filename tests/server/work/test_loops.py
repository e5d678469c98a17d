"""Work that is done again and again."""

from __future__ import annotations

import asyncio

import pytest

from codesynapse.contracts.errors import StoreBusy
from codesynapse.server.work.loops import every, repeating


async def test_a_loop_goes_on_whatever_one_round_raises(capsys: pytest.CaptureFixture[str]):
    rounds, enough = [StoreBusy(), ValueError("q7MARKq7")], asyncio.Event()

    async def work() -> None:
        if rounds:
            raise rounds.pop()
        enough.set()

    loop = asyncio.create_task(every(0, work))
    async with asyncio.timeout(30):
        await enough.wait()
    loop.cancel()
    assert "q7MARKq7" not in "".join(capsys.readouterr())


async def test_what_repeats_beside_a_block_ends_with_it():
    rounds, twice = 0, asyncio.Event()

    async def work() -> None:
        nonlocal rounds
        rounds += 1
        if rounds == 2:
            twice.set()

    before = asyncio.all_tasks()
    async with asyncio.timeout(30), repeating(0, work):
        await twice.wait()
    assert asyncio.all_tasks() == before
