"""What belongs to no request: told to whoever listens, and kept for who does not yet."""

from __future__ import annotations

from codesynapse.server.http.live import UNTOLD_MAX, Live
from tests.server.http.test_live import opened, table


def untold(live: Live) -> list[str]:
    """What a client that begins to listen is told first."""
    return [event.payload for event in live.listen().after(0)]


def test_what_nobody_listened_for_is_told_once_to_who_listens_first():
    live = opened(table())
    for payload in (b"1", b"2", b"1"):
        live.tell(payload)
    assert untold(live) == ["1", "2"]
    assert untold(live) == [], "the stream before is over"


def test_of_what_nobody_listens_for_only_the_newest_is_kept():
    live = opened(table())
    for number in range(UNTOLD_MAX + 10):
        live.tell(str(number).encode())
    told = untold(live)
    assert (len(told), told[-1]) == (UNTOLD_MAX, str(UNTOLD_MAX + 9))


def test_who_listens_anew_takes_the_place_of_who_listened_before():
    live = opened(table())
    first = live.listen()
    second = live.listen()
    live.tell(b"1")
    assert (first.finished, [event.payload for event in second.after(0)]) == (True, ["1"])


def test_every_session_that_is_initialized_is_told_of_a_changed_list():
    lives = table()
    first, second = opened(lives), opened(lives)
    first.connection.initialized, second.connection.initialized = True, False
    streams = [live.listen() for live in (first, second)]
    lives.tell(b"1")
    assert [len(list(stream.after(0))) for stream in streams] == [1, 0]
