"""What a key, a standing and a grant are worth."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from codesynapse.contracts.accounts import (
    ENDING,
    Action,
    Caller,
    Credential,
    Level,
    decide_caller,
    key_hash,
    level_named,
    new_key,
    require_level,
    standing,
)
from codesynapse.contracts.errors import (
    CodeSynapseError,
    GrantInsufficient,
    Invalid,
    MembershipWithdrawn,
    RepositoryForbidden,
    Suspended,
    Unauthenticated,
)

CALLER = Caller(tenant_id="acme", subject_id="ana", key_id="k-1")


def credential(**changes: bool) -> Credential:
    plain: dict[str, Any] = {
        "key_revoked": False,
        "user_suspended": False,
        "organization_suspended": False,
        "member": True,
    }
    return Credential(caller=CALLER, **plain | changes)


def test_a_new_key_is_its_prefix_and_32_random_bytes() -> None:
    keys = {new_key() for _ in range(50)}
    assert len(keys) == 50
    assert {len(key) for key in keys} == {47}
    assert all(key.startswith("csk_") for key in keys)
    assert all(key_hash(key) == hashlib.sha256(key.encode()).hexdigest() for key in keys)


@pytest.mark.parametrize(
    "bad", ["", "csk_", "csk_" + "a" * 42, "csk_" + "a" * 44, "CSK_" + "a" * 43, "csk_" + "a" * 43 + "\n", "a" * 47]
)
def test_what_is_no_key_has_no_hash(bad: str) -> None:
    assert key_hash(bad) is None


def test_a_key_that_works_tells_its_caller() -> None:
    assert decide_caller(credential(), "a" * 64, "a" * 64) == CALLER
    assert standing(credential()) == CALLER


@pytest.mark.parametrize(
    ("shown", "stored", "known"),
    [("a" * 64, "b" * 64, credential()), ("a" * 64, None, credential()), ("a" * 64, "a" * 64, None), ("", "a", None)],
)
def test_another_hash_is_not_authenticated(shown: str, stored: str | None, known: Credential | None) -> None:
    with pytest.raises(Unauthenticated):
        decide_caller(known, shown, stored)


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"key_revoked": True}, Unauthenticated),
        ({"user_suspended": True}, Suspended),
        ({"organization_suspended": True}, Suspended),
        ({"member": False}, MembershipWithdrawn),
        ({"key_revoked": True, "user_suspended": True, "member": False}, Unauthenticated),
        ({"organization_suspended": True, "member": False}, Suspended),
    ],
)
def test_bad_standing_is_told_the_key_first(changes: dict[str, bool], refusal: type[CodeSynapseError]) -> None:
    with pytest.raises(refusal):
        standing(credential(**changes))
    with pytest.raises(refusal):
        decide_caller(credential(**changes), "a" * 64, "a" * 64)


def test_work_without_a_credential_is_refused() -> None:
    with pytest.raises(Unauthenticated):
        standing(None)


LEVELS = [Level.READ, Level.WRITE, Level.ADMIN]


@pytest.mark.parametrize("needed", LEVELS)
@pytest.mark.parametrize("held", LEVELS)
def test_each_level_includes_the_ones_before_it(held: Level, needed: Level) -> None:
    if LEVELS.index(held) >= LEVELS.index(needed):
        require_level(held, needed)
    else:
        with pytest.raises(GrantInsufficient):
            require_level(held, needed)


@pytest.mark.parametrize("needed", LEVELS)
def test_without_a_grant_there_is_no_repository(needed: Level) -> None:
    with pytest.raises(RepositoryForbidden) as refusal:
        require_level(None, needed)
    assert refusal.value.field == "repo"


def test_levels_are_named() -> None:
    assert [level_named(name) for name in ("read", "write", "admin")] == LEVELS
    for bad in ("", "READ", "owner"):
        with pytest.raises(Invalid) as refusal:
            level_named(bad)
        assert refusal.value.limit == "read, write, admin"


def test_what_ends_an_access_is_told_apart() -> None:
    assert {action for action in Action if action.endswith(("suspended", "withdrawn", "revoked", "expired"))} == (
        # Whose grant is gone may still act, and is refused where that grant was needed.
        ENDING | {Action.GRANT_WITHDRAWN, Action.AGENT_GRANT_WITHDRAWN}
    )
