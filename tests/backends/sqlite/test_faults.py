"""What SQLite's errors become."""

import sqlite3
import time

import pytest

from codesynapse.backends.sqlite import faults
from codesynapse.backends.sqlite.faults import decoding, patiently, translated
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
        (failure(sqlite3.SQLITE_INTERRUPT), StoreBusy),
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


def test_a_fault_names_sqlites_code_for_the_operator_and_nothing_of_its_text() -> None:
    named = failure(sqlite3.SQLITE_FULL)
    named.sqlite_errorname = "SQLITE_FULL"
    causes = [translated(each) for each in (named, sqlite3.ProgrammingError("/a/file"))]
    assert [getattr(each, "cause", None) for each in causes] == ["SQLITE_FULL", "ProgrammingError"]
    assert not any("SQLITE" in str(each) for each in causes)


def test_what_cannot_be_decoded_is_the_stores_fault_and_what_can_comes_back() -> None:
    number = decoding(int)
    assert number("3") == 3
    with pytest.raises(StoreFault) as fault:
        number("three")
    assert isinstance(fault.value.__cause__, ValueError)
