"""The writing tools: both forms of a message, the question before a deletion, and the queue's attribution."""

from __future__ import annotations

from typing import Any

from codesynapse.server.tools.registry import InputRequest, ToolContext, no_log, no_progress
from tests.server.agents.here import AGENT, here


def answering(action: str, questions: list[str]) -> ToolContext:
    async def ask(requests: Any) -> dict[str, dict[str, Any]]:
        request: InputRequest = requests["confirm"]
        questions.append(request.params["message"])
        return {"confirm": {"action": action}}

    return ToolContext(progress=no_progress, log=no_log, ask=ask, capabilities={"elicitation": {}})


async def test_a_message_is_stored_as_its_fields_would_be():
    async with here() as place:
        fields = {"content": "tea", "id": "m1", "timestamp": "2026-01-01T00:00:00Z", "source": {"type": "ai"}}
        first = await place.call("store", agent_id=AGENT, message={**fields, "metadata": {"a": 1}})
        again = await place.call("store", agent_id=AGENT, **fields)
        assert (first["result"], again["result"], again["id"]) == ("stored", "skipped", first["id"])
        (row,) = (await place.call("list_memories"))["memories"]
        assert (row["source"], row["timestamp"]) == ({"type": "Agent"}, "2026-01-01T00:00:00Z")


async def test_a_client_that_can_be_asked_confirms_a_deletion_and_is_not_asked_about_nothing():
    async with here() as place:
        (memory_id,) = await place.store("tea")
        episode_id = (await place.call("archive_episode", agent_id=AGENT, summary="a talk"))["episode_id"]
        questions: list[str] = []
        declining, accepting = answering("decline", questions), answering("accept", questions)
        for tool, field, number in (
            ("delete_memory", "memory_id", memory_id),
            ("delete_episode", "episode_id", episode_id),
        ):
            assert (await place.call(tool, context=declining, **{field: number}))["code"] == "not_confirmed"
            assert (await place.call(tool, context=accepting, **{field: 999}))["code"] == "not_found"
            assert (await place.call(tool, context=accepting, **{field: number}))["deleted_id"] == number
        assert [str(number) in question for question, number in zip(questions, [1, 1, 2, 2], strict=True)] == [True] * 4


async def test_a_queued_archive_is_attributed_to_the_key_of_its_caller():
    async with here() as place:
        arguments = {"agent_id": AGENT, "summary": "a talk", "history": [{}] * 51}
        said = await place.call("archive_episode", **arguments, session_key="A")
        assert (said["queued"], said["episode_id"]) == (True, None)
        assert place.world.hints.attribution.bucket(said["task_id"], ("acme", "ana")).key == "A"
        assert (await place.call("list_episodes"))["count"] == 0
        await place.queue.run()
        assert (await place.call("list_episodes"))["count"] == 1


async def test_a_queued_archive_is_repeated_under_its_idempotency_key_and_done_once():
    async with here() as place:
        arguments = {"agent_id": AGENT, "summary": "a talk", "history": [{}] * 51, "idempotency_key": "k"}
        first = await place.call("archive_episode", **arguments, session_key="A")
        assert await place.call("archive_episode", **arguments, session_key="B") == first
        assert place.world.hints.attribution.bucket(first["task_id"], ("acme", "ana")).key == "A"
        await place.queue.run()
        assert await place.call("archive_episode", **arguments) == first
        await place.queue.run()
        assert (await place.call("list_episodes"))["count"] == 1


async def test_who_may_not_write_cannot_queue():
    async with here() as place:
        await place.store("tea")
        said = await place.call("archive_episode", agent_id=AGENT, summary="x", history=[{}] * 51, by="eve")
        assert said["code"] == "agent_forbidden"
        assert await place.queue.run() == 0
