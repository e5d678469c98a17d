"""The port of embedders: texts in, vectors out. Its adapters are in `backends.embedders`."""

from collections.abc import Sequence
from typing import Protocol

from codesynapse.contracts.vectors import Vector

TEXTS_MAX = 64
TEXT_MAX = 16_000
"""How many texts, and how many characters of each, one call may have."""


class Embedder(Protocol):
    """One model. name: told with each vector, since vectors of two models cannot be compared."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of some texts, in their order, each of unit length.

        texts: at most TEXTS_MAX, each of at most TEXT_MAX characters. Raises EmbedderDown where it was asked and did
        not answer, EmbedderMisconfigured where its settings must be corrected first.
        """
        ...
