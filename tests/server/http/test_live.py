"""The table of protocol sessions: who finds which, the caps, what ends when, and what is given back."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

import pytest

from codesynapse.contracts.accounts import Action, AuditRecord, Caller
from codesynapse.contracts.errors import EventsFull, ServerFull, TooManyCalls, TooManyTransports, TransportUnknown
from codesynapse.contracts.identity import Identity, Millis
from codesynapse.server.clock import Clock, ManualClock
from codesynapse.server.http.live import Call, Live, Lives
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.catalog import Catalog
from codesynapse.server.mcp.connection import Connection, ServerInfo
from codesynapse.server.mcp.messages import RequestId
from codesynapse.server.mcp.stream import STREAM_BYTES, Lost, Stream

ONE = RequestId(b"1")
NOW = Millis(0)


def caller(subject: str = "u", *, tenant: str = "t", key: str = "k") -> Caller:
    return Caller(tenant_id=tenant, subject_id=subject, key_id=key)


def table(clock: Clock = lambda: NOW, **limits: int) -> Lives:
    return Lives(Limits(**limits), clock)


def opened(lives: Lives, who: Caller | None = None, *, session_id: str | None = None) -> Live:
    who = who or caller()
    connection = Connection(Catalog(), ServerInfo(name="n", title="t", version="1", instructions="i"))
    connection.initialized = True
    if session_id is not None:
        connection.bind(
            Identity(
                tenant_id=who.tenant_id,
                subject_id=who.subject_id,
                session_id=session_id,
                parent_session_id=session_id,
            )
        )
    return lives.open(who, connection)


def gone(live: Live, event_id: str) -> bool:
    """Whether the response of a request is no longer kept."""
    found = live.log.find(event_id)
    return isinstance(found, Lost) and [each.request_id for each in found.asked] == [ONE]


@dataclass
class Reader:
    """Counts what it is told."""

    stops: int = 0
    looks: int = 0

    def stop(self) -> None:
        self.stops += 1

    def cut_if_stuck(self, _: float) -> None:
        self.looks += 1


async def forever() -> None:
    await asyncio.Event().wait()


async def running(lives: Lives, live: Live, request_id: RequestId = ONE) -> Call:
    """A call that waits for ever."""
    lives.enter(live.principal, 1)
    call = Call(request_id, live.log.open((request_id,)))
    lives.run(live, call, forever())
    await asyncio.sleep(0)
    return call


async def over(call: Call) -> None:
    assert call.task is not None
    with suppress(asyncio.CancelledError):
        await call.task
    await asyncio.sleep(0)


def test_a_session_is_found_by_its_id_and_its_very_credential():
    lives = table()
    live = opened(lives)
    assert lives.find(live.id, caller()) is live
    for other in (caller("v"), caller(key="k2"), caller(tenant="t2")):
        with pytest.raises(TransportUnknown):
            lives.find(live.id, other)


@pytest.mark.parametrize("transport_id", ["", "x", "\udcff", "é" * 1_000])
def test_an_invented_id_is_unknown(transport_id: str):
    with pytest.raises(TransportUnknown):
        table().find(transport_id, caller())


def test_ids_are_random_and_the_table_does_not_hold_them():
    lives = table()
    first, second = opened(lives), opened(lives)
    assert first.id != second.id
    assert len(first.id) >= 43
    assert first.id not in lives._table


def test_at_the_principals_cap_its_least_recently_used_idle_session_ends():
    lives = table(transports_per_principal_max=2)
    first, second, foreign = opened(lives), opened(lives), opened(lives, caller("v"))
    lives.find(first.id, caller())
    third = opened(lives)
    assert (second.closed, first.closed, foreign.closed, third.closed) == (True, False, False, False)
    assert len(lives) == 3


def test_where_none_is_idle_the_next_session_is_refused_with_the_limit():
    lives = table(transports_per_principal_max=1)
    live = opened(lives)
    live.follow(live.log.open(()), Reader())
    with pytest.raises(TooManyTransports, match="Limit: 1"):
        opened(lives)
    assert not live.closed
    opened(lives, caller("v"))


def test_at_the_cap_of_all_another_principal_is_told_that_the_server_is_full():
    lives = table(transports_max=1)
    live = opened(lives)
    with pytest.raises(ServerFull, match="Limit: 1"):
        opened(lives, caller("v"))
    lives.close(live)
    opened(lives, caller("v"))


def test_at_most_so_many_calls_of_a_principal_are_in_flight():
    lives, principal = table(calls_in_flight_max=2), ("t", "u")
    lives.enter(principal, 2)
    with pytest.raises(TooManyCalls, match="Limit: 2"):
        lives.enter(principal, 1)
    lives.enter(("t", "v"), 1)
    lives.leave(principal)
    lives.enter(principal, 1)


def test_places_are_forgotten_when_none_is_held():
    lives = table()
    lives.enter(("t", "u"), 0)
    lives.enter(("t", "v"), 1)
    lives.leave(("t", "v"))
    assert lives._in_flight == {}


async def test_a_call_gives_its_place_back_when_it_ends():
    lives = table(calls_in_flight_max=1)
    live = opened(lives)
    call = await running(lives, live)
    assert (live.idle, len(lives.tasks)) == (False, 1)
    live.cancel(ONE)
    await over(call)
    assert (live.idle, len(lives.tasks), call.cancellation.cancelled) == (True, 0, True)
    lives.enter(live.principal, 1)


async def test_a_cancellation_takes_the_newest_call_of_that_very_id():
    lives = table()
    live = opened(lives)
    calls = [await running(lives, live, RequestId(each)) for each in (b"1", b"1", b'"1"')]
    live.cancel(RequestId(b"2"))
    live.cancel(ONE)
    assert [call.cancellation.cancelled for call in calls] == [False, True, False]
    lives.close_all()
    for call in calls:
        await over(call)


async def test_closing_cancels_calls_stops_readers_and_gives_events_back():
    lives = table()
    live, reader = opened(lives), Reader()
    call = await running(lives, live)
    live.follow(call.stream, reader)
    lives.close(live)
    lives.close(live)
    await over(call)
    assert (reader.stops, call.cancellation.cancelled, lives.budget.used, len(lives)) == (1, True, 0, 0)
    with pytest.raises(TransportUnknown):
        lives.find(live.id, caller())


def test_a_second_reader_of_a_stream_stops_the_first_and_only_the_second_can_detach():
    live = opened(table())
    stream, first, second = live.log.open(()), Reader(), Reader()
    live.follow(stream, first)
    live.follow(stream, second)
    live.unfollow(stream, first)
    assert (first.stops, second.stops, live.idle) == (1, 0, False)
    live.unfollow(stream, second)
    assert (second.stops, live.idle) == (0, True)


def test_cutting_stops_whoever_reads():
    live = opened(table())
    stream, reader = live.log.open(()), Reader()
    live.follow(stream, reader)
    live.cut(stream)
    live.cut(stream)
    assert (reader.stops, live.idle) == (1, True)


async def test_an_idle_session_ends_after_its_time_and_use_begins_it_anew():
    clock = ManualClock(0)
    lives = table(clock, idle_ms=1_000)
    live = opened(lives)
    clock.now_ms = 500
    live.touch()
    lives.sweep(Millis(1_499))
    assert not live.closed
    lives.sweep(Millis(1_500))
    assert live.closed


@pytest.mark.parametrize("way", ["detached", "cut", "answered"])
async def test_a_session_has_all_its_idle_time_from_when_its_last_use_ended(way: str):
    clock = ManualClock(0)
    lives = table(clock, idle_ms=1_000)
    live, stream, reader = opened(lives), None, Reader()
    if way == "answered":
        call = await running(lives, live)
        clock.now_ms = 5_000
        call.cancel()
        await over(call)
    else:
        stream = live.log.open(())
        live.follow(stream, reader)
        clock.now_ms = 5_000
        live.unfollow(stream, reader) if way == "detached" else live.cut(stream)
    lives.sweep(Millis(5_999))
    assert (live.idle, live.closed) == (True, False)
    lives.sweep(Millis(6_000))
    assert live.closed


async def test_one_that_never_said_it_was_initialized_ends_earlier():
    lives = table(idle_ms=1_000, uninitialized_ms=100)
    live, other = opened(lives), opened(lives)
    live.connection.initialized = False
    lives.sweep(Millis(100))
    assert (live.closed, other.closed) == (True, False)


async def test_a_session_that_works_or_is_listened_to_is_not_idle():
    lives = table(idle_ms=1)
    busy, heard, reader = opened(lives), opened(lives), Reader()
    call = await running(lives, busy)
    heard.follow(heard.log.open(()), reader)
    lives.sweep(Millis(10**9))
    assert (busy.closed, heard.closed, reader.looks) == (False, False, 1)
    lives.close_all()
    await over(call)


async def test_the_bindings_deadline_ends_even_a_busy_session():
    lives = table()
    live = opened(lives)
    live.follow(live.log.open(()), Reader())
    live.deadline_ms = Millis(100)
    lives.sweep(Millis(99))
    assert not live.closed
    lives.sweep(Millis(100))
    assert live.closed


def kept(live: Live) -> Stream:
    stream = live.log.open((ONE,))
    live.log.append(stream, b"r", answers=ONE, now_ms=NOW)
    return stream


async def test_old_responses_go_with_the_sweep():
    lives = table(response_kept_ms=100)
    live = opened(lives)
    stream = kept(live)
    lives.sweep(Millis(100))
    assert gone(live, stream.event_id(0))


def test_beyond_its_share_a_principals_own_responses_go_and_then_its_calls_are_refused_with_the_limit():
    lives = table(events_bytes_max=8 * STREAM_BYTES)
    mine, also_mine, foreign = opened(lives), opened(lives), opened(lives, caller("v"))
    other, theirs = kept(also_mine), kept(foreign)
    mine.log.open((ONE,))
    lives.make_room(mine)
    assert gone(also_mine, other.event_id(0))
    mine.log.open((ONE,))
    with pytest.raises(EventsFull, match=f"Limit: {2 * STREAM_BYTES}"):
        lives.make_room(mine)
    lives.make_room(foreign)
    assert not gone(foreign, theirs.event_id(0))


def test_at_the_total_room_is_made_of_the_principals_own_responses_and_never_of_anothers():
    lives = table(events_bytes_max=8 * STREAM_BYTES)
    mine, foreign = opened(lives), [opened(lives, caller(f"v{number}")) for number in range(7)]
    own = kept(mine)
    theirs = [(live, kept(live)) for live in foreign]
    lives.make_room(mine)
    assert gone(mine, own.event_id(0))
    theirs.append((foreign[0], kept(foreign[0])))
    with pytest.raises(EventsFull, match=f"Limit: {8 * STREAM_BYTES}"):
        lives.make_room(mine)
    assert all(not gone(live, stream.event_id(0)) for live, stream in theirs)


def test_a_response_that_is_being_read_makes_no_room_until_its_reader_is_gone():
    lives = table(events_bytes_max=4 * STREAM_BYTES)
    live, reader = opened(lives), Reader()
    stream = kept(live)
    live.follow(stream, reader)
    with pytest.raises(EventsFull):
        lives.make_room(live)
    live.unfollow(stream, reader)
    lives.make_room(live)
    assert gone(live, stream.event_id(0))


def test_what_a_principal_holds_is_given_back_with_its_last_session():
    lives = table(events_bytes_max=4 * STREAM_BYTES)
    first, second = opened(lives), opened(lives)
    first.log.open((ONE,))
    lives.close(first)
    lives.make_room(second)
    lives.close(second)
    assert (lives.budget.used, lives._shares) == (0, {})


def test_a_calls_own_session_gives_its_responses_first():
    lives = table(events_bytes_max=8 * STREAM_BYTES)
    mine, also_mine = opened(lives), opened(lives)
    other, own = kept(also_mine), kept(mine)
    lives.make_room(mine)
    assert gone(mine, own.event_id(0))
    assert not gone(also_mine, other.event_id(0))


RECORDS = [
    (Action.SESSION_REVOKED, "t", "s", ["u1"]),
    (Action.SESSION_EXPIRED, "t", "s", ["u1"]),
    (Action.KEY_REVOKED, "t", "k2", ["u2"]),
    (Action.USER_SUSPENDED, None, "u", ["u1", "u2", "w"]),
    (Action.MEMBER_WITHDRAWN, "t", "u", ["u1", "u2"]),
    (Action.ORGANIZATION_SUSPENDED, "t", None, ["u1", "u2", "v"]),
    (Action.SESSION_REGISTERED, "t", "s", []),
    (Action.USER_RESUMED, None, "u", []),
    (Action.GRANT_WITHDRAWN, "t", "u", []),
    (Action.SESSION_REVOKED, "t", "unknown", []),
]


@pytest.mark.parametrize(("action", "tenant", "target", "ended"), RECORDS)
def test_an_audit_record_closes_whose_access_it_ended_and_nobody_elses(
    action: Action, tenant: str | None, target: str | None, ended: list[str]
):
    lives = table()
    sessions = {
        "u1": opened(lives, caller(), session_id="s"),
        "u2": opened(lives, caller(key="k2")),
        "v": opened(lives, caller("v", key="k3"), session_id="s3"),
        "w": opened(lives, caller(tenant="t2", key="k4")),
    }
    lives.end(AuditRecord(sequence=1, at_ms=NOW, action=action, tenant_id=tenant, target=target))
    assert [name for name, live in sessions.items() if live.closed] == ended
