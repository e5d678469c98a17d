"""The one dispatcher: what each method answers, and how each refusal looks, whichever era asks."""

from __future__ import annotations

from typing import Any

import pytest

from codesynapse.contracts.errors import (
    ExecutionMissing,
    InputUnavailable,
    Invalid,
    NotFound,
    RepositoryForbidden,
    StoreFault,
)
from codesynapse.contracts.identity import Execution
from codesynapse.contracts.requirements import requirement
from codesynapse.server.features.operations import VALUES_MAX
from codesynapse.server.features.registry import Features, Instance, ResourceTemplate
from codesynapse.server.features.templates import URI_MAX
from codesynapse.server.mcp.catalog import PAGE
from codesynapse.server.mcp.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    ProtocolError,
)
from codesynapse.server.tools.registry import SILENT, Answer, InputRequest, InputRequired, Toolbox
from tests.server.features.world import execution, operations, prompt, raw, resource, say, tool

MARK = "q7MARKq7"


def furnished(*features: Any) -> Features:
    made = Features(Toolbox())
    made.toolbox.register(tool(say))
    made.add(*features)
    return made


async def run(features: Features, method: str, params: object = None, running: Execution | None = None) -> Any:
    return await operations(features).run(running or execution(), method, raw(params or {}), SILENT)


async def code_of(features: Features, method: str, params: object = None) -> int:
    with pytest.raises(ProtocolError) as caught:
        await run(features, method, params)
    assert MARK not in caught.value.text
    return caught.value.code


async def test_a_tool_answers_with_its_blocks():
    answer = await run(furnished(), "tools/call", {"name": "tool", "arguments": {"text": "x"}})
    assert isinstance(answer, Answer)
    assert (answer.content, answer.structured, answer.is_error) == (b'[{"type":"text","text":"x"}]', None, False)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 1},
        {"name": MARK},
        {"name": "tool", "arguments": []},
        {"name": "tool", "arguments": MARK},
        {"name": "tool", "arguments": None},
    ],
)
async def test_a_malformed_call_or_an_unknown_tool_is_invalid(params: dict[str, Any]):
    assert await code_of(furnished(), "tools/call", params) == INVALID_PARAMS


async def test_a_hidden_tool_is_unknown():
    made = operations(furnished())
    params = raw({"name": "tool"})
    assert isinstance(await made.run(execution(), "tools/call", params, SILENT, frozenset({"test"})), Answer)
    with pytest.raises(ProtocolError):
        await made.run(execution(), "tools/call", params, SILENT, frozenset({"other"}))


async def test_the_static_lists_need_no_execution_and_all_else_does():
    made = operations(furnished(prompt(), resource()))
    for method in ("tools/list", "prompts/list", "resources/templates/list"):
        assert await made.run(None, method, raw({}), SILENT)
    for method in ("tools/call", "resources/list", "resources/read", "prompts/get", "completion/complete"):
        with pytest.raises(ExecutionMissing):
            await made.run(None, method, raw({"name": "tool"}), SILENT)


@pytest.mark.parametrize(
    "method", ["resources/list", "resources/read", "resources/templates/list", "prompts/list", "prompts/get", "x"]
)
async def test_what_there_is_nothing_of_has_no_methods(method: str):
    assert await code_of(furnished(), method) == METHOD_NOT_FOUND


async def test_completion_is_there_only_where_something_can_be_completed():
    assert await code_of(furnished(resource()), "completion/complete") == METHOD_NOT_FOUND


async def test_a_resource_is_listed_and_read():
    made = furnished(resource())
    (listed,) = (await run(made, "resources/list"))["resources"]
    assert (listed["uri"], listed["mimeType"], listed["title"]) == ("test://one", "text/plain", "One")
    read = await run(made, "resources/read", {"uri": "test://one"})
    assert read["contents"] == [{"uri": "test://one", "mimeType": "text/plain", "text": "content"}]


