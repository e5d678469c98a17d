"""The registry of chat sessions: one participant for one id, for seven days, for good."""

import asyncio

import pytest

from codesynapse.contracts.accounts import Action
from codesynapse.contracts.binding import Binding
from codesynapse.contracts.errors import (
    ActiveCapacity,
    BindingConflict,
    Invalid,
    RetainedCapacity,
    SessionExpired,
    SessionNotRegistered,
    SessionRevoked,
    SessionUnknown,
)
from codesynapse.contracts.ports import Accounts
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.gates import OnAccounts
from codesynapse.contracts.suite.organizations import User, actions_since, join, new_user
from codesynapse.contracts.suite.worlds import LIFETIME_MS, NOW, later, settled, unique

__all__ = ["TestBindingTombstones", "TestOwedCleanups", "TestRegistration", "TestRegistryCaps"]

BINDINGS_LISTED_MAX = 1_000
EVERYTHING = 1 << 30


async def stranger_to(user: User, kind: str) -> User:
    """Someone who is not the participant of this user's sessions."""
    if kind == "another user":
        return await new_user(user.accounts, tenant_id=user.tenant_id)
    if kind == "the same user in another organisation":
        other = await new_user(user.accounts)
        return await join(user.accounts, other.tenant_id, user.subject_id)
    return await new_user(user.accounts)


STRANGERS = ["another user", "the same user in another organisation", "another user in another organisation"]


class TestRegistration(OnAccounts):
    """A session id is bound globally to exactly one organisation and one user."""

    async def test_the_first_registration_binds_the_id_for_seven_days(self, user: User) -> None:
        session = unique("session")
        made = await user.register(session)
        assert made.created
        assert made.binding == Binding(
            identity=user.identity(session), registered_at_ms=NOW, expires_at_ms=later(NOW, LIFETIME_MS)
        )

    async def test_a_repeated_registration_answers_the_same_binding(self, user: User) -> None:
        session = unique("session")
        first = await user.register(session)
        again = [await user.register(session, now_ms=later(NOW, day * 86_400_000)) for day in (0, 3, 6)]
        assert [each.binding for each in again] == [first.binding] * 3
        assert [each.created for each in again] == [False] * 3

    async def test_another_key_of_the_same_user_is_the_same_participant(self, user: User) -> None:
        session = unique("session")
        first = await user.register(session)
        second_key = User(user.accounts, user.tenant_id, user.subject_id)
        await second_key.take_key()
        assert (await second_key.register(session)).binding == first.binding

    @pytest.mark.parametrize("kind", STRANGERS)
    @pytest.mark.parametrize("state", ["active", "revoked", "expired", "seen to be expired"])
    async def test_no_other_participant_can_claim_an_id_live_or_tombstoned(
        self, user: User, kind: str, state: str
    ) -> None:
        session, moment = unique("session"), NOW
        first = await user.register(session)
        if state == "revoked":
            await user.revoke(session)
        elif state != "active":
            moment = first.binding.expires_at_ms
        if state == "seen to be expired":
            await user.authorize(session, now_ms=moment)
        other = await stranger_to(user, kind)
        with pytest.raises(BindingConflict) as refusal:
            await other.register(session, now_ms=moment)
        assert session not in str(refusal.value)
        assert await other.accounts.bindings(other.caller) == []

    async def test_ids_that_differ_by_case_are_two_sessions(self, user: User) -> None:
        session = unique("Session")
        other = await new_user(user.accounts)
        await user.register(session)
        assert (await other.register(session.lower())).created

    async def test_of_two_users_that_register_one_id_at_once_exactly_one_wins(self, accounts: Accounts) -> None:
        session = unique("session")
        users = [await new_user(accounts) for _ in range(8)]
        results = await asyncio.gather(*(settled(each.register(session), BindingConflict) for each in users))
        won = [each for each, result in zip(users, results, strict=True) if not isinstance(result, Exception)]
        assert len(won) == 1
        (binding,) = await accounts.bindings(won[0].caller)
        assert binding.identity == won[0].identity(session)

    async def test_one_user_registering_one_id_many_times_at_once_makes_one_binding(self, user: User) -> None:
        session = unique("session")
        results = await asyncio.gather(*(user.register(session) for _ in range(8)))
        assert sum(each.created for each in results) == 1
        assert len({each.binding.expires_at_ms for each in results}) == 1
        assert len(await user.accounts.bindings(user.caller)) == 1

    async def test_the_prefix_of_dashboard_sessions_is_refused(self, user: User) -> None:
        with pytest.raises(Invalid) as refusal:
            await user.register(unique("web:session"))
        assert refusal.value.field == "session_id"
        assert (await user.register(unique("WEB:session"))).created

    @pytest.mark.parametrize("bad", ["", "a b", "abc\n", "é", "x" * 129])
    async def test_a_malformed_id_is_refused(self, user: User, bad: str) -> None:
        with pytest.raises(Invalid):
            await user.register(bad)
        assert await user.accounts.bindings(user.caller) == []

    async def test_a_user_lists_their_own_bindings_newest_first(self, user: User) -> None:
        other = await new_user(user.accounts, tenant_id=user.tenant_id)
        await other.register(unique("session"))
        sessions = [unique("session") for _ in range(3)]
        for number, session in enumerate(sessions):
            await user.register(session, now_ms=later(NOW, number))
        await user.revoke(sessions[1])
        listed = await user.accounts.bindings(user.caller)
        assert [each.identity.session_id for each in listed] == sessions[::-1]
        assert [each.revoked_at_ms for each in listed] == [None, NOW, None]

    async def test_at_most_1000_bindings_are_listed(self, user: User) -> None:
        await user.accounts.set_quotas(user.tenant_id, Quotas(sessions_active_max=2_000), now_ms=NOW)
        sessions = [unique("session") for _ in range(BINDINGS_LISTED_MAX + 1)]
        await asyncio.gather(*(user.register(each, now_ms=later(NOW, number)) for number, each in enumerate(sessions)))
        listed = await user.accounts.bindings(user.caller)
        assert [each.identity.session_id for each in listed] == sessions[:0:-1]


