"""Embedders by name. Each is imported when it is first opened: a model is large, and most servers run one."""

from codesynapse.backends.embedders.hashing import HashingEmbedder
from codesynapse.contracts.embedding import Embedder

NONE = ("auto", "none")
"""`auto` is the best that is installed; there is none that finds meaning yet, and hashing is not one."""


def open_embedder(name: str) -> Embedder | None:
    """The embedder of this name; None where there is none to be had."""
    return None if name in NONE else HashingEmbedder()
