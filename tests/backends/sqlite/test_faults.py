"""What SQLite's errors become."""

import sqlite3
import time

import pytest

from codesynapse.backends.sqlite import faults
from codesynapse.backends.sqlite.faults import patiently, translated
from codesynapse.contracts.errors import Invalid, NotFound, StoreBusy, StoreFault


def failure(code: int, text: str = "a text that may name /a/file or a value") -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "becomes"),
    [
        (failure(sqlite3.SQLITE_BUSY), StoreBusy),
        (failure(sqlite3.SQLITE_BUSY_SNAPSHOT), StoreBusy),
        (failure(sqlite3.SQLITE_LOCKED), StoreBusy),
        (failure(sqlite3.SQLITE_FULL), StoreFault),
        (sqlite3.ProgrammingError("Cannot operate on a closed database."), StoreFault),
        (OverflowError("Python int too large"), Invalid),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), Invalid),
    ],
)
def test_an_error_of_sqlite_becomes_one_of_the_contracts_and_its_text_stays_behind(
    error: Exception, becomes: type[Exception]
) -> None:
    fault = translated(error)
    assert type(fault) is becomes
    assert fault.__cause__ is error
    assert str(error) not in str(fault)


def test_a_refusal_of_the_law_stays_as_it_is() -> None:
    refusal = NotFound(field="user")
    assert translated(refusal) is refusal


def test_a_locked_database_is_tried_again_until_it_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "pause", lambda: None)
    locks = [failure(sqlite3.SQLITE_BUSY)] * 5

    def act() -> None:
        if locks:
            raise locks.pop()

    patiently(act, time.monotonic() + 60)
    assert locks == []


def test_a_database_that_stays_locked_is_given_up_at_the_deadline() -> None:
    def act() -> None:
        raise failure(sqlite3.SQLITE_BUSY)

    with pytest.raises(sqlite3.OperationalError):
        patiently(act, time.monotonic())


def test_any_other_error_is_not_tried_again() -> None:
    tries: list[None] = []

    def act() -> None:
        tries.append(None)
        raise failure(sqlite3.SQLITE_FULL)

    with pytest.raises(sqlite3.OperationalError):
        patiently(act, time.monotonic() + 60)
    assert len(tries) == 1