class TestRegistryCaps(OnAccounts):
    """An organisation holds so many active and so many retained bindings; tombstones are retained."""

    async def cap(self, user: User, **caps: int) -> None:
        await user.accounts.set_quotas(user.tenant_id, Quotas(**caps), now_ms=NOW)

    async def test_the_active_cap_refuses_and_a_revocation_makes_room(self, user: User) -> None:
        await self.cap(user, sessions_active_max=2)
        sessions = [unique("session") for _ in range(2)]
        for session in sessions:
            await user.register(session)
        with pytest.raises(ActiveCapacity) as refusal:
            await user.register(unique("session"))
        assert refusal.value.limit == 2
        assert not (await user.register(sessions[0])).created
        await user.revoke(sessions[0])
        await user.register(unique("session"))

    async def test_expired_bindings_are_not_active(self, user: User) -> None:
        await self.cap(user, sessions_active_max=1)
        first = await user.register(unique("session"))
        await user.register(unique("session"), now_ms=first.binding.expires_at_ms)

    async def test_the_retained_cap_counts_tombstones(self, user: User) -> None:
        await self.cap(user, sessions_retained_max=3)
        for _ in range(3):
            session = unique("session")
            made = await user.register(session)
            await user.revoke(session)
        with pytest.raises(RetainedCapacity) as refusal:
            await user.register(unique("session"))
        assert refusal.value.limit == 3
        with pytest.raises(RetainedCapacity):
            await user.register(unique("session"), now_ms=made.binding.expires_at_ms)

    async def test_at_the_retained_cap_no_tombstone_makes_room(self, user: User) -> None:
        await self.cap(user, sessions_retained_max=2)
        sessions = [unique("session") for _ in range(2)]
        for session in sessions:
            await user.register(session)
            await user.revoke(session)
        with pytest.raises(RetainedCapacity):
            await user.register(unique("session"), now_ms=later(NOW, 100 * LIFETIME_MS))
        assert {each.identity.session_id for each in await user.accounts.bindings(user.caller)} == set(sessions)
        for session in sessions:
            with pytest.raises(SessionRevoked):
                await user.register(session)

    async def test_the_caps_are_of_the_organisation_and_not_of_the_user(self, user: User) -> None:
        await self.cap(user, sessions_active_max=1)
        colleague = await new_user(user.accounts, tenant_id=user.tenant_id)
        elsewhere = await join(user.accounts, (await new_user(user.accounts)).tenant_id, user.subject_id)
        await user.register(unique("session"))
        with pytest.raises(ActiveCapacity):
            await colleague.register(unique("session"))
        await elsewhere.register(unique("session"))

    async def test_the_lifetime_is_the_organisations_and_moves_no_binding(self, user: User) -> None:
        before = await user.register(unique("session"))
        await self.cap(user, session_lifetime_ms=1_000)
        after = await user.register(unique("session"))
        again = await user.register(before.binding.identity.session_id)
        assert (after.binding.expires_at_ms, again.binding) == (NOW + 1_000, before.binding)

    @pytest.mark.parametrize(
        ("cap", "refusal"), [("sessions_active_max", ActiveCapacity), ("sessions_retained_max", RetainedCapacity)]
    )
    async def test_registrations_at_once_reach_exactly_the_cap(
        self, user: User, cap: str, refusal: type[Exception]
    ) -> None:
        await self.cap(user, **{cap: 5})
        results = await asyncio.gather(*(settled(user.register(unique("session")), refusal) for _ in range(12)))
        assert sum(not isinstance(each, Exception) for each in results) == 5
        assert len(await user.accounts.bindings(user.caller)) == 5


