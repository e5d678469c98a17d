"""A change of the directory and its audit record are one."""

import sqlite3
from collections.abc import Callable

import pytest

from codesynapse.contracts.accounts import Action, Level
from codesynapse.contracts.errors import StoreFault
from codesynapse.contracts.ports import Accounts, Backend
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.worlds import NOW

Connect = Callable[[], sqlite3.Connection]


@pytest.fixture
async def accounts(sqlite_store: Backend) -> Accounts:
    accounts = sqlite_store.accounts
    assert accounts is not None
    await accounts.create_organization("acme", now_ms=NOW)
    await accounts.create_user("ana", now_ms=NOW)
    return accounts


async def test_a_change_that_cannot_be_audited_is_not_made(accounts: Accounts, another: Connect) -> None:
    another().execute("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room'); END")
    with pytest.raises(StoreFault):
        await accounts.suspend_user("ana", suspended=True, now_ms=NOW)
    assert another().execute("SELECT suspended FROM users").fetchall() == [(0,)]


async def test_repeating_a_change_changes_nothing_and_is_not_audited(accounts: Accounts) -> None:
    async def change() -> None:
        await accounts.set_member("acme", "ana", member=True, now_ms=NOW)
        await accounts.suspend_organization("acme", suspended=True, now_ms=NOW)
        await accounts.set_quotas("acme", Quotas(tenant_roots_max=7), now_ms=NOW)

    await change()
    end = await accounts.audit_end()
    await change()
    assert await accounts.audit_end() == end


async def test_the_audit_of_changed_caps_names_those_that_changed(accounts: Accounts) -> None:
    await accounts.set_quotas("acme", Quotas(tenant_roots_max=7, sessions_active_max=9), now_ms=NOW)
    [record] = await accounts.audit(after=await accounts.audit_end() - 1, limit=10)
    assert (record.action, record.detail) == (Action.QUOTAS_CHANGED, "sessions_active_max=9 tenant_roots_max=7")


async def test_the_numbers_of_the_audit_have_no_gap_where_something_was_refused(accounts: Accounts) -> None:
    await accounts.create_repository("acme", "main", now_ms=NOW)
    with pytest.raises(Exception, match="exists already"):
        await accounts.create_repository("acme", "main", now_ms=NOW)
    await accounts.set_grant("acme", "main", "ana", Level.READ, now_ms=NOW)
    records = await accounts.audit(after=0, limit=100)
    assert [record.sequence for record in records] == list(range(1, len(records) + 1))
