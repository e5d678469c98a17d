"""What the embedder said a moment ago, so that a repeated question is not asked again. Of one process, and small."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

from codesynapse.contracts.identity import Identity, Millis
from codesynapse.contracts.vectors import Vector

RECENT_MAX = 64
"""How many vectors are kept; of the longest kind that is some eight megabytes."""
RECENT_MS = 60_000
"""How long one is used. What a session asked is not used beyond a minute after its end (decision 16)."""


class Recent:
    """Vectors by principal and text; the text itself is not kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, bytes], tuple[Millis, Vector]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def vectors(self, identity: Identity, texts: Sequence[str], now_ms: Millis) -> list[Vector] | None:
        """The vectors of all the texts; None where one of them is not known."""
        self._drop_until(now_ms)
        found = [self._kept.get(_key(identity, text)) for text in texts]
        return [each[1] for each in found if each is not None] if found and None not in found else None

    def keep(self, identity: Identity, texts: Sequence[str], vectors: Sequence[Vector], now_ms: Millis) -> None:
        """Keep what was answered; the oldest make room."""
        self._drop_until(now_ms)
        for text, vector in zip(texts, vectors, strict=True):
            key = _key(identity, text)
            self._kept.pop(key, None)
            self._kept[key] = (Millis(now_ms + RECENT_MS), vector)
        while len(self._kept) > RECENT_MAX:
            self._kept.popitem(last=False)

    def _drop_until(self, now_ms: Millis) -> None:
        # The oldest stands first.
        while self._kept and next(iter(self._kept.values()))[0] <= now_ms:
            self._kept.popitem(last=False)


def _key(identity: Identity, text: str) -> tuple[str, str, bytes]:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return identity.tenant_id, identity.subject_id, digest
