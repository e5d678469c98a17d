"""The file and its schema: made where it is missing, refused where it is not ours or newer than we are."""

import os
import sqlite3
import threading
from contextlib import closing
from importlib.resources import files
from pathlib import Path

from codesynapse.backends.sqlite.faults import patiently
from codesynapse.contracts.errors import StoreFault

SCRIPTS = ("schema.sql", "schema_2.sql", "schema_3.sql")
"""Script n leads from version n to n + 1, which it writes down at its end; a released one never changes."""

VERSION = len(SCRIPTS)
APPLICATION_ID = 0x4353_4E50
"""Marks the file as ours; `CSNP`."""

_creating = threading.Lock()


def prepare(path: Path, due: float) -> None:
    """Make the database usable: its folder (0700), its file (0600), WAL mode and the schema.

    due: until when to wait for other processes, on the monotonic clock. Raises StoreFault for a file that is not a
    database of ours, and with field "schema" for one that a newer release has written; sqlite3.Error.
    """
    try:
        _create(path)
    except OSError as error:
        raise StoreFault(field="path", limit="a file that can be written") from error
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        patiently(lambda: _keep_a_log(connection), due)
        connection.execute("PRAGMA synchronous = FULL")
        if _version(connection) == VERSION:
            return
        patiently(lambda: connection.execute("BEGIN IMMEDIATE"), due)
        try:
            # Again, under the lock: another process may have been faster.
            _upgrade(connection, _version(connection))
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Closing a descriptor of a file drops all POSIX locks that the process has on it. So the file is opened here only
    # if it is new, and by one thread at a time: nobody can have it open in SQLite yet.
    with _creating:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            path.chmod(0o600)


def _keep_a_log(connection: sqlite3.Connection) -> None:
    """Readers and the writer then never wait for each other. A network file system cannot do it, and is refused."""
    if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
        raise StoreFault(field="path", limit="a file on a local disk")


def _version(connection: sqlite3.Connection) -> int:
    """The version of the schema, 0 for an empty file. Raises StoreFault where it is not for us to touch."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID and (application or version or tables):
        raise StoreFault(field="path", limit="a database of CodeSynapse")
    if version > VERSION:
        raise StoreFault(field="schema", limit=VERSION, details={"version": version})
    return int(version)


def _upgrade(connection: sqlite3.Connection, version: int) -> None:
    for script in SCRIPTS[version:]:
        for statement in statements(files(__package__).joinpath(script).read_text(encoding="utf-8")):
            connection.execute(statement)


def statements(script: str) -> list[str]:
    """The statements of a script. `executescript` would commit before it runs them."""
    found: list[str] = []
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            found.append(statement)
            statement = ""
    return found
