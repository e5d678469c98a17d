"""Server-Sent Events out of bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesynapse.server.bridge import events
from codesynapse.server.bridge.events import Event, SseParser
from codesynapse.server.bridge.refusal import Refusal

PIECES = [b"data: {}", b"data:", b"data", b"id: 7", b"id:", b"retry: 50", b"retry: x", b": beat", b"event: other"]
ENDS = [b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n"]


def parsed(text: bytes, cuts: list[int]) -> list[Event]:
    """The events of a text that arrives in these pieces."""
    parser, found, start = SseParser(), [], 0
    for end in [*sorted(cut % (len(text) + 1) for cut in cuts), len(text)]:
        found += list(parser.feed(text[start:end]))
        start = end
    return found


@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(ENDS)).map(b"".join)).map(b"".join),
    st.lists(st.integers(0, 1_000)),
)
def test_any_chunking_gives_the_same_events(text: bytes, cuts: list[int]) -> None:
    assert parsed(text, cuts) == parsed(text, [])


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_an_event_carries_data_id_and_retry_whatever_ends_its_lines(end: bytes) -> None:
    lines = [b"\xef\xbb\xbfid: a.1", b"retry: 50", b"data: {", b"data:  }", b"", b": beat", b"", b"data:x", b"", b""]
    assert parsed(end.join(lines), []) == [Event(b"{\n }", "a.1", 50), Event(b"x")]


def test_a_priming_event_has_an_id_and_no_data() -> None:
    assert parsed(b"id: a.0\ndata: \n\n", []) == [Event(b"", "a.0")]


def test_what_is_cut_in_the_middle_is_no_event() -> None:
    assert parsed(b"id: a.1\ndata: {}\n", []) == []


def test_fields_that_the_format_forbids_are_ignored() -> None:
    assert parsed(b"id: a\0b\nretry: -5\ndata: x\n\n", []) == [Event(b"x")]


def test_an_event_of_another_type_is_no_message() -> None:
    assert parsed(b"event: other\nid: 3\ndata: x\n\nevent: message\ndata: y\n\n", []) == [Event(b"", "3"), Event(b"y")]


def test_an_event_without_an_end_is_refused_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "ANSWER_MAX_BYTES", 100)
    assert len(parsed(b"data: " + b"x" * 80 + b"\n\n", [])) == 1
    for endless in (b"data: " + b"x" * 101, b"data: xxxxxxxxxx\n" * 11):
        with pytest.raises(Refusal) as caught:
            parsed(endless, [7, 50])
        assert caught.value.kind == "answer_too_large"