class TestBindingTombstones(OnAccounts):
    """Revocation and observed expiry are for good."""

    async def test_ones_own_revoked_session_cannot_be_registered_again(self, user: User) -> None:
        session = unique("session")
        await user.register(session)
        await user.revoke(session)
        for moment in (NOW, later(NOW, -1_000), later(NOW, 2 * LIFETIME_MS)):
            with pytest.raises(SessionRevoked):
                await user.register(session, now_ms=moment)
            assert isinstance((await user.authorize(session, now_ms=moment)).refusal, SessionRevoked)

    async def test_ones_own_expired_session_cannot_be_registered_again(self, user: User) -> None:
        session = unique("session")
        made = await user.register(session)
        for moment in (made.binding.expires_at_ms, later(made.binding.expires_at_ms, LIFETIME_MS)):
            with pytest.raises(SessionExpired):
                await user.register(session, now_ms=moment)

    async def test_using_a_session_never_extends_it(self, user: User) -> None:
        session = unique("session")
        made = await user.register(session)
        last = later(made.binding.expires_at_ms, -1)
        assert (await user.authorize(session, now_ms=last)).binding == made.binding
        authority = await user.authorize(session, now_ms=made.binding.expires_at_ms)
        assert (type(authority.refusal), authority.binding) == (SessionExpired, None)

    @pytest.mark.parametrize("observer", ["authorize", "recheck", "register"])
    async def test_an_expiry_that_was_seen_stands_when_the_clock_is_set_back(self, user: User, observer: str) -> None:
        session = unique("session")
        made = await user.register(session)
        moment, start = made.binding.expires_at_ms, await user.accounts.audit_end()
        if observer == "authorize":
            await user.authorize(session, now_ms=moment)
        elif observer == "register":
            await settled(user.register(session, now_ms=moment), SessionExpired)
        else:
            call = user.accounts.recheck(user.identity(session), user.caller.key_id, now_ms=moment)
            await settled(call, SessionExpired)
        assert isinstance((await user.authorize(session)).refusal, SessionExpired)
        with pytest.raises(SessionExpired):
            await user.register(session)
        (listed,) = await user.accounts.bindings(user.caller)
        assert listed.expired_at_ms == moment
        assert await actions_since(user.accounts, start, user.tenant_id) == [Action.SESSION_EXPIRED]

    async def test_a_stranger_who_asks_leaves_no_tombstone(self, user: User) -> None:
        session = unique("session")
        made = await user.register(session)
        other = await new_user(user.accounts)
        authority = await other.authorize(session, now_ms=made.binding.expires_at_ms)
        assert isinstance(authority.refusal, SessionNotRegistered)
        assert (await user.authorize(session)).binding is not None

    async def test_a_second_revocation_keeps_the_first_moment(self, user: User) -> None:
        session = unique("session")
        await user.register(session)
        moments = [
            (
                await user.accounts.revoke(user.tenant_id, session, subject_id=user.subject_id, now_ms=later(NOW, by))
            ).revoked_at_ms
            for by in (0, 1_000)
        ]
        assert moments == [NOW, NOW]

    @pytest.mark.parametrize("kind", STRANGERS)
    async def test_a_foreign_session_is_revoked_no_more_than_an_unknown_one(self, user: User, kind: str) -> None:
        session = unique("session")
        await user.register(session)
        other = await stranger_to(user, kind)
        told = []
        for each in (session, unique("session")):
            with pytest.raises(SessionUnknown) as refusal:
                await other.revoke(each)
            told.append(str(refusal.value))
        assert told[0] == told[1]
        assert (await user.authorize(session)).binding is not None

    async def test_an_operator_revokes_any_session_of_the_organisation_and_no_other(self, user: User) -> None:
        session = unique("session")
        await user.register(session)
        other = await new_user(user.accounts)
        with pytest.raises(SessionUnknown):
            await user.accounts.revoke(other.tenant_id, session, subject_id=None, now_ms=NOW)
        await user.accounts.revoke(user.tenant_id, session, subject_id=None, now_ms=NOW)
        assert isinstance((await user.authorize(session)).refusal, SessionRevoked)


