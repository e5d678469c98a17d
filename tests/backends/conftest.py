"""Stores for the tests of single adapters; what every store must do is tested by the contract suite."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from codesynapse.backends.memory import open_memory
from codesynapse.backends.sqlite import open_sqlite
from codesynapse.backends.sqlite.database import Database, open_database
from codesynapse.contracts.ports import Backend


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database file may be made."""
    return tmp_path / "store" / "codesynapse.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    """An open database file, without ports."""
    async with open_database(path, deadline_s=10) as opened:
        yield opened


@pytest.fixture
async def sqlite_store(path: Path) -> AsyncIterator[Backend]:
    """The SQLite store on the file `path`."""
    async with open_sqlite({"path": str(path)}) as backend:
        yield backend


@pytest.fixture
async def memory_store() -> AsyncIterator[Backend]:
    """A fresh memory store."""
    async with open_memory({}) as backend:
        yield backend


@pytest.fixture
def another(path: Path) -> Iterator[Callable[[], sqlite3.Connection]]:
    """Opens connections to the file as another process would."""
    opened: list[sqlite3.Connection] = []

    def connect() -> sqlite3.Connection:
        opened.append(sqlite3.connect(path, isolation_level=None, timeout=0, check_same_thread=False))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds a job until it is set; always open at the end, so that no thread is left waiting."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def start_python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a program of its own that can import what this one can; ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def many() -> Callable[[int], int]:
    """How often to repeat: as given, ten times that under CODESYNAPSE_FULL."""
    return lambda count: count * 10 if os.environ.get("CODESYNAPSE_FULL") == "1" else count
