"""What the driver's errors become."""

import logging

import pytest
from neo4j.exceptions import DriverError, IncompleteCommit, Neo4jError, ServiceUnavailable

from codesynapse.backends.neo4j.faults import is_passing, silence, translated
from codesynapse.contracts.errors import Invalid, StoreBusy, StoreFault


def failure(code: str) -> Neo4jError:
    return Neo4jError._hydrate_neo4j(code=code, message="a text that may name a key's value")


@pytest.mark.parametrize(
    ("error", "becomes", "field"),
    [
        (failure("Neo.ClientError.Security.Unauthorized"), StoreFault, "url"),
        (failure("Neo.ClientError.Security.AuthenticationRateLimit"), StoreFault, "url"),
        (failure("Neo.ClientError.Security.Forbidden"), StoreFault, "url"),
        (failure("Neo.ClientError.Database.DatabaseNotFound"), StoreFault, "database"),
        (ServiceUnavailable("nobody"), StoreBusy, "url"),
        (ConnectionRefusedError(), StoreBusy, "url"),
        (failure("Neo.TransientError.Transaction.DeadlockDetected"), StoreBusy, None),
        (failure("Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration"), StoreBusy, None),
        (failure("Neo.ClientError.Transaction.LockClientStopped"), StoreBusy, None),
        (failure("Neo.ClientError.Statement.SyntaxError"), StoreFault, None),
        (DriverError("any"), StoreFault, None),
        (OverflowError("too large"), Invalid, None),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), Invalid, None),
    ],
)
def test_an_error_of_the_driver_becomes_one_of_the_contracts_and_its_text_stays_behind(
    error: Exception, becomes: type[Exception], field: str | None
) -> None:
    fault = translated(error)
    assert type(fault) is becomes
    assert fault.field == field
    assert not str(error) or str(error) not in fault.message


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (failure("Neo.TransientError.Transaction.DeadlockDetected"), True),
        (failure("Neo.ClientError.Schema.ConstraintValidationFailed"), True),
        (failure("Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"), True),
        (ServiceUnavailable("nobody"), True),
        (IncompleteCommit("lost"), True),
        (failure("Neo.ClientError.Security.Unauthorized"), False),
        (failure("Neo.ClientError.Statement.SyntaxError"), False),
        (failure("Neo.ClientError.Transaction.LockClientStopped"), False),
        (OverflowError(), False),
    ],
)
def test_only_what_may_be_over_soon_is_tried_again(error: Exception, passes: bool) -> None:
    assert is_passing(error) is passes


def test_the_drivers_own_lines_are_kept_back(caplog: pytest.LogCaptureFixture) -> None:
    silence()
    logging.getLogger("neo4j.pool").error("a key's value")
    assert caplog.records == []
