"""Protocol sessions beside the accounts: found again, saved where they change, and never brought back once ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import structs

from codesynapse.backends.memory.transports import DictTransports
from codesynapse.contracts.accounts import Action, AuditRecord, Caller
from codesynapse.contracts.errors import (
    RebindRefused,
    ServerFull,
    StoreBusy,
    TooManyTransports,
    TransportUnknown,
)
from codesynapse.contracts.identity import Identity, Millis
from codesynapse.contracts.transports import TransportRecord, Transports
from codesynapse.server.clock import ManualClock
from codesynapse.server.http.keeping import USED_EVERY_MS, Keeper
from codesynapse.server.http.live import Live, Lives
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.catalog import Catalog
from codesynapse.server.mcp.connection import Connection, ServerInfo

ANA = Caller(tenant_id="acme", subject_id="ana", key_id="k1")
START = 1_800_000_000_000


def connect() -> Connection:
    return Connection(Catalog(), ServerInfo(name="n", title="t", version="1", instructions="i"))


def identity(session: str = "chat") -> Identity:
    return Identity(tenant_id="acme", subject_id="ana", session_id=session, parent_session_id=session)


class Host:
    """A server's keeper, on a store that others may have as well."""

    def __init__(self, store: Transports | None, clock: ManualClock, **limits: int) -> None:
        self.lives = Lives(Limits(**limits), clock)
        self.keeper = Keeper(self.lives, store, Limits(**limits), clock, connect)

    async def open(self, session: str | None = "chat") -> Live:
        connection = connect()
        connection.version, connection.initialized = "2025-11-25", True
        bound = None if session is None else identity(session)
        return await self.keeper.open(ANA, connection, bound, Millis(START + 10**9))


