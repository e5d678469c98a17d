"""One thread, one connection: batches, savepoints, and what a caller is told when."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence

import pytest

from codesynapse.backends.sqlite import lane as lanes
from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.lane import BATCH_MAX, Job, Lane, reading, writing
from codesynapse.contracts.errors import NotFound, StoreBusy, StoreFault
from tests.backends.sqlite.conftest import Connect, Held, insert, insert_and_refuse, numbers


async def queued(*calls: "asyncio.Task[int]") -> None:
    """Let each task come to the point where its job is in the queue."""
    await asyncio.sleep(0)
    assert not any(call.done() for call in calls)


async def test_writes_that_wait_together_share_one_transaction_a_batch(
    writer: Lane, statements: list[str], gate: threading.Event, connect: Connect
) -> None:
    async with Held(writer, gate):
        calls = [asyncio.create_task(writer.run(insert(number))) for number in range(3 * BATCH_MAX)]
        await queued(*calls)
    assert await asyncio.gather(*calls) == [1] * (3 * BATCH_MAX)
    assert numbers(connect()) == list(range(3 * BATCH_MAX))
    assert statements.count("COMMIT") == 1 + 3


async def test_a_refusal_in_a_batch_undoes_its_own_job_and_no_other(
    writer: Lane, statements: list[str], gate: threading.Event, connect: Connect
) -> None:
    async with Held(writer, gate):
        first = asyncio.create_task(writer.run(insert(1)))
        refused = asyncio.create_task(writer.run(insert_and_refuse(2)))
        broken = asyncio.create_task(writer.run(insert(1)))
        last = asyncio.create_task(writer.run(insert(3)))
        await queued(first, refused, broken, last)
    assert (await first, await last) == (1, 1)
    with pytest.raises(NotFound):
        await refused
    with pytest.raises(StoreFault):
        await broken
    assert numbers(connect()) == [1, 3]
    assert statements.count("COMMIT") == 1 + 1


async def test_a_call_that_is_cancelled_before_its_turn_writes_nothing(
    writer: Lane, gate: threading.Event, connect: Connect
) -> None:
    async with Held(writer, gate):
        cancelled = asyncio.create_task(writer.run(insert(1)))
        kept = asyncio.create_task(writer.run(insert(2)))
        await queued(cancelled, kept)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
    assert await kept == 1
    assert numbers(connect()) == [2]


async def test_a_call_that_is_cancelled_while_it_runs_is_whole(
    writer: Lane, gate: threading.Event, connect: Connect
) -> None:
    entered = asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(connection: Connection) -> None:
        insert(1)(connection)
        loop.call_soon_threadsafe(entered.set)
        gate.wait()
        insert(2)(connection)

    call = asyncio.create_task(writer.run(work))
    await entered.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    gate.set()
    assert await writer.run(insert(3)) == 1
    assert numbers(connect()) == [1, 2, 3]


async def test_nobody_is_told_of_success_when_the_commit_fails(
    writer: Lane, gate: threading.Event, connect: Connect
) -> None:
    def orphan(connection: Connection) -> int:
        return connection.execute("INSERT INTO kin VALUES (99)").rowcount

    async with Held(writer, gate):
        innocent, guilty = (asyncio.create_task(writer.run(work)) for work in (insert(1), orphan))
        await queued(innocent, guilty)
    for call in (innocent, guilty):
        with pytest.raises(StoreFault):
            await call
    assert numbers(connect()) == []
    assert await writer.run(insert(1)) == 1


async def test_a_write_waits_while_another_process_writes(
    writer: Lane, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = connect()
    other.execute("BEGIN IMMEDIATE")
    insert(1)(other)
    waits: list[None] = []

    def pause() -> None:
        waits.append(None)
        if len(waits) == 3:
            other.execute("COMMIT")

    monkeypatch.setattr(lanes, "pause", pause)
    assert await writer.run(insert(2)) == 1
    assert len(waits) == 3
    assert numbers(connect()) == [1, 2]


async def test_a_write_that_another_process_holds_up_past_the_deadline_is_told_busy(
    own: Callable[[], Connection], connect: Connect
) -> None:
    other = connect()
    other.execute("BEGIN IMMEDIATE")
    lane = Lane("test-hasty", own, writing, deadline_s=0.05)
    with pytest.raises(StoreBusy) as refusal:
        await lane.run(insert(1))
    assert "locked" not in str(refusal.value)
    assert isinstance(refusal.value.__cause__, sqlite3.OperationalError)
    other.execute("ROLLBACK")
    assert await lane.run(insert(2)) == 1
    lane.stop()
    await asyncio.to_thread(lane.join)
    assert numbers(connect()) == [2]


async def test_a_read_sees_what_another_process_had_committed_when_it_was_asked(reader: Lane, connect: Connect) -> None:
    other = connect()
    for number in range(50):
        insert(number)(other)
        assert await reader.run(numbers) == list(range(number + 1))


async def test_a_read_never_joins_a_snapshot_that_is_older_than_itself(
    reader: Lane, gate: threading.Event, connect: Connect
) -> None:
    async with Held(reader, gate):  # Its transaction has read, so its snapshot is taken.
        insert(1)(connect())
        call = asyncio.create_task(reader.run(numbers))
        await asyncio.sleep(0)
    assert await call == [1]


async def test_reads_that_wait_together_see_one_state(reader: Lane, gate: threading.Event, connect: Connect) -> None:
    other = connect()

    def read_then_let_another_write(connection: Connection) -> list[int]:
        before = numbers(connection)
        insert(1)(other)
        return before

    async with Held(reader, gate):
        first = asyncio.create_task(reader.run(read_then_let_another_write))
        second = asyncio.create_task(reader.run(numbers))
        await asyncio.sleep(0)
    assert (await first, await second) == ([], [])
    assert await reader.run(numbers) == [1]


async def test_a_failing_read_does_not_hurt_its_neighbours(reader: Lane, gate: threading.Event) -> None:
    async with Held(reader, gate):
        failing = asyncio.create_task(reader.run(lambda connection: connection.execute("SELECT * FROM nowhere")))
        sound = asyncio.create_task(reader.run(numbers))
        await asyncio.sleep(0)
    with pytest.raises(StoreFault):
        await failing
    assert await sound == []


async def test_a_batch_that_dies_answers_everybody_and_the_lane_lives_on(own: Callable[[], Connection]) -> None:
    deaths = [RuntimeError("the disk is gone")]

    def transact(connection: Connection, jobs: Sequence[Job]) -> None:
        if deaths:
            raise deaths.pop()
        reading(connection, jobs)

    lane = Lane("test-mortal", own, transact, deadline_s=10)
    with pytest.raises(RuntimeError):
        await lane.run(numbers)
    assert await lane.run(numbers) == []
    lane.stop()
    await asyncio.to_thread(lane.join)


async def test_stopping_finishes_what_was_accepted_and_accepts_nothing_more(
    own: Callable[[], Connection], connect: Connect, gate: threading.Event
) -> None:
    lane = Lane("test-stopping", own, writing, deadline_s=10)
    async with Held(lane, gate):
        accepted = asyncio.create_task(lane.run(insert(1)))
        await queued(accepted)
        lane.stop()
        with pytest.raises(StoreBusy):
            await lane.run(insert(2))
    assert await accepted == 1
    await asyncio.to_thread(lane.join)
    assert numbers(connect()) == [1]
