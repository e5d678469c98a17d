"""All that is kept by declared key, in one process: pauses, told keys and the queue's attribution (seed 1 §4).

Nothing of it is ever stored, logged or counted under a label. A restart forgets all.
"""

from codesynapse.contracts.identity import Identity, Millis
from codesynapse.server.hints import health
from codesynapse.server.hints.advisories import Advice, Told, advice
from codesynapse.server.hints.attribution import Attribution
from codesynapse.server.hints.pauses import Pauses
from codesynapse.server.hints.session_key import bucket_of


class Hints:
    """The state. embedder: whether one is installed. advisories: whether answers tell that recall is degraded."""

    def __init__(self, *, embedder: bool = False, advisories: bool = True) -> None:
        self.pauses = Pauses()
        self.told = Told()
        self.attribution = Attribution()
        self.health = health.initial(installed=embedder)
        self._advisories = advisories

    def paused(self, identity: Identity, declared: str | None, now_ms: Millis) -> bool:
        """Whether what a call would write by the way, such as a counter, is withheld."""
        return self.pauses.active(bucket_of(identity, declared), now_ms) is not None

    def advice(self, identity: Identity, declared: str | None, *, shared: bool) -> Advice | None:
        """The notice for one recall's answer. To be asked once an answer: asking tells."""
        if not self._advisories:
            return None
        return advice(self.health, bucket_of(identity, declared), self.told, shared=shared)

    def embedded(self, *, cached: bool = False) -> None:
        """An embedding came. cached: not from the embedder."""
        self.health = health.answered(self.health, cached=cached)

    def embedding_failed(self, cause: health.Cause) -> None:
        """An embedding did not come."""
        self.health = health.failed(self.health, cause)
