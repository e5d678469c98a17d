"""What is known of the embedder: a state machine that every recall and store feeds. Pure."""

from enum import Enum

from msgspec import Struct, structs

FAILURES_A_FAULT = 2
"""One failure may be a hiccup; two in a row are an outage."""


class Condition(Enum):
    """unknown: nothing was asked yet. hint: recall is lexical by configuration. fault: it should not be."""

    UNKNOWN = "unknown"
    HEALTHY = "healthy"
    HINT = "hint"
    FAULT = "fault"


class Cause(Enum):
    """endpoint: it was asked and did not answer. configuration: it answers what its settings do not allow to use."""

    NOT_INSTALLED = "not_installed"
    ENDPOINT = "endpoint"
    CONFIGURATION = "configuration"


class Health(Struct, frozen=True, kw_only=True):
    """The state. failures: in a row. episode: grows with each outage, each other cause of it
    and each recovery, which re-arms the notices."""

    condition: Condition
    cause: Cause | None = None
    failures: int = 0
    episode: int = 0

    @property
    def degraded(self) -> bool:
        return self.condition in (Condition.HINT, Condition.FAULT)


def initial(*, installed: bool) -> Health:
    """Before the first embedding. installed: whether there is an embedder at all."""
    if installed:
        return Health(condition=Condition.UNKNOWN)
    return Health(condition=Condition.HINT, cause=Cause.NOT_INSTALLED)


def answered(health: Health, *, cached: bool = False) -> Health:
    """After an embedding. cached: the embedder was not asked, which proves nothing of it."""
    if cached or health.condition is Condition.HINT:
        return health
    recovered = health.condition is Condition.FAULT
    return Health(condition=Condition.HEALTHY, episode=health.episode + recovered)


def failed(health: Health, cause: Cause) -> Health:
    """After an embedding that failed."""
    if health.condition is Condition.HINT:
        return health
    failures = health.failures + 1
    if failures < FAILURES_A_FAULT:
        return structs.replace(health, failures=failures)
    # Another cause has another remedy, of which nobody was told.
    fresh = health.condition is not Condition.FAULT or health.cause is not cause
    return Health(condition=Condition.FAULT, cause=cause, failures=failures, episode=health.episode + fresh)
