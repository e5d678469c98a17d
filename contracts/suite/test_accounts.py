"""Accounts: who is who, what a key is worth, what a grant allows, and the audit of every change."""

import asyncio

import pytest
from msgspec import structs

from codesynapse.contracts.accounts import Action, KeyRecord, Level, Member, RepositoryGrant
from codesynapse.contracts.errors import (
    AlreadyExists,
    BindingConflict,
    CodeSynapseError,
    Invalid,
    MembershipWithdrawn,
    NotFound,
    SessionExpired,
    SessionNotRegistered,
    SessionRevoked,
    Suspended,
    Unauthenticated,
)
from codesynapse.contracts.ports import Accounts
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.gates import OnAccounts
from codesynapse.contracts.suite.organizations import User, actions_since, join, new_user, records_since
from codesynapse.contracts.suite.worlds import NOW, later, settled, unique

__all__ = ["TestAuthority", "TestDirectory", "TestGrants", "TestRecheck"]


class TestDirectory(OnAccounts):
    """Creating what exists raises AlreadyExists, changing what does not raises NotFound."""

    async def test_what_was_created_is_listed(self, user: User) -> None:
        assert user.tenant_id in await user.accounts.organizations()
        assert await user.accounts.members(user.tenant_id) == [
            Member(subject_id=user.subject_id, suspended=False, withdrawn=False)
        ]
        assert await user.accounts.keys(user.tenant_id) == [
            KeyRecord(
                key_id=user.caller.key_id, tenant_id=user.tenant_id, subject_id=user.subject_id, created_at_ms=NOW
            )
        ]

    async def test_nothing_is_created_twice(self, user: User) -> None:
        accounts, other = user.accounts, User(user.accounts, user.tenant_id, user.subject_id)
        await accounts.create_repository(user.tenant_id, "code", now_ms=NOW)
        start = await accounts.audit_end()
        with pytest.raises(AlreadyExists):
            await accounts.create_organization(user.tenant_id, now_ms=NOW)
        with pytest.raises(AlreadyExists):
            await accounts.create_user(user.subject_id, now_ms=NOW)
        with pytest.raises(AlreadyExists):
            await accounts.create_repository(user.tenant_id, "code", now_ms=NOW)
        with pytest.raises(AlreadyExists):
            await user.take_key()
        other.key_hash = user.key_hash
        with pytest.raises(AlreadyExists):
            await other.take_key()
        assert await actions_since(accounts, start, user.tenant_id, user.subject_id) == []

    @pytest.mark.parametrize("name", [".", "..", "", "a b", "x" * 129])
    async def test_no_repository_has_a_name_that_no_uri_can_hold(self, user: User, name: str) -> None:
        with pytest.raises(Invalid) as refused:
            await user.accounts.create_repository(user.tenant_id, name, now_ms=NOW)
        assert refused.value.field == "repository"
        assert await user.accounts.repositories(user.tenant_id) == []

    async def test_created_at_once_exactly_one_wins(self, accounts: Accounts) -> None:
        tenant = unique("tenant")
        calls = (settled(accounts.create_organization(tenant, now_ms=NOW), AlreadyExists) for _ in range(5))
        results = await asyncio.gather(*calls)
        assert results.count(None) == 1
        assert (await accounts.organizations()).count(tenant) == 1

    async def test_what_is_not_there_cannot_be_changed(self, user: User) -> None:
        accounts, tenant, nobody = user.accounts, unique("tenant"), unique("user")
        for call in (
            accounts.suspend_organization(tenant, suspended=True, now_ms=NOW),
            accounts.set_quotas(tenant, Quotas(), now_ms=NOW),
            accounts.suspend_user(nobody, suspended=True, now_ms=NOW),
            accounts.set_member(tenant, user.subject_id, member=True, now_ms=NOW),
            accounts.set_member(user.tenant_id, nobody, member=True, now_ms=NOW),
            accounts.create_repository(tenant, "code", now_ms=NOW),
            accounts.set_grant(user.tenant_id, "unknown", user.subject_id, Level.READ, now_ms=NOW),
            accounts.revoke_key(user.tenant_id, unique("key"), now_ms=NOW),
            User(accounts, tenant, user.subject_id).take_key(),
            User(accounts, user.tenant_id, nobody).take_key(),
        ):
            with pytest.raises(NotFound):
                await call

    async def test_the_caps_are_the_seeds_until_others_are_set(self, user: User) -> None:
        assert await user.accounts.quotas(user.tenant_id) == Quotas()
        other = Quotas(sessions_active_max=3, repository_facts_max=100_000)
        await user.accounts.set_quotas(user.tenant_id, other, now_ms=NOW)
        assert await user.accounts.quotas(user.tenant_id) == other

    async def test_each_change_leaves_its_record_in_order(self, user: User) -> None:
        accounts, tenant, subject, session = user.accounts, user.tenant_id, user.subject_id, unique("session")
        start = await accounts.audit_end()
        await accounts.create_repository(tenant, "code", now_ms=NOW)
        await accounts.set_grant(tenant, "code", subject, Level.WRITE, now_ms=NOW)
        await accounts.set_grant(tenant, "code", subject, None, now_ms=NOW)
        await accounts.set_quotas(tenant, Quotas(tenant_roots_max=4_096), now_ms=NOW)
        await user.register(session, now_ms=later(NOW, 1))
        await user.revoke(session, now_ms=later(NOW, 2))
        await accounts.suspend_user(subject, suspended=True, now_ms=NOW)
        await accounts.suspend_user(subject, suspended=False, now_ms=NOW)
        await accounts.suspend_organization(tenant, suspended=True, now_ms=NOW)
        await accounts.suspend_organization(tenant, suspended=False, now_ms=NOW)
        await accounts.revoke_key(tenant, user.caller.key_id, now_ms=NOW)
        await accounts.set_member(tenant, subject, member=False, now_ms=NOW)
        records = await records_since(accounts, start, tenant, subject)
        assert [record.action for record in records] == [
            Action.REPOSITORY_CREATED,
            Action.GRANT_SET,
            Action.GRANT_WITHDRAWN,
            Action.QUOTAS_CHANGED,
            Action.SESSION_REGISTERED,
            Action.SESSION_REVOKED,
            Action.USER_SUSPENDED,
            Action.USER_RESUMED,
            Action.ORGANIZATION_SUSPENDED,
            Action.ORGANIZATION_RESUMED,
            Action.KEY_REVOKED,
            Action.MEMBER_WITHDRAWN,
        ]
        assert records[3].detail == "tenant_roots_max=4096"
        assert [record.at_ms for record in records[4:6]] == [NOW + 1, NOW + 2]
        assert [record.target for record in records[4:6]] == [session, session]
        assert [record.sequence for record in records] == sorted({record.sequence for record in records})

    async def test_the_first_steps_of_an_organisation_are_audited(self, accounts: Accounts) -> None:
        start = await accounts.audit_end()
        user = await new_user(accounts)
        assert await actions_since(accounts, start, user.tenant_id, user.subject_id) == [
            Action.ORGANIZATION_CREATED,
            Action.USER_CREATED,
            Action.MEMBER_ADDED,
            Action.KEY_CREATED,
        ]

    async def test_a_refused_change_leaves_no_record(self, user: User) -> None:
        session = unique("session")
        await user.register(session)
        other = await new_user(user.accounts)
        start = await user.accounts.audit_end()
        with pytest.raises(BindingConflict):
            await other.register(session)
        await settled(user.accounts.create_user(user.subject_id, now_ms=NOW), AlreadyExists)
        await user.register(session)
        assert await actions_since(user.accounts, start, user.tenant_id, other.tenant_id, user.subject_id) == []

    async def test_a_user_stands_while_user_organisation_and_membership_do(self, user: User) -> None:
        accounts, place = user.accounts, (user.tenant_id, user.subject_id)
        other = await new_user(accounts)
        assert await accounts.stands(*place)
        assert not await accounts.stands(user.tenant_id, other.subject_id)
        assert not await accounts.stands(unique("tenant"), user.subject_id)
        for out in (True, False):
            await accounts.suspend_user(user.subject_id, suspended=out, now_ms=NOW)
            assert await accounts.stands(*place) is not out
        for out in (True, False):
            await accounts.suspend_organization(user.tenant_id, suspended=out, now_ms=NOW)
            assert await accounts.stands(*place) is not out
        for out in (True, False):
            await accounts.set_member(*place, member=not out, now_ms=NOW)
            assert await accounts.stands(*place) is not out
        assert await accounts.stands(other.tenant_id, other.subject_id)

    async def test_the_audit_is_read_in_batches_oldest_first(self, user: User) -> None:
        start = await user.accounts.audit_end()
        for number in range(5):
            await user.accounts.create_repository(user.tenant_id, f"repo{number}", now_ms=NOW)
        end = await user.accounts.audit_end()
        batch = await user.accounts.audit(after=start, limit=2)
        assert len(batch) == 2
        assert all(record.sequence > start for record in batch)
        records = await records_since(user.accounts, start, user.tenant_id)
        assert [record.target for record in records] == [f"repo{number}" for number in range(5)]
        assert end >= records[-1].sequence
        assert await user.accounts.audit(after=await user.accounts.audit_end(), limit=10) == []

    async def test_a_probe_leaves_no_record(self, user: User) -> None:
        start = await user.accounts.audit_end()
        await user.accounts.probe()
        assert await actions_since(user.accounts, start, user.tenant_id) == []
        assert await user.accounts.repositories(user.tenant_id) == []


