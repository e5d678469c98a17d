"""What a connection lets go of, and when it stops a statement."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from math import inf
from pathlib import Path

import pytest

from codesynapse.backends.sqlite.connection import connect

ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def path(path: Path, another: Callable[[], sqlite3.Connection]) -> Path:
    """A file with three rows."""
    path.parent.mkdir()
    another().executescript(
        "PRAGMA journal_mode = WAL; CREATE TABLE rows (number INTEGER); INSERT INTO rows VALUES (1), (2), (3)"
    )
    return path


def test_a_resting_connection_sees_the_newest_state_whoever_holds_a_cursor(
    path: Path, another: Callable[[], sqlite3.Connection]
) -> None:
    with closing(connect(path, patience_s=0)) as connection:
        held = connection.execute("SELECT number FROM rows")
        held.fetchone()
        another().execute("INSERT INTO rows VALUES (4)")
        assert connection.execute("SELECT count(*) FROM rows").fetchone() == (3,)
        connection.rest()
        assert connection.execute("SELECT count(*) FROM rows").fetchone() == (4,)
        with pytest.raises(sqlite3.ProgrammingError):
            held.fetchone()


def test_a_statement_is_stopped_once_it_is_due_and_not_before(path: Path) -> None:
    with closing(connect(path, patience_s=0)) as connection:
        long = f"{ENDLESS[: -len(' SELECT count(*) FROM n')]} SELECT count(*) FROM (SELECT i FROM n LIMIT 100000)"
        assert connection.execute(long).fetchone() == (100_000,)
        connection.due = -inf
        with pytest.raises(sqlite3.OperationalError) as stopped:
            connection.execute(ENDLESS).fetchone()
        assert stopped.value.sqlite_errorname == "SQLITE_INTERRUPT"
        connection.rest()
        assert connection.execute(long).fetchone() == (100_000,)


def test_a_file_that_is_gone_does_not_come_back_empty(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    with pytest.raises(sqlite3.OperationalError):
        connect(path, patience_s=0)
    assert not path.exists()


def test_a_path_may_hold_what_means_something_in_a_uri(path: Path) -> None:
    odd = path.with_name("a?mode=memory#%20.db")
    with closing(sqlite3.connect(odd)) as made:
        made.execute("CREATE TABLE odd (number INTEGER)")
    with closing(connect(odd, patience_s=0)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("odd",)]
