"""Writing: repeats, refusals by id, cut texts, and what an idempotency key answers."""

from __future__ import annotations

import asyncio

import pytest

from codesynapse.contracts.agent_work import Changed, Verdict
from codesynapse.contracts.agents import Bucket
from codesynapse.contracts.errors import ExecutionCancelled, MembershipWithdrawn, Refused
from codesynapse.contracts.identity import Cancellation
from codesynapse.server.agents.views import Message
from codesynapse.server.agents.writing import QUEUED_OVER, new_record, new_summary, once_of, require_done
from tests.server.agents.here import AGENT, here
from tests.server.world import START_MS


async def test_a_memory_is_stored_once_and_the_one_that_is_there_stays():
    async with here() as place:
        first = await place.call("store", agent_id=AGENT, content="tea", id="m1")
        assert first == {"ok": True, "result": "stored", "id": first["id"], "embedded": True}
        again = await place.call("store", agent_id=AGENT, content="coffee", id="m1")
        same = await place.call("store", agent_id=AGENT, content="tea")
        assert (again["result"], again["reason"], again["id"]) == ("skipped", "duplicate msg_id", first["id"])
        assert (same["result"], same["reason"], same["embedded"]) == ("skipped", "duplicate content", False)
        (row,) = (await place.call("list_memories", agent_id=AGENT))["memories"]
        assert row["content"] == "tea"


async def test_two_hundred_equal_stores_at_once_leave_one_row():
    async with here() as place:
        said = await asyncio.gather(*(place.call("store", agent_id=AGENT, content="tea") for _ in range(200)))
        assert sorted(each["result"] for each in said) == ["skipped"] * 199 + ["stored"]
        assert len({each["id"] for each in said}) == 1
        assert (await place.call("list_memories"))["count"] == 1


async def test_the_same_text_of_another_source_is_refused_with_the_one_that_holds_it():
    async with here() as place:
        (held,) = await place.store("tea", source={"type": "user", "id": "ana"})
        said = await place.call("store", agent_id=AGENT, content="tea", source={"id": "ben"})
        assert (said["code"], said["field"], said["id"]) == ("already_exists", "content", held)
        same = await place.call("store", agent_id=AGENT, content="tea", source={"id": "ana"})
        assert same["result"] == "skipped"


async def test_equal_texts_of_two_projects_are_two_and_the_shared_pool_collides():
    async with here() as place:
        (one,) = await place.store("tea", project_id="x")
        (two,) = await place.store("tea", project_id="y")
        (shared,) = await place.store("milk")
        assert one != two
        assert (await place.call("store", agent_id=AGENT, content="milk", project_id="x"))["id"] == shared


async def test_what_is_too_long_is_cut_and_what_lies_ahead_of_the_clock_is_named():
    async with here() as place:
        said = await place.call("store", agent_id=AGENT, content="x" * 16_001, timestamp="2027-01-15T09:00:00Z")
        assert said["truncated"] is True
        assert said["timestamp_ahead_of_clock"] == {
            "timestamp": "2027-01-15T09:00:00Z",
            "ahead_by_seconds": 3_600,
            "allowance_seconds": 300,
        }
        (row,) = (await place.call("list_memories"))["memories"]
        assert (len(row["content"]), row["timestamp"]) == (16_000, "2027-01-15T09:00:00Z")
        locked = await place.call("store", agent_id=AGENT, content="milk", lock=True)
        assert locked["locked"] is True


