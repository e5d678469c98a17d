"""Both eras on one pair of pipes: no request depends on what came before it (mcp.md, S1 to S9, §5 #28 and #29)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codesynapse.contracts.identity import Execution
from codesynapse.server.features.registry import Resource, text_contents
from codesynapse.server.mcp.result import SUBSCRIPTION_KEY
from codesynapse.server.modern.service import Modern
from tests.integration.stateless import KEY, LATEST, TASKS
from tests.server.test_stdio import Client, connected, request

TRIPLES = [{"subject": "Ana", "predicate": "likes", "object": "tea"}]
URI = "test://watched"


def asked(request_id: object, method: str, **params: Any) -> dict[str, Any]:
    """A request that says everything."""
    capabilities = params.pop("capabilities", {})
    meta = {KEY + "protocolVersion": LATEST, KEY + "clientCapabilities": capabilities}
    return request(request_id, method, **{"_meta": meta, **params})


async def told(client: Client, *messages: object) -> list[Any]:
    """The answers to messages that are sent one after the other."""
    answers = []
    for message in messages:
        client.send(message)
        answers.append(await client.answer())
    return answers


async def test_a_client_that_discovers_and_then_initializes_is_served_in_both_eras_for_good():
    async with connected() as client:
        (discovered,) = await told(client, asked("server-discover-probe-1", "server/discover"))
        assert discovered["id"] == "server-discover-probe-1"
        assert discovered["result"]["supportedVersions"][0] == LATEST
        await client.initialize()
        listed, stateless, call = await told(
            client,
            request(1, "tools/list"),
            asked(2, "tools/list"),
            asked(3, "tools/call", name="upsert_graph_triples", arguments={"triples": TRIPLES}),
        )
        assert "resultType" not in listed["result"]
        assert stateless["result"]["resultType"] == call["result"]["resultType"] == "complete"
        assert [each["name"] for each in listed["result"]["tools"]] == [
            each["name"] for each in stateless["result"]["tools"]
        ]
        assert (await told(client, request(4, "ping")))[0]["result"] == {}


async def test_a_stateless_call_needs_nothing_before_it_and_leaves_nothing_behind():
    async with connected() as client:
        (call,) = await told(client, asked(1, "tools/call", name="recall_context", arguments={"query": "tea"}))
        assert call["result"]["isError"] is False
        # The session revisions still wait for their first message.
        (early,) = await told(client, request(2, "tools/call", name="recall_context", arguments={"query": "tea"}))
        assert early["error"]["code"] == -32600
        await client.initialize("2025-06-18")


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (asked(1, "initialize"), -32601),
        (asked(1, "ping"), -32601),
        (asked(1, "no/such"), -32601),
        (asked(1, "tools/call", name="nothing"), -32602),
        (request(1, "tools/list", _meta={KEY + "protocolVersion": LATEST}), -32602),
        (request(1, "tools/list", _meta={KEY + "protocolVersion": "x", KEY + "clientCapabilities": {}}), -32022),
        (request(1, "server/discover"), -32601),
        (request(1, "anything"), -32601),
    ],
)
async def test_a_refusal_leaves_the_process_as_it_was(message: dict[str, Any], code: int):
    async with connected() as client:
        refused, discovered = await told(client, message, asked(2, "server/discover"))
        assert (refused["id"], refused["error"]["code"]) == (1, code)
        assert "result" in discovered


async def test_whatever_breaks_a_request_is_answered(monkeypatch: pytest.MonkeyPatch):
    async with connected() as client:

        def break_it(*_: object) -> None:
            raise RuntimeError

        monkeypatch.setattr(Modern, "rounds", break_it)
        broken, listed = await told(client, asked(1, "tools/call", name="wait"), asked(2, "tools/list"))
        assert (broken["id"], broken["error"]["code"]) == (1, -32603)
        assert "result" in listed


async def test_a_number_out_of_range_beside_a_state_is_answered():
    async with connected() as client:
        text = json.dumps(asked(1, "tools/call", name="wait", requestState="x", more=0.5)).replace("0.5", "1e999")
        assert (await told(client, text.encode()))[0]["error"]["code"] == -32602


async def test_a_cancelled_call_is_never_heard_of_again():
    async with connected() as client:
        client.send(asked(1, "tools/call", name="wait"))
        await client.started.wait()
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        assert (await told(client, asked(2, "tools/list")))[0]["id"] == 2
        client.go_on.set()
        assert await client.end() == []


async def test_a_revoked_session_answers_lists_and_nothing_else():
    async with connected() as client:
        caller = (await client.here.sessions.authorize(client.here.keys["ana"], None)).caller
        await client.here.sessions.revoke(caller, "s")
        listed, call = await told(client, asked(1, "tools/list"), asked(2, "tools/call", name="wait"))
        assert "result" in listed
        assert (call["id"], call["error"]["data"]["code"]) == (2, "revoked")


def register(client: Client) -> None:
    async def read(_: Execution, uri: str, __: Any, ___: Any) -> list[dict[str, Any]]:
        return [text_contents(uri, "text/plain", "x")]

    resource = Resource(uri=URI, name="w", title="W", description="", mime_type="text/plain", read=read)
    client.services.features.add(resource)
    client.services.toolbox.catalog.changing.add("tools")


async def test_subscriptions_are_told_apart_by_their_ids_and_get_a_last_word():
    async with connected() as client:
        register(client)
        (first,) = await told(client, asked("a", "subscriptions/listen", notifications={"toolsListChanged": True}))
        (second,) = await told(client, asked(7, "subscriptions/listen", notifications={"resourceSubscriptions": [URI]}))
        assert first["params"]["_meta"][SUBSCRIPTION_KEY] == "a"
        assert second["params"]["_meta"][SUBSCRIPTION_KEY] == 7
        client.services.toolbox.changed()
        assert (await client.answer())["params"]["_meta"][SUBSCRIPTION_KEY] == "a"
        client.services.features.updates.publish(("resource", URI))
        assert (await client.answer())["params"] == {"uri": URI, "_meta": {SUBSCRIPTION_KEY: 7}}
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}})
        assert (await told(client, asked(8, "tools/list")))[0]["id"] == 8
        (last,) = await client.end()
        assert (last["id"], last["result"]["_meta"][SUBSCRIPTION_KEY]) == (7, 7)


async def test_after_a_revocation_no_change_of_a_resource_is_told():
    async with connected() as client:
        register(client)
        wanted = {"resourceSubscriptions": [URI], "toolsListChanged": True}
        await told(client, asked(7, "subscriptions/listen", notifications=wanted))
        caller = (await client.here.sessions.authorize(client.here.keys["ana"], None)).caller
        await client.here.sessions.revoke(caller, "s")
        client.services.features.updates.publish(("resource", URI))
        client.services.features.updates.flush()
        assert (await told(client, asked(8, "tools/list")))[0]["id"] == 8
        (last,) = await client.end()
        assert last["id"] == 7


async def test_a_task_of_the_process_is_found_by_its_id():
    async with connected() as client:
        tool = client.services.toolbox.tool("wait")
        client.services.toolbox._tools["wait"] = type(tool)(
            **{name: getattr(tool, name) for name in tool.__struct_fields__} | {"task_support": "optional"}
        )
        (created,) = await told(client, asked(1, "tools/call", name="wait", capabilities=TASKS))
        task_id = created["result"]["taskId"]
        await client.started.wait()
        client.go_on.set()
        task: dict[str, Any] = {"status": "working"}
        number = 1
        while task["status"] == "working":
            number += 1
            (got,) = await told(client, asked(number, "tasks/get", taskId=task_id, capabilities=TASKS))
            task = got["result"]
        assert (task["status"], task["result"]["isError"]) == ("completed", False)
