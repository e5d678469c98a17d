"""Lines of a byte stream, whatever the portions in which they come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesynapse.server.mcp.lines import BOM, LineSplitter, LineTooLong


def lines(portions: list[bytes], longest: int = 1_000) -> list[bytes | None]:
    """The lines; None for one that was too long."""
    splitter = LineSplitter(longest)
    found = [line for portion in portions for line in splitter.feed(portion)]
    return [None if isinstance(line, LineTooLong) else line for line in found]


@given(st.lists(st.binary(max_size=20)), st.integers(1, 7))
def test_the_portions_do_not_matter(texts: list[bytes], size: int):
    whole = b"\n".join(texts) + b"\n"
    portions = [whole[start : start + size] for start in range(0, len(whole), size)]
    assert lines(portions) == lines([whole])


def test_a_line_ends_at_lf_alone_and_loses_one_cr():
    assert lines([b"a\r\nb\rc\n" + "d\u2028e\u0085f\n".encode()]) == [b"a", b"b\rc", "d\u2028e\u0085f".encode()]


def test_a_byte_order_mark_is_dropped():
    assert lines([BOM + b"a\n"]) == [b"a"]


def test_empty_lines_are_left_out():
    assert lines([b"\n\r\na\n\n"]) == [b"a"]


def test_what_has_not_ended_is_kept_back():
    assert lines([b"a\nb"]) == [b"a"]


@pytest.mark.parametrize("portion", [1, 3, 100])
def test_a_line_over_the_limit_is_told_once_and_the_next_is_whole(portion: int):
    whole = b"x" * 11 + b"\n" + b"y" * 10 + b"\n"
    assert lines([whole[at : at + portion] for at in range(0, len(whole), portion)], longest=10) == [None, b"y" * 10]


def test_of_a_line_that_is_too_long_nothing_is_kept():
    splitter = LineSplitter(10)
    for _ in range(100):
        assert list(splitter.feed(b"x" * 11)) == []
    assert splitter._parts == []
