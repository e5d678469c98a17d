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
from codesynapse.server.mcp.messages import ProtocolError, RequestId
from codesynapse.server.telemetry import Metrics
from codesynapse.server.tools.dispatch import Dispatcher
from codesynapse.server.tools.registry import InputRequest, Tool, Toolbox, ToolContext
from tests.server.features.world import operations, raw, resource

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
    made = Operations(Features(toolbox), Dispatcher(toolbox, clock, Metrics()), clock, Limits())
    heard.subscriptions = Subscriptions(made, heard.notify, 2)
    calls = Calls(made, Limits())
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


async def test_a_refusal_to_ask_is_a_result_that_names_what_is_missing():
    async def asking(_: Execution, __: Nothing, context: ToolContext) -> Nothing:
        await context.ask({"k": InputRequest("roots/list")})
        return Nothing()

    (answer,) = (await run(asking)).answers
    assert answer["result"]["isError"]
    assert answer["result"]["structuredContent"]["code"] == "input_unavailable"
    assert answer["result"]["structuredContent"]["limit"] == "roots"


async def test_a_tool_can_let_its_connection_go():
    async def closing(_: Execution, __: Nothing, context: ToolContext) -> Nothing:
        context.close_stream()
        return Nothing()

    heard = await run(closing)
    assert (heard.closed, len(heard.answers)) == (1, 1)


async def test_an_error_of_the_protocol_is_one():
    async def failing(*_: Any) -> Nothing:
        raise ProtocolError(-32050, "Own.", data={"a": 1})

    (answer,) = (await run(failing)).answers
    assert answer == {"jsonrpc": "2.0", "id": 7, "error": {"code": -32050, "message": "Own.", "data": {"a": 1}}}


async def ask(method: str, params: dict[str, Any], version: str = VERSION) -> tuple[dict[str, Any], Heard]:
    """The answer to a request for the resource test://one, of which there is one."""
    heard, made = Heard(), Features(Toolbox())
    made.add(resource())
    done = operations(made)
    heard.subscriptions = Subscriptions(done, heard.notify, 2)
    connection = Connection(done.catalog, ServerInfo(name="n", title="t", version="1", instructions="i"))
    asked = Run(RequestId(b"7"), method, raw(params), method, None)
    await Calls(done, Limits()).run(execution(), asked, connection, heard, version)
    (answer,) = heard.answers
    return answer, heard


async def test_a_missing_resource_is_told_without_its_uri():
    for method in ("resources/read", "resources/subscribe"):
        answer, _ = await ask(method, {"uri": "test://nothing"})
        assert answer["error"] == {"code": -32002, "message": "There is no such resource."}


async def test_a_subscription_is_answered_with_an_empty_result_and_needs_a_uri():
    for method in ("resources/subscribe", "resources/unsubscribe"):
        answer, heard = await ask(method, {"uri": "test://one"})
        assert answer["result"] == {}
        assert len(heard.subscriptions._ends) == (method == "resources/subscribe")
        assert (await ask(method, {}))[0]["error"]["code"] == -32602


@pytest.mark.parametrize(("version", "shown"), [("2025-03-26", False), ("2025-06-18", True), (VERSION, True)])
async def test_the_first_revision_sees_no_titles(version: str, shown: bool):
    answer, _ = await ask("resources/list", {}, version)
    assert ("title" in answer["result"]["resources"][0]) == shown