async def refusing(*_: Any) -> Any:
    raise RepositoryForbidden


async def missing(*_: Any) -> Any:
    raise NotFound


@pytest.mark.parametrize("read", [refusing, missing])
async def test_a_resource_without_a_grant_answers_as_one_that_does_not_exist(read: Any):
    made, said = furnished(resource(read=read)), set()
    for uri in ("test://one", "test://nothing"):
        with pytest.raises(ProtocolError) as caught:
            await run(made, "resources/read", {"uri": uri})
        assert caught.value.data == {"uri": uri}
        said.add((caught.value.code, caught.value.text))
    assert said == {(RESOURCE_NOT_FOUND, "There is no such resource.")}


async def test_a_uri_that_is_too_long_to_be_one_of_ours_is_not_repeated():
    made = furnished(resource())
    longest = "test://" + "x" * (URI_MAX - 7)
    for uri, data in ((longest, {"uri": longest}), (longest + "x", None)):
        with pytest.raises(ProtocolError) as caught:
            await run(made, "resources/read", {"uri": uri})
        assert (caught.value.code, caught.value.data) == (RESOURCE_NOT_FOUND, data)


@pytest.mark.parametrize("params", [{}, {"uri": 5}])
async def test_a_read_without_a_uri_is_invalid(params: dict[str, Any]):
    assert await code_of(furnished(resource()), "resources/read", params) == INVALID_PARAMS


@requirement("features:pages")
async def test_every_list_comes_in_pages_whose_cursors_are_its_own_and_ours():
    count = PAGE + 1
    made = Features(Toolbox())
    for number in range(count):
        made.toolbox.register(tool(say, name=f"t{number}"))
        made.add(resource(f"test://{number}"), prompt(f"p{number}"), template(number))
    methods = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources"}
    cursors = {}
    for method, member in {**methods, "resources/templates/list": "resourceTemplates"}.items():
        first = await run(made, method)
        cursors[method] = first["nextCursor"]
        rest = await run(made, method, {"cursor": first["nextCursor"]})
        assert (len(first[member]), len(rest[member]), "nextCursor" in rest) == (PAGE, 1, False)
    for method in cursors:
        for cursor in {"", "x", 5, *cursors.values()} - {cursors[method]}:
            assert await code_of(made, method, {"cursor": cursor}) == INVALID_PARAMS


def template(number: int, **more: Any) -> ResourceTemplate:
    shown = {"name": "t", "title": "T", "description": "D", "mime_type": "text/plain", "read": missing}
    return ResourceTemplate(uri_template=f"test://{number}/{{name}}", **{**shown, **more})


async def test_the_instances_of_a_template_are_listed_to_whom_they_are_for():
    async def instances(running: Execution) -> list[Instance]:
        return [Instance(uri=f"test://1/{running.identity.subject_id}", name="n", title="T", description="D")]

    made = furnished(resource(), template(1, instances=instances))
    assert [each["uri"] for each in (await run(made, "resources/list"))["resources"]] == ["test://one", "test://1/u"]


async def test_a_prompt_is_listed_with_its_arguments_and_made():
    made = furnished(prompt())
    (listed,) = (await run(made, "prompts/list"))["prompts"]
    assert [(each["name"], each["required"]) for each in listed["arguments"]] == [("name", True), ("tone", False)]
    got = await run(made, "prompts/get", {"name": "greet", "arguments": {"name": "Ana"}})
    assert got["messages"] == [{"role": "user", "content": {"type": "text", "text": "Hello, Ana"}}]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": MARK},
        {"name": "greet"},
        {"name": "greet", "arguments": {"name": ""}},
        {"name": "greet", "arguments": {"name": 5}},
        {"name": "greet", "arguments": {"name": "Ana", MARK: "x"}},
    ],
)
async def test_an_unknown_prompt_and_wrong_arguments_are_invalid(params: dict[str, Any]):
    assert await code_of(furnished(prompt()), "prompts/get", params) == INVALID_PARAMS


