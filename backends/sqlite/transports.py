"""Protocol sessions as rows, and the port `Transports`."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from codesynapse.backends.sqlite.connection import Connection
from codesynapse.backends.sqlite.database import Database
from codesynapse.backends.sqlite.faults import decoding
from codesynapse.backends.sqlite.rows import json_array
from codesynapse.contracts.accounts import Action, Caller
from codesynapse.contracts.errors import ServerFull, TransportUnknown
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.transports import ENDS_KEPT_MS, TransportEnd, TransportRecord, check_rebind

_FIND = """
SELECT key, tenant_id, subject_id, key_id, version, capabilities, opened_at_ms, used_at_ms, initialized, log_level,
    session_id, expires_at_ms
FROM transports WHERE key = ?
"""
_OPEN = """
INSERT INTO transports (key, tenant_id, subject_id, key_id, version, capabilities, opened_at_ms, used_at_ms,
    initialized, log_level, session_id, expires_at_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_CHANGE = """
UPDATE transports SET initialized = ?, log_level = ?, session_id = ?, expires_at_ms = ?,
    used_at_ms = max(used_at_ms, ?)
WHERE key = ?
"""
_OWN = "SELECT count(*) FROM transports WHERE subject_id = ? AND tenant_id = ?"
_ALL = "SELECT count(*) FROM transports"
_OLDEST = """
SELECT key FROM transports
WHERE subject_id = ? AND tenant_id = ? AND key NOT IN (SELECT value FROM json_each(?))
ORDER BY used_at_ms, key LIMIT ?
"""
_TOUCH = "UPDATE transports SET used_at_ms = max(used_at_ms, ?) WHERE key = ?"
_CLOSE = "DELETE FROM transports WHERE key = ?"
_TELL = "INSERT INTO transport_ends (key, at_ms) VALUES (?, ?)"
_ENDS = "SELECT sequence, key FROM transport_ends WHERE sequence > ? ORDER BY sequence LIMIT ?"
# The table may be empty, swept: the sequence is what was given last.
_ENDS_END = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'transport_ends'"
_SWEEP = """
DELETE FROM transports WHERE key IN (
    SELECT key FROM transports WHERE used_at_ms <= :idle
    UNION SELECT key FROM transports WHERE used_at_ms <= :new AND NOT initialized
    UNION SELECT key FROM transports WHERE expires_at_ms IS NOT NULL AND expires_at_ms <= :now
    LIMIT :limit
)
"""
_SWEEP_ENDS = "DELETE FROM transport_ends WHERE at_ms <= ?"

_OF_TENANT = "DELETE FROM transports WHERE tenant_id = ?"
_OF_USER = "DELETE FROM transports WHERE subject_id = ?"
_OF_MEMBER = "DELETE FROM transports WHERE subject_id = ? AND tenant_id = ?"
_OF_KEY = "DELETE FROM transports WHERE tenant_id = ? AND key_id = ?"
_OF_SESSION = "DELETE FROM transports WHERE session_id = ?"


def end(connection: Connection, action: Action, tenant_id: str | None, target: str | None) -> None:
    """Forget the protocol sessions whose access an action ends, as `contracts.transports.ends` says.

    In the transaction that ends it, so that nobody comes back to them.
    """
    match action:
        case Action.ORGANIZATION_SUSPENDED:
            connection.execute(_OF_TENANT, (tenant_id,))
        case Action.USER_SUSPENDED:
            connection.execute(_OF_USER, (target,))
        case Action.MEMBER_WITHDRAWN:
            connection.execute(_OF_MEMBER, (target, tenant_id))
        case Action.KEY_REVOKED:
            connection.execute(_OF_KEY, (tenant_id, target))
        case Action.SESSION_REVOKED | Action.SESSION_EXPIRED:
            connection.execute(_OF_SESSION, (target,))
        case _:
            pass


class SqliteTransports:
    """The port `Transports`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self, record: TransportRecord, *, spared: Collection[str], own_max: int, all_max: int) -> None:
        place, kept = (record.caller.subject_id, record.caller.tenant_id), json_array(spared)

        def work(connection: Connection) -> None:
            if connection.execute(_FIND, (record.key,)).fetchone() is not None:
                return
            (own,) = connection.execute(_OWN, place).fetchone()
            over = max(own + 1 - own_max, 0)
            going = [key for (key,) in connection.execute(_OLDEST, (*place, kept, over))]
            (everybody,) = connection.execute(_ALL).fetchone()
            if everybody - len(going) >= all_max:
                raise ServerFull(limit=all_max)
            for key in going:
                _close(connection, key, record.opened_at_ms)
            connection.execute(_OPEN, _row(record))

        await self._database.write(work)

    async def find(self, key: str) -> TransportRecord | None:
        row = await self._database.ask(lambda connection: connection.execute(_FIND, (key,)).fetchone())
        return None if row is None else _record(row)

    async def change(self, record: TransportRecord) -> None:
        def work(connection: Connection) -> None:
            row = connection.execute(_FIND, (record.key,)).fetchone()
            if row is None:
                raise TransportUnknown
            check_rebind(_record(row), record.session_id)
            state = (record.initialized, record.log_level, record.session_id, record.expires_at_ms, record.used_at_ms)
            connection.execute(_CHANGE, (*state, record.key))

        await self._database.write(work)

    async def touch(self, uses: Mapping[str, Millis]) -> None:
        rows = [(used_at_ms, key) for key, used_at_ms in uses.items()]
        await self._database.write(lambda connection: connection.executemany(_TOUCH, rows).close())

    async def close(self, key: str, *, now_ms: Millis) -> None:
        await self._database.write(lambda connection: _close(connection, key, now_ms))

    async def ends(self, *, after: int, limit: int) -> list[TransportEnd]:
        def work(connection: Connection) -> list[TransportEnd]:
            rows = connection.execute(_ENDS, (after, max(limit, 0)))
            return [TransportEnd(sequence=sequence, key=key) for sequence, key in rows]

        return await self._database.ask(work)

    async def ends_end(self) -> int:
        def work(connection: Connection) -> int:
            (last,) = connection.execute(_ENDS_END).fetchone()
            return int(last)

        return await self._database.ask(work)

    async def sweep(self, *, idle_since_ms: Millis, new_since_ms: Millis, now_ms: Millis, limit: int) -> int:
        bounds = {"idle": idle_since_ms, "new": new_since_ms, "now": now_ms, "limit": max(limit, 0)}

        def work(connection: Connection) -> int:
            connection.execute(_SWEEP_ENDS, (now_ms - ENDS_KEPT_MS,))
            return connection.execute(_SWEEP, bounds).rowcount

        return await self._database.write(work)


def _close(connection: Connection, key: str, now_ms: Millis) -> None:
    if connection.execute(_CLOSE, (key,)).rowcount:
        connection.execute(_TELL, (key, now_ms))


def _row(record: TransportRecord) -> tuple[Any, ...]:
    caller = record.caller
    return (
        *(record.key, caller.tenant_id, caller.subject_id, caller.key_id, record.version, record.capabilities),
        *(record.opened_at_ms, record.used_at_ms, record.initialized, record.log_level),
        *(record.session_id, record.expires_at_ms),
    )


@decoding
def _record(row: Sequence[Any]) -> TransportRecord:
    key, tenant_id, subject_id, key_id, version, capabilities, opened_at_ms, used_at_ms, *state = row
    initialized, log_level, session_id, expires_at_ms = state
    return TransportRecord(
        key=key,
        caller=Caller(tenant_id=tenant_id, subject_id=subject_id, key_id=key_id),
        version=version,
        capabilities=capabilities,
        opened_at_ms=opened_at_ms,
        used_at_ms=used_at_ms,
        initialized=bool(initialized),
        log_level=log_level,
        session_id=session_id,
        expires_at_ms=expires_at_ms,
    )
