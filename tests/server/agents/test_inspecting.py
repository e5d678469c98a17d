"""What the checks find in records that go by."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from codesynapse.contracts.agents import Bucket, Memory, memory_of
from codesynapse.contracts.errors import ImportRefused
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.suite.keepers import memory, terms_in
from codesynapse.contracts.suite.worlds import NOW
from codesynapse.server.agents.checks import DEEP, HEALTH
from codesynapse.server.agents.exported import Writer, records_of
from codesynapse.server.agents.inspecting import REFS_MAX, Inspector

NAMES = [*HEALTH, *DEEP]


def kept(content: str, number: int = 1, **members: Any) -> Memory:
    held = memory_of(memory(content, source="u"), id=number, agent_id="a", now_ms=NOW)
    return structs.replace(held, **members)


def found(*records: Memory, names: list[str] | None = None, now_ms: Millis = NOW) -> dict[str, list[int]]:
    inspector = Inspector(NAMES if names is None else names, terms_in, now_ms)
    for each in records:
        inspector.look([each])
    inspector.end()
    return {name: each.ids for name, each in inspector.found.items() if each.count}


@pytest.mark.parametrize(
    "content",
    [
        "tea",
        "Tee 🍵 für zwei 👩‍👩‍👧",
        "tea ❤\ufe0f\n\tand milk\r\n",
        "ﷺ شاي",
        "see https://example.org/sk-short",
        "the key of C",
        "[Memory] of tea",
        "a\nb\tc",
    ],
)
def test_ordinary_texts_have_no_fault(content: str) -> None:
    assert found(kept(content)).keys() <= {"short_content"}


@pytest.mark.parametrize(
    "hidden",
    [
        *("\u200b", "\u202e", "\u2066", "\ufeff", "\U000e0041", "\U000e0101", "\u00ad", "\u061c", "\u3164", "\u206a"),
        *("\x00", "\x07", "\x08", "\x1b[31m", "\x7f", "\x9b31m"),
    ],
)
def test_characters_that_only_a_model_reads_are_found(hidden: str) -> None:
    assert "hidden_characters" in found(kept(f"te{hidden}a"))


SECRETS = [
    "-----BEGIN " + "PRIVATE KEY-----",
    "-----BEGIN RSA " + "PRIVATE KEY-----",
    "csk_" + "a" * 43,
    "AKIA" + "A" * 16,
    "ghp_" + "a" * 36,
    "sk-" + "a" * 40,
    "xoxb-" + "1" * 24,
]


@pytest.mark.parametrize("secret", SECRETS, ids=lambda each: each[:8])
def test_what_looks_like_a_credential_is_found(secret: str) -> None:
    assert found(kept(f"use {secret} for it"))["secret_content"] == [1]


def test_a_mark_alone_is_not_cleaned_to_nothing() -> None:
    assert "marked_content" not in found(kept("[Memory from yesterday]"))
    assert "marked_content" in found(kept("[Memory from yesterday] tea"))


def test_a_copy_is_found_whichever_came_first_and_the_pools_own_is_no_copy() -> None:
    pool, copy = kept("tea", 1), kept("tea", 2, bucket=Bucket(project_id="p"))
    assert found(pool, copy)["duplicate_content"] == found(copy, pool)["duplicate_content"] == [2]
    other = kept("tea", 3, bucket=Bucket(project_id="q"))
    assert "duplicate_content" not in found(copy, other)


def test_a_timestamp_may_lie_a_little_ahead() -> None:
    held = kept("tea", timestamp="2026-01-01T00:00:00Z")
    moment = 1_767_225_600_000
    assert "future_timestamp" not in found(held, now_ms=Millis(moment - 300_000))
    assert "future_timestamp" in found(held, now_ms=Millis(moment - 300_001))


def test_only_what_was_asked_for_is_looked_for() -> None:
    assert found(kept("ok\u202e"), names=["short_content"]).keys() == set()
    assert found(kept("ok"), names=["short_content"]) == {"short_content": [1]}
    assert Inspector(["index_missing"], terms_in, NOW).needed is False
    assert Inspector(["near_duplicates"], terms_in, NOW).needed is True


def test_examples_are_few_and_the_count_is_whole() -> None:
    inspector = Inspector(["short_content"], terms_in, NOW)
    inspector.look([kept("x", number) for number in range(1, 21)])
    result = inspector.found["short_content"]
    assert (result.count, len(result.ids), result.refs) == (20, 20, [f"mem:{each}" for each in range(1, REFS_MAX + 1)])


@pytest.mark.parametrize(
    "members",
    [
        {"created_at_ms": -5},
        {"recalled": -3},
        {"timestamp": "x" * 65},
        {"message_id": "i" * 257},
        {"bucket": Bucket(project_id="p")},
    ],
)
def test_what_an_import_would_refuse_is_found_before_it_is_exported(members: dict[str, Any]) -> None:
    record = kept("tea", **members)
    assert found(record, names=["unportable"]) == ({} if "bucket" in members else {"unportable": [1]})
    raw: list[bytes] = []
    writer = Writer("a", raw.append)
    writer.record(record)
    writer.end()
    if "bucket" in members:
        assert len(list(records_of(raw, terms_in))) == 1
    else:
        with pytest.raises(ImportRefused):
            list(records_of(raw, terms_in))
