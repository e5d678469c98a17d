"""The notice of a degraded recall: who gets it in full, who in short, and what its scope says (cpersona.md §3)."""

from __future__ import annotations

import pytest

from codesynapse.server.hints.advisories import TOLD_MAX, TOLD_PER_PRINCIPAL_MAX, Told, advice
from codesynapse.server.hints.health import Cause, Condition, Health, answered, failed, initial
from codesynapse.server.hints.session_key import Bucket
from tests.server.hints.buckets import bucket

FAULT = Health(condition=Condition.FAULT, cause=Cause.ENDPOINT, failures=2, episode=1)
HINT = initial(installed=False)


def kinds(health: Health, told: Told, *buckets: Bucket, shared: bool = True) -> list[tuple[str, str]]:
    """Of each answer in turn whether it had the full text, and its scope."""
    found = []
    for each in buckets:
        said = advice(health, each, told, shared=shared)
        assert said is not None
        assert (said.degraded, said.severity) == (True, health.condition.value)
        full = said.runbook.startswith("Tell the user")
        assert full == (len(said.runbook) > 200)
        found.append(("full" if full else "short", said.advisory_scope))
    return found


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("health", [FAULT, HINT])
def test_each_declared_key_is_told_in_full_once_and_in_short_from_then_on(health: Health, shared: bool):
    told = Told()
    a, b = bucket("A"), bucket("B")
    assert kinds(health, told, a, b, a, b, shared=shared) == [
        ("full", "session"),
        ("full", "session"),
        ("short", "session"),
        ("short", "session"),
    ]


@pytest.mark.parametrize("health", [FAULT, HINT])
def test_over_stdio_the_process_is_the_session_and_is_told_in_full_once(health: Health):
    assert kinds(health, Told(), *[bucket(None)] * 3, shared=False) == [
        ("full", "session"),
        ("short", "session"),
        ("short", "session"),
    ]


def test_a_keyless_remote_caller_is_told_in_full_every_time_during_a_fault():
    assert kinds(FAULT, Told(), *[bucket(None)] * 3) == [("full", "process")] * 3


def test_keyless_remote_callers_share_one_suppression_of_a_hint():
    assert kinds(HINT, Told(), *[bucket(None)] * 3) == [("full", "process"), ("short", "process"), ("short", "process")]


def test_the_same_key_of_another_principal_is_told_for_itself():
    told = Told()
    assert (
        kinds(FAULT, told, bucket("A"), bucket("A", tenant="other"), bucket("A", subject="ben"))
        == [("full", "session")] * 3
    )


@pytest.mark.parametrize("health", [initial(installed=True), answered(initial(installed=True))])
def test_what_is_not_degraded_carries_no_notice_and_tells_nobody(health: Health):
    told = Told()
    assert advice(health, bucket("A"), told, shared=True) is None
    assert len(told) == 0


def test_a_recovery_re_arms_the_notice_for_the_next_outage():
    told = Told()
    health = FAULT
    assert kinds(health, told, bucket("A"), bucket("A"))[1][0] == "short"
    health = answered(health)
    assert advice(health, bucket("A"), told, shared=True) is None
    health = failed(failed(health, Cause.ENDPOINT), Cause.ENDPOINT)
    assert kinds(health, told, bucket("A"), bucket("A")) == [("full", "session"), ("short", "session")]


def test_a_wrong_configuration_has_a_text_of_its_own():
    said = [
        advice(Health(condition=Condition.FAULT, cause=cause, failures=2), bucket("A"), Told(), shared=True)
        for cause in (Cause.ENDPOINT, Cause.CONFIGURATION)
    ]
    assert said[0] is not None
    assert said[1] is not None
    assert "does not answer" in said[0].reason
    assert "configured wrongly" in said[1].reason
    assert said[0].runbook != said[1].runbook


def test_the_full_text_says_what_to_do_and_how_to_silence_it():
    for health in (FAULT, HINT):
        said = advice(health, bucket("A"), Told(), shared=True)
        assert said is not None
        for part in ("Impact:", "Repair, for the operator:", "For the user", "CODESYNAPSE_DEGRADED_ADVISORY=false"):
            assert part in said.runbook


def test_the_caps_are_those_of_the_product():
    assert (TOLD_PER_PRINCIPAL_MAX, TOLD_MAX) == (256, 4_096)


def test_an_evicted_key_hears_the_full_notice_again_and_nothing_worse():
    told = Told(per_principal_max=2)
    a, b, c = bucket("A"), bucket("B"), bucket("C")
    kinds(FAULT, told, a, b, c)
    assert len(told) == 2
    assert [kind for kind, _ in kinds(FAULT, told, c, b)] == ["short", "short"]
    assert [kind for kind, _ in kinds(FAULT, told, a)] == ["full"]


def test_a_client_that_rotates_keys_grows_the_map_to_its_cap_only():
    told = Told()
    for number in range(2 * TOLD_PER_PRINCIPAL_MAX):
        told.first_time(bucket(f"k{number}"), 1)
    assert len(told) == TOLD_PER_PRINCIPAL_MAX


def test_a_principal_that_rotates_keys_makes_no_other_forget():
    told = Told(per_principal_max=2)
    told.first_time(bucket("A", tenant="other"), 1)
    for number in range(9):
        told.first_time(bucket(f"k{number}"), 1)
    assert not told.first_time(bucket("A", tenant="other"), 1)


def test_where_all_is_full_the_oldest_of_all_goes():
    told = Told(most=2)
    for tenant in ("one", "two", "three"):
        told.first_time(bucket("A", tenant=tenant), 1)
    assert len(told) == 2
    assert told.first_time(bucket("A", tenant="one"), 1)
