"""Bindings are counted, kept for good, and their cleanup is owed until it is done."""

import sqlite3
from collections.abc import Callable

import pytest

from codesynapse.contracts.accounts import Caller
from codesynapse.contracts.errors import RetainedCapacity
from codesynapse.contracts.ports import Accounts, Backend
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.worlds import LIFETIME_MS, NOW, later

Connect = Callable[[], sqlite3.Connection]

ANA = Caller(tenant_id="acme", subject_id="ana", key_id="k1")


@pytest.fixture
async def accounts(sqlite_store: Backend) -> Accounts:
    assert sqlite_store.accounts is not None
    await sqlite_store.accounts.create_organization("acme", now_ms=NOW)
    return sqlite_store.accounts


async def test_a_binding_that_was_planted_past_the_adapter_counts_as_retained(
    accounts: Accounts, another: Connect
) -> None:
    await accounts.set_quotas("acme", Quotas(sessions_retained_max=2), now_ms=NOW)
    planted = "INSERT INTO bindings VALUES ('old', 'acme', 'bob', 1, 2, 3, NULL, 0)"
    another().execute(planted)
    await accounts.register(ANA, "first", now_ms=NOW)
    with pytest.raises(RetainedCapacity):
        await accounts.register(ANA, "second", now_ms=NOW)


async def test_expired_and_revoked_bindings_make_room_for_active_ones_and_are_kept(
    accounts: Accounts, another: Connect
) -> None:
    await accounts.set_quotas("acme", Quotas(sessions_active_max=1), now_ms=NOW)
    await accounts.register(ANA, "expiring", now_ms=NOW)
    expired = later(NOW, LIFETIME_MS)
    await accounts.register(ANA, "revoked", now_ms=expired)
    await accounts.revoke("acme", "revoked", subject_id="ana", now_ms=expired)
    await accounts.register(ANA, "last", now_ms=expired)
    assert another().execute("SELECT count(*) FROM bindings").fetchone() == (3,)


async def test_a_cleanup_is_owed_from_the_revocation_until_it_is_done(accounts: Accounts) -> None:
    for session in ("a", "b", "c"):
        await accounts.register(ANA, session, now_ms=NOW)
        # Nothing is settled ahead of the revocation.
        await accounts.cleaned(session)
    for moment, session in enumerate(("c", "a"), start=1):
        await accounts.revoke("acme", session, subject_id=None, now_ms=later(NOW, moment))
    assert [each.session_id for each in await accounts.cleanups_owed(limit=10)] == ["c", "a"]
    assert [each.session_id for each in await accounts.cleanups_owed(limit=1)] == ["c"]
    await accounts.cleaned("c")
    await accounts.cleaned("unknown")
    assert [each.session_id for each in await accounts.cleanups_owed(limit=10)] == ["a"]
