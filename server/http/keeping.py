"""Protocol sessions kept beside the accounts: found again after a restart, or by another server on the same accounts.

Written where something of a session changes, which a common call does not: when it opens, binds, is initialized, sets
its level, or closes. That it is in use is noted every few minutes, for all at once.
"""

from collections.abc import Callable

import msgspec

from codesynapse.contracts.accounts import Caller
from codesynapse.contracts.errors import RebindRefused, ServerFull, TransportUnknown
from codesynapse.contracts.identity import Identity, Millis
from codesynapse.contracts.transports import CAPABILITIES_MAX_BYTES, TransportRecord, Transports, transport_key
from codesynapse.server.clock import Clock
from codesynapse.server.http.live import Live, Lives
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.connection import Connection

USED_EVERY_MS = 300_000
"""How often a use is noted at most; a quarter of the idle time where that is less."""
FULL_AGAIN_MS = 1_000
LOOKS_MAX = 16
BATCH = 1_000

_encode = msgspec.json.Encoder().encode


class Keeper:
    """Finds, opens, saves and closes sessions, here and in the accounts' store."""

    def __init__(
        self,
        lives: Lives,
        transports: Transports | None,
        limits: Limits,
        clock: Clock,
        connect: Callable[[], Connection],
    ) -> None:
        """transports: None where the accounts cannot keep sessions, which then end with the process.

        connect: makes the state of a new session.
        """
        self._lives = lives
        self._transports = transports
        self._limits = limits
        self._clock = clock
        self.connect = connect
        self._every_ms = min(USED_EVERY_MS, limits.idle_ms // 4)
        self._used_ms = clock()
        self._seen = 0
        self._full_ms: Millis | None = None

    async def find(self, transport_id: str, caller: Caller) -> Live:
        """The session of this id and this very credential, wherever it was opened. Raises TransportUnknown."""
        try:
            return self._lives.find(transport_id, caller)
        except TransportUnknown:
            record = await self._record(transport_id)
            if record is None or record.caller != caller or self._is_over(record):
                raise
        return self._revived(transport_id, record)

    async def open(self, caller: Caller, connection: Connection, identity: Identity | None, ends_ms: Millis) -> Live:
        """A new session, bound if an identity is given, kept before anybody learns of it.

        ends_ms: when its binding ends. Raises TooManyTransports, ServerFull, Unavailable.
        """
        live = self._lives.open(caller, connection)
        connection.bind(identity)
        live.deadline_ms = None if identity is None else ends_ms
        if self._transports is None:
            return live
        try:
            await self._forget_displaced()
            try:
                await self._enter(self._transports, live)
            except ServerFull:
                await self._make_room()
                await self._enter(self._transports, live)
        except BaseException:
            self._lives.close(live)
            raise
        live.kept = _state(live)
        return live

    async def save(self, live: Live) -> None:
        """Write what changed of a session since it was written last; nothing did, as a rule.

        Raises TransportUnknown where it was closed elsewhere, RebindRefused where it was bound elsewhere.
        """
        state = _state(live)
        if self._transports is None or state == live.kept:
            return
        try:
            await self._transports.change(_record(live, self._clock()))
        except (TransportUnknown, RebindRefused):
            self._lives.close(live)  # It is found as it is by the next request, if at all.
            raise
        live.kept = state

    async def close(self, live: Live) -> None:
        """End a session, for all servers. Raises Unavailable, and it goes on."""
        if self._transports is not None:
            await self._transports.close(live.key, now_ms=self._clock())
        self._lives.close(live)

    async def begin(self) -> None:
        """Before the first request: from here on, what is closed elsewhere is heard of."""
        if self._transports is not None:
            self._seen = await self._transports.ends_end()

    async def notice(self) -> None:
        """Close here what was closed elsewhere."""
        if self._transports is None:
            return
        while True:
            ends = await self._transports.ends(after=self._seen, limit=BATCH)
            for end in ends:
                self._seen = max(self._seen, end.sequence)
                self._lives.drop(end.key)
            if len(ends) < BATCH:
                return

    async def note_use(self, *, now: bool = False) -> None:
        """Note which sessions are in use, or were since the last time. now: also where that was not long ago."""
        now_ms = self._clock()
        if self._transports is None or (now_ms - self._used_ms < self._every_ms and not now):
            return
        uses = self._lives.uses(self._used_ms, now_ms)
        self._used_ms = now_ms
        for start in range(0, len(uses), BATCH):
            await self._transports.touch(dict(uses[start : start + BATCH]))

    async def sweep(self) -> None:
        """Forget the sessions that nobody came back to."""
        if self._transports is None:
            return
        now_ms, late_ms = self._clock(), 2 * self._every_ms
        while (
            await self._transports.sweep(
                idle_since_ms=Millis(now_ms - self._limits.idle_ms - late_ms),
                new_since_ms=Millis(now_ms - self._limits.uninitialized_ms),
                now_ms=now_ms,
                limit=BATCH,
            )
            == BATCH
        ):
            pass

    async def _record(self, transport_id: str) -> TransportRecord | None:
        """What is kept of an id, and no access has ended since it was read."""
        if self._transports is None:
            return None
        key = transport_key(transport_id)
        for _ in range(LOOKS_MAX):
            endings = self._lives.endings
            record = await self._transports.find(key)
            # An ending that was carried out meanwhile may have been this session's: it must not come back.
            if record is None or endings == self._lives.endings:
                return record
        return None

    def _is_over(self, record: TransportRecord) -> bool:
        now_ms = self._clock()
        kept_ms = self._limits.idle_ms if record.initialized else self._limits.uninitialized_ms
        expired = record.expires_at_ms is not None and now_ms >= record.expires_at_ms
        return expired or now_ms - record.used_at_ms >= kept_ms

    def _revived(self, transport_id: str, record: TransportRecord) -> Live:
        try:
            return self._lives.find(transport_id, record.caller)  # Another request was faster.
        except TransportUnknown:
            pass
        connection = self.connect()
        connection.version, connection.log_level = record.version, record.log_level
        connection.initialized = record.initialized
        connection.capabilities = msgspec.json.decode(record.capabilities)
        if record.session_id is not None:
            connection.bind(
                Identity(
                    tenant_id=record.caller.tenant_id,
                    subject_id=record.caller.subject_id,
                    session_id=record.session_id,
                    parent_session_id=record.session_id,
                )
            )
        live = self._lives.revive(transport_id, record.caller, connection)
        live.deadline_ms = record.expires_at_ms
        live.kept = _state(live)
        return live

    async def _enter(self, transports: Transports, live: Live) -> None:
        await transports.open(
            _record(live, self._clock()),
            spared=self._lives.keys_of(live.caller),
            own_max=self._limits.transports_per_principal_max,
            all_max=self._limits.transports_max,
        )

    async def _make_room(self) -> None:
        """Where all places are taken, what is over by now gives its own back. Raises ServerFull for who comes again
        within a second: the refused must not keep the store busy.
        """
        now_ms = self._clock()
        if self._full_ms is not None and 0 <= now_ms - self._full_ms < FULL_AGAIN_MS:
            raise ServerFull(limit=self._limits.transports_max)
        self._full_ms = now_ms
        await self.sweep()

    async def _forget_displaced(self) -> None:
        assert self._transports is not None
        while self._lives.displaced:
            # Taken before the store is asked: of several that are opened at once, each forgets what it took.
            key = self._lives.displaced.pop()
            try:
                await self._transports.close(key, now_ms=self._clock())
            except BaseException:
                self._lives.displaced.append(key)
                raise


def _state(live: Live) -> tuple[object, ...]:
    """What of a session can change."""
    connection = live.connection
    return (connection.initialized, connection.log_level, connection.identity, live.deadline_ms)


def _record(live: Live, now_ms: Millis) -> TransportRecord:
    connection = live.connection
    capabilities = _encode(connection.capabilities)
    assert len(capabilities) <= CAPABILITIES_MAX_BYTES  # `client_capabilities` keeps a few names alone.
    return TransportRecord(
        key=live.key,
        caller=live.caller,
        version=connection.version,
        capabilities=capabilities,
        opened_at_ms=now_ms,
        used_at_ms=now_ms,
        initialized=connection.initialized,
        log_level=connection.log_level,
        session_id=None if connection.identity is None else connection.identity.session_id,
        expires_at_ms=live.deadline_ms,
    )
