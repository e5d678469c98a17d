"""The event log: numbering, replay, what is dropped at each bound, and what is never dropped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesynapse.contracts.errors import TransportUnknown
from codesynapse.contracts.identity import Millis
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.messages import NO_ID, RequestId
from codesynapse.server.mcp.naming import NOWHERE, SESSION, Asked, Names, place
from codesynapse.server.mcp.seal import Seal
from codesynapse.server.mcp.stream import (
    EVENT_ID_MAX,
    GONE_MAX,
    STREAM_BYTES,
    Budget,
    EventLog,
    Lost,
    Position,
    Stream,
)

ONE, TWO = RequestId(b"1"), RequestId(b'"1"')
LONG = RequestId(b'"' + b"x" * 80 + b'"')
NOW = Millis(1_000)


def log_of(budget: Budget | None = None, **limits: int) -> EventLog:
    return EventLog(Limits(**limits), budget or Budget(1 << 30))


def note(log: EventLog, stream: Stream, text: str = "n") -> None:
    log.append(stream, text.encode(), answers=None, now_ms=NOW)


def answer(log: EventLog, stream: Stream, request_id: RequestId = ONE, text: str = "r", now_ms: int = NOW) -> None:
    log.append(stream, text.encode(), answers=request_id, now_ms=Millis(now_ms))


def payloads(stream: Stream, after: int = 0) -> list[str]:
    return [event.payload for event in stream.after(after)]


def gone(log: EventLog, event_id: str) -> tuple[RequestId, ...]:
    """The requests whose responses are told to be gone."""
    found = log.find(event_id)
    assert isinstance(found, Lost)
    assert found.here
    return tuple(found.asked[index].request_id for index in found.missing)


def finished(log: EventLog, *, size: int = 1, now_ms: int = NOW) -> Stream:
    stream = log.open((ONE,))
    answer(log, stream, text="x" * size, now_ms=now_ms)
    return stream


def test_events_are_numbered_from_one_and_read_by_position():
    log = log_of()
    stream = log.open((ONE,))
    note(log, stream, "a")
    note(log, stream, "b")
    answer(log, stream, text="c")
    assert [event.sequence for event in stream.after(0)] == [1, 2, 3]
    assert payloads(stream, 1) == ["b", "c"]


def test_a_stream_is_finished_when_each_of_its_requests_is_answered():
    log = log_of()
    stream = log.open((ONE, TWO, ONE))
    for request_id in (ONE, TWO):
        answer(log, stream, request_id)
        assert not stream.finished
    answer(log, stream, ONE)
    assert stream.finished


def test_a_finished_stream_takes_nothing_more():
    log = log_of()
    stream = finished(log)
    note(log, stream)
    assert payloads(stream) == ["x"]


def test_a_cancelled_request_finishes_its_stream_without_a_response():
    log = log_of()
    stream = log.open((ONE,))
    log.settle(stream, TWO, NOW)
    log.settle(stream, ONE, NOW)
    assert (stream.finished, payloads(stream)) == (True, [])


def test_every_change_wakes_the_reader():
    log, woken = log_of(), []
    stream = log.open((ONE, TWO))
    stream.wake = lambda: woken.append(1)
    note(log, stream)
    log.settle(stream, ONE, NOW)
    answer(log, stream, TWO)
    log.end(stream, NOW)
    assert len(woken) == 4


def test_an_event_id_leads_back_to_its_position_and_only_in_its_own_log():
    log, other = log_of(), log_of()
    stream = log.open((ONE,))
    note(log, stream)
    event_id = stream.event_id(1)
    assert log.find(event_id) == Position(stream, 1)
    assert other.find(event_id) is None
    other.open((ONE,))
    assert other.find(event_id) is None


def test_names_of_streams_never_repeat_in_another_log():
    # After a restart the same session id cannot exist, but an event id of before might be sent.
    names = {log_of().open(()).number for _ in range(100)}
    assert len(names) == 100


@given(st.text(max_size=30))
def test_an_invented_event_id_is_unknown_or_at_the_start(event_id: str):
    log = log_of()
    stream = log.open((ONE,))
    assert log.find(event_id) is None
    found = log.find(f"{stream.name}.{event_id}")
    assert found is None or (isinstance(found, Position) and found.stream is stream)


def test_beyond_the_most_events_the_oldest_notification_goes_and_never_a_response():
    log = log_of(events_max=3)
    stream = log.open((ONE, TWO))
    answer(log, stream, text="r")
    for text in "abcde":
        note(log, stream, text)
    assert payloads(stream) == ["r", "d", "e"]


def test_beyond_a_sessions_bytes_its_oldest_finished_responses_go_first():
    log = log_of(session_bytes_max=3 * STREAM_BYTES + 300)
    first, second = finished(log, size=200), finished(log, size=200)
    running = log.open((ONE,))
    note(log, running, "n")
    assert isinstance(log.find(second.event_id(0)), Position)
    assert gone(log, first.event_id(0)) == (ONE,)
    assert log.size_bytes <= 3 * STREAM_BYTES + 300


def test_beyond_a_sessions_bytes_what_was_written_out_goes_first():
    log = log_of(session_bytes_max=3 * STREAM_BYTES + 300)
    unread, read = finished(log, size=200), finished(log)
    log.written(read)
    finished(log, size=200)
    assert gone(log, read.event_id(0)) == (ONE,)
    assert isinstance(log.find(unread.event_id(0)), Position)


def test_what_alone_is_beyond_a_sessions_bytes_goes_when_it_was_written_out_and_not_before():
    log = log_of(session_bytes_max=STREAM_BYTES)
    stream = finished(log, size=5_000)
    assert isinstance(log.find(stream.event_id(0)), Position)
    log.written(stream)
    assert (gone(log, stream.event_id(0)), log.size_bytes) == ((ONE,), 0)


def test_what_was_written_out_within_the_bytes_can_still_be_resumed():
    log = log_of()
    stream = finished(log)
    log.written(stream)
    assert log.find(stream.event_id(0)) == Position(stream, 0)


def test_a_part_of_a_budget_counts_in_the_whole_and_is_used_up_with_either():
    whole = Budget(100)
    one, other = Budget(60, whole), Budget(60, whole)
    one.grow(50)
    assert (one.exceeded, other.exceeded) == (None, None)
    one.grow(10)
    assert (one.exceeded, other.exceeded) == (60, None)
    other.grow(40)
    assert (one.exceeded, other.exceeded) == (60, 100)
    one.grow(-60)
    assert (one.exceeded, other.exceeded, whole.used) == (None, None, 40)


def test_a_response_of_a_running_exchange_stays_even_beyond_the_bytes():
    log = log_of(session_bytes_max=1_024)
    stream = log.open((ONE, TWO))
    answer(log, stream, text="x" * 5_000)
    for _ in range(10):
        note(log, stream, "n" * 500)
    assert payloads(stream) == ["x" * 5_000]


def test_small_answers_are_bounded_as_well():
    log = log_of(session_bytes_max=10 * STREAM_BYTES)
    for _ in range(1_000):
        finished(log)
    assert len(log._streams) <= 10


def test_a_response_is_kept_for_ten_minutes_and_then_known_as_gone():
    log = log_of(response_kept_ms=600_000)
    stream = finished(log, now_ms=0)
    log.expire(Millis(599_999))
    assert log.find(stream.event_id(0)) == Position(stream, 0)
    log.expire(Millis(600_000))
    assert gone(log, stream.event_id(0)) == (ONE,)


def test_what_still_runs_does_not_expire():
    log = log_of(response_kept_ms=1)
    stream = log.open((ONE,))
    log.expire(Millis(10**9))
    assert isinstance(log.find(stream.event_id(0)), Position)


def test_long_ids_of_gone_streams_are_remembered_within_bounds_and_beyond_those_still_known_as_gone():
    log = log_of(response_kept_ms=1)
    streams = [log.open((LONG,)) for _ in range(GONE_MAX + 1)]
    for stream in streams:
        answer(log, stream, LONG, now_ms=0)
    log.expire(Millis(10))
    assert len(log._gone) == GONE_MAX
    assert gone(log, streams[0].event_id(0)) == (NO_ID,)
    assert gone(log, streams[1].event_id(0)) == (LONG,)


def test_short_ids_of_gone_streams_need_no_memory():
    log = log_of(response_kept_ms=1)
    stream = finished(log, now_ms=0)
    log.expire(Millis(10))
    assert log._gone == {}
    assert gone(log, stream.event_id(0)) == (ONE,)


def test_a_stream_that_was_never_opened_or_answered_no_request_is_not_gone():
    log = log_of()
    standalone = log.open(())
    log.forget(standalone)
    stream = finished(log)
    name = stream.name
    for event_id in (standalone.event_id(1), f"{name}3.1", f"{name[1:]}.1", f"{name[:-1]}.1", f"{name} .1", ".1", ""):
        assert log.find(event_id) is None, event_id
    assert isinstance(log.find(f"{name}.1"), Position)


def test_who_has_every_response_has_lost_nothing_when_the_stream_is_gone():
    log = log_of(response_kept_ms=1)
    stream = log.open((ONE, TWO))
    answer(log, stream, ONE)
    answer(log, stream, TWO, now_ms=0)
    ids = [stream.event_id(sequence) for sequence in range(3)]
    log.expire(Millis(10))
    assert gone(log, ids[0]) == (ONE, TWO)
    assert gone(log, ids[1]) == (TWO,)
    assert log.find(ids[2]) is None


def test_of_requests_with_one_id_each_is_missing_until_it_has_its_own_response():
    log = log_of(response_kept_ms=1)
    stream = log.open((ONE, TWO, ONE))
    for each in (ONE, ONE, TWO):
        answer(log, stream, each, now_ms=0)
    ids = [stream.event_id(sequence) for sequence in range(4)]
    log.expire(Millis(10))
    assert [gone(log, each) for each in ids[:3]] == [(ONE, TWO, ONE), (TWO, ONE), (TWO,)]
    assert log.find(ids[3]) is None


def names() -> Names:
    """Of one session, as each of its servers makes them."""
    return Names(Seal(b"k" * 32), b"session")


def test_another_server_of_the_same_session_knows_what_is_missing_and_that_it_was_not_its_own():
    before, after = (EventLog(Limits(), Budget(1 << 30), names()) for _ in range(2))
    where = place(SESSION, "default")
    stream = before.open((ONE, TWO), (where, NOWHERE))
    answer(before, stream, TWO)
    found = after.find(stream.event_id(1))
    assert isinstance(found, Lost)
    assert found.missing == (0,)
    assert found.asked == (Asked(ONE, where), Asked(TWO))
    assert (found.number, found.sequence, found.here) == (stream.number, 1, False)


def test_a_stream_that_stands_in_goes_on_from_where_the_client_stands_and_can_itself_be_resumed():
    before, after, later = (EventLog(Limits(), Budget(1 << 30), names()) for _ in range(3))
    stream = before.open((ONE, TWO))
    answer(before, stream, TWO)
    lost = after.find(stream.event_id(1))
    assert isinstance(lost, Lost)
    instead = after.reopen(lost)
    answer(after, instead, ONE, text="again")
    assert instead.finished
    assert [(event.sequence, event.payload) for event in instead.after(lost.sequence)] == [(2, "again")]
    assert after.find(stream.event_id(1)) == Position(instead, 1)
    assert after.find(instead.event_id(2)) == Position(instead, 2)
    again = later.find(instead.event_id(1))
    assert isinstance(again, Lost)
    assert (again.number, again.missing) == (stream.number, (0,))
    assert later.find(instead.event_id(2)) is None


def test_who_goes_back_behind_a_stream_that_stands_in_misses_nothing():
    before, after = (EventLog(Limits(), Budget(1 << 30), names()) for _ in range(2))
    stream = before.open((ONE, TWO))
    answer(before, stream, TWO)
    lost = after.find(stream.event_id(1))
    assert isinstance(lost, Lost)
    after.reopen(lost)
    earlier = after.find(stream.event_id(0))
    assert isinstance(earlier, Lost)
    assert earlier.missing == (0, 1)
    size = after.size_bytes
    after.reopen(earlier)
    assert after.size_bytes == size


@given(st.lists(st.integers(0, 10**18), min_size=1, max_size=50), st.integers(0, 99_999))
def test_an_event_id_is_short_ascii_without_what_a_header_would_not_carry(ids: list[int], events: int):
    log = log_of()
    stream = log.open(tuple(RequestId(str(each).encode()) for each in ids))
    answer(log, stream, stream.requests[0])
    stream.sequence = events
    note(log, stream)
    event_id = stream.id_of(stream.events[-1])
    assert len(event_id) <= EVENT_ID_MAX
    assert event_id.isascii()
    assert event_id.isprintable()
    assert " " not in event_id


def test_room_is_made_of_finished_responses_until_the_budget_has_some():
    budget = Budget(4 * STREAM_BYTES)
    log = log_of(budget)
    first, second = finished(log, size=1_000), finished(log, size=1_000)
    running = log.open((ONE,))
    note(log, running, "n" * 1_024)
    assert budget.exceeded
    log.make_room()
    assert not budget.exceeded
    assert gone(log, first.event_id(0)) == (ONE,)
    assert isinstance(log.find(second.event_id(0)), Position)


def test_making_room_leaves_what_runs_alone():
    budget = Budget(1)
    log = log_of(budget)
    running = log.open((ONE,))
    log.make_room()
    assert isinstance(log.find(running.event_id(0)), Position)
    assert budget.exceeded


@given(st.lists(st.tuples(st.sampled_from("onafse"), st.integers(0, 300)), max_size=60))
def test_the_bytes_are_counted_exactly_and_given_back_at_the_end(steps: list[tuple[str, int]]):
    budget = Budget(20_000)
    log = log_of(budget, session_bytes_max=5_000, events_max=4)
    stream = log.open((ONE,))
    for step, size in steps:
        if step == "o":
            stream = log.open((ONE, TWO))
        elif step == "n":
            note(log, stream, "n" * size)
        elif step == "a":
            answer(log, stream, text="r" * size)
        elif step == "f":
            log.forget(stream)
        elif step == "s":
            log.settle(stream, TWO, NOW)
        else:
            log.make_room()
        kept = sum(each.size_bytes for each in log._streams.values())
        assert log.size_bytes == budget.used == kept
    log.release()
    assert (log.size_bytes, budget.used) == (0, 0)


def test_after_the_release_a_late_answer_is_not_kept():
    log = log_of()
    stream = log.open((ONE,))
    log.release()
    answer(log, stream)
    assert (payloads(stream), log.size_bytes) == ([], 0)


def test_after_the_release_no_stream_is_opened_and_nothing_is_counted():
    budget = Budget(1 << 30)
    log = log_of(budget)
    log.open(())
    log.release()
    with pytest.raises(TransportUnknown):
        log.open((ONE,))
    assert (log.size_bytes, budget.used) == (0, 0)
