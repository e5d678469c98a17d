"""One call as a session runs it: progress and logs on the way, then its answer, or silence."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec import Raw, Struct

from codesynapse.contracts.identity import Cancellation, Execution, Identity, Millis
from codesynapse.server.clock import ManualClock
from codesynapse.server.features.calls import Calls
from codesynapse.server.features.operations import Operations
from codesynapse.server.features.registry import Features
from codesynapse.server.features.subscriptions import Subscriptions
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.connection import Connection, Run, ServerInfo
from codesynapse.server.mcp.messages import RequestId
from codesynapse.server.telemetry import Metrics
from codesynapse.server.tools.dispatch import Dispatcher
from codesynapse.server.tools.registry import Tool, Toolbox, ToolContext

VERSION = "2025-11-25"


class Nothing(Struct, forbid_unknown_fields=True):
    """No arguments, or no answer."""


@dataclass
class Heard:
    """Everything that a call sends."""

    notes: list[dict[str, Any]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    silences: int = 0
    closed: int = 0
    asks: bool = True
    shared: bool = True
    subscriptions: Subscriptions = field(init=False)

    def notify(self, payload: bytes) -> None:
        self.notes.append(json.loads(payload))

    def answer(self, _: RequestId, payload: bytes) -> None:
        self.answers.append(json.loads(payload))

    def silence(self, _: RequestId) -> None:
        self.silences += 1

    def close_stream(self) -> None:
        self.closed += 1


def execution() -> Execution:
    identity = Identity(tenant_id="t", subject_id="u", session_id="s", parent_session_id="s")
    return Execution(identity=identity, actor_id="u", key_id="k", deadline_ms=Millis(9), cancellation=Cancellation())


async def run(
    work: Any, *, token: str | int | None = None, level: str = "info", running: Execution | None = None
) -> Heard:
    toolbox, heard = Toolbox(), Heard()
    toolbox.register(
        Tool(
            name="tool",
            title="T",
            description="D",
            toolset="test",
            arguments=Nothing,
            answer=Nothing,
            handler=work,
            read_only=True,
        )
    )
    connection = Connection(toolbox.catalog, ServerInfo(name="n", title="t", version="1", instructions="i"))
    connection.log_level = level
    clock = ManualClock(0)
    operations = Operations(Features(toolbox), Dispatcher(toolbox, clock, Metrics()), clock)
    heard.subscriptions = Subscriptions(operations, heard.notify, 2)
    calls = Calls(operations, Limits())
    asked = Run(RequestId(b"7"), "tools/call", Raw(b'{"name":"tool"}'), "tool", token)
    try:
        await calls.run(running or execution(), asked, connection, heard, VERSION)
    except asyncio.CancelledError:
        assert heard.silences == 1
    return heard


async def progressing(_: Execution, __: Nothing, context: ToolContext) -> Nothing:
    context.progress(1, 3, "one")
    context.progress(1, 3, "again")
    context.progress(0.5, None, None)
    context.progress(2, None, None)
    return Nothing()


async def logging(_: Execution, __: Nothing, context: ToolContext) -> Nothing:
    for level in ("debug", "info", "error", "loud"):
        context.log(level, level)
    return Nothing()


async def test_the_answer_comes_last_and_once():
    heard = await run(progressing, token="p")
    assert [answer["id"] for answer in heard.answers] == [7]
    assert heard.silences == 0


@pytest.mark.parametrize("token", ["p", 5, 0, ""])
async def test_progress_rises_and_carries_the_token_of_whoever_asked(token: str | int):
    heard = await run(progressing, token=token)
    assert [note["params"] for note in heard.notes] == [
        {"progressToken": token, "progress": 1, "total": 3, "message": "one"},
        {"progressToken": token, "progress": 2},
    ]


async def test_without_a_token_no_progress_is_sent():
    assert (await run(progressing)).notes == []


@pytest.mark.parametrize(("level", "sent"), [("debug", 3), ("info", 2), ("error", 1), ("emergency", 0)])
async def test_logs_are_sent_from_the_chosen_level_on_and_unknown_levels_never(level: str, sent: int):
    heard = await run(logging, level=level)
    assert len(heard.notes) == sent
    assert all(note["params"]["logger"] == "tool" for note in heard.notes)


async def test_a_call_that_was_cancelled_while_its_tool_finished_is_silent():
    running = execution()

    async def late(*_: Any) -> Nothing:
        running.cancellation.cancel()
        return Nothing()

    heard = await run(late, running=running)
    assert (heard.answers, heard.silences) == ([], 1)


async def test_a_cancelled_task_is_silent():
    async def cancelled(*_: Any) -> Nothing:
        raise asyncio.CancelledError

    heard = await run(cancelled)
    assert (heard.answers, heard.silences) == ([], 1)
