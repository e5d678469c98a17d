"""One thread, one connection: batches, savepoints, and what a caller is told when."""

import asyncio
import sqlite3
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from codesynapse.backends.sqlite import lane as lanes
from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.connection import connect as connect_file
from codesynapse.backends.sqlite.lane import BATCH_MAX, Job, Lane, reading, writing
from codesynapse.contracts.errors import NotFound, StoreBusy, StoreFault

Connect = Callable[[], sqlite3.Connection]

TABLES = """
PRAGMA journal_mode = WAL;
CREATE TABLE rows (number INTEGER PRIMARY KEY);
CREATE TABLE kin (number INTEGER REFERENCES rows (number) DEFERRABLE INITIALLY DEFERRED);
"""
ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def connect(path: Path, another: Connect) -> Connect:
    """Opens connections as another process would."""
    path.parent.mkdir()
    another().executescript(TABLES)
    return another


@pytest.fixture
def statements() -> list[str]:
    """What the writer's connection has run."""
    return []


@pytest.fixture
def opened() -> list[Connection]:
    """The connections that lanes have opened."""
    return []


@pytest.fixture
def own(path: Path, connect: Connect, statements: list[str], opened: list[Connection]) -> Callable[[], Connection]:
    """Opens a lane's own connection."""

    def open_one() -> Connection:
        connection = connect_file(path, "PRAGMA foreign_keys = ON", patience_s=0)
        connection.set_trace_callback(statements.append)
        opened.append(connection)
        return connection

    return open_one


@pytest.fixture
async def writer(own: Callable[[], Connection]) -> AsyncIterator[Lane]:
    lane = Lane("test-writer", own, writing, deadline_s=10)
    yield lane
    lane.stop()
    await asyncio.to_thread(lane.join)


@pytest.fixture
async def reader(own: Callable[[], Connection]) -> AsyncIterator[Lane]:
    lane = Lane("test-reader", own, reading, deadline_s=10)
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


def leave_half_read(connection: Connection) -> list[int]:
    """Die with a cursor in the middle of its rows; the error's traceback holds the frame, and that the cursor."""
    return [int("no number") for _ in connection.execute("SELECT number FROM rows")]


async def test_a_read_that_dies_half_way_leaves_no_old_state_to_the_next(
    reader: Lane, opened: list[Connection], connect: Connect
) -> None:
    other = connect()
    for number in range(3):
        insert(number)(other)
    with pytest.raises(ValueError, match="invalid literal") as kept:
        await reader.run(leave_half_read)
    insert(3)(other)
    assert await reader.run(numbers) == [0, 1, 2, 3]
    assert len(opened) == 2
    assert kept.value.__traceback__ is not None


async def test_a_write_that_dies_half_way_does_not_bind_the_next_to_an_old_state(
    writer: Lane, opened: list[Connection], connect: Connect
) -> None:
    other = connect()
    for number in range(3):
        insert(number)(other)
    with pytest.raises(ValueError, match="invalid literal"):
        await writer.run(leave_half_read)
    insert(3)(other)
    assert await writer.run(insert(4)) == 1
    assert numbers(connect()) == [0, 1, 2, 3, 4]
    assert len(opened) == 2


async def test_a_cursor_that_somebody_keeps_holds_no_snapshot(reader: Lane, connect: Connect) -> None:
    other = connect()
    for number in range(3):
        insert(number)(other)
    kept: list[sqlite3.Cursor] = []

    def begin_to_read(connection: Connection) -> None:
        kept.append(connection.execute("SELECT number FROM rows"))
        kept[0].fetchone()

    await reader.run(begin_to_read)
    insert(3)(other)
    assert await reader.run(numbers) == [0, 1, 2, 3]


async def test_an_error_keeps_nothing_that_its_frames_held(reader: Lane) -> None:
    class Row:
        """Something that can be watched."""

    watched: list[weakref.ref[Row]] = []

    def die(_: Connection) -> None:
        row = Row()
        watched.append(weakref.ref(row))
        try:
            raise KeyError
        except KeyError:
            raise NotFound(field="number") from None

    with pytest.raises(NotFound) as kept:
        await reader.run(die)
    assert kept.value.__traceback__ is not None
    assert watched[0]() is None


async def test_a_refusal_keeps_the_connection(reader: Lane, writer: Lane, opened: list[Connection]) -> None:
    for lane in (reader, writer):
        for _ in range(3):
            with pytest.raises(NotFound):
                await lane.run(insert_and_refuse(1) if lane is writer else refuse)
    assert len(opened) == 2


def refuse(_: Connection) -> None:
    raise NotFound(field="number")


@pytest.mark.parametrize("ending", ["ROLLBACK", "COMMIT"])
async def test_a_transaction_that_is_left_open_ends_with_its_connection(
    own: Callable[[], Connection], opened: list[Connection], connect: Connect, ending: str
) -> None:
    def transact(connection: Connection, jobs: Sequence[Job]) -> None:
        connection.execute("BEGIN")
        jobs[0].result = numbers(connection)
        if ending == "COMMIT":
            connection.execute("COMMIT")

    lane = Lane("test-careless", own, transact, deadline_s=10)
    assert await lane.run(numbers) == []
    insert(1)(connect())
    assert await lane.run(numbers) == [1]
    assert len(opened) == (1 if ending == "COMMIT" else 2)
    lane.stop()
    await asyncio.to_thread(lane.join)


async def test_a_lane_that_cannot_connect_says_so_and_tries_again(own: Callable[[], Connection]) -> None:
    refusals = [sqlite3.OperationalError("unable to open database file")]

    def connect() -> Connection:
        if refusals:
            raise refusals.pop()
        return own()

    lane = Lane("test-late", connect, reading, deadline_s=10)
    with pytest.raises(StoreFault):
        await lane.run(numbers)
    assert await lane.run(numbers) == []
    lane.stop()
    await asyncio.to_thread(lane.join)


async def test_a_read_whose_time_is_over_before_its_turn_is_told_busy_and_never_runs(
    own: Callable[[], Connection],
) -> None:
    lane = Lane("test-overdue", own, reading, deadline_s=0)
    ran: list[None] = []
    with pytest.raises(StoreBusy) as refusal:
        await lane.run(lambda _: ran.append(None))
    assert (ran, refusal.value.cause) == ([], "DEADLINE")
    lane.stop()
    await asyncio.to_thread(lane.join)


async def test_a_read_that_would_never_end_is_told_busy_and_keeps_the_connection(
    own: Callable[[], Connection], opened: list[Connection]
) -> None:
    lane = Lane("test-endless", own, reading, deadline_s=0.05)
    with pytest.raises(StoreBusy):
        await lane.run(lambda connection: connection.execute(ENDLESS).fetchone())
    assert len(opened) == 1
    lane.stop()
    await asyncio.to_thread(lane.join)


async def test_the_reads_of_one_do_not_hold_up_those_of_another(
    own: Callable[[], Connection], gate: threading.Event
) -> None:
    lane = Lane("test-fair", own, reading, deadline_s=10, share=1)
    order: list[str] = []

    def named(name: str) -> Callable[[Connection], None]:
        return lambda _: order.append(name)

    async with Held(lane, gate):
        names = [f"greedy{number}" for number in range(100)] + ["modest0", "modest1"]
        calls = [asyncio.create_task(lane.run(named(name), key=name[:6])) for name in names]
        await asyncio.sleep(0)
    await asyncio.gather(*calls)
    assert order[:5] == ["greedy0", "modest0", "greedy1", "modest1", "greedy2"]
    assert sorted(order) == sorted(names)
    lane.stop()
    await asyncio.to_thread(lane.join)
