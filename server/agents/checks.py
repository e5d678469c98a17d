"""What can be wrong with an agent's memory: a table for each of the two tools that look, with what is done about it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal

from msgspec import Struct

from codesynapse.contracts.agent_work import StoreCheck

Severity = Literal["critical", "warn", "info"]


class Repair(StrEnum):
    """How a fault is repaired; NONE: not by a machine, and `why` says so. What is locked is left alone."""

    NONE = "none"
    STORE = "store"  # By the store itself.
    DELETE = "delete"  # The record goes.
    CLEAN = "clean"  # The content loses the marks that recalled memories wear.
    CHANNEL = "channel"  # The memory moves to the channel that is meant.
    TUNING = "tuning"  # Back to the defaults.
    CALIBRATE = "calibrate"  # Calibrated anew.


class Check(Struct, frozen=True, kw_only=True):
    """One check. means: what was found. why: where nothing repairs it, the reason and what to do instead.

    store: the check of the store's own that it is; None for those that look at records.
    """

    severity: Severity
    means: str
    repair: Repair = Repair.NONE
    why: str = ""
    store: StoreCheck | None = None

    @property
    def repairable(self) -> bool:
        return self.repair is not Repair.NONE

    @property
    def hint(self) -> str:
        """What a reader is told."""
        return f"{self.means} {self.why}".strip()


_REVIEW = "Only a person can decide: read it, then update_memory or delete_memory."

HEALTH: Final[Mapping[str, Check]] = {
    "index_missing": Check(
        severity="critical",
        means="Records that their own words do not find.",
        repair=Repair.STORE,
        store=StoreCheck.INDEX_MISSING,
    ),
    "index_orphans": Check(
        severity="warn",
        means="Entries of the index without a record.",
        repair=Repair.STORE,
        store=StoreCheck.INDEX_ORPHANS,
    ),
    "counts_wrong": Check(
        severity="critical",
        means="Figures that are not those of the records, of the agent or of its organisation.",
        repair=Repair.STORE,
        store=StoreCheck.COUNTS_WRONG,
    ),
    "keys_wrong": Check(
        severity="critical",
        means="Memories whose key of duplicates is not that of their content.",
        repair=Repair.STORE,
        store=StoreCheck.KEYS_WRONG,
    ),
    "details_unreadable": Check(
        severity="critical",
        means="Memories whose source or metadata cannot be read; they are served without.",
        repair=Repair.STORE,
        store=StoreCheck.DETAILS_UNREADABLE,
    ),
    "ownerless": Check(
        severity="warn",
        means="Nobody has an admin grant on the agent.",
        why="Only an operator grants one.",
        store=StoreCheck.OWNERLESS,
    ),
    "keys_expired": Check(
        severity="info",
        means="Idempotency keys older than a day.",
        repair=Repair.STORE,
        store=StoreCheck.KEYS_EXPIRED,
    ),
    "tasks_lost": Check(
        severity="warn",
        means="Queued writes of an agent that is not there.",
        repair=Repair.STORE,
        store=StoreCheck.TASKS_LOST,
    ),
    "blank_content": Check(severity="warn", means="Memories without a visible character.", repair=Repair.DELETE),
    "wordless_content": Check(
        severity="info", means="Memories without a word that could find them.", why="update_memory gives them one."
    ),
    "stale_terms": Check(
        severity="warn",
        means="Records that are found by other words than their content's.",
        why="Export the agent and import it under another name, which derives them anew.",
    ),
    "marked_content": Check(
        severity="warn", means="Memories that hold the mark of a recalled one.", repair=Repair.CLEAN
    ),
    "bad_timestamp": Check(
        severity="info", means="Timestamps that name no moment.", why="Nobody but who stored it knows when it was."
    ),
    "future_timestamp": Check(
        severity="warn", means="Timestamps in the future.", why="Nobody but who stored it knows when it was."
    ),
    "hidden_characters": Check(
        severity="warn", means="Memories with characters that a reader does not see and a model does.", why=_REVIEW
    ),
    "secret_content": Check(severity="critical", means="Memories that seem to hold a credential.", why=_REVIEW),
    "duplicate_content": Check(
        severity="warn", means="Memories of a bucket whose content the shared pool has too.", repair=Repair.DELETE
    ),
    "placeholder_channel": Check(
        severity="warn",
        means="Channels that name nothing, such as null, or stand between blanks.",
        repair=Repair.CHANNEL,
    ),
    "placeholder_project": Check(
        severity="warn",
        means="Projects that name nothing, such as null, or stand between blanks.",
        why="The project of a record never changes: store it again in the right one.",
    ),
    "episode_times": Check(
        severity="info",
        means="Episodes that end before they begin, or at no moment.",
        why="Nobody but who archived it knows when it was.",
    ),
    "profile_missing": Check(severity="info", means="Many memories and no profile.", why="update_profile writes one."),
    "tuning_invalid": Check(
        severity="warn", means="A recall precision that does not exist, or cannot be read.", repair=Repair.TUNING
    ),
    "calibration_old": Check(
        severity="info",
        means="The threshold was calibrated when there was less than half as much.",
        repair=Repair.CALIBRATE,
    ),
    "queue_given_up": Check(
        severity="warn",
        means="Queued writes that failed three times and were given up.",
        why="They are gone: what they were to write must be sent again.",
    ),
}
"""The checks of `check_health`, in their order."""

DEEP: Final[Mapping[str, Check]] = {
    "anonymous_source": Check(
        severity="info", means="Memories of which nobody knows who said them.", why="Nobody but who stored it knows."
    ),
    "short_content": Check(severity="info", means="Memories of fewer than three characters.", repair=Repair.DELETE),
    "near_duplicates": Check(severity="info", means="Memories of the same words in one bucket.", why=_REVIEW),
    "repeated_message_id": Check(
        severity="info", means="One message id in several projects.", why="Each may be meant: compare them."
    ),
    "unreachable": Check(
        severity="critical", means="Records that a question of all their words does not reach.", repair=Repair.STORE
    ),
    "repeated_episode": Check(
        severity="warn", means="Episodes that were archived more than once.", repair=Repair.DELETE
    ),
    "never_recalled": Check(
        severity="info", means="Memories older than 180 days that no recall ever served.", why=_REVIEW
    ),
    "unportable": Check(
        severity="critical",
        means="Records that break a rule and would not be imported again.",
        why="Delete them, or store them again within the bounds.",
    ),
}
"""The checks of `deep_check`, in their order."""

HealthCheck = Literal[
    "index_missing",
    "index_orphans",
    "counts_wrong",
    "keys_wrong",
    "details_unreadable",
    "ownerless",
    "keys_expired",
    "tasks_lost",
    "blank_content",
    "wordless_content",
    "stale_terms",
    "marked_content",
    "bad_timestamp",
    "future_timestamp",
    "hidden_characters",
    "secret_content",
    "duplicate_content",
    "placeholder_channel",
    "placeholder_project",
    "episode_times",
    "profile_missing",
    "tuning_invalid",
    "calibration_old",
    "queue_given_up",
]
DeepCheck = Literal[
    "anonymous_source",
    "short_content",
    "near_duplicates",
    "repeated_message_id",
    "unreachable",
    "repeated_episode",
    "never_recalled",
    "unportable",
]


class Found(Struct, kw_only=True):
    """What a check found. refs: the first records that it is about. ids: all of them, for the repair."""

    count: int = 0
    refs: list[str] = []
    ids: list[int] = []


def status_of(severities: Mapping[str, int]) -> Literal["healthy", "degraded", "unhealthy"]:
    """How it is on the whole. severities: how many checks found something, by severity."""
    if severities.get("critical"):
        return "unhealthy"
    return "degraded" if severities.get("warn") else "healthy"
