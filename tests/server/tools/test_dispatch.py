"""From a name and raw arguments to an answer: each failure of a tool is a result, and each result can be sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import Raw, Struct

from codesynapse.contracts.errors import InputUnavailable, Invalid, RevisionConflict, StoreFault
from codesynapse.contracts.identity import Cancellation, Execution, Identity, Millis
from codesynapse.contracts.quotas import DAY_MS
from codesynapse.server.clock import ManualClock
from codesynapse.server.mcp.messages import ProtocolError, RequestId
from codesynapse.server.telemetry import Metrics
from codesynapse.server.tools.dispatch import STORED_DATA, Dispatcher, answer_bytes, answer_json, last_day
from codesynapse.server.tools.registry import SILENT, Answer, Blocks, InputRequest, InputRequired, Tool, Toolbox

MARK = "q7MARKq7"
NOW = 1_800_000_000_000


class Arguments(Struct, forbid_unknown_fields=True):
    text: str = ""


class Said(Struct):
    text: str


Work = Callable[[Execution, Arguments, Any], Awaitable[Any]]


def execution(days: float = 7) -> Execution:
    identity = Identity(tenant_id="t", subject_id="u", session_id="s", parent_session_id="s")
    return Execution(
        identity=identity,
        actor_id="u",
        key_id="k",
        deadline_ms=Millis(NOW + round(days * DAY_MS)),
        cancellation=Cancellation(),
    )


async def call(
    work: Work, arguments: bytes = b"{}", running: Execution | None = None, metrics: Metrics | None = None
) -> Answer:
    toolbox = Toolbox()
    toolbox.register(
        Tool(
            name="say",
            title="Say",
            description="Says.",
            toolset="test",
            arguments=Arguments,
            answer=Said,
            handler=work,
            read_only=True,
        )
    )
    dispatcher = Dispatcher(toolbox, ManualClock(NOW), metrics or Metrics())
    return await dispatcher.call(running or execution(), "say", Raw(arguments), SILENT)


async def say(_: Execution, arguments: Arguments, __: Any) -> Said:
    return Said(arguments.text)


def content(answer: Answer) -> dict[str, Any]:
    assert answer.structured is not None
    assert MARK.encode() not in answer.structured
    found: dict[str, Any] = json.loads(answer.structured)
    return found


async def test_a_tool_answers_with_its_struct():
    answer = await call(say, b'{"text":"x"}')
    assert (answer.is_error, content(answer)) == (False, {"text": "x"})


async def test_wrong_arguments_are_a_result_that_names_the_field():
    answer = await call(say, b'{"q7MARKq7":"x"}')
    assert answer.is_error
    assert (content(answer)["code"], content(answer)["field"]) == ("invalid", "arguments")


async def test_a_refusal_is_a_result_with_its_figures():
    async def conflict(*_: Any) -> Said:
        raise RevisionConflict(details={"revision": 4})

    answer = await call(conflict)
    assert (answer.is_error, content(answer)["code"], content(answer)["revision"]) == (True, "revision_conflict", 4)


async def test_a_store_that_fails_is_logged_with_its_cause_and_the_model_is_not_told(
    capsys: pytest.CaptureFixture[str],
):
    async def full(*_: Any) -> Said:
        fault = StoreFault()
        fault.cause = "SQLITE_FULL"
        raise fault

    answer = await call(full)
    assert (answer.is_error, content(answer)["code"]) == (True, "store_fault")
    assert "SQLITE_FULL" not in str(content(answer))
    assert "SQLITE_FULL" in "".join(capsys.readouterr())


async def test_a_fault_is_a_result_without_its_text(capsys: pytest.CaptureFixture[str]):
    async def broken(*_: Any) -> Said:
        raise KeyError(MARK)

    answer = await call(broken)
    assert (answer.is_error, content(answer)["code"]) == (True, "internal")
    logged = "".join(capsys.readouterr())
    assert "tool_failed" in logged
    assert MARK not in logged


async def test_an_answer_that_cannot_be_sent_is_a_fault_of_the_tool():
    async def unspeakable(*_: Any) -> Said:
        return Said("\ud800")

    answer = await call(unspeakable)
    assert (answer.is_error, content(answer)["code"]) == (True, "internal")


@pytest.mark.parametrize(("days", "code"), [(0, "execution_expired"), (7, "cancelled")])
async def test_a_call_that_may_not_go_on_never_reaches_its_tool(days: float, code: str):
    async def never(*_: Any) -> Said:
        raise AssertionError("it ran")

    running = execution(days)
    if days:
        running.cancellation.cancel()
    assert content(await call(never, running=running))["code"] == code


async def test_a_cancellation_goes_through():
    async def wait(*_: Any) -> Said:
        await asyncio.Event().wait()
        return Said("")

    task = asyncio.create_task(call(wait))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_calls_are_counted_by_tool_and_outcome_alone():
    metrics = Metrics()
    await call(say, metrics=metrics)
    await call(say, b'{"text":5}', metrics=metrics)
    text = metrics.text().decode()
    assert 'codesynapse_tool_calls_total{outcome="answered",tool="say"} 1.0' in text
    assert 'codesynapse_tool_calls_total{outcome="refused",tool="say"} 1.0' in text


@pytest.mark.parametrize(("left", "told"), [(DAY_MS, True), (DAY_MS + 1, False), (1, True)])
def test_the_deadline_is_told_during_the_last_day(left: int, told: bool):
    assert (last_day(NOW + left, NOW) is not None) == told


async def test_in_the_last_day_the_answer_carries_the_deadline():
    assert (await call(say, running=execution(0.5))).expires_at_ms == NOW + DAY_MS // 2
    assert (await call(say)).expires_at_ms is None
    assert (await call(say, b'{"text":1}', execution(0.5))).expires_at_ms is None


def message(answer: Answer, version: str = "2025-11-25") -> dict[str, Any]:
    raw = answer_bytes(RequestId(b'"i"'), answer, version)
    assert raw.isascii()
    found: dict[str, Any] = json.loads(raw)
    return found


def test_an_answer_is_structured_content_and_the_same_json_as_text():
    result = message(Answer(structured='{"text":"a\u2028é"}'.encode(), is_error=False))["result"]
    assert result["structuredContent"] == {"text": "a\u2028é"}
    assert [json.loads(part["text"]) for part in result["content"]] == [result["structuredContent"]]
    assert (result["isError"], result["_meta"]) == (False, {"codesynapse/content": STORED_DATA})


def test_the_first_revision_gets_the_text_alone():
    answer = Answer(structured=b"{}", is_error=True)
    assert "structuredContent" not in message(answer, "2025-03-26")["result"]
    assert "structuredContent" in message(answer, "2025-06-18")["result"]


def test_the_deadline_is_told_as_a_moment():
    result = message(Answer(structured=b"{}", is_error=False, expires_at_ms=NOW))["result"]
    assert result["_meta"]["codesynapse/session_expires_at"] == "2027-01-15T08:00:00.000Z"


def test_what_a_refusal_says_is_what_the_error_says():
    assert Invalid(field="x", limit=3).message.endswith("Field: x. Limit: 3.")


async def test_blocks_are_the_content_as_they_are():
    async def show(*_: Any) -> Blocks:
        return Blocks(content=[{"type": "image", "data": "AA==", "mimeType": "image/png"}], structured=[1])

    answer = await call(show)
    result = message(answer)["result"]
    assert (result["content"][0]["type"], result["structuredContent"], result["isError"]) == ("image", [1], False)
    assert "structuredContent" not in message(answer, "2025-03-26")["result"]


async def test_blocks_may_be_an_error_and_hold_no_structured_content():
    async def fail(*_: Any) -> Blocks:
        return Blocks(content=[], is_error=True)

    result = message(await call(fail))["result"]
    assert (result["content"], result["isError"], "structuredContent" in result) == ([], True, False)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (InputUnavailable({"roots": {}}), "refused"),
        (InputRequired({"k": InputRequest("roots/list")}), "asked"),
        (ProtocolError(-32050, "Own."), "refused"),
    ],
)
async def test_what_ends_a_call_without_a_result_goes_through_and_is_counted(error: Exception, outcome: str):
    async def ending(*_: Any) -> Said:
        raise error

    metrics = Metrics()
    with pytest.raises(type(error)) as caught:
        await call(ending, metrics=metrics)
    assert caught.value is error
    assert f'{{outcome="{outcome}",tool="say"}} 1.0' in metrics.text().decode()


def test_a_revision_adds_members_before_and_meta_beside_ours():
    answer = Answer(structured=b'{"a":1}', is_error=False)
    result = json.loads(answer_json(answer, first=b'"resultType":"complete",', meta={"who": "us"}))
    assert next(iter(result)) == "resultType"
    assert result["_meta"] == {"codesynapse/content": STORED_DATA, "who": "us"}


async def test_with_a_schema_of_its_own_a_tool_gets_a_dict_and_only_an_object():
    async def echo(_: Execution, arguments: dict[str, Any], __: Any) -> Blocks:
        return Blocks(content=[], structured=arguments)

    toolbox = Toolbox()
    toolbox.register(
        Tool(
            name="echo",
            title="E",
            description="D",
            toolset="test",
            input_schema={"type": "object"},
            handler=echo,
            read_only=True,
        )
    )
    dispatcher = Dispatcher(toolbox, ManualClock(NOW), Metrics())
    answer = await dispatcher.call(execution(), "echo", Raw(b'{"a":[1,null]}'), SILENT)
    assert content(answer) == {"a": [1, None]}
    refused = await dispatcher.call(execution(), "echo", Raw(b"[]"), SILENT)
    assert (refused.is_error, content(refused)["field"]) == (True, "arguments")
