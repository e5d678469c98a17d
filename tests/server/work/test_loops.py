"""Work that is done again and again."""

from __future__ import annotations

import asyncio

import pytest

from codesynapse.contracts.errors import StoreBusy
from codesynapse.server.work.loops import every


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
