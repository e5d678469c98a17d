"""Models at work: each call is somebody's, and what becomes of it tells how the model is."""

import asyncio
from collections.abc import Sequence

from codesynapse.contracts.embedding import Embedder
from codesynapse.contracts.errors import EmbedderDown, EmbedderMisconfigured, Unavailable
from codesynapse.contracts.identity import Execution, require
from codesynapse.contracts.vectors import Vector
from codesynapse.server.clock import Clock
from codesynapse.server.hints.health import Cause, Condition
from codesynapse.server.hints.state import Hints
from codesynapse.server.memory.recent import Recent
from codesynapse.server.telemetry import fault

FAULT_PATIENCE_S = 1.0
"""How long a caller waits for an embedder that is at fault. What was asked goes on, and tells how it ends."""


class Models:
    """The embedder, if there is one. deadline_ms: how long it may take. patience_s: see FAULT_PATIENCE_S."""

    def __init__(
        self,
        embedder: Embedder | None,
        hints: Hints,
        clock: Clock,
        deadline_ms: int,
        *,
        patience_s: float = FAULT_PATIENCE_S,
    ) -> None:
        self.embedder = embedder
        self._hints = hints
        self._clock = clock
        self._deadline_s = deadline_ms / 1_000
        self._patience_s = patience_s
        self._probe: asyncio.Task[list[Vector] | None] | None = None
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
        ask = self._probed if self._hints.health.condition is Condition.FAULT else self._told
        vectors = await ask(self.embedder, texts)
        if vectors is not None:
            self._recent.keep(identity, texts, vectors, self._clock())
        return vectors

    def close(self) -> None:
        """Ask no more."""
        if self._probe is not None:
            self._probe.cancel()

    async def _probed(self, embedder: Embedder, texts: Sequence[str]) -> list[Vector] | None:
        """Ask an embedder that is at fault: one caller at a time, who waits a moment; for the others it is away.

        Otherwise a host that takes connections and answers nothing would cost every recall its whole deadline.
        """
        if self._probe is not None and not self._probe.done():
            return None
        self._probe = asyncio.create_task(self._told(embedder, texts))
        self._probe.add_done_callback(_ended)
        done, _ = await asyncio.wait([self._probe], timeout=self._patience_s)
        return self._probe.result() if done else None

    async def _told(self, embedder: Embedder, texts: Sequence[str]) -> list[Vector] | None:
        """Ask the embedder, and note what becomes of it."""
        try:
            vectors = await self._asked(embedder, texts)
        except EmbedderMisconfigured as error:
            self._failed(Cause.CONFIGURATION, error)
            return None
        except Unavailable as error:
            self._failed(Cause.ENDPOINT, error)
            return None
        self._hints.embedded()
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


def _ended(probe: "asyncio.Task[list[Vector] | None]") -> None:
    """Whatever a call broke of that nobody waits for any more: its kind is logged, and never its text."""
    if not probe.cancelled() and (error := probe.exception()) is not None:
        fault("embedding_failed", error)
