"""One request and its answer; and several that ask, each carrying what was said before (mcp.md, N24, N15, N23)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codesynapse.contracts.identity import Execution
from codesynapse.server.features.registry import Prompt, PromptResult, Resource, text_contents, text_message
from codesynapse.server.modern.service import ASKING, LISTS, METHODS
from codesynapse.server.tools.registry import ToolContext
from tests.integration.harness import Product, product
from tests.integration.stateless import Stateless, stateless
from tests.server.modern.asking import ELICITATION, accepted, question, register


async def asking(running: Product, capabilities: dict[str, Any] = ELICITATION) -> Stateless:
    peer = await stateless(running)
    peer.capabilities = capabilities
    return peer


async def again(peer: Stateless, before: dict[str, Any], tool: str = "greet", **answers: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": {}, "inputResponses": answers, "requestState": before["requestState"]}
    return await peer.ask("tools/call", params)


async def test_a_tool_asks_over_several_rounds_and_then_answers():
    async with product() as running:
        register(running)
        peer = await asking(running)
        first = await peer.call("greet")
        assert first["resultType"] == "input_required"
        assert first["inputRequests"] == {"who": {"method": "elicitation/create", "params": question("Who?").params}}
        second = await again(peer, first, who=accepted("Ana"))
        assert (second["resultType"], list(second["inputRequests"])) == ("input_required", ["colour"])
        third = await again(peer, second, colour=accepted("red"))
        assert (third["resultType"], third["structuredContent"]["text"]) == ("complete", "Ana red ")


async def test_a_server_with_another_key_does_not_take_the_state():
    async with product() as running:
        register(running)
        peer = await asking(running)
        first = await peer.call("greet")
        async with product() as other:
            # The key of accounts in memory is a process's own, so its state is a foreign one there.
            register(other)
            stranger = await asking(other)
            params = {"name": "greet", "arguments": {}, "requestState": first["requestState"]}
            assert (await stranger.fails("tools/call", params))[:2] == (400, -32602)
        assert (await again(peer, first, who=accepted("Ana")))["resultType"] == "input_required"


async def test_another_server_with_the_same_key_goes_on_where_the_first_has_asked(tmp_path: Path):
    key = tmp_path / "key"
    key.write_bytes(b"k" * 32)
    async with product(secret_key_file=str(key)) as first, product(secret_key_file=str(key)) as second:
        peers = []
        for running in (first, second):
            register(running)
            tenant = await running.organization("acme")
            person = await running.person(tenant, subject="ana")
            peers.append(await stateless(running, person, await running.register(person, "s")))
            peers[-1].capabilities = ELICITATION
        asked = await peers[0].call("greet")
        asked = await again(peers[1], asked, who=accepted("Ana"))
        done = await again(peers[0], asked, colour=accepted("red"))
        assert done["structuredContent"]["text"] == "Ana red "


async def test_an_answer_that_is_missing_or_does_not_fit_is_asked_for_again():
    async with product() as running:
        register(running)
        peer = await asking(running)
        first = await peer.call("greet")
        for wrong in ({}, {"other": accepted("Ana")}, {"who": {"action": "accept", "content": {"name": 5}}}):
            repeated = await again(peer, first, **wrong)
            assert list(repeated["inputRequests"]) == ["who"], wrong


async def test_of_two_questions_only_the_open_one_is_asked_again():
    async with product() as running:
        register(running)
        peer = await asking(running)
        first = await peer.call("both")
        assert list(first["inputRequests"]) == ["a", "b"]
        second = await again(peer, first, "both", a=accepted("x"))
        assert list(second["inputRequests"]) == ["b"]
        assert (await again(peer, second, "both", b=accepted("y")))["structuredContent"]["text"] == "xy"


async def test_a_state_is_good_for_its_own_session_request_and_time_alone():
    async with product() as running:
        register(running)
        peer, other = await asking(running), await asking(running)
        first = await peer.call("greet")
        state = {"requestState": first["requestState"], "inputResponses": {"who": accepted("Ana")}}
        call = {"name": "greet", "arguments": {}, **state}
        assert (await other.fails("tools/call", call))[:2] == (400, -32602)
        assert (await peer.fails("tools/call", {**call, "arguments": {"text": "x"}}))[:2] == (400, -32602)
        assert (await peer.fails("tools/call", {**call, "name": "both"}))[:2] == (400, -32602)
        assert (await peer.fails("tools/call", {**call, "requestState": state["requestState"][:-3]}))[:2] == (
            400,
            -32602,
        )
        running.clock.advance(seconds=running.services.limits.input_ms / 1000)  # type: ignore[attr-defined]
        assert (await peer.fails("tools/call", call))[:2] == (400, -32602)


@pytest.mark.parametrize(
    ("tool", "capabilities", "missing"),
    [
        ("greet", {}, {"elicitation": {}}),
        ("greet", {"sampling": {}}, {"elicitation": {}}),
        ("sample", ELICITATION, {"sampling": {}}),
    ],
)
async def test_what_the_client_did_not_declare_with_this_request_is_not_asked(
    tool: str, capabilities: dict[str, Any], missing: dict[str, Any]
):
    async with product() as running:
        register(running)
        peer = await asking(running, {"elicitation": {}, "sampling": {}})
        assert (await peer.call(tool))["resultType"] == "input_required"
        peer.capabilities = capabilities
        status, code, data = await peer.fails("tools/call", {"name": tool, "arguments": {}})
        assert (status, code, data) == (400, -32021, {"requiredCapabilities": missing})


async def test_a_prompt_and_a_resource_ask_as_a_tool_does():
    async def get(_: Execution, __: Any, context: ToolContext) -> PromptResult:
        said = await context.ask({"who": question("Who?")})
        return PromptResult(description="d", messages=[text_message(said["who"]["content"]["name"])])

    async def read(_: Execution, uri: str, __: Any, context: ToolContext) -> list[dict[str, Any]]:
        said = await context.ask({"who": question("Who?")})
        return [text_contents(uri, "text/plain", said["who"]["content"]["name"])]

    async with product() as running:
        resource = Resource(uri="a:b", name="n", title="T", description="", mime_type="text/plain", read=read)
        running.services.features.add(Prompt(name="p", title="P", description="", get=get), resource)
        peer = await asking(running)
        for method, params in (("prompts/get", {"name": "p"}), ("resources/read", {"uri": "a:b"})):
            asked = await peer.ask(method, params)
            assert asked["resultType"] == "input_required"
            assert "ttlMs" not in asked
            given = {"requestState": asked["requestState"], "inputResponses": {"who": accepted("Ana")}}
            result = await peer.ask(method, {**params, **given})
            assert result["resultType"] == "complete"
            assert "Ana" in str(result)
            assert ("ttlMs" in result) == (method == "resources/read")
        status, code, data = await peer.fails("resources/read", {"uri": "a:nothing"})
        assert (status, code, data) == (400, -32602, {"uri": "a:nothing"})


def test_only_three_methods_ask_and_only_lists_need_no_execution():
    assert {"tools/call", "prompts/get", "resources/read"} == ASKING
    assert {"server/discover", "tools/list", "prompts/list", "resources/templates/list"} == LISTS
    assert METHODS > ASKING | LISTS


async def test_what_is_discovered_works_and_what_is_not_does_not_exist():
    async with product() as running:
        peer = await stateless(running)
        capabilities = (await peer.ask("server/discover"))["capabilities"]
        for name, method in (("tools", "tools/list"), ("prompts", "prompts/list"), ("resources", "resources/list")):
            if name in capabilities:
                await peer.ask(method)
            else:
                assert (await peer.fails(method))[:2] == (404, -32601)
