"""Embedders by name."""

from __future__ import annotations

from typing import get_args, get_type_hints

from codesynapse.backends.embedders import NONE, open_embedder
from codesynapse.backends.embedders.http import Endpoint
from codesynapse.server.settings import Settings

ENDPOINT = Endpoint(url="http://127.0.0.1:1/v1/embeddings", model="m", dimension=3)


async def test_every_name_that_the_setting_knows_is_opened_or_is_none():
    for name in get_args(get_type_hints(Settings)["embedder"]):
        async with open_embedder(name, ENDPOINT if name == "http" else None) as embedder:
            if name in NONE:
                assert embedder is None
            else:
                assert embedder is not None
                told = (embedder.name, embedder.dimension)
                assert told == {"hashing": ("hashing-256", 256), "http": ("m", 3)}[name]
