"""A tool that asks its client over HTTP: on its call's stream, across cuts, and nobody who cannot be asked."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import Struct

from codesynapse.contracts.identity import Execution
from codesynapse.contracts.requirements import requirement
from codesynapse.server.tools.registry import Blocks, InputRequest, Tool, ToolContext
from tests.integration.harness import Person, Product, Transport, product
from tests.integration.tools import HANG_S, Events, call, primed, stream

ALL = {"elicitation": {}, "sampling": {}, "roots": {}}
REQUESTS = {
    "user": InputRequest("elicitation/create", {"message": "Who?", "requestedSchema": {"type": "object"}}),
    "model": InputRequest("sampling/createMessage", {"messages": [], "maxTokens": 5}),
    "roots": InputRequest("roots/list"),
}


class Nothing(Struct, forbid_unknown_fields=True):
    """No arguments."""


async def curious(_: Execution, __: Nothing, context: ToolContext) -> Blocks:
    return Blocks(content=[], structured=dict(await context.ask(REQUESTS)))


async def letting_go(_: Execution, __: Nothing, context: ToolContext) -> Blocks:
    context.close_stream()
    return Blocks(content=[], structured={"done": True})


@pytest.fixture
async def running() -> AsyncIterator[Product]:
    async with product(input_ms=60_000) as made:
        for handler in (curious, letting_go):
            made.services.toolbox.register(
                Tool(
                    name=handler.__name__,
                    title=handler.__name__,
                    description="For tests.",
                    toolset="test",
                    arguments=Nothing,
                    handler=handler,
                    read_only=True,
                )
            )
        yield made


async def opened(running: Product, person: Person | None = None, **more: Any) -> Transport:
    person = person or await running.person()
    headers = person.bound(await running.register(person))
    made = Transport(http=running.http, url=running.url, headers=headers, **{"capabilities": ALL, **more})
    await made.initialize()
    return made


async def answer(transport: Transport, message: dict[str, Any], result: object) -> None:
    """Answer a request of the server by a POST of its own."""
    async with transport.post({"jsonrpc": "2.0", "id": message["id"], "result": result}) as response:
        assert (response.status, await response.read()) == (202, b"")


async def questions(events: Events) -> dict[str, dict[str, Any]]:
    """The three questions by their methods."""
    asked = [await events.message() for _ in REQUESTS]
    assert len({each["id"] for each in asked}) == 3
    return {each["method"]: each for each in asked}


ANSWERS = {
    "elicitation/create": {"action": "accept", "content": {"name": "Ana"}},
    "sampling/createMessage": {"role": "assistant", "content": {"type": "text", "text": "Hi"}},
    "roots/list": {"roots": []},
}


@requirement("features:asking")
async def test_user_model_and_roots_are_asked_on_the_calls_stream_and_answered_apart(running: Product) -> None:
    transport = await opened(running)
    async with asyncio.timeout(HANG_S), stream(transport, call(1, "curious")) as events:
        await primed(events)
        for method, question in (await questions(events)).items():
            await answer(transport, question, ANSWERS[method])
        result = (await events.message())["result"]
        assert sorted(result["structuredContent"]) == ["model", "roots", "user"]
        assert result["structuredContent"]["user"] == ANSWERS["elicitation/create"]


@requirement("features:asking")
async def test_an_answer_from_another_transport_session_is_ignored_even_of_the_same_person(running: Product) -> None:
    person = await running.person()
    transport, other = await opened(running, person), await opened(running, person)
    async with asyncio.timeout(HANG_S), stream(transport, call(1, "curious")) as events:
        await primed(events)
        asked = await questions(events)
        for question in asked.values():
            await answer(other, question, {"stolen": True})
        for method, question in asked.items():
            await answer(transport, question, ANSWERS[method])
        assert "stolen" not in str(await events.message())


async def test_a_question_that_a_cut_swallowed_is_asked_again_on_resume(running: Product) -> None:
    transport = await opened(running)
    async with asyncio.timeout(HANG_S):
        async with stream(transport, call(1, "curious")) as events:
            first = await primed(events)
        async with stream(transport, **{"Last-Event-ID": first}) as events:
            assert await primed(events) == first
            for method, question in (await questions(events)).items():
                await answer(transport, question, ANSWERS[method])
            assert not (await events.message())["result"]["isError"]


async def test_an_error_for_an_answer_ends_the_call_by_name(running: Product) -> None:
    transport = await opened(running)
    async with asyncio.timeout(HANG_S), stream(transport, call(1, "curious")) as events:
        await primed(events)
        question = (await questions(events))["elicitation/create"]
        error = {"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no"}}
        async with transport.post(error) as response:
            assert response.status == 202
        told = [await events.message() for _ in range(3)]
        assert [each["method"] for each in told[:2]] == ["notifications/cancelled"] * 2
        assert told[2]["result"]["structuredContent"]["code"] == "input_unanswered"


@pytest.mark.parametrize(
    "more",
    [{"capabilities": {"roots": {}}}, {"accept": "application/json"}, {"version": "2025-03-26"}],
    ids=["undeclared", "json-only", "before elicitation"],
)
async def test_a_client_that_cannot_be_asked_gets_a_result_that_says_so(running: Product, more: dict[str, Any]) -> None:
    transport = await opened(running, **more)
    answered = (await transport.request("tools/call", {"name": "curious"}))["result"]
    assert answered["isError"]
    assert "input_unavailable" in answered["content"][0]["text"]


async def test_a_connection_that_a_tool_let_go_is_taken_up_where_it_was(running: Product) -> None:
    transport = await opened(running)
    async with asyncio.timeout(HANG_S):
        async with stream(transport, call(1, "letting_go")) as events:
            first = await primed(events)
            assert await events.rest() == []
        async with stream(transport, **{"Last-Event-ID": first}) as events:
            await primed(events)
            assert (await events.message())["result"]["structuredContent"] == {"done": True}


async def test_an_older_revision_cannot_come_back_and_keeps_its_connection(running: Product) -> None:
    transport = await opened(running, version="2025-06-18")
    answered = await transport.request("tools/call", {"name": "letting_go"})
    assert answered["result"]["structuredContent"] == {"done": True}
