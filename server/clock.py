"""The only reader of time. Everything else takes `now_ms`."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from codesynapse.contracts.identity import Millis

Clock = Callable[[], Millis]
"""Answers the present moment, in milliseconds since the Unix epoch."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_rfc3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})", re.IGNORECASE
).fullmatch


def system_clock() -> Millis:
    """The machine's wall clock."""
    return Millis(time.time_ns() // 1_000_000)


class ManualClock:
    """A clock that a test moves."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def __call__(self) -> Millis:
        return Millis(self.now_ms)

    def advance(self, *, days: float = 0, hours: float = 0, seconds: float = 0) -> None:
        """Move on."""
        self.now_ms += round(timedelta(days=days, hours=hours, seconds=seconds).total_seconds() * 1000)


def rfc3339(moment: int) -> str:
    """A moment in UTC with milliseconds, such as 2026-11-30T16:40:20.000Z. Years 1 to 9999."""
    text = (_EPOCH + timedelta(milliseconds=moment)).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"


def from_rfc3339(text: str) -> Millis | None:
    """The moment that an RFC 3339 text names, or None: it must have a date, a time and an offset."""
    if len(text) > 40 or _rfc3339(text) is None:
        return None
    try:
        # RFC 3339 allows lower case; the parser, which takes other forms of ISO 8601 as well, does not.
        moment = datetime.fromisoformat(text.upper())
        return Millis((moment - _EPOCH) // timedelta(milliseconds=1))
    except (ValueError, OverflowError):
        return None
