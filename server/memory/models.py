"""Models at work: each call is somebody's, and what becomes of it tells how the model is."""

import asyncio
from collections.abc import Sequence

from codesynapse.contracts.embedding import Embedder
from codesynapse.contracts.errors import EmbedderDown, EmbedderMisconfigured, Unavailable
from codesynapse.contracts.identity import Execution, require
from codesynapse.contracts.vectors import Vector
from codesynapse.server.clock import Clock
from codesynapse.server.hints.health import Cause
from codesynapse.server.hints.state import Hints
from codesynapse.server.memory.recent import Recent
from codesynapse.server.telemetry import fault


class Models:
    """The embedder, if there is one. deadline_ms: how long it may take."""

    def __init__(self, embedder: Embedder | None, hints: Hints, clock: Clock, deadline_ms: int) -> None:
        self.embedder = embedder
        self._hints = hints
        self._clock = clock
        self._deadline_s = deadline_ms / 1_000
        self._recent = Recent()

    async def embed(self, execution: Execution, texts: Sequence[str]) -> list[Vector] | None:
        """The vectors; None where they cannot be had now, so that the caller goes on with words alone.

        Raises what `require` does, and nothing else: a recall is never lost to its embedder.
        """
        identity = require(execution, self._clock())
        if self.embedder is None:
            return None
        known = self._recent.vectors(identity, texts, self._clock())
        if known is not None:
            self._hints.embedded(cached=True)
            return known
        try:
            vectors = await self._asked(self.embedder, texts)
        except EmbedderMisconfigured as error:
            self._failed(Cause.CONFIGURATION, error)
            return None
        except Unavailable as error:
            self._failed(Cause.ENDPOINT, error)
            return None
        self._hints.embedded()
        self._recent.keep(identity, texts, vectors, self._clock())
        return vectors

    async def _asked(self, embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
        try:
            async with asyncio.timeout(self._deadline_s):
                return await embedder.embed(texts)
        except TimeoutError:
            error = EmbedderDown()
            error.cause = "TIMEOUT"
            raise error from None

    def _failed(self, cause: Cause, error: Unavailable) -> None:
        fault("embedding_failed", error)
        self._hints.embedding_failed(cause)
