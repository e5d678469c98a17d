"""Threads that own a connection each and run jobs in batches, one transaction a batch.

A job is a function of the connection. Its future is resolved on the event loop, and for a write only once the
batch was committed: what was acknowledged is on the disk. Jobs that arrive while a batch runs form the next one, so
that under load many share one fsync, and a single one never waits for company.
"""

import asyncio
import sqlite3
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.faults import is_busy, late, pause, translated
from codesynapse.backends.sqlite.turns import Turns
from codesynapse.contracts.errors import CodeSynapseError, StoreBusy, StoreFault

T = TypeVar("T")

BATCH_MAX = 64
SCRUBS_MAX = 20


@dataclass(slots=True, eq=False)
class Job:
    """One piece of work and its outcome.

    due: on the monotonic clock. key: whose it is. scrubs: whether it removes content for good.
    """

    work: Callable[[Connection], Any]
    future: "asyncio.Future[Any]"
    due: float
    key: str
    scrubs: bool = False
    result: Any = None
    error: Exception | None = None


Transact = Callable[[Connection, Sequence[Job]], None]


class Lane:
    """One thread, one connection, one queue. Made and used on one event loop.

    connect: opens the connection, and another one after a fault. transact: runs a batch in one transaction and leaves
    each job's outcome in it. share: how many jobs of one key a batch may hold; the next key has its turn then.
    """

    def __init__(
        self,
        name: str,
        connect: Callable[[], Connection],
        transact: Transact,
        *,
        deadline_s: float,
        share: int = BATCH_MAX,
    ) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._transact = transact
        self._deadline_s = deadline_s
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._turns: Turns[Job] = Turns(share=share)
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[Connection], T], *, key: str = "", scrubs: bool = False) -> T:
        """The result of a job. Cancelled before its turn it never runs; after that it is whole."""
        if self._closed:
            raise StoreBusy
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(Job(work, future, time.monotonic() + self._deadline_s, key, scrubs))
        return await future

    def stop(self) -> None:
        """Accept no more jobs; those in the queue are finished. To be called on the event loop."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)

    def join(self) -> None:
        """Wait until the last job is done and the connection closed. Never to be called on the event loop."""
        self._thread.join()

    def _serve(self) -> None:
        running = True
        while running or self._turns:
            running = running and self._accept()
            if self._turns:
                self._run(self._turns.take(BATCH_MAX))
        self._disconnect()

    def _accept(self) -> bool:
        """Line up whatever was asked for, waiting if there is nothing to do; whether more may come."""
        with suppress(Empty):
            while True:
                job = self._queue.get(block=not self._turns)
                if job is None:
                    return False
                self._turns.add(job.key, job)
        return True

    def _run(self, jobs: list[Job]) -> None:
        try:
            if self._connection is None:
                self._connection = self._connect()
            self._transact(self._connection, jobs)
        except Exception as error:  # The edge of the thread: it must live on, whatever a batch died of.
            _fail(jobs, error)
        if any(_is_unforeseen(job.error) for job in jobs) or not self._is_clean():
            self._disconnect()
        # A loop that is gone has nobody left who waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_answer, jobs)

    def _is_clean(self) -> bool:
        """Whether the connection is outside any transaction, so that the next one begins at the newest state."""
        return self._connection is None or not self._connection.in_transaction

    def _disconnect(self) -> None:
        """Close the connection; the next batch opens another. What a fault has left in it, nobody can know."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()


def reading(connection: Connection, jobs: Sequence[Job]) -> None:
    """Run reads in one snapshot. It begins after all of them were asked for, so that none sees an older state."""
    connection.execute("BEGIN")
    try:
        for job in jobs:
            if not job.future.cancelled():
                connection.due = job.due
                _attempt(connection, job)
    finally:
        _roll_back(connection)


def writing(connection: Connection, jobs: Sequence[Job]) -> None:
    """Run writes in one transaction, each in a savepoint of its own, so that a refusal undoes its own job alone."""
    begun = _begin(connection, jobs)
    if not begun:
        return
    try:
        for job in begun:
            if not job.future.cancelled():
                _attempt_apart(connection, job)
        connection.execute("COMMIT")
    except Exception as error:  # The edge of a batch: whatever it died of, nobody in it is told success.
        _roll_back(connection)
        _fail(begun, error)
        return
    if any(job.scrubs and job.error is None for job in begun):
        _scrub(connection)


def _begin(connection: Connection, jobs: Sequence[Job]) -> Sequence[Job]:
    """Take the write lock, which another process may hold; the jobs that are still in time."""
    while jobs:
        try:
            connection.execute("BEGIN IMMEDIATE")
            return jobs
        except sqlite3.Error as error:
            if not is_busy(error):
                raise
            now = time.monotonic()
            _fail([job for job in jobs if job.due <= now], error)
            jobs = [job for job in jobs if job.due > now and not job.future.cancelled()]
        pause()
    return jobs


def _attempt(connection: Connection, job: Job) -> None:
    try:
        if connection.due <= time.monotonic():
            raise late()
        job.result = job.work(connection)
    except Exception as error:  # The edge of a job: its caller gets it, its neighbours do not.
        job.error = translated(error)
        _let_go(error)
    finally:
        connection.rest()


def _attempt_apart(connection: Connection, job: Job) -> None:
    connection.execute("SAVEPOINT job")
    _attempt(connection, job)
    if job.error is not None:
        # A full disk ends the whole transaction. Then this fails, and with it the batch.
        connection.execute("ROLLBACK TO job")
    connection.execute("RELEASE job")


def _scrub(connection: Connection) -> None:
    """Empty the log, so that what was removed is in no file.

    Where readers stay in the way the log is left for the next time: a sweep comes by every minute.
    """
    with suppress(sqlite3.Error):
        for _ in range(SCRUBS_MAX):
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy:
                return
            pause()


def _roll_back(connection: Connection) -> None:
    if connection.in_transaction:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _fail(jobs: Sequence[Job], error: Exception) -> None:
    for job in jobs:
        job.error = translated(error)
    _let_go(error)


def _let_go(error: BaseException) -> None:
    """Free what the frames of an error hold. It is kept for its caller, and rows and cursors shall not be."""
    told: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in told:
        told.add(id(each))
        traceback.clear_frames(each.__traceback__)
        each = each.__context__ if each.__cause__ is None else each.__cause__


def _is_unforeseen(error: Exception | None) -> bool:
    """Whether an error is neither the law's refusal nor a busy store."""
    return error is not None and (isinstance(error, StoreFault) or not isinstance(error, CodeSynapseError))


def _answer(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)
