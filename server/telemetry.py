"""Logs and metrics. No identifier, no argument and no text of a caller ever enters either.

Log fields and metric labels come from a fixed list; a last processor drops what is not on it.
"""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from codesynapse.contracts.errors import BodiesFull, CodeSynapseError, EventsFull, ServerFull, Unavailable

ALLOWED_FIELDS = frozenset(
    {"event", "level", "timestamp", "method", "status", "code", "tool", "outcome", "count", "kind", "exception", "url"}
)
LIBRARY_AGAIN_S = 10.0
ALLOWED_LABELS = frozenset({"tool", "outcome", "method", "status"})


def drop_unknown(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Drop every field that is not on the list."""
    return {name: value for name, value in event.items() if name in ALLOWED_FIELDS}


def configure_logging(level: str) -> None:
    """Send JSON lines to standard error: standard output belongs to stdio's protocol."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            drop_unknown,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, LibraryLogs)]:
        root.removeHandler(handler)
    root.addHandler(LibraryLogs(logging.WARNING))


log = structlog.get_logger()


class LibraryLogs(logging.Handler):
    """What a library logs, without its text and its traceback: both may hold what a caller sent.

    Each line of a library's code speaks once in ten seconds: without a file left, asyncio says so a thousand times.
    """

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._spoken: dict[tuple[str, int], tuple[float, int]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Log which library it was, how severe, and how often it was passed over before."""
        place = (record.pathname, record.lineno)
        spoken_at, passed_over = self._spoken.get(place, (float("-inf"), 0))
        if 0 <= record.created - spoken_at < LIBRARY_AGAIN_S:
            self._spoken[place] = (spoken_at, passed_over + 1)
            return
        self._spoken[place] = (record.created, 0)
        more = {"count": passed_over} if passed_over else {}
        log.warning("library", kind=record.name, code=record.levelname, **more)


def fault(where: str, error: BaseException) -> None:
    """Log that something of ours broke: the kind of exception and where it was raised, never its text.

    The text of a driver's or a parser's exception may hold what a caller sent. What a store names as the cause comes
    out of a fixed list.
    """
    frame, place = error.__traceback__, "?"
    while frame is not None:
        place = f"{frame.tb_frame.f_code.co_qualname}:{frame.tb_lineno}"
        frame = frame.tb_next
    cause = {"code": error.cause} if isinstance(error, Unavailable) and error.cause else {}
    log.error(where, kind=type(error).__name__, exception=place, **cause)


def unanswered(where: str, error: CodeSynapseError) -> None:
    """Log a refusal if a store is at fault: its caller is told nothing else. A full server is none, nor a caller's."""
    if isinstance(error, Unavailable) and not isinstance(error, ServerFull | EventsFull | BodiesFull):
        fault(where, error)


class Metrics:
    """What `/metrics` shows."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._children: dict[tuple[str, ...], Counter] = {}
        self.calls = Counter(
            "codesynapse_tool_calls", "Finished tool calls.", ["tool", "outcome"], registry=self.registry
        )
        self.requests = Counter(
            "codesynapse_http_requests", "Answered HTTP requests.", ["method", "status"], registry=self.registry
        )
        self.transports = Gauge("codesynapse_transport_sessions", "Open protocol sessions.", registry=self.registry)
        self.event_bytes = Gauge("codesynapse_event_bytes", "Bytes of events kept to resume.", registry=self.registry)

    def call(self, tool: str, outcome: str) -> None:
        """Count a finished tool call."""
        self._counted(self.calls, tool, outcome).inc()

    def request(self, method: str, status: int) -> None:
        """Count an answered request."""
        self._counted(self.requests, method, str(status)).inc()

    def _counted(self, counter: Counter, *labels: str) -> Counter:
        """A counter's child, kept at hand: looking it up costs more than counting."""
        child = self._children.get(labels)
        if child is None:
            child = self._children[labels] = counter.labels(*labels)
        return child

    def text(self) -> bytes:
        """The exposition format of Prometheus."""
        return generate_latest(self.registry)
