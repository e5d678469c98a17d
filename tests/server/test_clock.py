"""Moments as text and back, and the clock that a test moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesynapse.contracts.triples import YEAR_1_MS, YEAR_9999_MS
from codesynapse.server.clock import ManualClock, from_rfc3339, rfc3339, system_clock


@given(st.integers(YEAR_1_MS, YEAR_9999_MS))
def test_a_moment_reads_back_as_it_was_written(moment: int):
    assert from_rfc3339(rfc3339(moment)) == moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1970-01-01T00:00:00.5Z", 500),
        ("1970-01-01T00:00:00.123456789Z", 123),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_rfc_3339_is_read(text: str, moment: int):
    assert from_rfc3339(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "0", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01 00:00:00Z", "1970-01-01T00:00Z"),
        *("19700101T000000Z", "1970-W01-1T00:00:00Z", "1970-01-01T00:00:00,5Z", "1970-01-01T00:00:00+01"),
        *("1970-01-01T00:00:00+00:00:30", "1970-02-30T00:00:00Z", "1970-01-01T24:00:00Z", "0000-01-01T00:00:00Z"),
        *("1970-01-01T00:00:00Z\n", " 1970-01-01T00:00:00Z", "1970-01-01T00:00:00." + "1" * 40 + "Z"),
        *("\u0661970-01-01T00:00:00Z", "1970-01-01T00:00:00+99:00", "\ud800"),
    ],
)
def test_anything_else_is_no_moment(text: str):
    assert from_rfc3339(text) is None


@given(st.text(max_size=45))
def test_any_text_is_a_moment_or_none(text: str):
    assert from_rfc3339(text) is None or "T" in text.upper()


def test_a_manual_clock_moves_only_when_it_is_moved():
    clock = ManualClock(5)
    assert (clock(), clock()) == (5, 5)
    clock.advance(days=1, hours=1, seconds=0.5)
    assert clock() == 5 + 86_400_000 + 3_600_000 + 500


def test_the_system_clock_counts_milliseconds_of_the_epoch():
    assert 1_700_000_000_000 < system_clock() < YEAR_9999_MS
