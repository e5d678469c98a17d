"""What the driver's errors mean to a caller. Their texts stay here: they may hold a key's value."""

import logging

from neo4j.exceptions import (
    ConfigurationError,
    ConnectionAcquisitionTimeoutError,
    DriverError,
    Forbidden,
    IncompleteCommit,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    UnsupportedServerProduct,
)

from codesynapse.contracts.errors import CodeSynapseError, Invalid, StoreBusy, StoreFault

REACHABLE = "a Neo4j server that answers at this address"
SUPPORTED = "Neo4j 4.4 or newer"

UNREACHABLE = (ServiceUnavailable, SessionExpired, OSError)
"""The server could not be spoken to, or went away."""

ERRORS = (DriverError, Neo4jError, OSError, UnicodeEncodeError, OverflowError)
"""Everything that a call of the driver may raise."""

_SCHEMA = ".Schema."
_SECURITY = "Neo.ClientError.Security."
_DATABASE_UNKNOWN = "Neo.ClientError.Database.DatabaseNotFound"
_TIMED_OUT = (
    "Neo.ClientError.Transaction.TransactionTimedOut",
    "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
    "Neo.ClientError.Transaction.LockClientStopped",
    "Neo.TransientError.Transaction.LockClientStopped",
)


def silence() -> None:
    """Keep the driver's log lines back: they repeat what the server said, and that names keys by their values."""
    logging.getLogger("neo4j").setLevel(logging.CRITICAL + 1)


def is_passing(error: Exception) -> bool:
    """Whether the same transaction may succeed if it is run again from its beginning.

    After IncompleteCommit as well, since every transaction here first looks for its own commit id: what was committed
    in spite of the lost answer is found, and not done twice. What is about the schema, too: it is broken or there
    already where two create one node, or one index, at once.
    """
    match error:
        case IncompleteCommit() | OSError():
            return True
        case Neo4jError() if _SCHEMA in (error.code or ""):
            return True
        case Neo4jError() if error.code in _TIMED_OUT:
            return False
        case DriverError() | Neo4jError():
            return error.is_retryable()
    return False


def translated(error: Exception) -> CodeSynapseError:
    """The error of the contracts for one of `ERRORS`; to be raised from it."""
    match error:
        case Forbidden():
            return StoreFault(field="url", limit="a user who may read, write, and create constraints and indexes")
        case Neo4jError() if (error.code or "").startswith(_SECURITY):
            return StoreFault(field="url", limit="the user and the password of the Neo4j server")
        case UnsupportedServerProduct():
            return StoreFault(field="url", limit=SUPPORTED)
        case ConfigurationError():
            return StoreFault(field="url", limit=REACHABLE)
        case Neo4jError() if error.code == _DATABASE_UNKNOWN:
            return StoreFault(field="database", limit="a database of the Neo4j server")
        case ServiceUnavailable() | SessionExpired() | OSError():
            return StoreBusy(field="url", limit=REACHABLE)
        case ConnectionAcquisitionTimeoutError():
            return StoreBusy()
        case Neo4jError() if error.code in _TIMED_OUT or error.is_retryable():
            return StoreBusy()
        case UnicodeEncodeError() | OverflowError():
            # Neither a lone surrogate nor an integer of more than 64 bits can be stored.
            return Invalid(limit="UTF-8 text and 64-bit integers")
    return StoreFault()
