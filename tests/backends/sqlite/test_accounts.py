"""Authorisation on the file: what it leaves there, and what it never reads twice."""

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codesynapse.backends.sqlite import open_sqlite
from codesynapse.contracts.accounts import Action, Caller, KeyRecord, Level, key_hash, new_key
from codesynapse.contracts.errors import (
    MembershipWithdrawn,
    SessionExpired,
    SessionNotRegistered,
    SessionRevoked,
    StoreFault,
    Suspended,
    Unauthenticated,
)
from codesynapse.contracts.identity import Identity
from codesynapse.contracts.ports import Accounts, Backend
from codesynapse.contracts.suite.worlds import LIFETIME_MS, NOW, later

Connect = Callable[[], sqlite3.Connection]

EXPIRED = later(NOW, LIFETIME_MS)
ANA = Caller(tenant_id="acme", subject_id="ana", key_id="k1")
CHAT = Identity(tenant_id="acme", subject_id="ana", session_id="chat", parent_session_id="chat")
HASH = str(key_hash(new_key()))


@pytest.fixture
async def accounts(sqlite_store: Backend) -> Accounts:
    """Ana of acme, with a key and a registered chat."""
    accounts = sqlite_store.accounts
    assert accounts is not None
    await accounts.create_organization("acme", now_ms=NOW)
    for user in ("ana", "eve"):
        await accounts.create_user(user, now_ms=NOW)
        await accounts.set_member("acme", user, member=True, now_ms=NOW)
    record = KeyRecord(key_id="k1", tenant_id="acme", subject_id="ana", created_at_ms=NOW)
    await accounts.create_key(record, HASH, now_ms=NOW)
    await accounts.register(ANA, "chat", now_ms=NOW)
    return accounts


async def test_an_expiry_is_on_the_disk_before_it_is_told(accounts: Accounts, another: Connect) -> None:
    authority = await accounts.authorize(HASH, "chat", now_ms=EXPIRED)
    assert isinstance(authority.refusal, SessionExpired)
    assert another().execute("SELECT expired_at_ms FROM bindings").fetchall() == [(EXPIRED,)]
    assert (await accounts.audit(after=0, limit=100))[-1].action is Action.SESSION_EXPIRED


async def test_a_clock_that_is_set_back_does_not_reopen_an_observed_expiry(accounts: Accounts) -> None:
    with pytest.raises(SessionExpired):
        await accounts.recheck(CHAT, "k1", now_ms=EXPIRED)
    with pytest.raises(SessionExpired):
        await accounts.recheck(CHAT, "k1", now_ms=NOW)
    with pytest.raises(SessionExpired):
        await accounts.register(ANA, "chat", now_ms=NOW)


async def test_an_expiry_that_registration_observes_leaves_its_tombstone_too(
    accounts: Accounts, another: Connect
) -> None:
    with pytest.raises(SessionExpired):
        await accounts.register(ANA, "chat", now_ms=EXPIRED)
    assert another().execute("SELECT expired_at_ms FROM bindings").fetchall() == [(EXPIRED,)]


async def test_a_stranger_who_names_an_expired_session_writes_nothing(accounts: Accounts, another: Connect) -> None:
    record = KeyRecord(key_id="k2", tenant_id="acme", subject_id="eve", created_at_ms=NOW)
    hash_of_eve = str(key_hash(new_key()))
    await accounts.create_key(record, hash_of_eve, now_ms=NOW)
    before = await accounts.audit_end()
    authority = await accounts.authorize(hash_of_eve, "chat", now_ms=EXPIRED)
    assert isinstance(authority.refusal, SessionNotRegistered)
    assert await accounts.audit_end() == before
    assert another().execute("SELECT expired_at_ms FROM bindings").fetchall() == [(None,)]


@pytest.mark.parametrize("session_id", ["\ud800", "", "chat\n", "x" * 129])
async def test_what_is_no_id_is_nobodys_session(accounts: Accounts, session_id: str) -> None:
    authority = await accounts.authorize(HASH, session_id, now_ms=NOW)
    assert (authority.caller, authority.binding) == (ANA, None)
    assert isinstance(authority.refusal, SessionNotRegistered)


