"""The queue at work: who drops a task, what is tried again, what is given up, and that nothing is done twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_work import Tally, Task
from codesynapse.contracts.agents import NewEpisode
from codesynapse.contracts.errors import StoreBusy
from codesynapse.server.hints.session_key import bucket_of
from codesynapse.server.hints.state import Hints
from codesynapse.server.work import queue
from codesynapse.server.work.queue import BATCH, GRACE_MS, KINDS, RETRY_MS, Kind, QueuedWrites, archived_episode
from tests.server.agents.here import AGENT, Here, here

PAYLOAD = '{"summary":"x","keywords":"","project_id":"","channel":"","start_time":"","end_time":"","resolved":false}'
LONG = [{"content": "q7TURNq7"}] * 51


def at_work(place: Here, hints: Hints | None = None, kinds: Mapping[str, Kind] = KINDS) -> QueuedWrites:
    """Another worker of the same store. hints: its own, as after a restart."""
    stands = place.world.ports.accounts.stands
    return QueuedWrites(place.agents, stands, hints or place.world.hints, place.world.clock, kinds)


def waited(place: Here) -> None:
    """So long that a task which another process queued is anybody's."""
    place.world.clock.advance(seconds=GRACE_MS / 1_000)


async def archive(place: Here, summary: str, key: str | None = None, *, agent: str = AGENT, by: str = "ana") -> int:
    said = await place.call("archive_episode", agent_id=agent, summary=summary, history=LONG, session_key=key, by=by)
    assert said["queued"] is True
    return int(said["task_id"])


async def summaries(place: Here, **more: Any) -> list[str]:
    return [each["summary"] for each in (await place.call("list_episodes", **more))["episodes"]][::-1]


async def status(place: Here) -> tuple[int, int]:
    found = await place.agents.queue_status(place.scope())
    return found.pending, found.discarded


async def test_a_task_is_dropped_by_the_pause_of_its_own_key_and_done_under_any_other():
    async with here() as place:
        for key in ("A", "B", None):
            await archive(place, f"of {key}", key)
        await place.pause("A")
        await place.pause("C")
        assert await place.queue.run() == 3
        assert await summaries(place) == ["of B", "of None"]
        assert await status(place) == (0, 0)
        assert len(place.world.hints.attribution) == 0


async def test_a_keyless_pause_drops_keyless_tasks_and_those_of_unknown_origin():
    async with here() as place:
        await archive(place, "keyless")
        await archive(place, "of A", "A")
        restarted = at_work(place, type(place.world.hints)())
        restarted._hints.pauses.pause(bucket_of((await place.execution()).identity, None), 60, place.world.clock())
        restarted._hints.pauses.pause(bucket_of((await place.execution()).identity, "B"), 60, place.world.clock())
        waited(place)
        await restarted.run()
        assert await summaries(place) == []


async def test_after_a_restart_the_pause_of_the_key_that_queued_a_task_does_not_reach_it():
    async with here() as place:
        await archive(place, "of A", "A")
        restarted = at_work(place, type(place.world.hints)())
        restarted._hints.pauses.pause(bucket_of((await place.execution()).identity, "A"), 60, place.world.clock())
        waited(place)
        await restarted.run()
        assert await summaries(place) == ["of A"]


@pytest.mark.parametrize("key", ["A", None])
async def test_a_task_is_left_to_the_process_that_queued_it_so_that_its_pause_drops_it(key: str | None):
    async with here() as place:
        await archive(place, "off the record", key)
        other = at_work(place, type(place.world.hints)())
        assert await other.run() == 0
        await place.pause(key)
        assert await place.queue.run() == 1
        waited(place)
        assert await other.run() == 0
        assert await summaries(place) == []


async def test_a_task_whose_process_is_gone_is_done_by_another_after_a_while():
    async with here() as place:
        await archive(place, "left behind", "A")
        other = at_work(place, type(place.world.hints)())
        place.world.clock.advance(seconds=GRACE_MS / 1_000 - 1)
        assert await other.run() == 0
        place.world.clock.advance(seconds=1)
        assert await other.run() == 1
        assert await summaries(place) == ["left behind"]


async def test_more_tasks_of_another_process_than_a_batch_end_the_round():
    async with here() as place:
        await place.store("tea")
        for _ in range(BATCH):
            await place.agents.enqueue(place.scope(), "archive_episode", PAYLOAD, once=None, now_ms=place.world.clock())
        assert await place.queue.run() == 0
        assert await status(place) == (BATCH, 0)