class TestGrants(OnAccounts):
    """A grant is a user's, on one repository of one organisation; without one there is nothing."""

    async def test_a_grant_is_set_raised_lowered_and_withdrawn(self, user: User) -> None:
        accounts, tenant, subject = user.accounts, user.tenant_id, user.subject_id
        await accounts.create_repository(tenant, "code", now_ms=NOW)
        assert await accounts.grant(tenant, "code", subject) is None
        for level in (Level.READ, Level.ADMIN, Level.WRITE, Level.WRITE, None, None):
            await accounts.set_grant(tenant, "code", subject, level, now_ms=NOW)
            assert await accounts.grant(tenant, "code", subject) == level

    async def test_a_repository_that_does_not_exist_is_like_one_without_a_grant(self, user: User) -> None:
        await user.accounts.create_repository(user.tenant_id, "code", now_ms=NOW)
        assert await user.accounts.grant(user.tenant_id, "code", user.subject_id) is None
        assert await user.accounts.grant(user.tenant_id, "unknown", user.subject_id) is None
        assert await user.accounts.grant(unique("tenant"), "code", user.subject_id) is None

    async def test_a_grant_holds_for_no_other_user_repository_or_organisation(self, user: User) -> None:
        accounts, tenant = user.accounts, user.tenant_id
        elsewhere = await join(accounts, (await new_user(accounts)).tenant_id, user.subject_id)
        colleague = await new_user(accounts, tenant_id=tenant)
        for each in (tenant, elsewhere.tenant_id):
            await accounts.create_repository(each, "code", now_ms=NOW)
        await accounts.create_repository(tenant, "CODE", now_ms=NOW)
        await accounts.set_grant(tenant, "code", user.subject_id, Level.ADMIN, now_ms=NOW)
        assert await accounts.grant(tenant, "CODE", user.subject_id) is None
        assert await accounts.grant(tenant, "code", colleague.subject_id) is None
        assert await accounts.grant(elsewhere.tenant_id, "code", user.subject_id) is None

    async def test_repositories_are_listed_by_name_all_or_those_with_a_grant(self, user: User) -> None:
        accounts, tenant, subject = user.accounts, user.tenant_id, user.subject_id
        for name in ("b", "a", "C"):
            await accounts.create_repository(tenant, name, now_ms=NOW)
        await accounts.set_grant(tenant, "b", subject, Level.WRITE, now_ms=NOW)
        await accounts.set_grant(tenant, "a", subject, Level.READ, now_ms=NOW)
        assert [each.repository for each in await accounts.repositories(tenant)] == ["C", "a", "b"]
        assert await accounts.repositories(tenant, subject) == [
            RepositoryGrant(repository="a", subject_id=subject, level=Level.READ),
            RepositoryGrant(repository="b", subject_id=subject, level=Level.WRITE),
        ]


