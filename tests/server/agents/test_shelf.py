"""What waits to be fetched: by its owner, in time, and no more than there is room for."""

from __future__ import annotations

import io

import pytest

from codesynapse.contracts.errors import QuotaExceeded
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.suite.worlds import NOW
from codesynapse.server.agents.shelf import KEPT_MS, PER_OWNER_MAX, Shelf

ANA, BEN = ("acme", "ana", "key-1"), ("acme", "ben", "key-2")


def put(shelf: Shelf, owner: tuple[str, ...] = ANA, now_ms: Millis = NOW) -> tuple[str, io.BytesIO]:
    file = io.BytesIO(b"text")
    token, _ = shelf.put(owner, file, size=4, agent_id="helper", now_ms=now_ms)
    return token, file


def test_a_file_is_taken_once_and_by_its_owner_alone() -> None:
    shelf = Shelf()
    token, file = put(shelf)
    for other in (BEN, (*ANA[:2], "key-3"), ANA[:2], ()):
        assert shelf.take(other, token, NOW) is None
    waiting = shelf.take(ANA, token, NOW)
    assert waiting is not None
    assert (waiting.file, waiting.size, waiting.agent_id) == (file, 4, "helper")
    assert shelf.take(ANA, token, NOW) is None
    assert not file.closed


def test_looking_leaves_a_file_where_it_is() -> None:
    shelf = Shelf()
    token, _ = put(shelf)
    assert shelf.look(ANA, token, NOW) == shelf.look(ANA, token, NOW) != None  # noqa: E711
    assert shelf.look(BEN, token, NOW) is None


def test_after_ten_minutes_a_file_is_gone_and_closed() -> None:
    shelf = Shelf()
    (first, file), (second, _) = put(shelf), put(shelf)
    end = Millis(NOW + KEPT_MS)
    assert shelf.look(ANA, first, Millis(end - 1)) is not None
    assert shelf.take(ANA, second, Millis(end - 1)) is not None
    assert KEPT_MS == 600_000
    assert shelf.take(ANA, first, end) is None
    assert file.closed
    assert (len(shelf), shelf.sweep(end)) == (0, 0)


def test_who_is_full_gives_up_their_own_oldest_and_nobody_elses() -> None:
    shelf = Shelf()
    other, _ = put(shelf, BEN)
    held = [put(shelf) for _ in range(PER_OWNER_MAX)]
    put(shelf)
    assert held[0][1].closed
    assert [file.closed for _, file in held[1:]] == [False] * (PER_OWNER_MAX - 1)
    assert shelf.look(BEN, other, NOW) is not None


def test_a_full_shelf_refuses_the_newcomer_until_something_is_over() -> None:
    shelf = Shelf(most=2)
    put(shelf)
    put(shelf, BEN)
    file = io.BytesIO()
    with pytest.raises(QuotaExceeded):
        shelf.put(("acme", "eve"), file, size=0, now_ms=NOW)
    assert file.closed
    put(shelf, ("acme", "eve"), Millis(NOW + KEPT_MS))


def test_files_on_their_way_are_counted_and_their_places_come_back() -> None:
    shelf = Shelf(per_owner_max=1)
    with shelf.coming(ANA):
        with pytest.raises(QuotaExceeded), shelf.coming(ANA):
            raise AssertionError
        with shelf.coming(BEN):
            pass
    with shelf.coming(ANA):
        pass


def test_names_differ_cannot_be_guessed_and_are_not_kept() -> None:
    shelf = Shelf()
    (first, _), (second, _) = put(shelf), put(shelf)
    assert first != second
    assert min(len(first), len(second)) >= 43
    assert first not in repr(shelf.__dict__)
    assert shelf.look(ANA, "\ud800", NOW) is None


def test_at_the_end_everything_is_closed() -> None:
    shelf = Shelf()
    _, file = put(shelf)
    shelf.clear()
    assert (file.closed, len(shelf)) == (True, 0)
