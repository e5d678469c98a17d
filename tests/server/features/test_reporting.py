"""What a running call says: its own progress, or at least that it still runs."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from codesynapse.contracts.requirements import requirement
from codesynapse.server.features import reporting
from codesynapse.server.features.reporting import Reporter


def heard_by(token: str | None = "p", level: str = "info") -> tuple[Reporter, list[dict[str, Any]]]:
    heard: list[dict[str, Any]] = []
    return Reporter(
        "tool", token, lambda sent: heard.append(json.loads(sent)["params"]), lambda each: each == level
    ), heard


async def test_a_call_that_says_nothing_is_reported_as_running_with_values_that_rise():
    reporter, heard = heard_by()
    for _ in range(3):
        reporter.still_running()
    values = [each["progress"] for each in heard]
    assert values == sorted(set(values))
    assert 0 < values[0] < values[-1] < 1, "below whatever a tool counts"
    reporter.stop()


@requirement("features:progress")
async def test_it_is_reported_of_its_own_accord_until_the_call_is_over(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reporting, "STILL_RUNNING_S", 0.001)
    enough, heard = asyncio.Event(), []

    def hear(payload: bytes) -> None:
        heard.append(payload)
        if len(heard) == 3:
            enough.set()

    reporter = Reporter("tool", "p", hear, lambda _: True)
    await asyncio.wait_for(enough.wait(), 60)
    reporter.stop()
    assert reporter._timer is None


async def test_a_tool_that_reports_itself_is_left_to_it():
    reporter, heard = heard_by()
    reporter.progress(50, 100)
    reporter.still_running()
    reporter.progress(100, 100, "done")
    assert [each["progress"] for each in heard] == [50, 100]
    assert reporter._timer is None
    reporter.stop()


async def test_without_a_token_there_is_no_progress_and_no_timer():
    reporter, heard = heard_by(None)
    reporter.progress(1)
    assert (heard, reporter._timer) == ([], None)


async def test_logs_of_wanted_levels_alone_are_sent_under_the_tools_name():
    reporter, heard = heard_by(None, "error")
    for level in ("info", "error", "loud"):
        reporter.log(level, "text")
    assert heard == [{"level": "error", "logger": "tool", "data": "text"}]
