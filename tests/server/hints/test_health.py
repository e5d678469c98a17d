"""The embedder's states: two failures in a row are a fault, a real answer ends it, a cached one proves nothing."""

from __future__ import annotations

from codesynapse.server.hints.health import Cause, Condition, Health, answered, failed, initial


def after(health: Health, steps: str) -> Health:
    """s: an answer, c: one from a cache, e: an endpoint's failure, m: a wrong configuration's."""
    for step in steps:
        if step in "sc":
            health = answered(health, cached=step == "c")
        else:
            health = failed(health, Cause.ENDPOINT if step == "e" else Cause.CONFIGURATION)
    return health


def conditions(steps: str) -> list[str]:
    return [after(initial(installed=True), steps[:end]).condition.value for end in range(len(steps) + 1)]


def test_before_the_first_embedding_nothing_is_known():
    assert initial(installed=True) == Health(condition=Condition.UNKNOWN)
    assert not initial(installed=True).degraded


def test_the_first_failure_is_debounced_and_the_second_in_a_row_is_a_fault():
    assert conditions("ee") == ["unknown", "unknown", "fault"]
    assert conditions("see") == ["unknown", "healthy", "healthy", "fault"]
    assert conditions("esese") == ["unknown", "unknown", "healthy", "healthy", "healthy", "healthy"]


def test_the_first_real_answer_ends_a_fault():
    assert conditions("eees")[-2:] == ["fault", "healthy"]
    assert after(initial(installed=True), "ees").failures == 0


def test_a_cache_hit_is_no_recovery_and_no_health():
    fault = after(initial(installed=True), "ee")
    assert after(fault, "ccc") == fault
    assert after(initial(installed=True), "c").condition is Condition.UNKNOWN
    assert after(initial(installed=True), "ece").condition is Condition.FAULT


def test_an_outage_and_a_recovery_each_begin_an_episode_and_nothing_else_does():
    episodes = [after(initial(installed=True), "seeeessee"[:end]).episode for end in range(10)]
    assert episodes == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]


def test_another_cause_begins_an_episode_since_its_remedy_is_another():
    episodes = [after(initial(installed=True), "eemmeem"[:end]).episode for end in range(8)]
    assert episodes == [0, 0, 1, 2, 2, 3, 3, 4]


def test_a_wrong_configuration_is_told_apart_from_a_dead_endpoint():
    assert after(initial(installed=True), "ee").cause is Cause.ENDPOINT
    assert after(initial(installed=True), "mm").cause is Cause.CONFIGURATION
    assert after(initial(installed=True), "mme").cause is Cause.ENDPOINT


def test_without_an_embedder_the_state_is_a_hint_and_stays_one():
    hint = initial(installed=False)
    assert (hint.condition, hint.cause, hint.degraded) == (Condition.HINT, Cause.NOT_INSTALLED, True)
    assert after(hint, "eescm") == hint
