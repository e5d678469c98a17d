"""How a backend declares what it opens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.opening import only, opens
from codesynapse.contracts.ports import Backend, Features


@opens(Features(vectors=True))
@asynccontextmanager
async def open_nothing(options: Mapping[str, str]) -> AsyncIterator[Backend]:
    only(options, "url", "size")
    yield Backend()


def test_features_are_known_without_opening() -> None:
    assert open_nothing.features == Features(vectors=True)


async def test_an_opener_opens_what_its_factory_makes() -> None:
    async with open_nothing({"url": "x"}) as backend:
        assert backend == Backend()


async def test_options_reach_the_factory() -> None:
    with pytest.raises(Invalid) as refusal:
        async with open_nothing({"url": "x", "sekret": "1"}):
            pass
    assert (refusal.value.field, refusal.value.limit) == ("options", "one of url, size")


def test_known_options_are_let_through_and_others_refused_without_their_name() -> None:
    only({})
    only({"url": "x"}, "url", "size")
    for known, limit in (((), "none"), (("url",), "one of url")):
        with pytest.raises(Invalid) as refusal:
            only({"sekret": "x"}, *known)
        assert refusal.value.limit == limit
        assert "sekret" not in str(refusal.value)
