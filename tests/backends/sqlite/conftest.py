"""Lanes on a file, and what the tests of lanes let them do."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.connection import connect as connect_file
from codesynapse.backends.sqlite.lane import Lane, reading, writing
from codesynapse.contracts.agent_work import Once
from codesynapse.contracts.errors import NotFound
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.ports import Backend

if TYPE_CHECKING:
    from codesynapse.contracts.suite.keepers import Keeper

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


@pytest.fixture
async def keeper(sqlite_store: Backend) -> Keeper:
    """A keeper with two memories, an episode with a key, and a task."""
    # Late: a suite that is imported before the plugin is configured would keep its asserts as they are.
    from codesynapse.contracts.suite.keepers import new_keeper

    assert sqlite_store.agents is not None
    keeper = new_keeper(sqlite_store.agents)
    await keeper.keep("tea", "green tea")
    await keeper.archive("tea was had", once=Once(key="k", digest="d"))
    await keeper.agents.enqueue(keeper.scope, "archive", "{}", once=None, now_ms=Millis(1))
    return keeper