class Meddling(DictTransports):
    """The real store, with something done while it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: list[Callable[[], Awaitable[object]]] = []

    async def find(self, key: str) -> TransportRecord | None:
        found = await super().find(key)
        if self.meanwhile:
            await self.meanwhile.pop()()
        return found


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def store() -> Meddling:
    return Meddling()


async def test_a_session_is_found_by_another_server_as_it_was(store: Meddling, clock: ManualClock):
    live = await Host(store, clock).open()
    live.connection.log_level = "error"
    live.connection.capabilities = {"roots": {}}
    host = Host(store, clock)
    found = await host.keeper.find(live.id, ANA)
    assert (found.id, found.key, found.caller, found.deadline_ms) == (live.id, live.key, ANA, live.deadline_ms)
    assert found.connection.identity == identity()
    assert (found.connection.version, found.connection.initialized) == ("2025-11-25", True)
    assert await host.keeper.find(live.id, ANA) is found


@pytest.mark.parametrize("change", ["tenant_id", "subject_id", "key_id"])
async def test_it_is_found_with_its_very_credential_alone(store: Meddling, clock: ManualClock, change: str):
    live = await Host(store, clock).open()
    with pytest.raises(TransportUnknown):
        await Host(store, clock).keeper.find(live.id, structs.replace(ANA, **{change: "other"}))


async def test_requests_that_come_at_once_find_one_session(store: Meddling, clock: ManualClock):
    live, host = await Host(store, clock).open(), Host(store, clock)
    found = await asyncio.gather(*(host.keeper.find(live.id, ANA) for _ in range(5)))
    assert len({id(each) for each in found}) == len(host.lives) == 1


async def test_where_accounts_cannot_keep_sessions_they_end_with_the_process(clock: ManualClock):
    host = Host(None, clock)
    live = await host.open()
    assert await host.keeper.find(live.id, ANA) is live
    for work in (host.keeper.begin, host.keeper.notice, host.keeper.note_use, host.keeper.sweep):
        await work()
    await host.keeper.save(live)
    await host.keeper.close(live)
    for each in (host, Host(None, clock)):
        with pytest.raises(TransportUnknown):
            await each.keeper.find(live.id, ANA)


async def test_access_that_ends_while_the_store_is_asked_brings_no_session_back(store: Meddling, clock: ManualClock):
    live, host = await Host(store, clock).open(), Host(store, clock)
    record = AuditRecord(
        sequence=1, at_ms=Millis(START), action=Action.KEY_REVOKED, tenant_id="acme", target=ANA.key_id
    )

    async def end() -> None:
        store.end(record)
        host.lives.end(record)

    store.meanwhile.append(end)
    with pytest.raises(TransportUnknown):
        await host.keeper.find(live.id, ANA)
    assert len(host.lives) == 0


async def test_a_session_that_another_server_closes_while_the_store_is_asked_does_not_come_back(
    store: Meddling, clock: ManualClock
):
    live, host = await Host(store, clock).open(), Host(store, clock)
    await host.keeper.begin()

    async def end() -> None:
        await store.close(live.key, now_ms=clock())
        await host.keeper.notice()

    store.meanwhile.append(end)
    with pytest.raises(TransportUnknown):
        await host.keeper.find(live.id, ANA)


async def test_somebody_elses_ending_meanwhile_makes_nobody_lose_a_session(store: Meddling, clock: ManualClock):
    live, host = await Host(store, clock).open(), Host(store, clock)

    async def end() -> None:
        host.lives.drop("of somebody else")

    store.meanwhile += [end, end]
    assert (await host.keeper.find(live.id, ANA)).id == live.id


async def test_only_what_changed_is_written(store: Meddling, clock: ManualClock, monkeypatch: pytest.MonkeyPatch):
    live, written = await (host := Host(store, clock)).open(session=None), list[TransportRecord]()
    change = store.change

    async def counted(record: TransportRecord) -> None:
        written.append(record)
        await change(record)

    monkeypatch.setattr(store, "change", counted)
    await host.keeper.save(live)
    assert written == []
    live.connection.log_level = "error"
    await host.keeper.save(live)
    live.connection.bind(identity())
    live.deadline_ms = Millis(START + 5)
    for _ in range(3):
        await host.keeper.save(live)
    assert [(each.log_level, each.session_id) for each in written] == [("error", None), ("error", "chat")]


@pytest.mark.parametrize("fate", ["closed", "bound"])
async def test_what_happened_elsewhere_wins_and_the_session_here_goes(store: Meddling, clock: ManualClock, fate: str):
    host = Host(store, clock)
    live = await host.open(session=None)
    if fate == "closed":
        await store.close(live.key, now_ms=clock())
    else:
        kept = await store.find(live.key)
        assert kept is not None
        await store.change(structs.replace(kept, session_id="another"))
    live.connection.bind(identity())
    with pytest.raises(TransportUnknown if fate == "closed" else RebindRefused):
        await host.keeper.save(live)
    assert live.closed
    assert len(host.lives) == 0


async def test_a_session_that_cannot_be_kept_is_not_opened(
    store: Meddling, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    async def busy(*_: Any, **__: Any) -> None:
        raise StoreBusy

    host = Host(store, clock)
    monkeypatch.setattr(store, "open", busy)
    with pytest.raises(StoreBusy):
        await host.open()
    assert len(host.lives) == 0


async def test_a_session_whose_end_cannot_be_written_goes_on(
    store: Meddling, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    async def busy(*_: Any, **__: Any) -> None:
        raise StoreBusy

    host = Host(store, clock)
    live = await host.open()
    monkeypatch.setattr(store, "close", busy)
    with pytest.raises(StoreBusy):
        await host.keeper.close(live)
    assert await host.keeper.find(live.id, ANA) is live


async def test_a_session_that_makes_room_for_a_new_one_is_gone_for_good(store: Meddling, clock: ManualClock):
    host = Host(store, clock, transports_per_principal_max=2)
    first, second, third = [await host.open() for _ in range(3)]
    assert [each.closed for each in (first, second, third)] == [True, False, False]
    with pytest.raises(TransportUnknown):
        await host.keeper.find(first.id, ANA)


async def test_a_session_that_makes_room_for_one_that_comes_back_can_come_back_itself(
    store: Meddling, clock: ManualClock
):
    opened = [await Host(store, clock).open() for _ in range(2)]
    host = Host(store, clock, transports_per_principal_max=1)
    for live in (*opened, *opened):
        assert (await host.keeper.find(live.id, ANA)).id == live.id
        assert len(host.lives) == 1


async def test_where_all_are_busy_none_comes_back_and_none_is_lost(store: Meddling, clock: ManualClock):
    live, host = await Host(store, clock).open(), Host(store, clock, transports_per_principal_max=1)
    other = await host.open()
    stream = other.log.open(())
    other.follow(stream, Silent())
    # The cap of one closed what was kept before.
    with pytest.raises(TransportUnknown):
        await host.keeper.find(live.id, ANA)
    with pytest.raises(TooManyTransports):
        await host.open()


class Slow(DictTransports):
    """The real store, which takes its time to close."""

    def __init__(self) -> None:
        super().__init__()
        self.closed: list[str] = []
        self.faults: list[Exception] = []

    async def close(self, key: str, *, now_ms: Millis) -> None:
        await asyncio.sleep(0)
        if self.faults:
            raise self.faults.pop()
        self.closed.append(key)
        await super().close(key, now_ms=now_ms)


async def test_sessions_that_are_opened_at_once_displace_each_other_and_all_are_forgotten(clock: ManualClock):
    store = Slow()
    host = Host(store, clock, transports_per_principal_max=2)
    opened = await asyncio.gather(*(host.open() for _ in range(20)))
    assert len(host.lives) == 2
    assert host.lives.displaced == []
    assert sorted(store.closed) == sorted(each.key for each in opened if each.closed)


async def test_a_displaced_session_that_the_store_did_not_close_is_closed_next_time(clock: ManualClock):
    store = Slow()
    host = Host(store, clock, transports_per_principal_max=1)
    first = await host.open()
    store.faults.append(StoreBusy())
    with pytest.raises(StoreBusy):
        await host.open()
    await host.open()
    assert first.key in store.closed


class Silent:
    def stop(self) -> None: ...

    def cut_if_stuck(self, _: float) -> None: ...


async def test_with_no_room_in_all_nothing_new_is_opened(store: Meddling, clock: ManualClock):
    await Host(store, clock).open()
    with pytest.raises(ServerFull):
        await Host(store, clock, transports_max=1).open()


async def test_what_is_over_gives_its_place_back_when_all_are_taken(store: Meddling, clock: ManualClock):
    connection = connect()
    connection.version = "2025-11-25"
    await Host(store, clock).keeper.open(ANA, connection, None, Millis(0))
    host = Host(store, clock, transports_max=1)
    for seconds in (0, 59):
        clock.advance(seconds=seconds)
        with pytest.raises(ServerFull):
            await host.open()
    clock.advance(seconds=1)
    await host.open()


async def test_who_is_refused_again_and_again_keeps_the_store_from_sweeping_more_than_once_a_second(
    store: Meddling, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    await Host(store, clock).open()
    host, sweeps, sweep = Host(store, clock, transports_max=1), list[int](), store.sweep

    async def counted(**bounds: Any) -> int:
        sweeps.append(clock())
        return await sweep(**bounds)

    monkeypatch.setattr(store, "sweep", counted)
    for milliseconds in (0, 0, 999, 1):
        clock.advance(seconds=milliseconds / 1000)
        with pytest.raises(ServerFull):
            await host.open()
    assert len(sweeps) == 2


async def test_a_use_is_noted_every_few_minutes_for_all_that_are_used(store: Meddling, clock: ManualClock):
    host = Host(store, clock)
    used, listening, idle = [await host.open() for _ in range(3)]
    listening.follow(listening.log.open(()), Silent())
    clock.advance(seconds=USED_EVERY_MS / 1000 - 1)
    used.touch()
    await host.keeper.note_use()
    assert await uses(store, used, listening, idle) == [START, START, START]
    clock.advance(seconds=1)
    await host.keeper.note_use()
    assert await uses(store, used, listening, idle) == [START + USED_EVERY_MS - 1_000, START + USED_EVERY_MS, START]
    clock.advance(seconds=1)
    used.touch()
    await host.keeper.note_use(now=True)
    assert (await uses(store, used))[0] == clock()


async def uses(store: Meddling, *lives: Live) -> list[int]:
    return [found.used_at_ms for live in lives if (found := await store.find(live.key)) is not None]


@pytest.mark.parametrize(("seconds", "there"), [(1_799, True), (1_800, False)])
async def test_who_comes_back_too_late_finds_nothing(store: Meddling, clock: ManualClock, seconds: int, there: bool):
    live = await Host(store, clock).open()
    clock.advance(seconds=seconds)
    host = Host(store, clock)
    if there:
        assert (await host.keeper.find(live.id, ANA)).id == live.id
    else:
        with pytest.raises(TransportUnknown):
            await host.keeper.find(live.id, ANA)


async def test_past_its_binding_a_session_does_not_come_back(store: Meddling, clock: ManualClock):
    host = Host(store, clock, idle_ms=10**12)
    live = await host.open()
    clock.advance(seconds=10**6)
    with pytest.raises(TransportUnknown):
        await Host(store, clock, idle_ms=10**12).keeper.find(live.id, ANA)


async def test_a_sweep_takes_what_is_unused_and_leaves_what_may_be_used_elsewhere(store: Meddling, clock: ManualClock):
    host = Host(store, clock)
    live = await host.open()
    clock.advance(seconds=1_800)
    await host.keeper.sweep()
    assert await store.find(live.key) is not None
    clock.advance(seconds=2 * USED_EVERY_MS / 1000)
    await host.keeper.sweep()
    assert await store.find(live.key) is None