class TestAuthority(OnAccounts):
    """What a key is worth is read anew each time; a session that is not theirs is told beside the caller."""

    async def test_a_key_tells_its_caller(self, user: User) -> None:
        authority = await user.authorize()
        assert (authority.caller, authority.binding, authority.refusal) == (user.caller, None, None)

    async def test_a_key_and_its_own_session_tell_the_binding(self, user: User) -> None:
        made = await user.register(unique("session"))
        authority = await user.authorize(made.binding.identity.session_id)
        assert (authority.caller, authority.binding, authority.refusal) == (user.caller, made.binding, None)

    async def test_an_unknown_key_is_not_authenticated(self, user: User) -> None:
        for shown in ("0" * 64, "", user.key_hash[:-1], user.key_hash.upper(), user.caller.key_id):
            with pytest.raises(Unauthenticated):
                await user.accounts.authorize(shown, None, now_ms=NOW)

    async def test_a_foreign_session_looks_like_an_unknown_one(self, user: User) -> None:
        session = unique("session")
        await user.register(session)
        tombstoned = unique("session")
        await user.register(tombstoned)
        await user.revoke(tombstoned)
        for other in (
            await new_user(user.accounts, tenant_id=user.tenant_id),
            await join(user.accounts, (await new_user(user.accounts)).tenant_id, user.subject_id),
        ):
            for named in (session, tombstoned, unique("session")):
                authority = await other.authorize(named)
                assert (authority.caller, authority.binding) == (other.caller, None)
                assert type(authority.refusal) is SessionNotRegistered
                assert str(authority.refusal) == str(SessionNotRegistered())

    async def test_the_owner_is_told_expired_or_revoked_beside_the_caller(self, user: User) -> None:
        expired = await user.register(unique("session"), now_ms=later(NOW, -10 * 86_400_000))
        revoked = await user.register(unique("session"))
        await user.revoke(revoked.binding.identity.session_id)
        for made, refusal in ((expired, SessionExpired), (revoked, SessionRevoked)):
            authority = await user.authorize(made.binding.identity.session_id)
            assert (authority.caller, authority.binding) == (user.caller, None)
            assert isinstance(authority.refusal, refusal)


