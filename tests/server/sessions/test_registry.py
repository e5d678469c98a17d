"""May they: claims, registration, resolution, revocation, grants."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.errors import (
    BindingConflict,
    CodeSynapseError,
    ExecutionCancelled,
    ExecutionExpired,
    ExecutionMissing,
    GrantInsufficient,
    HeaderInvalid,
    Invalid,
    MembershipWithdrawn,
    RepositoryForbidden,
    SessionExpired,
    SessionNotRegistered,
    SessionRevoked,
    SessionUnknown,
    StoreFault,
    Suspended,
    Unauthenticated,
)
from codesynapse.server.sessions.registry import Claim, Sessions, claim
from tests.server.world import REPO, TENANT, World, triple, upsert, world

NAMES = ("A", "B")
MALFORMED: list[object] = ["", " ", "a b", "a\n", "é", "x" * 129, None, 5, "\udcff", "a/b"]


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with world() as made:
        yield made


def test_no_value_at_all_is_no_claim():
    assert claim([], [], names=NAMES) == Claim()


def test_two_equal_values_are_a_claim():
    assert claim(["s"], ["s"], names=NAMES) == Claim(session_id="s")


@pytest.mark.parametrize(
    ("sessions", "parents", "kind", "field"),
    [
        (["s"], [], ExecutionMissing, "B"),
        ([], ["s"], ExecutionMissing, "A"),
        (["s", "s"], ["s"], HeaderInvalid, "A"),
        (["s"], ["s", "s"], HeaderInvalid, "B"),
        (["s\n"], ["s\n"], HeaderInvalid, "A"),
        (["s"], [""], HeaderInvalid, "B"),
        (["s"], ["p"], HeaderInvalid, "B"),
    ],
)
def test_anything_else_is_a_fault_that_names_its_place(
    sessions: list[str], parents: list[str], kind: type[CodeSynapseError], field: str
):
    said = claim(sessions, parents, names=NAMES)
    assert said.session_id is None
    assert isinstance(said.fault, kind)
    assert said.fault.field == field


async def test_registration_binds_the_callers_id_and_repeats_the_same_deadline(here: World):
    ana = await here.user("ana")
    first = await here.sessions.register(ana, "thread-1")
    here.clock.advance(days=1)
    again = await here.sessions.register(ana, "thread-1")
    assert (first.created, again.created) == (True, False)
    assert again.binding.expires_at_ms == first.binding.expires_at_ms
    assert first.binding.identity.session_id == first.binding.identity.parent_session_id == "thread-1"


@pytest.mark.parametrize("session_id", MALFORMED)
async def test_a_malformed_id_is_neither_registered_nor_revoked(here: World, session_id: object):
    ana = await here.user("ana")
    for work in (here.sessions.register, here.sessions.revoke):
        with pytest.raises(Invalid, match="Field: session_id"):
            await work(ana, session_id)
    assert await here.sessions.listed(ana) == []


async def test_the_dashboards_prefix_is_reserved(here: World):
    with pytest.raises(Invalid):
        await here.sessions.register(await here.user("ana"), "web:1")


async def test_anyone_elses_id_is_a_conflict_live_or_tombstoned(here: World):
    ana, ben = await here.user("ana"), await here.user("ben")
    await here.sessions.register(ana, "s")
    with pytest.raises(BindingConflict):
        await here.sessions.register(ben, "s")
    await here.sessions.revoke(ana, "s")
    with pytest.raises(BindingConflict):
        await here.sessions.register(ben, "s")
    with pytest.raises(SessionRevoked):
        await here.sessions.register(ana, "s")


async def test_ones_own_are_listed_and_nobody_elses(here: World):
    ana, ben = await here.user("ana"), await here.user("ben")
    await here.sessions.register(ana, "s")
    assert [each.identity.session_id for each in await here.sessions.listed(ana)] == ["s"]
    assert await here.sessions.listed(ben) == []


@pytest.mark.parametrize("key", [None, "", "csk_x", "csk_" + "x" * 43, "\udcff"])
async def test_a_key_that_is_none_is_unauthenticated(here: World, key: str | None):
    await here.user("ana")
    with pytest.raises(Unauthenticated):
        await here.sessions.authorize(key, None)


async def refusal_of(here: World, subject: str, session_id: str) -> CodeSynapseError | None:
    authority = await here.sessions.authorize(here.keys[subject], session_id)
    assert (authority.binding is None) == (authority.refusal is not None)
    return authority.refusal


async def test_a_session_resolves_for_its_owner_until_it_expires_or_is_revoked(here: World):
    ana = await here.user("ana")
    await here.sessions.register(ana, "s")
    assert await refusal_of(here, "ana", "s") is None
    here.clock.advance(days=7)
    assert isinstance(await refusal_of(here, "ana", "s"), SessionExpired)
    await here.sessions.revoke(ana, "s")
    assert isinstance(await refusal_of(here, "ana", "s"), SessionRevoked)


async def test_to_anyone_else_a_session_looks_like_one_that_never_existed(here: World):
    ana = await here.user("ana")
    await here.user("ben")
    await here.sessions.register(ana, "s")
    theirs, unknown = await refusal_of(here, "ben", "s"), await refusal_of(here, "ben", "nothing")
    assert isinstance(theirs, SessionNotRegistered)
    assert type(theirs) is type(unknown)
    await here.sessions.revoke(ana, "s")
    assert isinstance(await refusal_of(here, "ben", "s"), SessionNotRegistered)


async def test_only_the_owner_or_an_operator_revokes(here: World):
    ana, ben = await here.user("ana"), await here.user("ben")
    await here.sessions.register(ana, "s")
    for session_id in ("s", "nothing"):
        with pytest.raises(SessionUnknown):
            await here.sessions.revoke(ben, session_id)
    binding = await here.sessions.revoke(ben, "s", operator=True)
    assert binding.revoked_at_ms == here.clock()


async def test_a_revocation_lays_the_tombstone_then_tells_then_removes_the_memory(here: World):
    ana = await here.user("ana")
    execution = await here.execution(ana, "s")
    await upsert(here.engine, execution, triple("Ana", "likes", "tea"))
    told: list[bool] = []

    async def ended() -> None:
        told.append(isinstance(await refusal_of(here, "ana", "s"), SessionRevoked))

    here.sessions.ended = ended
    await here.sessions.revoke(ana, "s")
    assert told == [True]
    assert await here.ports.accounts.cleanups_owed(limit=10) == []
    with pytest.raises(SessionRevoked):
        await here.engine.snapshot(execution, REPO)


class Failing:
    """A session memory whose removal fails; everything else is the real one's."""

    def __init__(self, inner: object) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def revoke(self, *_: object, **__: object) -> int:
        raise StoreFault


