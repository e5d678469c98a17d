"""The port of embedders: what fills it, and its bounds."""

from __future__ import annotations

from codesynapse.backends.embedders.hashing import HashingEmbedder
from codesynapse.contracts.embedding import TEXT_MAX, TEXTS_MAX, Embedder


async def test_an_embedder_answers_a_vector_for_each_text_in_their_order():
    embedder: Embedder = HashingEmbedder()
    one, two = await embedder.embed(["one", "two"])
    assert await embedder.embed(["two", "one"]) == [two, one]
    assert await embedder.embed([]) == []
    assert len(await embedder.embed(["x" * TEXT_MAX] * TEXTS_MAX)) == TEXTS_MAX
