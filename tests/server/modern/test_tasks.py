"""The tasks extension: a call that is asked about, answered and cancelled by its own execution alone (mcp.md, N29)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.harness import Product, product
from tests.integration.stateless import TASKS, Stateless, stateless
from tests.integration.tools import until
from tests.server.modern.asking import accepted, register


async def tasking(running: Product, **more: Any) -> Stateless:
    peer = await stateless(running, **more)
    peer.capabilities = {**TASKS, "elicitation": {}}
    return peer


async def settled(running: Product, peer: Stateless, task_id: str, *statuses: str) -> dict[str, Any]:
    """The task, once it is in one of these statuses."""
    tasks = running.server.tasks._tasks
    await until(running, lambda: tasks[task_id].status in statuses)
    return await peer.ask("tasks/get", {"taskId": task_id})


async def test_a_call_becomes_a_task_whose_result_is_what_the_call_would_have_answered():
    async with product() as running:
        gate = register(running, "optional")
        peer = await tasking(running)
        created = await peer.call("slow", text="x")
        assert (created["resultType"], created["status"]) == ("task", "working")
        assert not {"task", "result", "error", "inputRequests", "ttl", "pollInterval"} & created.keys()
        assert created["ttlMs"] == running.services.limits.task_kept_ms
        assert created["createdAt"] == created["lastUpdatedAt"] == "2027-01-15T08:00:00.000Z"
        working = await peer.ask("tasks/get", {"taskId": created["taskId"]})
        assert (working["status"], working["resultType"], "result" in working) == ("working", "complete", False)
        gate.opened.set()
        done = await settled(running, peer, created["taskId"], "completed")
        assert done["result"]["structuredContent"]["text"] == "x"
        assert done["result"]["isError"] is False


@pytest.mark.parametrize(
    ("support", "capabilities", "kind"),
    [
        ("forbidden", TASKS, "complete"),
        ("optional", {}, "complete"),
        ("optional", TASKS, "task"),
        ("required", TASKS, "task"),
    ],
)
async def test_a_call_is_a_task_where_its_tool_may_and_its_client_understands_it(
    support: str, capabilities: dict[str, Any], kind: str
):
    async with product() as running:
        register(running, support).opened.set()
        peer = await stateless(running)
        peer.capabilities = capabilities
        assert (await peer.call("slow"))["resultType"] == kind


async def test_a_tool_that_runs_as_a_task_alone_names_what_its_client_lacks():
    async with product() as running:
        register(running, "required")
        peer = await stateless(running)
        required = {"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
        for method, params in (("tools/call", {"name": "slow"}), ("tasks/get", {"taskId": "x"})):
            assert await peer.fails(method, params) == (400, -32021, required)


async def test_a_tools_failure_is_a_result_and_the_protocols_is_not():
    async with product() as running:
        register(running, "optional").opened.set()
        peer = await tasking(running)
        failed = await settled(running, peer, (await peer.call("fail"))["taskId"], "completed")
        assert failed["result"]["isError"] is True
        broken = await settled(running, peer, (await peer.call("broken"))["taskId"], "failed")
        assert (broken["error"], "result" in broken) == ({"code": -32603, "message": "It broke."}, False)


async def test_a_task_asks_and_goes_on_with_what_it_is_told():
    async with product() as running:
        register(running, "optional")
        peer = await tasking(running)
        task_id = (await peer.call("both"))["taskId"]
        asked = await settled(running, peer, task_id, "input_required")
        assert list(asked["inputRequests"]) == ["a", "b"]
        for given in ({"other": accepted("z")}, {"a": "no"}, {"a": {"action": "accept"}}):
            assert "status" not in await peer.ask("tasks/update", {"taskId": task_id, "inputResponses": given})
        assert list((await peer.ask("tasks/get", {"taskId": task_id}))["inputRequests"]) == ["a", "b"]
        await peer.ask("tasks/update", {"taskId": task_id, "inputResponses": {"a": accepted("x")}})
        assert list((await peer.ask("tasks/get", {"taskId": task_id}))["inputRequests"]) == ["b"]
        await peer.ask("tasks/update", {"taskId": task_id, "inputResponses": {"b": accepted("y"), "a": accepted("z")}})
        done = await settled(running, peer, task_id, "completed")
        assert done["result"]["structuredContent"]["text"] == "xy"
        assert "inputRequests" not in done


async def test_a_task_asks_twice_one_question_after_the_other():
    async with product() as running:
        register(running, "optional")
        peer = await tasking(running)
        task_id = (await peer.call("greet"))["taskId"]
        for key, answer in (("who", "Ana"), ("colour", "red")):
            await until(running, lambda key=key: key in running.server.tasks._tasks[task_id].waiting)  # type: ignore[misc]
            await peer.ask("tasks/update", {"taskId": task_id, "inputResponses": {key: accepted(answer)}})
        done = await settled(running, peer, task_id, "completed")
        assert done["result"]["structuredContent"]["text"] == "Ana red "


async def test_what_the_client_cannot_be_asked_fails_the_task():
    async with product() as running:
        register(running, "optional")
        peer = await tasking(running)
        failed = await settled(running, peer, (await peer.call("sample"))["taskId"], "failed")
        assert failed["error"]["code"] == -32021
        assert failed["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}


async def test_a_cancelled_task_stops_and_stays_cancelled():
    async with product() as running:
        gate = register(running, "optional")
        peer = await tasking(running)
        task_id = (await peer.call("slow"))["taskId"]
        await gate.entries(1)
        result = await peer.ask("tasks/cancel", {"taskId": task_id})
        assert (result["resultType"], "status" in result) == ("complete", False)
        gate.opened.set()
        await until(running, lambda: not running.server.lives.tasks)
        assert (await peer.ask("tasks/get", {"taskId": task_id}))["status"] == "cancelled"


async def test_a_task_exists_for_its_own_session_alone():
    async with product() as running:
        gate = register(running, "optional")
        person = await running.person()
        peer = await tasking(running, person=person)
        task_id = (await peer.call("slow"))["taskId"]
        for other in (await tasking(running, person=person), await tasking(running)):
            for method in ("tasks/get", "tasks/update", "tasks/cancel"):
                assert (await other.fails(method, {"taskId": task_id}))[:2] == (400, -32602)
        assert (await peer.ask("tasks/get", {"taskId": task_id}))["status"] == "working"
        gate.opened.set()


@pytest.mark.parametrize("params", [{}, {"taskId": 5}, {"taskId": "x", "inputResponses": []}, {"taskId": "unknown"}])
async def test_a_task_that_is_not_named_or_not_there_is_refused(params: dict[str, Any]):
    async with product() as running:
        peer = await tasking(running)
        status, code, _ = await peer.fails("tasks/update", params)
        assert (status, code) == (400, -32602)


async def test_tasks_are_bounded_for_each_principal_and_forgotten_after_their_time():
    async with product(tasks_per_principal_max=1) as running:
        register(running, "optional").opened.set()
        person = await running.person()
        peer, again = await tasking(running, person=person), await tasking(running, person=person)
        task_id = (await peer.call("slow"))["taskId"]
        await settled(running, peer, task_id, "completed")
        assert (await again.fails("tools/call", {"name": "slow"}))[0] == 429
        assert (await (await tasking(running)).call("slow"))["resultType"] == "task"
        running.clock.advance(seconds=running.services.limits.task_kept_ms / 1000 - 1)  # type: ignore[attr-defined]
        await peer.ask("tasks/get", {"taskId": task_id})
        running.clock.advance(seconds=1)  # type: ignore[attr-defined]
        assert (await peer.fails("tasks/get", {"taskId": task_id}))[:2] == (400, -32602)
        assert (await again.call("slow"))["resultType"] == "task"


async def test_a_revoked_session_takes_its_tasks_with_it():
    async with product() as running:
        gate = register(running, "optional")
        person = await running.person()
        session_id = await running.register(person)
        peer = await tasking(running, person=person, session_id=session_id)
        other = await tasking(running, person=person)
        await peer.call("slow")
        kept = (await other.call("slow"))["taskId"]
        await gate.entries(2)
        await running.services.sessions.revoke(
            (await running.services.sessions.authorize(person.key, None)).caller, session_id
        )
        assert list(running.server.tasks._tasks) == [kept]
        gate.opened.set()


async def test_what_is_asked_before_a_task_is_asked_by_the_answers_to_the_call():
    async with product() as running:
        register(running, "optional")
        toolbox = running.services.toolbox
        toolbox._tools["greet"] = replace(toolbox.tool("greet"), prepare=toolbox.tool("greet").handler)
        peer = await tasking(running)
        first = await peer.call("greet")
        assert (first["resultType"], "taskId" in first) == ("input_required", False)
        call: dict[str, Any] = {"name": "greet", "arguments": {}, "requestState": first["requestState"]}
        second = await peer.ask("tools/call", {**call, "inputResponses": {"who": accepted("Ana")}})
        call["requestState"] = second["requestState"]
        created = await peer.ask("tools/call", {**call, "inputResponses": {"colour": accepted("red")}})
        assert (created["resultType"], "inputRequests" in created) == ("task", False)
        done = await settled(running, peer, created["taskId"], "completed")
        assert done["result"]["structuredContent"]["text"] == "Ana red "


async def test_what_refuses_a_call_before_its_task_is_its_result():
    async with product() as running:
        register(running, "optional")
        toolbox = running.services.toolbox
        toolbox._tools["slow"] = replace(toolbox.tool("slow"), prepare=toolbox.tool("fail").handler)
        result = await (await tasking(running)).call("slow")
        assert (result["resultType"], result["isError"]) == ("complete", True)
        assert len(running.server.tasks) == 0
