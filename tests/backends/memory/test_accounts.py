"""The memory store writes a tombstone once, and answers with copies."""

import pytest

from codesynapse.backends.memory.accounts import DictAccounts
from codesynapse.contracts.accounts import Action, Caller
from codesynapse.contracts.errors import SessionExpired
from codesynapse.contracts.suite.worlds import LIFETIME_MS, NOW, later

ANA = Caller(tenant_id="acme", subject_id="ana", key_id="k1")
EXPIRED = later(NOW, LIFETIME_MS)


async def test_an_expiry_that_registration_observes_leaves_one_tombstone() -> None:
    accounts = DictAccounts()
    await accounts.register(ANA, "chat", now_ms=NOW)
    for moment in (EXPIRED, later(EXPIRED, 1), NOW):
        with pytest.raises(SessionExpired):
            await accounts.register(ANA, "chat", now_ms=moment)
    [binding] = await accounts.bindings(ANA)
    assert binding.expired_at_ms == EXPIRED
    actions = [record.action for record in await accounts.audit(after=0, limit=10)]
    assert actions == [Action.SESSION_REGISTERED, Action.SESSION_EXPIRED]


async def test_nobody_can_change_the_audit_through_what_they_read() -> None:
    accounts = DictAccounts()
    await accounts.create_user("ana", now_ms=NOW)
    (await accounts.audit(after=0, limit=10)).clear()
    assert len(await accounts.audit(after=0, limit=10)) == 1
