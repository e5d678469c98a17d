"""The embedder over real HTTP, beside an endpoint that does everything that one should not."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec import structs

from codesynapse.backends.embedders.hashing import HashingEmbedder
from codesynapse.backends.embedders.http import Endpoint, HttpEmbedder, http_embedder
from codesynapse.contracts.errors import EmbedderDown, EmbedderMisconfigured, Unavailable
from codesynapse.contracts.requirements import requirement
from tests.embedding import DIMENSION, KEY, MODEL, EmbeddingEndpoint, Mode, embedding_endpoint


def endpoint_of(served: EmbeddingEndpoint, *, key: str = "", deadline_s: float = 30.0) -> Endpoint:
    return Endpoint(url=served.url, model=MODEL, dimension=DIMENSION, key=key, deadline_s=deadline_s)


@asynccontextmanager
async def asking(
    *, key: str = "", own: str = "", deadline_s: float = 30.0
) -> AsyncIterator[tuple[EmbeddingEndpoint, HttpEmbedder]]:
    """An endpoint that wants a key, and the embedder that shows its own."""
    async with (
        embedding_endpoint(key=key) as served,
        http_embedder(endpoint_of(served, key=own, deadline_s=deadline_s)) as embedder,
    ):
        yield served, embedder


async def failure(embedder: HttpEmbedder) -> Unavailable:
    with pytest.raises(Unavailable) as raised:
        await embedder.embed(["tea"])
    return raised.value


async def test_it_answers_a_vector_for_each_text_in_their_order():
    async with asking(key=KEY, own=KEY) as (served, embedder):
        vectors = await embedder.embed(["tea", "coffee"])
        wanted = await HashingEmbedder(DIMENSION).embed(["tea", "coffee"])
        assert [pytest.approx(each) for each in wanted] == vectors
        assert served.asked == [["tea", "coffee"]]
        assert (embedder.name, embedder.dimension) == (MODEL, DIMENSION)


async def test_without_a_text_nobody_is_asked():
    async with asking() as (served, embedder):
        assert await embedder.embed([]) == []
        assert served.requests == 0


@pytest.mark.parametrize(("mode", "cause"), [("fail", "HTTP_500"), ("drop", "UNREACHABLE")])
async def test_an_endpoint_that_fails_is_down_until_it_answers(mode: Mode, cause: str):
    async with asking() as (served, embedder):
        served.mode = mode
        error = await failure(embedder)
        assert (type(error), error.cause) == (EmbedderDown, cause)
        served.mode = "answer"
        assert len(await embedder.embed(["tea"])) == 1


async def test_an_endpoint_that_died_is_down_until_it_is_back_on_its_port():
    async with asking() as (served, embedder):
        await embedder.embed(["tea"])
        await served.die()
        for _ in range(2):
            error = await failure(embedder)
            assert (type(error), error.cause) == (EmbedderDown, "UNREACHABLE")
        await served.start()
        assert len(await embedder.embed(["tea"])) == 1


async def test_an_endpoint_that_was_started_again_between_two_questions_is_not_missed():
    async with asking() as (served, embedder):
        for _ in range(3):
            await embedder.embed(["tea"])
            await served.die()
            await served.start()
        assert len(await embedder.embed(["tea"])) == 1


async def test_a_hanging_endpoint_is_left_at_the_deadline():
    async with asking(deadline_s=0.05) as (served, embedder):
        served.mode = "hang"
        error = await failure(embedder)
        assert (type(error), error.cause) == (EmbedderDown, "TIMEOUT")


@requirement("hosts:model")
@pytest.mark.parametrize(
    ("mode", "cause"),
    [
        ("other dimension", "DIMENSION"),
        ("too few", "COUNT"),
        ("a page", "NO_EMBEDDINGS"),
        ("redirect", "HTTP_307"),
        ("endless", "TOO_LONG"),
    ],
)
async def test_an_endpoint_that_answers_something_else_is_a_wrong_configuration(mode: Mode, cause: str):
    async with asking() as (served, embedder):
        served.mode = mode
        error = await failure(embedder)
        assert (type(error), error.cause) == (EmbedderMisconfigured, cause)


@pytest.mark.parametrize("own", ["", "sk-another"])
async def test_a_wrong_key_is_a_wrong_configuration_and_is_repeated_nowhere(own: str):
    async with asking(key=KEY, own=own) as (_, embedder):
        error = await failure(embedder)
        assert (type(error), error.cause) == (EmbedderMisconfigured, "HTTP_401")
        told = "".join(traceback.format_exception(error)) + repr(error.__dict__)
        assert "sk-" not in told
        assert "Bearer" not in told


async def test_a_path_that_is_not_there_is_a_wrong_configuration():
    async with embedding_endpoint() as served:
        elsewhere = structs.replace(endpoint_of(served), url=served.url + "/else")
        async with http_embedder(elsewhere) as embedder:
            error = await failure(embedder)
    assert (type(error), error.cause) == (EmbedderMisconfigured, "HTTP_404")


def test_an_endpoint_is_printed_without_its_key():
    endpoint = Endpoint(url="http://127.0.0.1:1", model=MODEL, dimension=DIMENSION, key=KEY)
    assert KEY not in f"{endpoint} {endpoint!r}"
