"""What an endpoint's answer is worth: its vectors, or a failure that is told apart by who must do something."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from codesynapse.backends.embedders.answers import (
    COUNT,
    DIMENSION,
    NO_EMBEDDINGS,
    NOT_A_DIRECTION,
    answer_max,
    down,
    misconfigured,
    refusal,
    vectors_of,
)
from codesynapse.contracts.errors import EmbedderDown, EmbedderMisconfigured


def row(*values: float, index: int | None = None) -> dict[str, Any]:
    return {"embedding": list(values), "object": "embedding"} | ({} if index is None else {"index": index})


def read(*rows: dict[str, Any], count: int = 1, dimension: int = 2) -> list[tuple[float, ...]]:
    return vectors_of(json.dumps({"data": rows, "usage": {}}).encode(), count, dimension)


def test_vectors_come_in_the_order_of_the_texts_and_have_unit_length():
    assert read(row(0, 2, index=1), row(3, 4, index=0), count=2) == [(0.6, 0.8), (0.0, 1.0)]
    assert read(row(0, 2), row(3, 4), count=2) == [(0.0, 1.0), (0.6, 0.8)]
    assert math.hypot(*read(row(1e-200, 1e-200))[0]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("rows", "count", "cause"),
    [
        ([row(1, 0)], 2, COUNT),
        ([row(1, 0)] * 3, 2, COUNT),
        ([row(1, 0, index=0), row(1, 0, index=0)], 2, COUNT),
        ([row(1, 0, index=0), row(1, 0)], 2, COUNT),
        ([row(1, 0, index=7)], 1, COUNT),
        ([row(1, 0, 0)], 1, DIMENSION),
        ([row()], 1, DIMENSION),
        ([row(0, 0)], 1, NOT_A_DIRECTION),
        ([row(1.7e308, 1.7e308)], 1, NOT_A_DIRECTION),
    ],
)
def test_what_are_not_so_many_vectors_of_this_dimension_is_a_wrong_configuration(
    rows: list[dict[str, Any]], count: int, cause: str
):
    with pytest.raises(EmbedderMisconfigured) as raised:
        read(*rows, count=count)
    assert raised.value.cause == cause


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>",
        b"[]",
        b"null",
        b'{"data": null}',
        b'{"data": [{"embedding": ["1", 0]}]}',
        b'{"error": "x"}',
        b"\xff",
    ],
)
def test_what_holds_no_embeddings_is_a_wrong_configuration(raw: bytes):
    with pytest.raises(EmbedderMisconfigured) as raised:
        vectors_of(raw, 1, 2)
    assert raised.value.cause == NO_EMBEDDINGS


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429, 408, 425])
def test_what_may_pass_by_itself_is_a_dead_endpoint(status: int):
    error = refusal(status)
    assert isinstance(error, EmbedderDown)
    assert error.cause == f"HTTP_{status}"


@pytest.mark.parametrize("status", [204, 301, 302, 307, 308, 400, 401, 403, 404, 405, 413, 422])
def test_what_stays_until_somebody_corrects_it_is_a_wrong_configuration(status: int):
    error = refusal(status)
    assert isinstance(error, EmbedderMisconfigured)
    assert error.cause == f"HTTP_{status}"


def test_an_answer_that_is_one_is_no_refusal():
    assert refusal(200) is None


def test_a_cause_is_no_part_of_what_a_caller_is_told():
    assert down("TIMEOUT").message == EmbedderDown().message
    assert misconfigured("DIMENSION").message == EmbedderMisconfigured().message


def test_the_longest_numbers_fit():
    longest = json.dumps([-1.2345678901234567e-100] * 64, indent=4)
    assert len(longest) <= answer_max(1, 64)
