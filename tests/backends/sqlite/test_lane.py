"""One thread, one connection: batches, savepoints, and what a caller is told when."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from codesynapse.backends.sqlite import lane as lanes
from codesynapse.backends.sqlite.lane import BATCH_MAX, Connection, Job, Lane, reading, writing
from codesynapse.contracts.errors import NotFound, StoreBusy, StoreFault

Connect = Callable[[], sqlite3.Connection]

TABLES = """
PRAGMA journal_mode = WAL;
CREATE TABLE rows (number INTEGER PRIMARY KEY);
CREATE TABLE kin (number INTEGER REFERENCES rows (number) DEFERRABLE INITIALLY DEFERRED);
"""


@pytest.fixture
def connect(path: Path, another: Connect) -> Connect:
    path.parent.mkdir()
    another().executescript(TABLES)
    return another


@pytest.fixture
def statements() -> list[str]:
    """What the writer's connection has run."""
    return []


@pytest.fixture
async def writer(connect: Connect, statements: list[str]) -> AsyncIterator[Lane]:
    connection = connect()
    connection.execute("PRAGMA foreign_keys = ON")
    connection.set_trace_callback(statements.append)
    lane = Lane("test-writer", connection, writing, deadline_s=10)
    yield lane
    lane.stop()
    await asyncio.to_thread(lane.join)


@pytest.fixture
async def reader(connect: Connect) -> AsyncIterator[Lane]:
    lane = Lane("test-reader", connect(), reading, deadline_s=10)
    yield lane
    lane.stop()
    await asyncio.to_thread(lane.join)


def insert(number: int) -> Callable[[Connection], int]:
    return lambda connection: connection.execute("INSERT INTO rows VALUES (?)", (number,)).rowcount


def insert_and_refuse(number: int) -> Callable[[Connection], int]:
    def work(connection: Connection) -> int:
        insert(number)(connection)
        raise NotFound(field="number")

    return work


def numbers(connection: Connection) -> list[int]:
    return [row[0] for row in connection.execute("SELECT number FROM rows ORDER BY number")]


class Held:
    """A lane whose thread is inside a job until it is let go, so that what is asked for meanwhile forms one batch."""

    def __init__(self, lane: Lane, gate: threading.Event) -> None:
        self._lane = lane
        self._gate = gate
        self._entered = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def __aenter__(self) -> None:
        def wait(connection: Connection) -> None:
            numbers(connection)
            self._loop.call_soon_threadsafe(self._entered.set)
            self._gate.wait()

        self.task = asyncio.create_task(self._lane.run(wait))
        await self._entered.wait()

    async def __aexit__(self, *exc: object) -> None:
        self._gate.set()
        await self.task


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


async def test_a_write_that_another_process_holds_up_past_the_deadline_is_told_busy(connect: Connect) -> None:
    other = connect()
    other.execute("BEGIN IMMEDIATE")
    lane = Lane("test-hasty", connect(), writing, deadline_s=0.05)
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


async def test_a_batch_that_dies_answers_everybody_and_the_lane_lives_on(connect: Connect) -> None:
    deaths = [RuntimeError("the disk is gone")]

    def transact(connection: Connection, jobs: Sequence[Job]) -> None:
        if deaths:
            raise deaths.pop()
        reading(connection, jobs)

    lane = Lane("test-mortal", connect(), transact, deadline_s=10)
    with pytest.raises(RuntimeError):
        await lane.run(numbers)
    assert await lane.run(numbers) == []
    lane.stop()
    await asyncio.to_thread(lane.join)


async def test_stopping_finishes_what_was_accepted_and_accepts_nothing_more(
    connect: Connect, gate: threading.Event
) -> None:
    lane = Lane("test-stopping", connect(), writing, deadline_s=10)
    async with Held(lane, gate):
        accepted = asyncio.create_task(lane.run(insert(1)))
        await queued(accepted)
        lane.stop()
        with pytest.raises(StoreBusy):
            await lane.run(insert(2))
    assert await accepted == 1
    await asyncio.to_thread(lane.join)
    assert numbers(connect()) == [1]
