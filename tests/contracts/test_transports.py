"""What is kept of a protocol session, and which ending ends it."""

import pytest
from msgspec import structs

from codesynapse.contracts.accounts import ENDING, Action, AuditRecord, Caller
from codesynapse.contracts.errors import RebindRefused
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.transports import TransportRecord, check_rebind, ends, transport_key

ANA = Caller(tenant_id="acme", subject_id="ana", key_id="k1")
RECORD = TransportRecord(
    key=transport_key("id"),
    caller=ANA,
    version="2025-11-25",
    capabilities=b"{}",
    opened_at_ms=Millis(1),
    used_at_ms=Millis(1),
    session_id="chat",
)
TARGETS = {
    Action.ORGANIZATION_SUSPENDED: None,
    Action.USER_SUSPENDED: "ana",
    Action.MEMBER_WITHDRAWN: "ana",
    Action.KEY_REVOKED: "k1",
    Action.SESSION_REVOKED: "chat",
    Action.SESSION_EXPIRED: "chat",
}


def record(action: Action, **changed: str | None) -> AuditRecord:
    told = {"tenant_id": "acme", "target": TARGETS.get(action), **changed}
    return AuditRecord(sequence=1, at_ms=Millis(1), action=action, **told)  # type: ignore[arg-type]


def test_an_id_is_known_by_a_hash_whatever_was_offered() -> None:
    assert transport_key("id") == transport_key("id") != transport_key("other")
    assert all(len(transport_key(each)) == 32 for each in ("", "\udcff", "x" * 9_999))


def test_every_ending_has_its_row() -> None:
    assert set(TARGETS) == ENDING


@pytest.mark.parametrize("action", TARGETS)
def test_an_ending_ends_what_it_names_and_nothing_else(action: Action) -> None:
    assert ends(record(action), ANA, "chat")
    stranger = Caller(tenant_id="other", subject_id="bob", key_id="k2")
    assert not ends(record(action), stranger, "another")
    assert not ends(record(action), stranger, None)


def test_a_key_of_the_same_name_in_another_organisation_is_another_key() -> None:
    assert not ends(record(Action.KEY_REVOKED), structs.replace(ANA, tenant_id="other"), "chat")


@pytest.mark.parametrize("action", sorted(set(Action) - ENDING))
def test_nothing_else_ends_a_session(action: Action) -> None:
    assert not ends(record(action, target="ana"), ANA, "ana")


def test_a_binding_stays_as_it_is() -> None:
    check_rebind(RECORD, "chat")
    check_rebind(structs.replace(RECORD, session_id=None), "chat")
    for other in ("another", None):
        with pytest.raises(RebindRefused):
            check_rebind(RECORD, other)
