"""Every leaf of the error tree has its own row, and the right status."""

from __future__ import annotations

import pytest

from codesynapse.contracts import errors
from codesynapse.contracts.errors import CodeSynapseError
from codesynapse.server.http.errors import STATUS, headers_of, status_of

# product.md, "Who is refused how", written down a second time: the table under test is not its own witness.
EXPECTED = {
    400: ["HeaderInvalid"],
    401: ["Unauthenticated"],
    403: [
        *("Suspended", "MembershipWithdrawn", "ExecutionMissing", "ExecutionExpired", "SessionNotRegistered"),
        *("SessionExpired", "SessionRevoked", "RebindRefused", "OriginRefused", "HostRefused"),
        *("RepositoryForbidden", "GrantInsufficient", "AgentForbidden"),
    ],
    404: ["TransportUnknown", "SessionUnknown", "NotFound"],
    409: [
        *("ExecutionCancelled", "BindingConflict", "RetainedCapacity", "NamespaceClosed", "RevisionConflict"),
        *("ExpiryChanged", "AlreadyExists", "NotConfirmed", "IdempotencyConflict"),
    ],
    413: ["BodyTooLarge"],
    422: [
        "ImportRefused",
        *("Invalid", "QuotaExceeded", "SnapshotTooLarge", "SnapshotInvalid", "InputUnavailable", "InputUnanswered"),
    ],
    429: ["ActiveCapacity", "TooManyPauses", "TooManyCalls", "TooManyTransports"],
    501: ["Unsupported"],
    503: [
        *("ServerFull", "BodiesFull", "EventsFull", "StoreBusy", "StoreFault", "EmbedderDown", "EmbedderMisconfigured"),
    ],
}


def tree() -> list[type[CodeSynapseError]]:
    found, open_kinds = [], [CodeSynapseError]
    while open_kinds:
        kind = open_kinds.pop()
        found.append(kind)
        open_kinds += [each for each in kind.__subclasses__() if each.__module__ == errors.__name__]
    return found


def test_every_kind_of_error_has_a_row_of_its_own():
    assert set(tree()) == set(STATUS)


def test_every_leaf_is_expected_once():
    # A store's own kinds, derived from ours, take our row.
    parents = {parent for kind in tree() for parent in kind.__bases__}
    leaves = {kind.__name__ for kind in tree() if kind not in parents}
    expected = [name for names in EXPECTED.values() for name in names]
    assert (set(expected), len(expected)) == (leaves, len(leaves))


@pytest.mark.parametrize(("name", "status"), [(name, status) for status in EXPECTED for name in EXPECTED[status]])
def test_each_leaf_has_its_status(name: str, status: int):
    assert status_of(getattr(errors, name)()) == status


def test_what_is_derived_later_takes_the_status_of_its_nearest_ancestor():
    class Fuller(errors.ServerFull):
        """Fuller."""

    assert status_of(Fuller()) == 503
    assert status_of(CodeSynapseError()) == 500


def test_every_code_is_told_by_one_kind_only():
    codes = [kind.code for kind in tree() if not kind.__subclasses__()]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("status", [429, 503])
def test_what_passes_says_when_to_come_again(status: int):
    assert headers_of(status) == {"Retry-After": "1"}


def test_a_missing_credential_is_asked_for_without_metadata():
    assert headers_of(401) == {"WWW-Authenticate": "Bearer"}


@pytest.mark.parametrize("status", [400, 403, 404, 409, 422])
def test_nothing_else_has_a_header(status: int):
    assert headers_of(status) == {}
