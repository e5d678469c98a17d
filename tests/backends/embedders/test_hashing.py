"""The hashing embedder: the same everywhere, of unit length, and nearer to what shares words."""

from __future__ import annotations

import math
from operator import mul

import pytest

from codesynapse.backends.embedders.hashing import HashingEmbedder
from codesynapse.contracts.vectors import Vector

TEXTS = ["Ana likes green tea", "ana LIKES tea", "the build fails on Windows", "", "!?", "日本語のお茶"]


def cosine(left: Vector, right: Vector) -> float:
    return math.fsum(map(mul, left, right))


@pytest.mark.parametrize("dimension", [8, 256])
async def test_every_vector_has_its_dimension_and_unit_length(dimension: int):
    vectors = await HashingEmbedder(dimension).embed(TEXTS)
    assert [len(vector) for vector in vectors] == [dimension] * len(TEXTS)
    for vector in vectors:
        assert math.isclose(cosine(vector, vector), 1, rel_tol=1e-9)


async def test_texts_that_share_words_are_nearer_than_others_and_word_forms_near():
    tea, less, build, *_ = await HashingEmbedder().embed(TEXTS)
    assert cosine(tea, less) > 0.6 > 0.3 > cosine(tea, build)
    recalls, recalling, other = await HashingEmbedder().embed(["recalls", "recalling", "windows"])
    assert cosine(recalls, recalling) > 0.4 > cosine(recalls, other)


async def test_the_same_text_has_the_same_vector_on_every_machine():
    (vector,) = await HashingEmbedder(8).embed(["tea"])
    (again,) = await HashingEmbedder(8).embed(["TEA"])
    assert vector == again
    assert [round(value, 4) for value in vector] == PINNED


PINNED = [-0.9391, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3437]
