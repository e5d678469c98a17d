"""A chat session's binding: who may register it, who may use it, and what its tombstones keep."""

from __future__ import annotations

from typing import Any

import pytest

from codesynapse.contracts.binding import (
    Binding,
    BindingState,
    RegistryUsage,
    decide_registration,
    decide_resolution,
    observed,
    revoked,
)
from codesynapse.contracts.errors import (
    ActiveCapacity,
    BindingConflict,
    Invalid,
    Refused,
    RetainedCapacity,
    SessionExpired,
    SessionNotRegistered,
    SessionRevoked,
)
from codesynapse.contracts.identity import Identity, Millis
from codesynapse.contracts.quotas import DAY_MS, Quotas

NOW = Millis(1_000_000)
END = Millis(NOW + 7 * DAY_MS)
NONE_YET = RegistryUsage(active=0, retained=0)


def who(tenant: str = "acme", subject: str = "ana", session: str = "s-1") -> Identity:
    return Identity(tenant_id=tenant, subject_id=subject, session_id=session, parent_session_id=session)


def bound(**changes: Any) -> Binding:
    return Binding(**{"identity": who(), "registered_at_ms": NOW, "expires_at_ms": END, **changes})


TOMBSTONED = {
    "active": bound(),
    "revoked": bound(revoked_at_ms=NOW),
    "seen to be expired": bound(expired_at_ms=END),
    "expired": bound(expires_at_ms=NOW),
}


def test_a_new_binding_lives_for_the_lifetime_in_force() -> None:
    assert decide_registration(None, who(), NONE_YET, Quotas(), NOW) == bound()
    shorter = Quotas(session_lifetime_ms=5)
    assert decide_registration(None, who(), NONE_YET, shorter, NOW) == bound(expires_at_ms=NOW + 5)


def test_registering_again_answers_the_same_binding_even_at_the_caps() -> None:
    full = RegistryUsage(active=1 << 40, retained=1 << 40)
    assert decide_registration(bound(), who(), full, Quotas(), Millis(END - 1)) == bound()


@pytest.mark.parametrize("existing", TOMBSTONED.values(), ids=TOMBSTONED.keys())
@pytest.mark.parametrize("other", [who(tenant="other"), who(subject="bo"), who(tenant="other", subject="bo")])
def test_another_participant_gets_one_refusal_whatever_the_state(existing: Binding, other: Identity) -> None:
    with pytest.raises(BindingConflict) as refusal:
        decide_registration(existing, other, NONE_YET, Quotas(), NOW)
    assert str(refusal.value) == str(BindingConflict())


@pytest.mark.parametrize(
    ("existing", "refusal"),
    [
        (bound(revoked_at_ms=NOW), SessionRevoked),
        (bound(expired_at_ms=END), SessionExpired),
        (bound(expires_at_ms=NOW), SessionExpired),
        (bound(revoked_at_ms=NOW, expires_at_ms=NOW), SessionRevoked),
    ],
)
def test_the_owner_is_told_what_ended_the_session(existing: Binding, refusal: type[Refused]) -> None:
    with pytest.raises(refusal):
        decide_registration(existing, who(), NONE_YET, Quotas(), NOW)
    with pytest.raises(refusal):
        decide_resolution(existing, tenant_id="acme", subject_id="ana", now_ms=NOW)


def test_the_caps_let_their_number_pass_and_refuse_the_next() -> None:
    quotas = Quotas(sessions_active_max=2, sessions_retained_max=5)
    decide_registration(None, who(), RegistryUsage(active=1, retained=4), quotas, NOW)
    with pytest.raises(ActiveCapacity) as active:
        decide_registration(None, who(), RegistryUsage(active=2, retained=4), quotas, NOW)
    with pytest.raises(RetainedCapacity) as retained:
        decide_registration(None, who(), RegistryUsage(active=2, retained=5), quotas, NOW)
    assert (active.value.limit, retained.value.limit) == (2, 5)


def test_the_dashboards_prefix_is_refused_before_anything_is_looked_at() -> None:
    asked = who(session="web:1")
    with pytest.raises(Invalid):
        decide_registration(bound(identity=asked), asked, NONE_YET, Quotas(), NOW)
    decide_registration(None, who(session="Web:1"), NONE_YET, Quotas(), NOW)


def test_the_owner_resolves_a_binding_until_it_ends() -> None:
    assert decide_resolution(bound(), tenant_id="acme", subject_id="ana", now_ms=Millis(END - 1)) == bound()
    with pytest.raises(SessionExpired):
        decide_resolution(bound(), tenant_id="acme", subject_id="ana", now_ms=END)


@pytest.mark.parametrize("existing", TOMBSTONED.values(), ids=TOMBSTONED.keys())
@pytest.mark.parametrize(("tenant", "subject"), [("other", "ana"), ("acme", "bo")])
def test_to_anyone_else_an_id_looks_like_one_that_never_existed(existing: Binding, tenant: str, subject: str) -> None:
    told = []
    for each in (existing, None):
        with pytest.raises(SessionNotRegistered) as refusal:
            decide_resolution(each, tenant_id=tenant, subject_id=subject, now_ms=NOW)
        told.append(str(refusal.value))
    assert told[0] == told[1]


def test_a_revocation_outweighs_an_expiry() -> None:
    assert bound().state(NOW) is BindingState.ACTIVE
    assert bound().state(END) is BindingState.EXPIRED
    assert bound(expired_at_ms=END).state(NOW) is BindingState.EXPIRED
    assert bound(revoked_at_ms=NOW, expired_at_ms=END).state(END) is BindingState.REVOKED


def test_a_second_revocation_keeps_the_first_moment() -> None:
    first = revoked(bound(), NOW)
    assert first == bound(revoked_at_ms=NOW)
    assert revoked(first, Millis(NOW + 1)) is first


def test_an_expiry_is_written_down_once_and_not_early() -> None:
    assert observed(bound(), Millis(END - 1)) == bound()
    first = observed(bound(), END)
    assert first == bound(expired_at_ms=END)
    assert observed(first, Millis(END + 1)) is first
    assert first.state(NOW) is BindingState.EXPIRED


def test_the_1024th_active_and_the_65536th_retained_binding_are_the_last_by_default() -> None:
    decide_registration(None, who(), RegistryUsage(active=1_023, retained=65_535), Quotas(), NOW)
    with pytest.raises(ActiveCapacity):
        decide_registration(None, who(), RegistryUsage(active=1_024, retained=1_024), Quotas(), NOW)
    with pytest.raises(RetainedCapacity):
        decide_registration(None, who(), RegistryUsage(active=0, retained=65_536), Quotas(), NOW)
