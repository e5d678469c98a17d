"""The reading tools: the key that filters nothing, the notice of a degraded recall, and bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codesynapse.server.hints.health import Cause
from tests.server.agents.here import AGENT, Here, here


async def down(place: Here) -> None:
    for _ in range(2):
        place.world.hints.embedding_failed(Cause.ENDPOINT)


async def test_recall_answers_the_same_bytes_under_one_key_another_and_none():
    async with here() as place:
        await place.store("green tea", "black tea", session_key="A")
        for tool in ("recall", "recall_with_context"):
            said = [await place.call(tool, agent_id=AGENT, query="tea", session_key=key) for key in ("A", "B", None)]
            assert len(said[0]["messages"]) == 2
            assert {json.dumps(each) for each in said} == {json.dumps(said[0])}


@pytest.mark.parametrize("tool", ["recall", "recall_with_context"])
async def test_each_key_is_told_in_full_once_that_recall_is_degraded(tool: str):
    async with here() as place:
        await place.store("tea")
        place.world.hints.health = type(place.world.hints)(embedder=False).health

        async def runbook(key: str) -> str:
            said = await place.call(tool, agent_id=AGENT, query="tea", session_key=key)
            assert said["advisory"]["advisory_scope"] == "session"
            return str(said["advisory"]["runbook"])

        first, again, other = [await runbook(key) for key in ("A", "A", "B")]
        assert first == other
        assert len(again) < len(first)


async def test_a_recall_that_is_refused_tells_nobody():
    async with here() as place:
        await place.store("tea")
        place.world.hints.health = type(place.world.hints)(embedder=False).health
        await place.call("recall", agent_id="nobody", query="tea", session_key="A")
        said = await place.call("recall", agent_id=AGENT, query="tea", session_key="A")
        assert "Impact" in said["advisory"]["runbook"]


async def test_the_embedder_is_asked_by_store_and_recall_and_its_answer_ends_the_fault():
    async with here() as place:
        await down(place)
        assert place.world.hints.health.degraded
        assert (await place.call("store", agent_id=AGENT, content="tea"))["embedded"] is True
        assert not place.world.hints.health.degraded
        await down(place)
        assert "advisory" in await place.call("recall", agent_id=AGENT, query="")
        assert "advisory" in await place.call("recall", agent_id=AGENT, query="tea"), "of that one the vector is known"
        assert "advisory" not in await place.call("recall", agent_id=AGENT, query="green tea")


async def test_the_conversation_is_left_out_and_merged_in():
    async with here() as place:
        await place.store("I drink green tea", "Green tea is from Japan")
        lines = [{"role": "user", "content": "I drink  GREEN tea", "timestamp": "2026-01-01T00:00:00Z"}]
        lines.append({"role": "system", "content": "be kind"})
        said = await place.call("recall_with_context", agent_id=AGENT, query="green tea", external_context=lines)
        assert [each["content"] for each in said["messages"]] == ["I drink  GREEN tea", "Green tea is from Japan"]
        assert said["context_filter_only"]["roles"] == ["system"]
        assert "context_field_issues" not in said


@pytest.mark.parametrize(
    ("tool", "wrong", "field"),
    [
        ("recall", {"query": "x", "limit": 101}, "limit"),
        ("recall", {"query": "x", "limit": -1}, "limit"),
        ("recall", {"query": "x", "max_chars": 99}, "max_chars"),
        ("recall", {"query": 5}, "query"),
        ("recall", {}, "query"),
        ("recall", {"query": "x", "agent_id": ""}, "agent_id"),
        ("recall", {"query": "x", "session_key": "k" * 257}, "session_key"),
        ("recall_with_context", {"query": "x", "external_context": ["text"]}, "external_context[0]"),
        ("get_contents", {"refs": []}, "refs"),
        ("get_contents", {"refs": ["mem:1"] * 21}, "refs"),
        ("list_memories", {"limit": 501}, "limit"),
        ("list_memories", {"limit": 0}, "limit"),
        ("list_episodes", {"limit": 201}, "limit"),
        ("list_episodes", {"agent_id": ""}, "agent_id"),
        ("get_profile", {"agent_id": ""}, "agent_id"),
    ],
)
async def test_bounds_are_refused_by_name(tool: str, wrong: dict[str, Any], field: str):
    async with here() as place:
        await place.store("tea")
        said = await place.call(tool, **{"agent_id": AGENT, **wrong})
        assert (said["ok"], said["code"], said["field"]) == (False, "invalid", field)
