"""Questions to the client: ids of our own, answers that only theirs can give, and an end to each."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Raw

from codesynapse.contracts import deadlines
from codesynapse.contracts.errors import InputUnanswered, InputUnavailable
from codesynapse.contracts.requirements import requirement
from codesynapse.server.features.asking import Asking
from codesynapse.server.mcp.catalog import Catalog
from codesynapse.server.mcp.connection import Accepted, Connection, ServerInfo
from codesynapse.server.mcp.messages import RequestId, Response
from codesynapse.server.tools.registry import InputRequest

URL = InputRequest("elicitation/create", {"mode": "url"})
ROOTS, FORM = InputRequest("roots/list"), InputRequest("elicitation/create", {"message": "Sure?"})


def connection(**capabilities: Any) -> Connection:
    made = Connection(Catalog(), ServerInfo(name="n", title="t", version="1", instructions="i"))
    made.capabilities = capabilities
    return made


def respond(made: Connection, message: dict[str, Any], result: object) -> None:
    raw = None if result is None else Raw(json.dumps(result).encode())
    assert made.receive(Response(RequestId(json.dumps(message["id"]).encode()), raw)) == Accepted()


async def asked(made: Connection, timeout_s: float = 60, **requests: InputRequest) -> tuple[Any, list[dict[str, Any]]]:
    """A running question, and what was sent."""
    sent: list[dict[str, Any]] = []
    asking = Asking(made, lambda payload: sent.append(json.loads(payload)), timeout_s)
    task = asyncio.ensure_future(asking.ask(requests))
    await asyncio.sleep(0)
    return task, sent


async def test_each_question_gets_the_answer_to_itself_in_whatever_order_they_come():
    made = connection(roots={}, elicitation={"form": {}})
    task, sent = await asked(made, a=ROOTS, b=FORM)
    assert [(each["method"], each["params"]) for each in sent] == [
        ("roots/list", {}),
        ("elicitation/create", {"message": "Sure?"}),
    ]
    assert len({each["id"] for each in sent}) == 2
    respond(made, sent[1], {"action": "accept"})
    respond(made, sent[0], {"roots": []})
    assert await task == {"a": {"roots": []}, "b": {"action": "accept"}}
    assert (made.asked, len(sent)) == ({}, 2)


async def test_the_time_that_a_client_thinks_is_not_taken_from_the_stores(monkeypatch: pytest.MonkeyPatch):
    now_s = [100.0]
    monkeypatch.setattr(deadlines, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    with deadlines.within(10):
        made = connection(roots={})
        task, sent = await asked(made, a=ROOTS)
        now_s[0] += 600
        assert deadlines.left(60) == 0
        respond(made, sent[0], {"roots": []})
        await task
        assert deadlines.left(60) == 10


@requirement("features:asking")
async def test_an_answer_to_a_foreign_question_or_a_second_one_is_ignored():
    made, other = connection(roots={}), connection(roots={})
    task, sent = await asked(made, a=ROOTS)
    respond(other, sent[0], {"roots": ["stolen"]})
    respond(made, {"id": 1}, {"roots": ["guessed"]})
    assert not task.done()
    respond(made, sent[0], {"roots": ["mine"]})
    respond(made, sent[0], {"roots": ["again"]})
    assert await task == {"a": {"roots": ["mine"]}}


@pytest.mark.parametrize(
    ("declared", "request_", "required"),
    [
        ({}, ROOTS, {"roots": {}}),
        ({"roots": {}}, FORM, {"elicitation": {}}),
        (
            {"elicitation": {"form": {}}},
            InputRequest("elicitation/create", {"mode": "url"}),
            {"elicitation": {"url": {}}},
        ),
    ],
)
async def test_what_the_client_did_not_declare_is_never_asked(declared: Any, request_: InputRequest, required: Any):
    task, sent = await asked(connection(**declared), a=request_)
    with pytest.raises(InputUnavailable) as caught:
        await task
    assert (caught.value.required, sent) == (required, [])


async def test_without_a_stream_nobody_is_asked():
    with pytest.raises(InputUnavailable) as caught:
        await Asking(connection(roots={}), None, 60).ask({"a": ROOTS})
    assert caught.value.required == {"roots": {}}


@pytest.mark.parametrize("result", [None, [], "x", 5])
async def test_an_error_or_nonsense_is_no_answer(result: object):
    made = connection(roots={})
    task, sent = await asked(made, a=ROOTS)
    respond(made, sent[0], result)
    with pytest.raises(InputUnanswered):
        await task


@requirement("features:asking")
async def test_silence_ends_at_the_deadline_and_the_client_is_told():
    made = connection(roots={})
    task, sent = await asked(made, timeout_s=0.001, a=ROOTS)
    with pytest.raises(InputUnanswered):
        await task
    assert (sent[1]["method"], sent[1]["params"]["requestId"]) == ("notifications/cancelled", sent[0]["id"])
    assert made.asked == {}


async def test_a_call_that_is_cancelled_takes_its_questions_along():
    made = connection(roots={})
    task, sent = await asked(made, a=ROOTS, b=ROOTS)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [each["method"] for each in sent[2:]] == ["notifications/cancelled"] * 2
    assert made.asked == {}