@pytest.mark.parametrize("timestamp", ["yesterday", "2026-01-01", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00"])
async def test_a_timestamp_that_names_no_moment_is_kept_and_said_to_be_unreadable(timestamp: str):
    async with here() as place:
        said = await place.call("store", agent_id=AGENT, content="tea", timestamp=timestamp)
        assert (said["result"], said["timestamp_unreadable"]) == ("stored", True)
        again = await place.call("store", agent_id=AGENT, content="tea", timestamp=timestamp)
        plain = await place.call("store", agent_id=AGENT, content="milk", timestamp="2026-01-01T00:00:00Z")
        assert "timestamp_unreadable" not in {**again, **plain}
        rows = (await place.call("list_memories"))["memories"]
        assert rows[1]["timestamp"] == timestamp


async def test_a_key_answers_again_what_it_answered_and_is_refused_for_other_content():
    async with here() as place:
        for tool, arguments in (("store", {"content": "tea"}), ("archive_episode", {"summary": "a talk"})):
            key = f"k-{tool}"
            first = await place.call(tool, agent_id=AGENT, idempotency_key=key, session_key="A", **arguments)
            again = await place.call(tool, agent_id=AGENT, idempotency_key=key, session_key="B", **arguments)
            assert again == first
            other = await place.call(tool, agent_id=AGENT, idempotency_key=key, project_id="x", **arguments)
            assert (other["code"], other["field"]) == ("idempotency_conflict", "idempotency_key")
        assert (await place.call("list_episodes"))["count"] == 1


def test_a_key_stands_for_the_request_whatever_the_order_of_its_members():
    first, second = ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert once_of("k", Message(content="x", source=first)) == once_of("k", Message(content="x", source=second))
    assert once_of("k", Message(content="x")) != once_of("k", Message(content="y"))
    assert once_of(None, Message(content="x")) is None


async def test_an_episode_twice_is_two_and_carries_the_span_of_its_history():
    async with here() as place:
        history = [{"timestamp": "2026-01-02T00:00:00Z"}, {"timestamp": 5}, {"timestamp": "2026-01-01T00:00:00Z"}, {}]
        said = [
            await place.call("archive_episode", agent_id=AGENT, summary="a talk", history=history, keywords="tea")
            for _ in range(2)
        ]
        assert said[0]["episode_id"] != said[1]["episode_id"]
        assert (said[0]["queued"], said[0]["task_id"]) == (False, None)
        rows = (await place.call("list_episodes"))["episodes"]
        assert [each["id"] for each in rows] == [said[1]["episode_id"], said[0]["episode_id"]]
        assert (rows[0]["start_time"], rows[0]["end_time"]) == ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")


@pytest.mark.parametrize(("entries", "queued"), [(QUEUED_OVER, False), (QUEUED_OVER + 1, True)])
def test_a_history_of_more_than_fifty_entries_is_queued_without_a_word_of_it(entries: int, queued: bool):
    new = new_summary("a talk", "", [{"content": "q7TURNq7"}] * entries, Bucket(), resolved=True)
    assert new.queued is queued
    assert "q7TURNq7" not in str(new.task)
    assert new.task.episode().resolved is True


async def test_an_empty_summary_and_an_empty_profile_are_refused_and_the_old_profile_stays():
    async with here() as place:
        await place.call("update_profile", agent_id=AGENT, profile="likes tea")
        for tool, field in (("archive_episode", "summary"), ("update_profile", "profile")):
            for text in ("", "  "):
                said = await place.call(tool, agent_id=AGENT, **{field: text})
                assert (said["ok"], said["code"], said["field"]) == (False, "invalid", field)
        assert await place.call("get_profile", agent_id=AGENT) == {"profile": "likes tea"}
        assert (await place.call("update_profile", agent_id=AGENT, profile="y" * 2_001))["truncated"] is True


async def test_what_is_another_s_and_what_was_never_there_are_refused_alike():
    async with here() as place:
        (memory_id,) = await place.store("tea", lock=True)
        episode_id = (await place.call("archive_episode", agent_id=AGENT, summary="a talk"))["episode_id"]
        for tool, field, number, more in (
            ("update_memory", "memory_id", memory_id, {"content": "x"}),
            ("delete_memory", "memory_id", memory_id, {}),
            ("delete_episode", "episode_id", episode_id, {}),
        ):
            foreign = await place.call(tool, by="ben", **{field: number}, **more)
            absent = await place.call(tool, by="ben", **{field: 10_000}, **more)
            assert foreign == absent
            assert foreign["code"] == "not_found"
        assert (await place.call("list_memories"))["count"] == 1


async def test_a_locked_memory_is_neither_changed_nor_deleted_and_its_writer_learns_why():
    async with here() as place:
        (memory_id,) = await place.store("tea", lock=True)
        for tool, more in (("update_memory", {"content": "x"}), ("delete_memory", {})):
            said = await place.call(tool, memory_id=memory_id, agent_id=AGENT, **more)
            assert (said["code"], said["field"]) == ("invalid", "memory_id")
            assert "locked" in said["limit"]


async def test_an_update_is_found_under_its_new_words_and_a_text_that_is_there_names_its_holder():
    async with here() as place:
        tea, milk = await place.store("green tea", "milk")
        said = await place.call("update_memory", memory_id=tea, content="[Memory from x] black coffee")
        assert said == {"ok": True, "updated_id": tea}
        assert (await place.call("recall", agent_id=AGENT, query="coffee"))["messages"][0]["ref"] == f"mem:{tea}"
        assert (await place.call("recall", agent_id=AGENT, query="green"))["messages"] == []
        held = await place.call("update_memory", memory_id=tea, content="milk")
        assert (held["code"], held["id"]) == ("already_exists", milk)


async def test_what_is_deleted_is_gone():
    async with here() as place:
        tea, milk = await place.store("green tea", "milk")
        episode_id = (await place.call("archive_episode", agent_id=AGENT, summary="a talk"))["episode_id"]
        assert await place.call("delete_memory", memory_id=tea) == {"ok": True, "deleted_id": tea}
        assert await place.call("delete_episode", episode_id=episode_id) == {"ok": True, "deleted_id": episode_id}
        assert [each["id"] for each in (await place.call("list_memories"))["memories"]] == [milk]
        assert (await place.call("delete_memory", memory_id=tea))["code"] == "not_found"


async def test_a_call_that_was_cancelled_or_lost_its_access_on_the_way_writes_nothing():
    async with here() as place:
        ana = await place.execution()
        cancelled = Cancellation()
        writing = place.dispatcher.toolbox.tool("store").handler.__self__._writing  # type: ignore[attr-defined]
        new = new_record(Message(content="tea"), Bucket(), locked=False, now_ms=place.world.clock())

        async def cancel(*_: object) -> None:
            cancelled.cancel()

        writing._embed = cancel
        gone = type(ana)(
            identity=ana.identity,
            actor_id="ana",
            key_id=ana.key_id,
            deadline_ms=ana.deadline_ms,
            cancellation=cancelled,
        )
        with pytest.raises(ExecutionCancelled):
            await writing.store(gone, AGENT, new, once=None)
        await place.world.ports.accounts.set_member("acme", "ana", member=False, now_ms=place.world.clock())
        with pytest.raises(MembershipWithdrawn):
            await writing.store(ana, AGENT, new, once=None)
        assert await place.agents.agents("acme") == []


def test_every_verdict_but_done_is_an_error():
    require_done(Changed(verdict=Verdict.DONE), "memory_id")
    for verdict in set(Verdict) - {Verdict.DONE}:
        with pytest.raises(Refused) as refused:
            require_done(Changed(verdict=verdict, holder=3), "memory_id")
        assert refused.value.field in ("memory_id", "content")


def test_a_record_says_how_it_was_sent():
    new = new_record(
        Message(content="tea", source={"type": "ai"}, timestamp="2027-01-15T09:00:00Z"),
        Bucket(channel="c"),
        locked=True,
        now_ms=START_MS,  # type: ignore[arg-type]
    )
    assert (new.memory.source, new.memory.terms, new.memory.locked) == ({"type": "Agent"}, ("tea",), True)
    assert (new.ahead_ms, new.truncated) == (3_600_000, False)
