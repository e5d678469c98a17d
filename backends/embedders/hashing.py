"""An embedder without a model: words and their parts, hashed into a vector. For tests and for machines that have none.

It finds what shares words or stems, not what means the same. The same text gives the same vector everywhere.
"""

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from codesynapse.contracts.vectors import Vector

_words = re.compile(r"\w+").findall
PART = 3
"""Characters of the parts of a word, by which `recalls` is near `recalling`."""
PART_WEIGHT = 0.5


class HashingEmbedder:
    """Signed feature hashing (Weinberger et al., ICML 2009)."""

    def __init__(self, dimension: int = 256) -> None:
        self.name = f"hashing-{dimension}"
        self.dimension = dimension

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors; a text without a word gets the first axis, since a vector has unit length."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        values = [0.0] * self.dimension
        weights: dict[str, float] = defaultdict(float)
        for feature, weight in _features(text):
            weights[feature] += weight
        for feature, weight in weights.items():
            digest = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest())
            sign = 1 if digest & 1 else -1
            values[(digest >> 1) % self.dimension] += sign * math.sqrt(weight)
        length = math.sqrt(math.fsum(value * value for value in values))
        if not length:
            return (1.0, *([0.0] * (self.dimension - 1)))
        return tuple(value / length for value in values)


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in _words(text.casefold()):
        yield word, 1.0
        padded = f"^{word}$"
        for start in range(len(padded) - PART + 1):
            yield padded[start : start + PART], PART_WEIGHT
