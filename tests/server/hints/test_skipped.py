"""The answer of a skipped write: the keys of that tool's success, and nothing that happened."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest
from msgspec import UNSET, Struct, UnsetType

from codesynapse.server.hints.skipped import NO_ID, skipped, with_repairs_skipped


class Stored(Struct, kw_only=True):
    ok: bool
    result: Literal["stored", "skipped"]
    id: int | Literal["no-persist"]
    embedded: bool
    truncated: bool | UnsetType = UNSET


class Archived(Struct, kw_only=True):
    ok: bool
    queued: bool
    task_id: int | None
    episode_id: int | None
    agent_id: str
    tally: dict[str, int]
    names: list[str]
    score: float
    count: int = 3


PLUS = {"persisted": False, "dry_run": True, "reason": "why"}


def test_the_keys_are_those_of_the_success_and_three_more():
    answer = skipped(Stored, "why", {})
    success = msgspec.to_builtins(Stored(ok=True, result="stored", id=1, embedded=True))
    assert answer == {"ok": True, "result": "skipped", "id": NO_ID, "embedded": False, **PLUS}
    assert list(answer) == [*success, *PLUS]


def test_ids_of_actions_are_null_figures_zero_and_lists_empty():
    assert skipped(Archived, "why", {"agent_id": "a"}) == {
        "ok": True,
        "queued": False,
        "task_id": None,
        "episode_id": None,
        "agent_id": "a",
        "tally": {},
        "names": [],
        "score": 0.0,
        "count": 0,
        **PLUS,
    }


def test_an_empty_answer_is_one_that_the_success_could_have_been_read_as():
    answer = skipped(Stored, "why", {})
    assert msgspec.convert(answer, Stored) == Stored(ok=True, result="skipped", id=NO_ID, embedded=False)


def test_a_member_without_an_empty_value_must_be_told():
    with pytest.raises(TypeError, match="agent_id"):
        skipped(Archived, "why", {})


def test_nothing_is_told_that_the_success_does_not_have():
    with pytest.raises(TypeError, match="foreign"):
        skipped(Stored, "why", {"foreign": 1})


def test_a_member_that_a_success_may_lack_is_there_only_if_it_is_told():
    assert skipped(Stored, "why", {"truncated": True})["truncated"] is True


class Checked(Struct, kw_only=True):
    fixed: bool
    hint: str | UnsetType = UNSET


def test_a_call_that_repaired_nothing_answers_as_ever_and_says_so():
    assert with_repairs_skipped(Checked(fixed=False), "why") == {
        "fixed": False,
        "repairs_skipped": True,
        "repairs_skip_reason": "why",
    }