class TestOwedCleanups(OnAccounts):
    """A revoked session's memory is owed a cleanup until someone says that it is gone."""

    async def owed(self, user: User) -> list[str]:
        """The user's sessions that are owed a cleanup, in the order told."""
        everything = await user.accounts.cleanups_owed(limit=EVERYTHING)
        return [each.session_id for each in everything if each == user.identity(each.session_id)]

    async def test_a_revocation_owes_a_cleanup_until_it_is_done(self, user: User) -> None:
        session = unique("session")
        await user.register(session)
        assert await self.owed(user) == []
        await user.revoke(session)
        assert await self.owed(user) == [session]
        for _ in range(2):
            await user.accounts.cleaned(session)
            assert await self.owed(user) == []
        assert isinstance((await user.authorize(session)).refusal, SessionRevoked)

    async def test_the_longest_revoked_come_first(self, user: User) -> None:
        sessions = [unique("session") for _ in range(3)]
        for session in sessions:
            await user.register(session)
        for number, session in enumerate(reversed(sessions)):
            await user.revoke(session, now_ms=later(NOW, number))
        assert await self.owed(user) == sessions[::-1]

    async def test_at_most_the_limit_is_told(self, user: User) -> None:
        for _ in range(3):
            session = unique("session")
            await user.register(session)
            await user.revoke(session)
        assert len(await user.accounts.cleanups_owed(limit=2)) == 2

    async def test_an_active_session_is_not_noted_as_clean(self, user: User) -> None:
        session = unique("session")
        await user.register(session)
        await user.accounts.cleaned(session)
        await user.accounts.cleaned(unique("session"))
        await user.revoke(session)
        assert await self.owed(user) == [session]
