"""The toolset `memory`: its twelve tools, what their schemas say, and what a pause makes of the eight that write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from codesynapse.server.hints.gated import GATED, KEYED
from codesynapse.server.hints.texts import CLAUSE
from tests.server.agents.here import AGENT, Here, here
from tests.server.tools.test_gate import PLUS

CALLS: dict[str, dict[str, Any]] = {
    "store": {"agent_id": AGENT, "content": "tea"},
    "recall": {"agent_id": AGENT, "query": "tea"},
    "recall_with_context": {"agent_id": AGENT, "query": "tea"},
    "get_contents": {"agent_id": AGENT, "refs": ["mem:1"]},
    "archive_episode": {"agent_id": AGENT, "summary": "a talk"},
    "update_memory": {"memory_id": 1, "content": "coffee"},
    "delete_memory": {"memory_id": 2},
    "delete_episode": {"episode_id": 3},
    "list_memories": {},
    "list_episodes": {},
    "get_profile": {"agent_id": AGENT},
    "update_profile": {"agent_id": AGENT, "profile": "likes tea"},
}
WRITERS = [name for name in CALLS if name in GATED]
BOUNDS = {
    "store": {"id": 256, "timestamp": 64, "channel": 256, "project_id": 256, "idempotency_key": 128},
    "archive_episode": {"channel": 256, "project_id": 256, "idempotency_key": 128},
}


@pytest.fixture
async def place() -> AsyncIterator[Here]:
    """The agent has two memories, 1 and 2, and an episode, 3."""
    async with here() as made:
        await made.store("milk", "cocoa")
        await made.call("archive_episode", agent_id=AGENT, summary="before")
        yield made


async def test_the_twelve_are_listed_in_their_order(place: Here):
    assert [tool["name"] for tool in place.toolbox.catalog.visible(None)] == list(CALLS)


@pytest.mark.parametrize("name", CALLS)
async def test_each_answers_a_plain_call_by_its_schema(place: Here, name: str):
    assert (await place.call(name, **CALLS[name])).get("ok", True) is True


async def test_every_argument_is_described_bounded_and_no_identity(place: Here):
    for tool in place.toolbox.catalog.visible(None):
        schema = tool["inputSchema"]
        Draft202012Validator.check_schema(schema)
        Draft202012Validator.check_schema(tool["outputSchema"])
        assert schema["additionalProperties"] is False
        assert tool["title"]
        for name, member in schema["properties"].items():
            assert "description" in str(member), (tool["name"], name)
            assert not any(word in name for word in ("tenant", "subject", "session_id", "user", "actor"))
        for name, most in BOUNDS.get(tool["name"], {}).items():
            assert f"'maxLength': {most}" in str(schema["properties"][name])


async def test_reading_tools_say_so_and_deleting_ones_too(place: Here):
    for tool in place.toolbox.catalog.visible(None):
        hints = tool["annotations"]
        assert hints["readOnlyHint"] is (tool["name"] not in GATED)
        assert hints["destructiveHint"] is tool["name"].startswith("delete_")
        assert hints["idempotentHint"] is (tool["name"] != "archive_episode")
        assert ("session_key" in tool["inputSchema"]["properties"]) is (tool["name"] in KEYED)
        if tool["name"] in KEYED:
            assert CLAUSE in str(tool["inputSchema"]["properties"]["session_key"])


@pytest.mark.parametrize("name", WRITERS)
async def test_a_paused_write_answers_with_the_keys_of_its_success_and_writes_nothing(place: Here, name: str):
    await place.pause("A")
    before = await everything(place)
    skipped = await place.call(name, **CALLS[name], session_key="A")
    assert await everything(place) == before
    success = await place.call(name, **CALLS[name], session_key="B")
    assert list(skipped) == [*success, *PLUS]
    assert (skipped["ok"], skipped["persisted"], skipped["dry_run"]) == (True, False, True)
    assert await everything(place) != before


async def everything(place: Here) -> list[dict[str, Any]]:
    return [
        await place.call("list_memories"),
        await place.call("list_episodes"),
        await place.call("get_profile", agent_id=AGENT),
    ]


async def test_a_skipped_answer_names_no_record(place: Here):
    await place.pause()
    said = {name: await place.call(name, **CALLS[name]) for name in WRITERS}
    assert (said["store"]["id"], said["store"]["result"], said["store"]["embedded"]) == ("no-persist", "skipped", False)
    assert (said["archive_episode"]["episode_id"], said["archive_episode"]["task_id"]) == (None, None)
    assert (said["archive_episode"]["queued"], said["update_profile"]["profiles_updated"]) == (False, 0)
    assert said["update_memory"]["updated_id"] is None
    assert said["delete_memory"]["deleted_id"] is said["delete_episode"]["deleted_id"] is None


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("store", {"agent_id": "", "content": "x"}),
    ("store", {"agent_id": "a b", "content": "x"}),
    ("store", {"agent_id": AGENT}),
    ("store", {"agent_id": AGENT, "content": " "}),
    ("store", {"agent_id": AGENT, "content": "x", "message": {"content": "x"}}),
    ("store", {"agent_id": AGENT, "message": {"content": "x", "agent_id": "y"}}),
    ("store", {"agent_id": AGENT, "content": "x", "source": {"x": "y" * 8_001}}),
    ("store", {"agent_id": AGENT, "content": "x", "metadata": "text"}),
    ("store", {"agent_id": AGENT, "content": "x", "id": "i" * 257}),
    ("store", {"agent_id": AGENT, "content": "x", "project_id": "a\u0007b"}),
    ("store", {"agent_id": "eve", "content": "x"}),
    ("archive_episode", {"agent_id": AGENT, "summary": ""}),
    ("archive_episode", {"agent_id": AGENT, "summary": " "}),
    ("archive_episode", {"agent_id": "eve", "summary": "x"}),
    ("update_memory", {"memory_id": 99, "content": "x"}),
    ("update_memory", {"memory_id": 1, "content": " "}),
    ("update_memory", {"memory_id": 0, "content": "x"}),
    ("update_memory", {"memory_id": 1, "content": "x", "agent_id": "eve"}),
    ("delete_memory", {"memory_id": 99}),
    ("delete_memory", {"memory_id": 3}),
    ("delete_memory", {"memory_id": "1"}),
    ("delete_episode", {"episode_id": 99}),
    ("delete_episode", {"episode_id": 3, "agent_id": ""}),
    ("update_profile", {"agent_id": AGENT, "profile": " "}),
    ("update_profile", {"agent_id": "eve", "profile": "x"}),
]


@pytest.mark.parametrize(("name", "wrong"), WRONG)
async def test_what_is_wrong_is_refused_as_json_and_a_pause_changes_no_byte_of_it(
    place: Here, name: str, wrong: dict[str, Any]
):
    await place.call("store", agent_id="eve", content="hers", by="eve")
    free = await place.call(name, **wrong)
    assert free["ok"] is False
    assert {"code", "error", "field"} <= free.keys()
    await place.pause()
    assert await place.call(name, **wrong) == free


async def test_a_locked_memory_is_refused_alike_under_a_pause(place: Here):
    (locked,) = await place.store("secret", lock=True)
    for name, more in (("update_memory", {"content": "x"}), ("delete_memory", {})):
        free = await place.call(name, memory_id=locked, **more)
        await place.pause("A")
        assert await place.call(name, memory_id=locked, **more, session_key="A") == free
        assert free["ok"] is False


CONFLICTS: list[tuple[str, dict[str, Any], str]] = [
    ("store", {"agent_id": AGENT, "content": "said", "source": {"type": "User", "id": "bob"}}, "already_exists"),
    ("store", {"agent_id": AGENT, "content": "other", "idempotency_key": "s"}, "idempotency_conflict"),
    ("archive_episode", {"agent_id": AGENT, "summary": "other", "idempotency_key": "a"}, "idempotency_conflict"),
    (
        "archive_episode",
        {"agent_id": AGENT, "summary": "other", "history": [{}] * 51, "idempotency_key": "a"},
        "idempotency_conflict",
    ),
    ("update_memory", {"memory_id": 1, "content": "said"}, "already_exists"),
]


async def said_before(place: Here) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Writes under idempotency keys, and what they answered."""
    ana = {"type": "User", "id": "ana"}
    calls = [
        ("store", {"agent_id": AGENT, "content": "said", "source": ana, "idempotency_key": "s"}),
        ("store", {"agent_id": AGENT, "content": "said", "source": ana, "idempotency_key": "t"}),
        ("archive_episode", {"agent_id": AGENT, "summary": "a talk", "idempotency_key": "a"}),
        ("archive_episode", {"agent_id": AGENT, "summary": "long", "history": [{}] * 51, "idempotency_key": "b"}),
    ]
    return [(name, arguments, await place.call(name, **arguments)) for name, arguments in calls]