def completing(reference: object, argument: str = "name", **more: Any) -> dict[str, Any]:
    return {"ref": reference, "argument": {"name": argument, "value": "v"}, **more}


GREET = {"type": "ref/prompt", "name": "greet"}


@requirement("features:completion")
async def test_completion_holds_at_most_100_values_and_says_that_there_are_more():
    params = completing(GREET, context={"arguments": {"tone": "soft"}})
    found = (await run(furnished(prompt()), "completion/complete", params))["completion"]
    assert (len(found["values"]), found["total"], found["hasMore"]) == (VALUES_MAX, 150, True)
    assert found["values"][0] == "v0tone"


async def test_what_nothing_completes_has_no_values():
    found = await run(furnished(prompt()), "completion/complete", completing(GREET, "tone"))
    assert found == {"completion": {"values": [], "total": 0, "hasMore": False}}


@pytest.mark.parametrize(
    "params",
    [
        {},
        completing({"type": "ref/prompt", "name": MARK}),
        completing({"type": "ref/resource", "uri": MARK}),
        completing({"type": MARK}),
        completing({}),
        completing(GREET, MARK),
        {"ref": GREET},
        {"ref": GREET, "argument": {"name": "name"}},
    ],
)
async def test_what_is_not_registered_cannot_be_completed(params: dict[str, Any]):
    assert await code_of(furnished(prompt()), "completion/complete", params) == INVALID_PARAMS


@pytest.mark.parametrize(
    ("error", "code", "data"),
    [
        (Invalid(field="depth", limit="1 to 3"), INVALID_PARAMS, "invalid"),
        (StoreFault(), INTERNAL_ERROR, "store_fault"),
        (KeyError(MARK), INTERNAL_ERROR, None),
        (ProtocolError(-32050, "Own."), -32050, None),
    ],
)
async def test_a_refusal_and_a_fault_are_errors_with_their_own_codes(
    error: Exception, code: int, data: str | None, capsys: pytest.CaptureFixture[str]
):
    async def failing(*_: Any) -> Any:
        raise error

    with pytest.raises(ProtocolError) as caught:
        await run(furnished(resource(read=failing)), "resources/read", {"uri": "test://one"})
    assert caught.value.code == code
    assert (caught.value.data or {}).get("code") == data  # type: ignore[attr-defined]
    assert MARK not in "".join(capsys.readouterr())


@pytest.mark.parametrize("method", ["tools/call", "resources/read", "prompts/get"])
@pytest.mark.parametrize("error", [InputUnavailable({"roots": {}}), InputRequired({"k": InputRequest("roots/list")})])
async def test_what_a_context_raises_to_ask_goes_through(method: str, error: Exception):
    async def asking(*_: Any) -> Any:
        raise error

    made = Features(Toolbox())
    made.toolbox.register(tool(asking, name="greet"))
    made.add(resource(read=asking), prompt(get=asking))
    with pytest.raises(type(error)) as caught:
        await run(made, method, {"name": "greet", "uri": "test://one", "arguments": {"name": "Ana"}})
    assert caught.value is error


async def test_a_call_that_may_not_go_on_reads_nothing():
    running = execution()
    running.cancellation.cancel()
    with pytest.raises(ProtocolError):
        await run(furnished(resource()), "resources/read", {"uri": "test://one"}, running)


async def test_what_is_watched_is_what_may_be_read():
    async def watch(*_: Any) -> tuple[str, ...]:
        return ("repository", "t", "r")

    made = operations(furnished(resource(), resource("test://two", watch=watch), resource("test://no", watch=refusing)))
    assert await made.watch(execution(), "test://one") == ("resource", "test://one")
    assert await made.watch(execution(), "test://two") == ("repository", "t", "r")
    for uri in ("test://no", "test://nothing"):
        with pytest.raises(ProtocolError) as caught:
            await made.watch(execution(), uri)
        assert caught.value.code == RESOURCE_NOT_FOUND