async def test_a_withdrawal_by_another_process_holds_for_the_very_next_request(accounts: Accounts, path: Path) -> None:
    async with open_sqlite({"path": str(path)}) as elsewhere:
        other = elsewhere.accounts
        assert other is not None
        assert (await accounts.authorize(HASH, "chat", now_ms=NOW)).binding is not None
        await other.revoke("acme", "chat", subject_id=None, now_ms=NOW)
        assert isinstance((await accounts.authorize(HASH, "chat", now_ms=NOW)).refusal, SessionRevoked)
        await other.set_member("acme", "ana", member=False, now_ms=NOW)
        with pytest.raises(MembershipWithdrawn):
            await accounts.authorize(HASH, None, now_ms=NOW)
        await other.suspend_organization("acme", suspended=True, now_ms=NOW)
        with pytest.raises(Suspended):
            await accounts.authorize(HASH, None, now_ms=NOW)
        await other.revoke_key("acme", "k1", now_ms=NOW)
        with pytest.raises(Unauthenticated):
            await accounts.authorize(HASH, None, now_ms=NOW)


async def test_the_work_of_a_user_cannot_go_on_under_a_colleagues_key(accounts: Accounts) -> None:
    assert (await accounts.recheck(CHAT, "k1", now_ms=NOW)).identity == CHAT
    record = KeyRecord(key_id="k2", tenant_id="acme", subject_id="eve", created_at_ms=NOW)
    await accounts.create_key(record, str(key_hash(new_key())), now_ms=NOW)
    with pytest.raises(Unauthenticated):
        await accounts.recheck(CHAT, "k2", now_ms=NOW)


async def test_a_revocation_by_another_process_holds_for_the_next_request_after_a_read_that_failed(
    accounts: Accounts, another: Connect, path: Path
) -> None:
    await accounts.register(ANA, "chat2", now_ms=NOW)
    # A row that cannot be read, behind one that can: the read dies with a cursor in the middle of its rows.
    another().execute("UPDATE bindings SET session_id = 'no id', registered_at_ms = 1 WHERE session_id = 'chat2'")
    another().execute(
        "INSERT INTO bindings SELECT 'chat3', tenant_id, subject_id, 0, 1, NULL, NULL, 0 FROM bindings LIMIT 1"
    )
    with pytest.raises(StoreFault) as kept:
        await accounts.bindings(ANA)
    async with open_sqlite({"path": str(path)}) as elsewhere:
        assert elsewhere.accounts is not None
        await elsewhere.accounts.revoke("acme", "chat", subject_id=None, now_ms=NOW)
    assert isinstance((await accounts.authorize(HASH, "chat", now_ms=NOW)).refusal, SessionRevoked)
    assert kept.value.__traceback__ is not None


async def test_actions_of_a_newer_release_on_the_same_file_are_passed_over(
    accounts: Accounts, another: Connect
) -> None:
    end = await accounts.audit_end()
    other = another()
    for _ in range(10):
        other.execute("INSERT INTO audit (at_ms, action) VALUES (1, 'session_teleported')")
    await accounts.revoke("acme", "chat", subject_id=None, now_ms=NOW)
    # Even where a whole page would be made of them, what stands behind is found.
    [record] = await accounts.audit(after=end, limit=3)
    assert (record.action, record.target) == (Action.SESSION_REVOKED, "chat")
    assert record.sequence == await accounts.audit_end() == end + 11


@pytest.mark.parametrize(
    ("tampering", "call"),
    [
        ("UPDATE bindings SET session_id = 'no id'", lambda it: it.bindings(ANA)),
        ("UPDATE organizations SET quotas = '{\"facts\": -'", lambda it: it.quotas("acme")),
        ("UPDATE organizations SET quotas = '[]'", lambda it: it.register(ANA, "new", now_ms=NOW)),
        ("UPDATE grants SET level = 'own'", lambda it: it.grant("acme", "code", "ana")),
        ("UPDATE grants SET level = 'own'", lambda it: it.repositories("acme", "ana")),
    ],
)
async def test_a_row_that_means_nothing_is_a_fault_of_the_store_and_not_of_who_asks(
    accounts: Accounts, another: Connect, tampering: str, call: Callable[[Accounts], Awaitable[object]]
) -> None:
    await accounts.create_repository("acme", "code", now_ms=NOW)
    await accounts.set_grant("acme", "code", "ana", Level.READ, now_ms=NOW)
    another().execute(tampering)
    with pytest.raises(StoreFault) as fault:
        await call(accounts)
    assert fault.value.cause == "ROW_UNREADABLE"


async def test_a_key_whose_row_means_nothing_opens_nothing(accounts: Accounts, another: Connect) -> None:
    for table in ("keys", "bindings"):
        another().execute(f"UPDATE {table} SET subject_id = 'no id'")
    another().execute("INSERT INTO users VALUES ('no id', 0, 1)")
    another().execute("INSERT INTO members VALUES ('acme', 'no id', 1)")
    with pytest.raises(StoreFault):
        await accounts.authorize(HASH, "chat", now_ms=NOW)
