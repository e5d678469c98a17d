"""Protocol sessions beside the accounts: kept as they were, bound once, bounded, and gone with what ends access."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from msgspec import structs

from codesynapse.contracts.accounts import Caller, KeyRecord
from codesynapse.contracts.errors import RebindRefused, ServerFull, TransportUnknown
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.suite.gates import OnTransports
from codesynapse.contracts.suite.organizations import User, new_user
from codesynapse.contracts.suite.worlds import LONG_AGO, NOW, later, settled, unique
from codesynapse.contracts.transports import (
    ENDS_KEPT_MS,
    TransportEnd,
    TransportRecord,
    Transports,
    ends,
    transport_key,
)

__all__ = ["TestTransportCaps", "TestTransportEndings", "TestTransports"]

MANY = 1_000_000


def made(caller: Caller, *, used_at_ms: Millis = NOW, session_id: str | None = None) -> TransportRecord:
    """A session that was just opened."""
    return TransportRecord(
        key=transport_key(unique("transport")),
        caller=caller,
        version="2025-11-25",
        capabilities=b'{"elicitation":{"form":{}}}',
        opened_at_ms=used_at_ms,
        used_at_ms=used_at_ms,
        session_id=session_id,
        expires_at_ms=None if session_id is None else later(NOW, 1_000),
    )


async def keep(transports: Transports, *records: TransportRecord) -> None:
    for record in records:
        await transports.open(record, spared=(), own_max=MANY, all_max=MANY)


async def kept(transports: Transports, *records: TransportRecord) -> list[bool]:
    """Which of these are still there."""
    return [await transports.find(record.key) is not None for record in records]


async def told(transports: Transports, after: int, *records: TransportRecord) -> list[TransportEnd]:
    """What was told of these since."""
    keys = {record.key for record in records}
    return [each for each in await transports.ends(after=after, limit=MANY) if each.key in keys]


class TestTransports(OnTransports):
    """What was kept is found as it was; its state moves, its owner and its binding do not."""

    async def test_what_was_opened_is_found_as_it_was(self, transports: Transports, user: User) -> None:
        unbound, bound = made(user.caller), made(user.caller, session_id=unique("session"))
        await keep(transports, unbound, bound)
        assert await transports.find(unbound.key) == unbound
        assert await transports.find(bound.key) == bound

    async def test_an_unknown_key_finds_nothing(self, transports: Transports) -> None:
        assert await transports.find(transport_key(unique("transport"))) is None

    async def test_opening_again_changes_nothing(self, transports: Transports, user: User) -> None:
        record = made(user.caller)
        await keep(transports, record, structs.replace(record, log_level="error"))
        assert await transports.find(record.key) == record

    async def test_its_state_and_its_binding_can_be_written(self, transports: Transports, user: User) -> None:
        record = made(user.caller)
        await keep(transports, record)
        changed = structs.replace(
            record,
            initialized=True,
            log_level="debug",
            session_id=unique("session"),
            expires_at_ms=later(NOW, 9),
            used_at_ms=later(NOW, 5),
        )
        await transports.change(changed)
        assert await transports.find(record.key) == changed

    @pytest.mark.parametrize("to", ["another", "none"])
    async def test_a_binding_is_written_once(self, transports: Transports, user: User, to: str) -> None:
        record = made(user.caller, session_id=unique("session"))
        await keep(transports, record)
        with pytest.raises(RebindRefused):
            await transports.change(
                structs.replace(record, session_id=unique("session") if to == "another" else None, log_level="error")
            )
        assert await transports.find(record.key) == record

    async def test_of_two_servers_that_bind_at_once_one_wins(self, transports: Transports, user: User) -> None:
        record = made(user.caller)
        await keep(transports, record)
        wanted = [unique("session") for _ in range(5)]
        changes = [transports.change(structs.replace(record, session_id=each)) for each in wanted]
        results = await asyncio.gather(*(settled(each, RebindRefused) for each in changes))
        found = await transports.find(record.key)
        assert found is not None
        assert [results[index] is None for index in range(5)] == [each == found.session_id for each in wanted]

    async def test_a_use_is_noted_and_never_set_back(self, transports: Transports, user: User) -> None:
        record, other = made(user.caller), made(user.caller)
        await keep(transports, record, other)
        await transports.touch({record.key: later(NOW, 7), transport_key("unknown"): NOW})
        await transports.touch({record.key: later(NOW, 3)})
        await transports.touch({})
        await transports.change(record)
        found = await transports.find(record.key)
        assert found is not None
        assert found.used_at_ms == later(NOW, 7)
        assert await transports.find(other.key) == other

    async def test_what_was_closed_is_gone_for_good_and_told_once(self, transports: Transports, user: User) -> None:
        start = await transports.ends_end()
        record, other = made(user.caller), made(user.caller)
        await keep(transports, record, other)
        for _ in range(2):
            await transports.close(record.key, now_ms=NOW)
        assert await kept(transports, record, other) == [False, True]
        (end,) = await told(transports, start, record, other)
        assert (end.key, end.sequence > start) == (record.key, True)
        assert await transports.ends_end() >= end.sequence
        with pytest.raises(TransportUnknown):
            await transports.change(record)
        await transports.touch({record.key: NOW})
        assert await kept(transports, record) == [False]

    async def test_ends_are_told_oldest_first_and_at_most_the_limit(self, transports: Transports, user: User) -> None:
        start = await transports.ends_end()
        records = [made(user.caller) for _ in range(3)]
        await keep(transports, *records)
        for record in records:
            await transports.close(record.key, now_ms=NOW)
        assert [each.key for each in await told(transports, start, *records)] == [each.key for each in records]
        assert len(await transports.ends(after=start, limit=2)) == 2
        assert await transports.ends(after=start, limit=0) == []


class TestTransportCaps(OnTransports):
    """A principal has so many, a server so many; nobody's goes for somebody else's."""

    async def test_at_the_cap_the_longest_unused_one_that_is_not_spared_goes(
        self, transports: Transports, user: User
    ) -> None:
        start = await transports.ends_end()
        records = [made(user.caller, used_at_ms=later(NOW, age)) for age in (3, 1, 2)]
        stranger = made((await new_user(user.accounts)).caller, used_at_ms=Millis(1))
        colleague = made((await new_user(user.accounts, tenant_id=user.tenant_id)).caller, used_at_ms=Millis(1))
        await keep(transports, *records, stranger, colleague)
        fresh = made(user.caller, used_at_ms=later(NOW, 4))
        await transports.open(fresh, spared=[records[1].key], own_max=3, all_max=MANY)
        assert await kept(transports, *records, fresh) == [True, True, False, True]
        assert await kept(transports, stranger, colleague) == [True, True]
        assert [each.key for each in await told(transports, start, *records)] == [records[2].key]

    async def test_the_keys_of_one_user_share_the_cap(self, transports: Transports, user: User) -> None:
        record = KeyRecord(
            key_id=unique("key"), tenant_id=user.tenant_id, subject_id=user.subject_id, created_at_ms=NOW
        )
        await user.accounts.create_key(record, unique("hash"), now_ms=NOW)
        first, second = made(user.caller), made(structs.replace(user.caller, key_id=record.key_id))
        for each in (first, second):
            await transports.open(each, spared=(), own_max=1, all_max=MANY)
        assert await kept(transports, first, second) == [False, True]

    async def test_with_no_room_in_all_a_new_one_is_refused_and_none_goes(
        self, transports: Transports, user: User
    ) -> None:
        first, second = made(user.caller), made(user.caller)
        await keep(transports, first)
        with pytest.raises(ServerFull):
            await transports.open(second, spared=(), own_max=MANY, all_max=1)
        assert await kept(transports, first, second) == [True, False]


Ending = Callable[[User, str], Awaitable[object]]

ENDINGS: dict[str, Ending] = {
    "organisation suspended": lambda user, _: user.accounts.suspend_organization(
        user.tenant_id, suspended=True, now_ms=NOW
    ),
    "user suspended": lambda user, _: user.accounts.suspend_user(user.subject_id, suspended=True, now_ms=NOW),
    "member withdrawn": lambda user, _: user.accounts.set_member(
        user.tenant_id, user.subject_id, member=False, now_ms=NOW
    ),
    "key revoked": lambda user, _: user.accounts.revoke_key(user.tenant_id, user.caller.key_id, now_ms=NOW),
    "session revoked": lambda user, session: user.revoke(session),
    "session expired": lambda user, session: user.authorize(session, now_ms=later(NOW, 30 * 86_400_000)),
}


class TestTransportEndings(OnTransports):
    """What ends access takes the sessions along, and no others; what nobody uses is swept."""

    @pytest.mark.parametrize("ending", ENDINGS)
    async def test_what_ends_access_forgets_its_sessions_and_no_others(
        self, transports: Transports, user: User, ending: str
    ) -> None:
        session, other_session = unique("session"), unique("session")
        other = await new_user(user.accounts)
        await user.register(session)
        await other.register(other_session)
        records = [made(user.caller, session_id=session), made(user.caller), made(other.caller)]
        records.append(made(other.caller, session_id=other_session))
        await keep(transports, *records)
        start = await user.accounts.audit_end()
        await ENDINGS[ending](user, session)
        (said,) = [each for each in await user.accounts.audit(after=start, limit=100) if _about(each, user, session)]
        law = [not ends(said, each.caller, each.session_id) for each in records]
        assert await kept(transports, *records) == law
        assert law == [False, ending.startswith("session"), True, True]

    async def test_lifting_a_suspension_brings_none_back(self, transports: Transports, user: User) -> None:
        record = made(user.caller)
        await keep(transports, record)
        for suspended in (True, False):
            await user.accounts.suspend_user(user.subject_id, suspended=suspended, now_ms=NOW)
        assert await kept(transports, record) == [False]

    async def test_what_is_unused_for_too_long_is_swept(self, transports: Transports, user: User) -> None:
        ages = {"idle": -50, "busy": -10, "new": -20, "fresh": -10}
        records = {name: made(user.caller, used_at_ms=later(LONG_AGO, age)) for name, age in ages.items()}
        await keep(transports, *records.values())
        for name in ("idle", "busy"):
            await transports.change(structs.replace(records[name], initialized=True))
        while await transports.sweep(
            idle_since_ms=later(LONG_AGO, -30), new_since_ms=later(LONG_AGO, -15), now_ms=LONG_AGO, limit=2
        ):
            pass
        assert await kept(transports, *records.values()) == [False, True, False, True]

    async def test_what_is_past_its_binding_is_swept(self, transports: Transports, user: User) -> None:
        record = structs.replace(made(user.caller, session_id=unique("session")), expires_at_ms=LONG_AGO)
        await keep(transports, record)
        while await transports.sweep(idle_since_ms=Millis(0), new_since_ms=Millis(0), now_ms=LONG_AGO, limit=2):
            pass
        assert await kept(transports, record) == [False]

    async def test_a_sweep_goes_no_further_than_its_limit(self, transports: Transports, user: User) -> None:
        records = [made(user.caller, used_at_ms=Millis(age)) for age in (1, 2, 3)]
        await keep(transports, *records)
        moments = {"idle_since_ms": Millis(3), "new_since_ms": Millis(3), "now_ms": Millis(3)}
        assert await transports.sweep(**moments, limit=0) == 0
        assert await transports.sweep(**moments, limit=2) == 2
        assert sorted(await kept(transports, *records)) == [False, False, True]
        await transports.sweep(**moments, limit=2)

    async def test_an_end_is_told_for_an_hour_and_its_number_never_again(
        self, transports: Transports, user: User
    ) -> None:
        start, record, other = await transports.ends_end(), made(user.caller), made(user.caller)
        await keep(transports, record, other)
        await transports.close(record.key, now_ms=Millis(5))
        assert len(await told(transports, start, record)) == 1
        last = await transports.ends_end()
        none = {"idle_since_ms": Millis(0), "new_since_ms": Millis(0)}
        await transports.sweep(**none, now_ms=Millis(ENDS_KEPT_MS + 5), limit=0)
        assert await told(transports, start, record) == []
        assert await transports.ends_end() >= last
        await transports.close(other.key, now_ms=NOW)
        (end,) = await told(transports, start, other)
        assert end.sequence > last


def _about(record: object, user: User, session: str) -> bool:
    target = getattr(record, "target", None)
    return getattr(record, "tenant_id", None) == user.tenant_id or target in (session, user.subject_id)
