"""The findings' answer: its bounds and counts, and when it owns up to telling nobody apart."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from codesynapse.server.hints.findings import Finding, crashed, gathered
from tests.server.hints.buckets import bucket


def finding(kind: str, severity: str = "warn") -> Finding:
    return Finding(kind=kind, check=kind, severity=severity, text="x")


def answer(*found: Finding, key: str | None = None, shared: bool = True, limit: int = 2, **more: Any) -> dict[str, Any]:
    said = gathered(
        found,
        per_kind_limit=limit,
        include_summary=more.get("include_summary", True),
        bucket=bucket(key),
        shared=shared,
        server_version="1",
    )
    built: dict[str, Any] = msgspec.to_builtins(said)
    return built


@pytest.mark.parametrize("key", [None, "", "   ", "\t", "transport", " transport "])
def test_a_keyless_remote_caller_reads_that_identity_is_shared_whatever_blanks_it_sends(key: str | None):
    assert answer(key=key)["identity_shared"] is True


def test_a_declared_caller_reads_nothing_of_it():
    assert "identity_shared" not in answer(key="A")


@pytest.mark.parametrize("key", [None, " ", "A"])
def test_over_stdio_nothing_claims_a_shared_identity(key: str | None):
    assert "identity_shared" not in answer(key=key, shared=False)


def test_the_key_changes_nothing_but_the_honesty_flag():
    keyless, declared = answer(finding("a")), answer(finding("a"), key="A")
    assert {**declared, "identity_shared": True} == keyless


def test_the_counts_describe_what_is_returned_and_a_kind_with_more_is_named():
    said = answer(*[finding("a")] * 3, finding("b", "critical"), *[finding("c", "info")] * 2)
    assert (said["total"], said["per_kind_limit"], said["capped_kinds"]) == (5, 2, ["a"])
    assert said["counts_by_kind"] == {"a": 2, "b": 1, "c": 2}
    assert said["counts_by_severity"] == {"warn": 2, "critical": 1, "info": 2}
    assert said["summary"] == "1 critical, 2 info, 2 warn."
    assert said["_meta"] == {"server_version": "1"}


def test_nothing_found_is_an_answer_and_the_summary_can_be_left_out():
    assert answer()["summary"] == "Nothing is wrong or pending."
    assert "summary" not in answer(include_summary=False)


def test_a_check_that_broke_is_a_finding_of_its_own():
    assert (crashed("x").kind, crashed("x").check) == ("check_crashed", "x")
