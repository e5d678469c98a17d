"""Pauses: whose writes they stop, when they end, and what becomes of them at their caps. The clock is an argument."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import codesynapse.server
from codesynapse.contracts.errors import Invalid, TooManyPauses
from codesynapse.server.hints.pauses import (
    PAUSES_MAX,
    PAUSES_PER_PRINCIPAL_MAX,
    TTL_DEFAULT_S,
    Pauses,
    left_label,
    reason_of,
    ttl_of,
)
from tests.server.hints.buckets import NOW, bucket, later

# Decision 10's table, whole; the seed's vendored module would clamp one of them and take another for 1.
REFUSED: list[Any] = [True, False, 0, -1, 86_401, 1.0, "60", None]


@pytest.mark.parametrize("value", REFUSED, ids=repr)
def test_a_ttl_that_is_no_integer_in_bounds_is_refused_by_name_and_bounds(value: object):
    with pytest.raises(Invalid) as refused:
        ttl_of(value)
    assert refused.value.field == "ttl_seconds"
    assert "1 to 86400" in str(refused.value.limit)


@pytest.mark.parametrize("value", [1, 1_800, 86_400])
def test_a_ttl_within_its_bounds_is_taken_as_it_is(value: int):
    assert ttl_of(value) == value


def test_the_default_is_half_an_hour():
    assert TTL_DEFAULT_S == 1_800


def test_a_pause_reaches_only_its_own_key():
    pauses = Pauses()
    pauses.pause(bucket("A"), 60, NOW)
    assert pauses.active(bucket(" A "), NOW) is not None
    for other in ("B", "a", None, "transport"):
        assert pauses.active(bucket(other), NOW) is None


def test_a_keyless_pause_reaches_keyless_callers_alone():
    pauses = Pauses()
    pauses.pause(bucket(None), 60, NOW)
    for keyless in (None, "", "  ", "transport"):
        assert pauses.active(bucket(keyless), NOW) is not None
    assert pauses.active(bucket("A"), NOW) is None


@pytest.mark.parametrize("key", ["main", None])
def test_a_pause_never_leaves_its_tenant_and_subject(key: str | None):
    pauses = Pauses()
    pauses.pause(bucket(key), 60, NOW)
    assert pauses.active(bucket(key, tenant="other"), NOW) is None
    assert pauses.active(bucket(key, subject="ben"), NOW) is None
    assert not pauses.resume(bucket(key, tenant="other"), NOW)
    assert pauses.active(bucket(key), NOW) is not None


def test_each_pause_ends_by_its_own_ttl_and_leaves_the_map_when_looked_at():
    pauses = Pauses()
    pauses.pause(bucket("A"), 10, NOW)
    pauses.pause(bucket("B"), 20, NOW)
    assert pauses.active(bucket("A"), later(9.999)) is not None
    assert pauses.active(bucket("A"), later(10)) is None
    assert len(pauses) == 1
    assert pauses.active(bucket("B"), later(10)) is not None
    assert pauses.active(bucket("B"), later(20)) is None
    assert len(pauses) == 0


def test_a_pause_that_holds_never_says_that_nothing_is_left():
    pauses = Pauses()
    pauses.pause(bucket("A"), 10, NOW)
    left = [pauses.active(bucket("A"), later(seconds)) for seconds in (0, 0.001, 9, 9.999)]
    assert [pause.left_s for pause in left if pause is not None] == [10, 10, 1, 1]


def test_arming_again_replaces_the_deadline():
    pauses = Pauses()
    pauses.pause(bucket("A"), 1_000, NOW)
    assert pauses.pause(bucket("A"), 10, later(1)).deadline_ms == later(11)
    assert pauses.active(bucket("A"), later(11)) is None


def test_resume_tells_of_its_own_key_only():
    pauses = Pauses()
    pauses.pause(bucket("A"), 60, NOW)
    assert not pauses.resume(bucket("B"), NOW)
    assert not pauses.resume(bucket(None), NOW)
    assert pauses.resume(bucket("A"), NOW)
    assert not pauses.resume(bucket("A"), NOW)


def test_resuming_a_pause_that_is_over_says_that_there_was_none():
    pauses = Pauses()
    pauses.pause(bucket("A"), 60, NOW)
    assert not pauses.resume(bucket("A"), later(60))


def test_the_caps_are_those_of_the_product():
    assert (PAUSES_PER_PRINCIPAL_MAX, PAUSES_MAX) == (256, 4_096)


def test_at_a_principals_cap_the_pause_nearest_to_its_end_goes_and_the_answer_says_so():
    pauses = Pauses(per_principal_max=3)
    armed = [pauses.pause(bucket(f"k{ttl}"), ttl, NOW) for ttl in (300, 100, 200)]
    assert not any(each.evicted_nearest for each in armed)
    assert pauses.pause(bucket("new"), 1, NOW).evicted_nearest
    assert pauses.active(bucket("k100"), NOW) is None
    assert all(pauses.active(bucket(key), NOW) is not None for key in ("k300", "k200", "new"))
    assert len(pauses) == 3


def test_arming_a_held_key_again_evicts_nothing_at_the_cap():
    pauses = Pauses(per_principal_max=2, most=2)
    pauses.pause(bucket("A"), 10, NOW)
    pauses.pause(bucket("B"), 20, NOW)
    assert not pauses.pause(bucket("A"), 30, NOW).evicted_nearest
    assert len(pauses) == 2


def test_pauses_that_are_over_make_room_before_any_that_holds():
    pauses = Pauses(per_principal_max=2)
    pauses.pause(bucket("A"), 10, NOW)
    pauses.pause(bucket("B"), 60, NOW)
    assert not pauses.pause(bucket("C"), 60, later(10)).evicted_nearest
    assert pauses.active(bucket("B"), later(10)) is not None


def test_a_full_process_refuses_and_takes_no_pause_from_anybody():
    pauses = Pauses(most=2)
    pauses.pause(bucket("A", tenant="one"), 10, NOW)
    pauses.pause(bucket("A", tenant="two"), 20, NOW)
    for key in ("A", None):
        with pytest.raises(TooManyPauses) as refused:
            pauses.pause(bucket(key, tenant="three"), 60, NOW)
        assert refused.value.limit == 2
    assert all(pauses.active(bucket("A", tenant=tenant), NOW) is not None for tenant in ("one", "two"))
    assert not pauses.pause(bucket("A", tenant="three"), 60, later(10)).evicted_nearest


def test_a_principal_at_its_cap_gives_up_its_own_pause_even_where_the_process_is_full():
    pauses = Pauses(per_principal_max=1, most=2)
    pauses.pause(bucket("A", tenant="one"), 10, NOW)
    pauses.pause(bucket("A", tenant="two"), 20, NOW)
    assert pauses.pause(bucket("B", tenant="two"), 60, NOW).evicted_nearest
    assert pauses.active(bucket("A", tenant="one"), NOW) is not None


def test_a_client_that_rotates_keys_holds_no_more_than_its_cap():
    pauses = Pauses()
    for number in range(2 * PAUSES_PER_PRINCIPAL_MAX):
        pauses.pause(bucket(f"k{number}"), 60, NOW)
    assert len(pauses) == PAUSES_PER_PRINCIPAL_MAX


@pytest.mark.parametrize(
    ("left_ms", "label"),
    [(1, "1s left"), (59_001, "60s left"), (60_000, "1m left"), (119_999, "1m left"), (1_740_000, "29m left")],
)
def test_what_is_left_is_told_in_minutes_or_seconds(left_ms: int, label: str):
    assert left_label(left_ms) == label


@pytest.mark.parametrize(("key", "whose"), [("A", "this session_key"), (None, "callers without a session_key")])
def test_the_reason_of_a_skipped_write_names_the_tool_whose_pause_and_what_is_left_of_it(key: str | None, whose: str):
    pauses = Pauses()
    pauses.pause(bucket(key), 1_800, NOW)
    pause = pauses.active(bucket(key), later(30))
    assert pause is not None
    reason = reason_of("store", bucket(key), pause)
    assert "(29m left)" in reason
    assert "`store`" in reason
    assert whose in reason


def test_no_other_module_holds_a_pause():
    folder = Path(codesynapse.server.__path__[0])
    made = [path for path in folder.rglob("*.py") if "Pauses()" in path.read_text()]
    # The state of a process, and what a dispatcher of tests has that no process is behind.
    assert sorted(path.name for path in made) == ["dispatch.py", "state.py"]
    assert [path.name for path in folder.rglob("*.py") if "deadline_ms, ttl_s" in path.read_text()] == ["pauses.py"]
