"""The memory store's protocol sessions end with the access to the accounts that they lie beside."""

from codesynapse.backends.memory.accounts import DictAccounts
from codesynapse.contracts.accounts import Caller
from codesynapse.contracts.suite.worlds import NOW
from codesynapse.contracts.transports import TransportRecord, transport_key


async def test_accounts_forget_the_sessions_of_whom_they_suspend() -> None:
    accounts = DictAccounts()
    for subject in ("ana", "bob"):
        await accounts.create_user(subject, now_ms=NOW)
        caller = Caller(tenant_id="acme", subject_id=subject, key_id=subject)
        record = TransportRecord(
            key=transport_key(subject),
            caller=caller,
            version="2025-11-25",
            capabilities=b"{}",
            opened_at_ms=NOW,
            used_at_ms=NOW,
        )
        await accounts.transports.open(record, spared=(), own_max=9, all_max=9)
    await accounts.suspend_user("ana", suspended=True, now_ms=NOW)
    assert await accounts.transports.find(transport_key("ana")) is None
    assert await accounts.transports.find(transport_key("bob")) is not None