@pytest.mark.parametrize(("name", "wrong", "code"), CONFLICTS)
async def test_what_collides_with_what_is_there_is_refused_alike_under_a_pause(
    place: Here, name: str, wrong: dict[str, Any], code: str
):
    await said_before(place)
    free = await place.call(name, **wrong)
    assert (free["ok"], free["code"]) == (False, code)
    await place.pause("A")
    assert await place.call(name, **wrong, session_key="A") == free


async def test_what_was_acknowledged_before_a_pause_is_acknowledged_again_under_it(place: Here):
    before = await said_before(place)
    await place.pause("A")
    for name, arguments, answer in before:
        assert await place.call(name, **arguments, session_key="A") == answer
    name, arguments, _ = before[0]
    skipped = await place.call(name, **{**arguments, "idempotency_key": "new"}, session_key="A")
    assert (skipped["result"], skipped["persisted"]) == ("skipped", False)


async def test_a_change_to_the_text_that_is_there_is_no_collision_under_a_pause(place: Here):
    (memory_id,) = await place.store("same")
    await place.pause("A")
    said = await place.call("update_memory", memory_id=memory_id, content="same", session_key="A")
    assert (said["ok"], said["updated_id"], said["persisted"]) == (True, None, False)


@pytest.mark.parametrize("name", [name for name in CALLS if name not in GATED])
async def test_reading_goes_on_under_a_pause(place: Here, name: str):
    key = {"session_key": "A"} if name in KEYED else {}
    free = await place.call(name, **CALLS[name], **key)
    await place.pause("A")
    assert await place.call(name, **CALLS[name], **key) == free
