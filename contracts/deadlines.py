"""How long one call may keep the stores busy in all: each of its operations has what those before it left.

Whoever answers a call opens it `within` its time; a store whose operations may have to wait asks how much is `left`
of it. Where nobody did, an operation has a time of its own.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class _Allowance:
    """What one call has. It may begin anew, in whichever task of the call."""

    __slots__ = ("due_s", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.renew()

    def renew(self) -> None:
        self.due_s = time.monotonic() + self.seconds


_allowance: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let everything that this task and its children ask of stores end by then."""
    token = _allowance.set(_Allowance(seconds))
    try:
        yield
    finally:
        _allowance.reset(token)


def left(seconds: float) -> float:
    """How many seconds an operation may take that would have `seconds` alone; 0 where the call has had its time."""
    allowance = _allowance.get()
    return seconds if allowance is None else max(0.0, min(seconds, allowance.due_s - time.monotonic()))


def renew() -> None:
    """Let the call's time begin anew, as when somebody was asked something in the middle of it."""
    allowance = _allowance.get()
    if allowance is not None:
        allowance.renew()
