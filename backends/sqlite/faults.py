"""What SQLite's errors mean to a caller. The text of an error stays here: it may name a file or a value."""

import random
import sqlite3
import time
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import msgspec

from codesynapse.contracts.errors import CodeSynapseError, Invalid, StoreBusy, StoreFault, Unavailable

P = ParamSpec("P")
T = TypeVar("T")

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_PRIMARY = 0xFF
"""The primary code of an extended one lies in its lowest byte."""


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds what was asked for."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY in _BUSY


def _is_interrupted(error: sqlite3.Error) -> bool:
    """Whether a statement was stopped at its deadline."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY == sqlite3.SQLITE_INTERRUPT


def late() -> StoreBusy:
    """The error of a call whose time was over before its turn."""
    busy = StoreBusy()
    busy.cause = "DEADLINE"
    return busy


def translated(error: Exception) -> Exception:
    """The error of the contracts for one of SQLite's, which becomes its cause; any other error as it is."""
    fault: Unavailable | Invalid
    match error:
        case sqlite3.Error():
            fault = StoreBusy() if is_busy(error) or _is_interrupted(error) else StoreFault()
            fault.cause = getattr(error, "sqlite_errorname", type(error).__name__)
        case UnicodeEncodeError() | OverflowError():
            # Neither a lone surrogate nor an integer of more than 64 bits can be stored.
            fault = Invalid(limit="UTF-8 text and 64-bit integers")
        case _:
            return error
    fault.__cause__ = error
    return fault


def decoding(decode: Callable[P, T]) -> Callable[P, T]:
    """Make a row that means nothing a fault of the store: whoever asked has sent nothing wrong.

    A file that was tampered with may hold one, and so may one that a newer release writes as well.
    """

    @wraps(decode)
    def decoded(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return decode(*arguments, **named)
        except (ValueError, TypeError, LookupError, msgspec.MsgspecError, CodeSynapseError) as error:
            fault = StoreFault()
            fault.cause = "ROW_UNREADABLE"
            raise fault from error

    return decoded


def pause() -> None:
    """Wait a moment for another process. At random, so that two who wait do not keep meeting."""
    # SQLite's own busy handler waits up to 100 ms between looks; beside a busy writer it would look too rarely.
    time.sleep(random.uniform(0.0005, 0.003))


def patiently(act: Callable[[], object], due: float) -> None:
    """Act, again and again while the database is locked, until `due` on the monotonic clock. Raises sqlite3.Error."""
    while True:
        try:
            act()
            return
        except sqlite3.Error as error:
            if not is_busy(error) or time.monotonic() >= due:
                raise
        pause()
