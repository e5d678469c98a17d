"""A call that says nothing itself is heard of while it runs, by whoever asked for progress."""

import asyncio

import pytest

from codesynapse.contracts.requirements import requirement
from codesynapse.server.features import reporting
from tests.integration.harness import product
from tests.integration.tools import HANG_S, asking, call, primed, register_tools, stream


@requirement("features:progress")
async def test_a_silent_call_reports_that_it_runs_until_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "STILL_RUNNING_S", 0.01)
    async with product() as running, asyncio.timeout(HANG_S):
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, asking(1, "wait", "p")) as events:
            await primed(events)
            values = [(await events.message())["params"] for _ in range(3)]
            assert {each["progressToken"] for each in values} == {"p"}
            assert [each["progress"] for each in values] == sorted({each["progress"] for each in values})
            gate.opened.set()
            messages = [data for _, data in await events.rest()]
        assert '"result"' in messages[-1]
        assert not [data for data in messages[:-1] if "notifications/progress" not in data]


async def test_who_did_not_ask_for_progress_gets_the_answer_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "STILL_RUNNING_S", 0.0)
    async with product() as running, asyncio.timeout(HANG_S):
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, call(1, "wait")) as events:
            await primed(events)
            await gate.entries(1)
            gate.opened.set()
            assert len(await events.rest()) == 1
