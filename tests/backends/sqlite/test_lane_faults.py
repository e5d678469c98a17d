"""What a fault leaves behind in a lane: no old state, no open transaction, no read without an end."""

import asyncio
import sqlite3
import threading
import weakref
from collections.abc import Callable, Sequence

import pytest

from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.lane import Job, Lane, reading
from codesynapse.contracts.errors import NotFound, StoreBusy, StoreFault
from tests.backends.sqlite.conftest import ENDLESS, Connect, Held, insert, insert_and_refuse, numbers


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
