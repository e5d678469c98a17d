"""A connection that can end every statement it began, and stops a statement that has run too long."""

import sqlite3
import time
from math import inf
from pathlib import Path
from typing import Any
from weakref import ref

STATEMENTS_CACHED = 256
LOOK_EVERY = 10_000
"""How many steps of SQLite's machine lie between two looks at the clock: a millisecond at most."""


class Connection(sqlite3.Connection):
    """A connection of one thread. due: until when a statement may run, on the monotonic clock.

    A cursor that somebody still holds, half read, keeps its snapshot beyond any COMMIT or ROLLBACK: every later
    transaction would read the old state. So all cursors are known here, and closed when their job ends.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.due = inf
        self._cursors: list[ref[sqlite3.Cursor]] = []
        self.set_progress_handler(lambda: time.monotonic() >= self.due, LOOK_EVERY)

    def cursor(self, factory: Any = sqlite3.Cursor) -> Any:
        """A cursor, which `rest` will close."""
        cursor = super().cursor(factory)
        self._cursors.append(ref(cursor))
        return cursor

    # The inherited two take a cursor past `cursor`, so that `rest` would not know it.

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run a statement on a cursor of its own."""
        cursor: sqlite3.Cursor = self.cursor().execute(sql, parameters)
        return cursor

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        """Run a statement once for each of the parameters, on a cursor of its own."""
        cursor: sqlite3.Cursor = self.cursor().executemany(sql, parameters)
        return cursor

    def rest(self) -> None:
        """Close all cursors, whoever holds them, and forget the deadline."""
        self.due = inf
        cursors, self._cursors = self._cursors, []
        for each in cursors:
            cursor = each()
            if cursor is not None:
                cursor.close()


def connect(path: Path, *pragmas: str, patience_s: float) -> Connection:
    """Open a file that must be there: one that was removed under a running server must not come back empty."""
    connection = Connection(
        path.absolute().as_uri() + "?mode=rw",
        uri=True,
        timeout=patience_s,
        isolation_level=None,
        cached_statements=STATEMENTS_CACHED,
    )
    try:
        for pragma in pragmas:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection
