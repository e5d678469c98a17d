"""The notice that recall is degraded, and who has heard it in full (seed 1 §5, §7)."""

from msgspec import Struct

from codesynapse.server.hints.bounded import BucketMap
from codesynapse.server.hints.health import Cause, Condition, Health
from codesynapse.server.hints.session_key import Bucket

TOLD_PER_PRINCIPAL_MAX = 256
TOLD_MAX = 4_096

_REASONS = {
    Cause.NOT_INSTALLED: "No embedder is installed: recall matches words, not meaning.",
    Cause.ENDPOINT: "The embedder does not answer: recall matches words, not meaning, until it does.",
    Cause.CONFIGURATION: "The embedder is configured wrongly and cannot be used: recall matches words, not meaning.",
}
_REPAIRS = {
    Cause.NOT_INSTALLED: "install an embedder and name it in CODESYNAPSE_EMBEDDER, or leave it so on purpose",
    Cause.ENDPOINT: "start the embedder's server again or make it reachable; the next embedding notices by itself",
    Cause.CONFIGURATION: "correct the embedder's settings (CODESYNAPSE_EMBEDDER and its own) and restart the server",
}
_FULL = (
    "{notify} Impact: what is stored is safe; questions in other words than the memory's may find less, so ask again "
    "with the words that were used. Repair, for the operator: {repair}; `codesynapse doctor` says more. For the user, "
    'in plain words: "{plain}" Set CODESYNAPSE_DEGRADED_ADVISORY=false to silence this notice.'
)
_NOTIFY = {
    Condition.FAULT: "Tell the user now that memory search is degraded.",
    Condition.HINT: "Tell the user once, if it matters for the task, that memory search is by words only.",
}
_PLAIN = {
    Condition.FAULT: "My memory search is working at reduced quality right now; nothing is lost.",
    Condition.HINT: "My memory search goes by words only; nothing is lost.",
}
_SHORT = "This session was told before how to handle it; nothing new has to be done."
_SHORT_KEYLESS = "A caller without a session_key was told before how to handle it."


class Advice(Struct, frozen=True, kw_only=True):
    """The notice of one answer. runbook: in full, or a short form. severity: `hint` or `fault`."""

    degraded: bool
    severity: str
    reason: str
    evidence: str
    runbook: str
    advisory_scope: str


class Told:
    """Which buckets heard the full notice of the present episode.

    Forgetting one repeats the notice, and nothing worse: so the oldest goes, the principal's own or anybody's.
    """

    def __init__(self, *, per_principal_max: int = TOLD_PER_PRINCIPAL_MAX, most: int = TOLD_MAX) -> None:
        self._map: BucketMap[None] = BucketMap()
        self._episode = 0
        self._per_principal_max = per_principal_max
        self._most = most

    def __len__(self) -> int:
        return len(self._map)

    def first_time(self, bucket: Bucket, episode: int) -> bool:
        """Whether a bucket is told for the first time in an episode; it is told by asking."""
        if episode != self._episode:
            self._map.clear()
            self._episode = episode
        before = len(self._map)
        self._map.put(bucket, None)
        if len(self._map) == before:
            return False
        if self._map.count(bucket.principal) > self._per_principal_max:
            self._map.remove(self._map.oldest(bucket.principal))
        if len(self._map) > self._most:
            self._map.remove(self._map.oldest())
        return True


def advice(health: Health, bucket: Bucket, told: Told, *, shared: bool) -> Advice | None:
    """The notice that a recall's answer carries; None while nothing is degraded.

    shared: whether the transport serves several clients, as HTTP does and stdio does not.
    """
    if not health.degraded:
        return None
    assert health.cause is not None
    full = told.first_time(bucket, health.episode)
    if not bucket.declared and shared and health.condition is Condition.FAULT:
        # Nobody can know which of the keyless callers was told: a shorter form might be the first that one sees.
        full = True
    return Advice(
        degraded=True,
        severity=health.condition.value,
        reason=_REASONS[health.cause],
        evidence=_evidence(health),
        runbook=_runbook(health) if full else (_SHORT if bucket.declared or not shared else _SHORT_KEYLESS),
        advisory_scope="session" if bucket.declared or not shared else "process",
    )


def _evidence(health: Health) -> str:
    if health.condition is Condition.HINT:
        return "The server runs without an embedder."
    return f"{health.failures} embeddings in a row failed."


def _runbook(health: Health) -> str:
    assert health.cause is not None
    return _FULL.format(notify=_NOTIFY[health.condition], repair=_REPAIRS[health.cause], plain=_PLAIN[health.condition])
