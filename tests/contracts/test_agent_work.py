"""What decides a change to agent memory: grants, idempotency keys, caps, tries."""

from __future__ import annotations

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_work import (
    Changed,
    ChannelMove,
    Once,
    Task,
    Verdict,
    admit_record,
    admit_writer,
    after_failure,
    check_merge,
    check_replay,
    check_task,
    reaching,
    require_agent,
)
from codesynapse.contracts.agents import KEYS_KEPT_MS, AgentScope
from codesynapse.contracts.errors import AgentForbidden, IdempotencyConflict, Invalid, QuotaExceeded
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.quotas import Quotas

SCOPE = AgentScope(tenant_id="t", subject_id="u", agent_id="a")


def test_the_first_writer_makes_the_agent_and_no_later_one_does() -> None:
    assert admit_writer(None, exists=False)
    assert not admit_writer(Level.WRITE, exists=True)
    for held in (None, Level.READ):
        with pytest.raises(AgentForbidden) as refusal:
            admit_writer(held, exists=True)
        assert refusal.value.field == "agent_id"


def test_only_a_write_makes_an_agent() -> None:
    for needed in (Level.READ, Level.ADMIN):
        with pytest.raises(AgentForbidden):
            admit_writer(None, exists=False, needed=needed)


@pytest.mark.parametrize("needed", Level)
def test_a_level_includes_those_below_it(needed: Level) -> None:
    for held in (None, *Level):
        if held in reaching(needed):
            require_agent(held, needed)
        else:
            with pytest.raises(AgentForbidden):
                require_agent(held, needed)
    assert reaching(Level.WRITE) == (Level.WRITE, Level.ADMIN)


def test_a_kept_answer_is_given_for_a_day_and_to_the_same_content_alone() -> None:
    once, made = Once(key="k", digest="d"), Millis(1_000)
    assert check_replay(once, "d", made, Millis(made + KEYS_KEPT_MS - 1))
    assert not check_replay(once, "d", made, Millis(made + KEYS_KEPT_MS))
    assert not check_replay(once, "other", made, Millis(made + KEYS_KEPT_MS))
    with pytest.raises(IdempotencyConflict):
        check_replay(once, "other", made, made)


@pytest.mark.parametrize("key", ["", "x" * 129, "\ud800"])
def test_a_key_has_bounds(key: str) -> None:
    with pytest.raises(Invalid) as refusal:
        Once(key=key, digest="d")
    assert refusal.value.field == "idempotency_key"
    Once(key="x" * 128, digest="d")


def test_a_cap_lets_its_number_in_and_no_more() -> None:
    admit_record("agent_memories_max", 1, Quotas(agent_memories_max=2))
    with pytest.raises(QuotaExceeded) as refusal:
        admit_record("agent_memories_max", 2, Quotas(agent_memories_max=2))
    assert (refusal.value.field, refusal.value.limit) == ("agent_memories", 2)


def test_the_third_failure_is_the_last() -> None:
    tasks = [
        Task(task_id=1, scope=SCOPE, kind="k", payload="", enqueued_at_ms=Millis(0), due_at_ms=Millis(0), tries=tries)
        for tries in range(3)
    ]
    assert [after_failure(task) for task in tasks] == [True, True, False]


def test_an_agent_is_merged_with_another_of_the_same_user() -> None:
    other = AgentScope(tenant_id="t", subject_id="u", agent_id="b")
    check_merge(SCOPE, other)
    for wrong in (
        SCOPE,
        AgentScope(tenant_id="x", subject_id="u", agent_id="b"),
        AgentScope(tenant_id="t", subject_id="x", agent_id="b"),
    ):
        with pytest.raises(Invalid):
            check_merge(SCOPE, wrong)


@pytest.mark.parametrize(("kind", "payload"), [("", "{}"), ("x" * 65, "{}"), ("archive", "x" * 1_000_001)])
def test_a_task_has_bounds(kind: str, payload: str) -> None:
    with pytest.raises(Invalid):
        check_task(kind, payload)
    check_task("archive", "{}")


def test_a_move_goes_to_a_channel() -> None:
    with pytest.raises(Invalid):
        ChannelMove(memory_id=1, from_channel="", to_channel="x\n")


def test_only_done_is_done() -> None:
    assert [each for each in Verdict if Changed(verdict=each).done] == [Verdict.DONE]