ENDINGS: dict[str, type[CodeSynapseError]] = {
    "user suspended": Suspended,
    "organisation suspended": Suspended,
    "membership withdrawn": MembershipWithdrawn,
    "key revoked": Unauthenticated,
}


async def end(user: User, ending: str, *, ended: bool) -> None:
    """End a user's access in this way, or lift it where that can be."""
    accounts = user.accounts
    match ending:
        case "user suspended":
            await accounts.suspend_user(user.subject_id, suspended=ended, now_ms=NOW)
        case "organisation suspended":
            await accounts.suspend_organization(user.tenant_id, suspended=ended, now_ms=NOW)
        case "membership withdrawn":
            await accounts.set_member(user.tenant_id, user.subject_id, member=not ended, now_ms=NOW)
        case _:
            await accounts.revoke_key(user.tenant_id, user.caller.key_id, now_ms=NOW)


class TestRecheck(OnAccounts):
    """Access that was withdrawn is gone at the next question, for requests and for work that goes on."""

    @pytest.mark.parametrize(("ending", "refusal"), ENDINGS.items(), ids=ENDINGS.keys())
    async def test_withdrawn_access_is_refused_at_once(
        self, user: User, ending: str, refusal: type[CodeSynapseError]
    ) -> None:
        session = unique("session")
        await user.register(session)
        await user.authorize(session)
        await end(user, ending, ended=True)
        for named in (None, session, unique("session")):
            with pytest.raises(refusal):
                await user.authorize(named)
        with pytest.raises(refusal):
            await user.accounts.recheck(user.identity(session), user.caller.key_id, now_ms=NOW)

    @pytest.mark.parametrize("ending", [each for each in ENDINGS if each != "key revoked"])
    async def test_access_that_was_given_back_works_with_the_same_binding(self, user: User, ending: str) -> None:
        made = await user.register(unique("session"))
        await end(user, ending, ended=True)
        await end(user, ending, ended=False)
        authority = await user.authorize(made.binding.identity.session_id)
        assert authority.binding == made.binding

    @pytest.mark.parametrize("ending", ENDINGS)
    async def test_others_go_on(self, user: User, ending: str) -> None:
        other = await new_user(user.accounts)
        elsewhere = await join(user.accounts, other.tenant_id, user.subject_id)
        await end(user, ending, ended=True)
        assert (await other.authorize()).caller == other.caller
        if ending == "user suspended":
            with pytest.raises(Suspended):
                await elsewhere.authorize()
        else:
            assert (await elsewhere.authorize()).caller == elsewhere.caller

    async def test_one_revoked_key_leaves_the_users_others(self, user: User) -> None:
        other = User(user.accounts, user.tenant_id, user.subject_id)
        await other.take_key()
        await user.accounts.revoke_key(user.tenant_id, user.caller.key_id, now_ms=NOW)
        with pytest.raises(Unauthenticated):
            await user.authorize()
        assert (await other.authorize()).caller == other.caller
        states = {key.key_id: key.revoked_at_ms for key in await user.accounts.keys(user.tenant_id)}
        assert states == {user.caller.key_id: NOW, other.caller.key_id: None}

    async def test_membership_can_be_set_and_withdrawn_repeatedly(self, user: User) -> None:
        for member in (True, False, False, True, True):
            await user.accounts.set_member(user.tenant_id, user.subject_id, member=member, now_ms=NOW)
            (listed,) = await user.accounts.members(user.tenant_id)
            assert listed.withdrawn is not member
        assert (await user.authorize()).caller == user.caller

    async def test_members_are_listed_with_their_standing(self, user: User) -> None:
        suspended = await new_user(user.accounts, tenant_id=user.tenant_id)
        withdrawn = await new_user(user.accounts, tenant_id=user.tenant_id)
        await end(suspended, "user suspended", ended=True)
        await end(withdrawn, "membership withdrawn", ended=True)
        standing = {
            each.subject_id: (each.suspended, each.withdrawn) for each in await user.accounts.members(user.tenant_id)
        }
        assert standing == {
            user.subject_id: (False, False),
            suspended.subject_id: (True, False),
            withdrawn.subject_id: (False, True),
        }

    async def test_work_that_goes_on_gets_its_binding(self, user: User) -> None:
        made = await user.register(unique("session"))
        assert await user.accounts.recheck(made.binding.identity, user.caller.key_id, now_ms=NOW) == made.binding

    async def test_work_stops_when_its_session_has_ended(self, user: User) -> None:
        made = await user.register(unique("session"))
        identity = made.binding.identity
        with pytest.raises(SessionExpired):
            await user.accounts.recheck(identity, user.caller.key_id, now_ms=made.binding.expires_at_ms)
        other = await user.register(unique("session"))
        await user.revoke(other.binding.identity.session_id)
        with pytest.raises(SessionRevoked):
            await user.accounts.recheck(other.binding.identity, user.caller.key_id, now_ms=NOW)

    async def test_work_under_anothers_session_or_key_is_refused(self, user: User) -> None:
        session = unique("session")
        made = await user.register(session)
        other = await new_user(user.accounts, tenant_id=user.tenant_id)
        with pytest.raises(SessionNotRegistered):
            await user.accounts.recheck(other.identity(session), other.caller.key_id, now_ms=NOW)
        with pytest.raises(SessionNotRegistered):
            await user.accounts.recheck(user.identity(unique("session")), user.caller.key_id, now_ms=NOW)
        with pytest.raises(Unauthenticated):
            await user.accounts.recheck(made.binding.identity, other.caller.key_id, now_ms=NOW)
        with pytest.raises(Unauthenticated):
            await user.accounts.recheck(made.binding.identity, unique("key"), now_ms=NOW)
        moved = structs.replace(made.binding.identity, tenant_id=unique("tenant"))
        with pytest.raises(Unauthenticated):
            await user.accounts.recheck(moved, user.caller.key_id, now_ms=NOW)
