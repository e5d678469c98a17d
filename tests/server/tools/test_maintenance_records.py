"""Locks, the end of an agent's memory, and how it recalls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codesynapse.contracts.accounts import Level
from tests.server.agents.here import AGENT
from tests.server.agents.maintained import Asked, Maintained, maintained


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Maintained]:
    """Two memories, 1 and 2."""
    async with maintained(tmp_path) as made:
        await made.store("milk", "cocoa")
        yield made


async def grant(place: Maintained, level: Level) -> None:
    """Ben may use the agent so."""
    await place.here.execution("ben")
    await place.here.agents.set_level("acme", AGENT, "ben", level, now_ms=place.clock())


async def test_a_locked_memory_is_neither_changed_nor_deleted_until_it_is_unlocked(place: Maintained):
    assert await place.call("lock_memory", memory_id=1) == {"ok": True, "locked_id": 1}
    assert (await place.call("update_memory", memory_id=1, content="tea"))["ok"] is False
    assert (await place.call("delete_memory", memory_id=1))["ok"] is False
    assert await place.call("lock_memory", memory_id=1, agent_id=AGENT) == {"ok": True, "locked_id": 1}
    assert await place.call("unlock_memory", memory_id=1) == {"ok": True, "unlocked_id": 1}
    assert (await place.call("update_memory", memory_id=1, content="tea"))["ok"] is True


async def test_who_may_only_read_locks_nothing(place: Maintained):
    await grant(place, Level.READ)
    said = await place.call("lock_memory", by="ben", memory_id=1, agent_id=AGENT)
    assert (said["ok"], said["code"]) == (False, "agent_forbidden")
    assert (await place.call("lock_memory", by="ben", memory_id=1))["code"] == "not_found"


async def test_the_end_of_an_agent_takes_everything_and_says_how_much(place: Maintained):
    await place.call("lock_memory", memory_id=1)
    await place.call("archive_episode", agent_id=AGENT, summary="before")
    await place.call("update_profile", agent_id=AGENT, profile="Ana")
    await place.store("elsewhere", project_id="p")
    said = await place.call("delete_agent_data", agent_id=AGENT)
    assert said == {
        "ok": True,
        "agent_id": AGENT,
        "deleted_memories": 3,
        "deleted_profiles": 1,
        "deleted_episodes": 1,
        "deleted_pending_tasks": 0,
    }
    assert await place.contents() == []
    again = await place.call("delete_agent_data", agent_id=AGENT)
    assert (again["deleted_memories"], again["deleted_profiles"]) == (0, 0)


@pytest.mark.parametrize("level", [Level.READ, Level.WRITE])
async def test_only_who_owns_an_agent_ends_it(place: Maintained, level: Level):
    await grant(place, level)
    assert (await place.call("delete_agent_data", by="ben", agent_id=AGENT))["code"] == "agent_forbidden"
    assert len(await place.contents()) == 2


async def test_the_end_is_confirmed_where_the_client_can_be_asked(place: Maintained):
    for action in ("decline", "cancel"):
        asked = Asked(action)
        said = await place.call("delete_agent_data", agent_id=AGENT, context=asked.context)
        assert said["code"] == "not_confirmed"
        assert "2 memories" in asked.asked[0]
    assert len(await place.contents()) == 2
    asked = Asked("accept")
    assert (await place.call("delete_agent_data", agent_id=AGENT, context=asked.context))["deleted_memories"] == 2
    assert len(asked.asked) == 1


async def test_nobody_is_asked_about_what_they_may_not_end(place: Maintained):
    await grant(place, Level.WRITE)
    asked = Asked("accept")
    said = await place.call("delete_agent_data", by="ben", agent_id=AGENT, context=asked.context)
    assert (said["code"], asked.asked) == ("agent_forbidden", [])


async def test_a_precision_is_set_read_and_cleared(place: Maintained):
    default = await place.call("get_recall_precision", agent_id=AGENT)
    assert default == {
        "ok": True,
        "agent_id": AGENT,
        "precision": "balanced",
        "beta": 1.0,
        "overridden": False,
        "global_precision": "balanced",
        "global_beta": 1.0,
    }
    for name, beta in (("strict", 2.0), ("balanced", 1.0), ("lenient", 0.5)):
        said = await place.call("set_recall_precision", agent_id=AGENT, precision=name)
        assert (said["precision"], said["beta"], said["cleared"], said["calibrate"]) == (name, beta, False, None)
        read = await place.call("get_recall_precision", agent_id=AGENT)
        assert (read["precision"], read["beta"], read["overridden"]) == (name, beta, True)
    said = await place.call("set_recall_precision", agent_id=AGENT, precision="strict", beta=1.5)
    assert (said["precision"], said["beta"]) == ("custom", 1.5)
    for beta in (0, -1):
        assert (await place.call("set_recall_precision", agent_id=AGENT, beta=beta))["cleared"] is True
        assert await place.call("get_recall_precision", agent_id=AGENT) == default


async def test_a_stricter_precision_asks_for_more_of_an_answer(place: Maintained):
    gates = [
        (await place.call("set_recall_precision", agent_id=AGENT, precision=each))["fused_gate"]
        for each in ("lenient", "balanced", "strict")
    ]
    assert gates == sorted(set(gates))


async def test_an_unknown_precision_leaves_the_one_that_was(place: Maintained):
    await place.call("set_recall_precision", agent_id=AGENT, precision="strict")
    said = await place.call("set_recall_precision", agent_id=AGENT, precision="exact")
    assert (said["ok"], said["field"]) == (False, "precision")
    assert (await place.call("get_recall_precision", agent_id=AGENT))["precision"] == "strict"


async def test_a_calibration_says_what_it_found_and_holds_for_every_key(place: Maintained):
    few = await place.call("calibrate_threshold", agent_id=AGENT)
    assert (few["ok"], few["limit"]) == (False, "an agent of 10 records or more")
    await place.store(*(f"ana drinks {each} with ben" for each in "abcdefghij"))
    said = await place.call("calibrate_threshold", agent_id=AGENT, session_key="A")
    assert (said["sidecar_persisted"], said["scope"], said["sampled_embeddings"]) == (True, "per_agent", 12)
    assert (said["num_pairs"], said["old_threshold"], said["method"]) == (12 * 11, None, "separation")
    assert 0 <= said["new_threshold"] <= 0.9
    again = await place.call("calibrate_threshold", agent_id=AGENT, session_key="B", method="zscore", z_factor=99)
    assert again["old_threshold"] == said["new_threshold"]
    assert again["z_factor"] == 10
    tuned = await place.call("set_recall_precision", agent_id=AGENT, precision="strict")
    assert tuned["calibrate"]["old_threshold"] == again["new_threshold"]