async def test_a_failed_removal_is_owed_and_restores_no_access(here: World):
    ana = await here.user("ana")
    await here.sessions.register(ana, "s")
    failing = Failing(here.ports.session_memory)
    sessions = Sessions(here.ports.accounts, failing, None, here.clock)  # type: ignore[arg-type]
    await sessions.revoke(ana, "s")
    assert isinstance(await refusal_of(here, "ana", "s"), SessionRevoked)
    assert [each.session_id for each in await here.ports.accounts.cleanups_owed(limit=10)] == ["s"]
    assert await here.sessions.clean(TENANT, "s")
    assert await here.ports.accounts.cleanups_owed(limit=10) == []


async def test_a_running_call_goes_on_only_while_everything_holds(here: World):
    ana = await here.user("ana")
    execution = await here.execution(ana, "s")
    await here.sessions.recheck(execution)
    await here.ports.accounts.suspend_user("ana", suspended=True, now_ms=here.clock())
    with pytest.raises(Suspended):
        await here.sessions.recheck(execution)
    await here.ports.accounts.suspend_user("ana", suspended=False, now_ms=here.clock())
    await here.ports.accounts.set_member(TENANT, "ana", member=False, now_ms=here.clock())
    with pytest.raises(MembershipWithdrawn):
        await here.sessions.recheck(execution)


async def test_a_call_is_over_when_cancelled_or_past_its_deadline(here: World):
    ana = await here.user("ana")
    execution = await here.execution(ana, "s")
    execution.cancellation.cancel()
    with pytest.raises(ExecutionCancelled):
        await here.sessions.require_repository(execution, REPO, Level.READ)
    other = await here.execution(ana, "s2")
    here.clock.advance(days=7)
    with pytest.raises(ExecutionExpired):
        await here.sessions.recheck(other)


@pytest.mark.parametrize(
    ("held", "needed", "refusal"),
    [
        (None, Level.READ, RepositoryForbidden),
        (Level.READ, Level.READ, None),
        (Level.READ, Level.WRITE, GrantInsufficient),
        (Level.WRITE, Level.WRITE, None),
        (Level.WRITE, Level.ADMIN, GrantInsufficient),
        (Level.ADMIN, Level.WRITE, None),
    ],
)
async def test_a_grant_allows_its_level_and_those_before(
    here: World, held: Level | None, needed: Level, refusal: type[CodeSynapseError] | None
):
    execution = await here.execution(await here.user("ana", level=held), "s")
    if refusal is None:
        await here.sessions.require_repository(execution, REPO, needed)
    else:
        with pytest.raises(refusal, match="Field: repo"):
            await here.sessions.require_repository(execution, REPO, needed)


async def test_a_repository_that_does_not_exist_answers_as_one_without_a_grant(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    with pytest.raises(RepositoryForbidden):
        await here.sessions.require_repository(execution, "nothing", Level.READ)
    with pytest.raises(Invalid, match="Field: repo"):
        await here.sessions.require_repository(execution, "a b", Level.READ)


async def test_a_withdrawn_grant_holds_for_the_next_call(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await here.sessions.require_repository(execution, REPO, Level.READ)
    await here.ports.accounts.set_grant(TENANT, REPO, "ana", None, now_ms=here.clock())
    with pytest.raises(RepositoryForbidden):
        await here.sessions.require_repository(execution, REPO, Level.READ)
