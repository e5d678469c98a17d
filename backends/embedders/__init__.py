"""Embedders by name. Each is imported when it is first opened: a model is large, and most servers run one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from codesynapse.backends.embedders.hashing import HashingEmbedder
from codesynapse.backends.embedders.http import Endpoint, http_embedder
from codesynapse.contracts.embedding import Embedder

NONE = ("auto", "none")
"""`auto` is the best that is installed; there is none that finds meaning yet, and hashing is not one."""

TRIAL = "codesynapse"


@asynccontextmanager
async def open_embedder(name: str, endpoint: Endpoint | None = None) -> AsyncIterator[Embedder | None]:
    """The embedder of this name; None where there is none to be had. endpoint: of `http`, and of no other."""
    if name in NONE:
        yield None
    elif endpoint is not None:
        async with http_embedder(endpoint) as embedder:
            yield embedder
    else:
        yield HashingEmbedder()


async def examine(embedder: Embedder) -> None:
    """Ask an embedder a word that is nobody's. Raises EmbedderDown, EmbedderMisconfigured."""
    await embedder.embed([TRIAL])