@pytest.mark.parametrize("how", ["dropped", "given up"])
async def test_what_was_given_up_can_be_sent_again_under_its_key(how: str, monkeypatch: pytest.MonkeyPatch):
    async with here() as place:
        sent = {"agent_id": AGENT, "summary": "a talk", "history": LONG, "idempotency_key": "k", "session_key": "A"}
        first = await place.call("archive_episode", **sent)
        if how == "dropped":
            await place.pause("A")
        else:
            monkeypatch.setattr(place.queue, "_kinds", {})
        assert await place.queue.run() == 1
        monkeypatch.undo()
        again = await place.call("archive_episode", **{**sent, "session_key": "B"})
        assert again["task_id"] != first["task_id"]
        assert await place.queue.run() == 1
        assert await summaries(place) == ["a talk"]


async def test_a_process_knows_a_bounded_number_of_tasks_to_be_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(queue, "OWN_MAX", 2)
    async with here() as place:
        for number in range(3):
            await archive(place, f"talk {number}")
        assert await place.queue.run() == 2
        waited(place)
        assert await place.queue.run() == 1
        assert await summaries(place) == ["talk 1", "talk 2", "talk 0"]


async def test_the_same_key_of_another_principal_drops_nothing():
    async with here() as place:
        await archive(place, "of ana", "A")
        await archive(place, "of eve", "A", agent="hers", by="eve")
        await place.pause("A", by="eve")
        await place.queue.run()
        assert await summaries(place) == ["of ana"]
        assert await summaries(place, by="eve") == []


async def test_work_that_follows_from_what_is_stored_is_never_dropped():
    async with here() as place:
        kinds = {"derived": Kind(effect=lambda payload: NewEpisode(summary=payload), derived=True), **KINDS}
        queue = at_work(place, kinds=kinds)
        bucket = bucket_of((await place.execution()).identity, "A")
        await queue.put(place.scope(), "derived", "index", once=None, bucket=bucket)
        await archive(place, "a write", "A")
        await place.pause("A")
        await queue.run()
        assert await summaries(place) == ["index"]


async def test_a_task_that_fails_is_tried_three_times_thirty_seconds_apart_and_then_counted():
    async with here() as place:
        await archive(place, "x")
        await archive(place, "fine", agent="other")
        await place.agents.set_level("acme", AGENT, "ana", Level.READ, now_ms=place.world.clock())
        assert await place.queue.run() == 2
        assert await place.queue.run() == 0
        assert await summaries(place, agent_id="other") == ["fine"]
        for pending in (1, 0):
            place.world.clock.advance(seconds=RETRY_MS / 1_000 - 1)
            assert await place.queue.run() == 0
            place.world.clock.advance(seconds=1)
            assert await place.queue.run() == 1
            assert (await status(place))[0] == pending
        assert await status(place) == (0, 1)
        assert await summaries(place) == ["fine"]


async def test_a_task_that_failed_keeps_its_key_until_its_row_is_gone():
    async with here() as place:
        task_id = await archive(place, "x", "A")
        await place.agents.set_level("acme", AGENT, "ana", Level.READ, now_ms=place.world.clock())
        await place.queue.run()
        assert place.world.hints.attribution.bucket(task_id, ("acme", "ana")).declared
        await place.pause("A")
        place.world.clock.advance(seconds=30)
        await place.queue.run()
        assert await status(place) == (0, 0)
        assert len(place.world.hints.attribution) == 0


OUT: dict[str, Callable[[Here], Awaitable[None]]] = {
    "the user is suspended": lambda place: place.world.ports.accounts.suspend_user(
        "ana", suspended=True, now_ms=place.world.clock()
    ),
    "the organisation is suspended": lambda place: place.world.ports.accounts.suspend_organization(
        "acme", suspended=True, now_ms=place.world.clock()
    ),
    "the membership is withdrawn": lambda place: place.world.ports.accounts.set_member(
        "acme", "ana", member=False, now_ms=place.world.clock()
    ),
}


@pytest.mark.parametrize("how", OUT)
async def test_what_a_user_queued_who_is_out_since_is_discarded_and_counted(how: str):
    async with here() as place:
        await archive(place, "x", "A")
        await OUT[how](place)
        assert await place.queue.run() == 1
        assert await status(place) == (0, 1)
        assert await place.agents.tally(place.scope()) == Tally()
        assert len(place.world.hints.attribution) == 0


async def test_others_tasks_are_done_though_a_user_of_their_organisation_is_out():
    async with here() as place:
        await archive(place, "of ana")
        await archive(place, "of eve", agent="hers", by="eve")
        await OUT["the user is suspended"](place)
        await place.queue.run()
        assert await summaries(place, by="eve") == ["of eve"]


async def test_a_user_who_was_out_and_is_back_before_the_round_loses_nothing():
    async with here() as place:
        await archive(place, "x")
        await OUT["the user is suspended"](place)
        await place.world.ports.accounts.suspend_user("ana", suspended=False, now_ms=place.world.clock())
        await place.queue.run()
        assert await summaries(place) == ["x"]


async def test_while_the_accounts_do_not_answer_a_task_waits_and_no_try_is_counted():
    async with here() as place:
        await archive(place, "x")

        async def silent(_: str, __: str) -> bool:
            raise StoreBusy

        waited(place)
        for _ in range(4):
            with pytest.raises(StoreBusy):
                await QueuedWrites(place.agents, silent, place.world.hints, place.world.clock).run()
        assert await status(place) == (1, 0)
        await place.queue.run()
        assert await summaries(place) == ["x"]


@pytest.mark.parametrize(("kind", "payload"), [("archive_episode", "{"), ("archive_episode", "{}"), ("nothing", "x")])
async def test_a_row_that_nobody_can_read_is_given_up_at_once_and_counted(kind: str, payload: str):
    async with here() as place:
        await place.store("tea")
        await place.agents.enqueue(place.scope(), kind, payload, once=None, now_ms=place.world.clock())
        await archive(place, "behind it")
        waited(place)
        await place.queue.run()
        assert await status(place) == (0, 1)
        assert await summaries(place) == ["behind it"]


async def test_a_store_that_does_not_answer_leaves_everything_for_the_next_round(monkeypatch: pytest.MonkeyPatch):
    async with here() as place:
        await archive(place, "x", "A")

        async def busy(*_: object, **__: object) -> None:
            raise StoreBusy

        with monkeypatch.context() as patched:
            for name in ("claim", "failed"):
                patched.setattr(place.agents, name, busy)
            with pytest.raises(StoreBusy):
                await place.queue.run()
        assert len(place.world.hints.attribution) == 1
        await place.queue.run()
        assert await summaries(place) == ["x"]


async def test_a_fault_of_ours_in_one_task_holds_up_none_behind_it():
    async with here() as place:

        def broken(_: str) -> NewEpisode:
            raise KeyError("q7MARKq7")

        kinds = {"broken": Kind(effect=broken), **KINDS}
        queue = at_work(place, kinds=kinds)
        await place.store("tea")
        await place.agents.enqueue(place.scope(), "broken", "x", once=None, now_ms=place.world.clock())
        await archive(place, "behind it")
        waited(place)
        await queue.run()
        assert await summaries(place) == ["behind it"]
        assert await status(place) == (1, 0)


async def test_what_an_agents_deletion_takes_away_is_forgotten_and_never_done():
    async with here() as place:
        await archive(place, "x", "A")
        await place.agents.purge(place.scope(), now_ms=place.world.clock())
        assert len(place.world.hints.attribution) == 1
        assert await place.queue.run() == 0
        assert len(place.world.hints.attribution) == 0
        assert await summaries(place) == []


async def test_twenty_archives_and_several_workers_at_once_keep_each_episode_once():
    async with here() as place:
        await asyncio.gather(*(archive(place, f"talk {number:02}") for number in range(20)))
        waited(place)
        workers = [at_work(place) for _ in range(4)]
        await asyncio.gather(*(worker.run() for worker in workers))
        assert sorted(await summaries(place)) == [f"talk {number:02}" for number in range(20)]


async def test_a_round_works_off_more_than_a_batch():
    async with here() as place:
        await place.store("tea")
        for _ in range(BATCH + 1):
            await place.agents.enqueue(place.scope(), "archive_episode", PAYLOAD, once=None, now_ms=place.world.clock())
        waited(place)
        assert await place.queue.run() == BATCH + 1
        assert await status(place) == (0, 0)


async def test_no_worker_here_sees_a_row_before_its_key_is_noted(monkeypatch: pytest.MonkeyPatch):
    async with here() as place:
        enqueue, stored, go_on = place.agents.enqueue, asyncio.Event(), asyncio.Event()

        async def slow(*arguments: Any, **more: Any) -> Any:
            kept = await enqueue(*arguments, **more)
            stored.set()
            await go_on.wait()
            return kept

        monkeypatch.setattr(place.agents, "enqueue", slow)
        await place.pause("A", by="ana")
        execution = await place.execution()
        bucket = bucket_of(execution.identity, "A")
        put = place.queue.put(place.scope(), "archive_episode", PAYLOAD, once=None, bucket=bucket)
        putting = asyncio.create_task(put)
        await stored.wait()
        working = asyncio.create_task(place.queue.run())
        await asyncio.sleep(0)
        go_on.set()
        await putting
        await working
        assert (await place.call("list_episodes"))["episodes"] == []
        assert await status(place) == (0, 0)


async def test_no_row_holds_a_turn_or_a_key():
    async with here() as place:
        await archive(place, "a talk", "q7KEYq7")
        (task,) = await place.agents.due(now_ms=place.world.clock(), limit=9)
        assert isinstance(task, Task)
        assert "q7" not in repr(task)
        assert archived_episode(task.payload).summary == "a talk"
