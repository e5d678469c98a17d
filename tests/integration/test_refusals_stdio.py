"""Who is refused how over stdio: by exit code before anything is read, and by an answer once it runs."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from codesynapse.contracts.accounts import Level, new_key
from codesynapse.contracts.requirements import requirement
from codesynapse.server.clock import ManualClock, system_clock
from tests.integration.harness import Person, Product, command, environment, fresh, product
from tests.integration.refusals_world import Overheard
from tests.integration.stdio_peer import StdioPeer, shell

KEY, SESSION, PARENT = "CODESYNAPSE_API_KEY", "CODESYNAPSE_SESSION_ID", "CODESYNAPSE_PARENT_SESSION_ID"
Environment = dict[str, str]
Change = Callable[[Product, Person, str], Awaitable[Environment]]


def told(**values: str) -> Change:
    """An environment with other values."""

    async def change(running: Product, owner: Person, session_id: str) -> Environment:
        return values

    return change


async def a_revoked_key(running: Product, owner: Person, session_id: str) -> Environment:
    accounts = running.services.ports.accounts
    for record in await accounts.keys(owner.tenant):
        await accounts.revoke_key(owner.tenant, record.key_id, now_ms=running.clock())
    return {}


async def a_suspended_user(running: Product, owner: Person, session_id: str) -> Environment:
    await running.services.ports.accounts.suspend_user(owner.subject, suspended=True, now_ms=running.clock())
    return {}


async def a_suspended_organisation(running: Product, owner: Person, session_id: str) -> Environment:
    await running.services.ports.accounts.suspend_organization(owner.tenant, suspended=True, now_ms=running.clock())
    return {}


async def a_withdrawn_membership(running: Product, owner: Person, session_id: str) -> Environment:
    accounts = running.services.ports.accounts
    await accounts.set_member(owner.tenant, owner.subject, member=False, now_ms=running.clock())
    return {}


async def a_key_of_a_second_organisation(running: Product, owner: Person, session_id: str) -> Environment:
    return {KEY: (await running.person()).key}


async def a_key_of_a_colleague(running: Product, owner: Person, session_id: str) -> Environment:
    return {KEY: (await running.person(owner.tenant)).key}


async def a_revoked_session(running: Product, owner: Person, session_id: str) -> Environment:
    await running.services.ports.accounts.revoke(owner.tenant, session_id, subject_id=None, now_ms=running.clock())
    return {}


async def an_expired_session(running: Product, owner: Person, session_id: str) -> Environment:
    """Its binding was made by a clock eight days behind."""
    long_ago = ManualClock(system_clock())
    long_ago.advance(days=-8)
    caller = (await running.services.sessions.authorize(owner.key, None)).caller
    expired = fresh()
    await running.services.ports.accounts.register(caller, expired, now_ms=long_ago())
    return {SESSION: expired, PARENT: expired}


def both(value: str) -> Environment:
    return {SESSION: value, PARENT: value}


# (what is wrong, how, the variable that is named, what is said of it)
AT_THE_START: list[tuple[str, Change, str, str]] = [
    ("no key", told(**{KEY: ""}), KEY, "needs an API key"),
    ("a wrong key", told(**{KEY: new_key()}), KEY, "valid API key"),
    ("a malformed key", told(**{KEY: "csk_" + fresh()}), KEY, "valid API key"),
    ("a revoked key", a_revoked_key, KEY, "valid API key"),
    ("a suspended user", a_suspended_user, KEY, "suspended"),
    ("a suspended organisation", a_suspended_organisation, KEY, "suspended"),
    ("a withdrawn membership", a_withdrawn_membership, KEY, "no longer a member"),
    ("no session", told(**both("")), SESSION, "needs the chat's id"),
    ("a malformed session", told(**both(fresh() + " x")), SESSION, "1 to 128"),
    ("no parent", told(**{PARENT: ""}), PARENT, "must be given"),
    ("another parent", told(**{PARENT: fresh()}), PARENT, "equal CODESYNAPSE_SESSION_ID"),
    ("a guessed session", told(**both(fresh())), SESSION, "not registered to this caller"),
    ("a key of a second organisation", a_key_of_a_second_organisation, SESSION, "not registered to this caller"),
    ("a key of a colleague", a_key_of_a_colleague, SESSION, "not registered to this caller"),
    ("a revoked session", a_revoked_session, SESSION, "was revoked"),
    ("an expired session", an_expired_session, SESSION, "has expired"),
]


async def started(home: Path, running: Product, change: Change) -> tuple[Environment, tuple[int, str, str]]:
    """The environment that was given, and exit code, output and error of a start with it."""
    owner = await running.person()
    session_id = await running.register(owner)
    right = {KEY: owner.key, SESSION: session_id, PARENT: session_id}
    given = right | await change(running, owner, session_id)
    return given, await command(home, "stdio", env=given)


@requirement("stdio:refuses", "stdio:credentials")
async def test_stdio_exits_with_2_and_names_the_variable_before_it_reads(tmp_path: Path) -> None:
    async with product(store="sqlite", home=tmp_path, clock=system_clock) as running:
        assert (await started(tmp_path, running, told()))[1] == (0, "", "")  # The twin: all is right.
        changes = [change for _, change, _, _ in AT_THE_START]
        outcomes = await asyncio.gather(*(started(tmp_path, running, change) for change in changes))
    for (name, _, variable, said), (given, (code, out, err)) in zip(AT_THE_START, outcomes, strict=True):
        assert (name, code, out) == (name, 2, "")
        assert err.startswith(f"{variable}: "), (name, err)
        assert said in err, (name, err)
        assert [value for value in given.values() if value and value in err] == [], name


async def an_expiry(running: Product, owner: Person, session_id: str) -> Environment:
    running.clock.advance(days=7)  # type: ignore[attr-defined]
    return {}


ONCE_IT_RUNS: list[tuple[Change, str]] = [
    (a_revoked_key, "unauthenticated"),
    (a_suspended_user, "suspended"),
    (a_suspended_organisation, "suspended"),
    (a_withdrawn_membership, "membership_withdrawn"),
    (a_revoked_session, "revoked"),
    (an_expiry, "expired"),
]


@pytest.mark.parametrize(("change", "code"), ONCE_IT_RUNS, ids=[change.__name__ for change, _ in ONCE_IT_RUNS])
async def test_what_ends_access_is_an_error_of_the_next_call(change: Change, code: str, overheard: Overheard) -> None:
    async with product() as running:
        owner = await running.person()
        session_id = await running.register(owner)
        async with shell(running, owner, session_id) as peer:
            await peer.initialize()
            assert (await peer.remember(("Ana", "likes", "tea")))["added"] == 1
            await change(running, owner, session_id)
            answer = await peer.call("recall_context", {"query": "tea"})
            assert answer["error"]["data"]["code"] == code
            said = repr(answer) + overheard.text()
            assert [each for each in (owner.key, session_id, owner.subject, owner.tenant) if each in said] == []
            # What needs no session goes on.
            assert (await peer.request("ping"))["result"] == {}


async def with_an_identity(running: Product, owner: Person, session_id: str) -> Environment:
    return {"session_id": session_id}


async def of_a_repository_without_grant(running: Product, owner: Person, session_id: str) -> Environment:
    name = fresh("repo")
    await running.services.ports.accounts.create_repository(owner.tenant, name, now_ms=running.clock())
    return {"repo": name}


async def of_a_repository_that_does_not_exist(running: Product, owner: Person, session_id: str) -> Environment:
    return {"repo": fresh("repo")}


def granted(level: Level | None) -> Change:
    async def change(running: Product, owner: Person, session_id: str) -> Environment:
        accounts = running.services.ports.accounts
        await accounts.set_grant(owner.tenant, "default", owner.subject, level, now_ms=running.clock())
        return {}

    return change


BY_ARGUMENTS: list[tuple[str, Change, str]] = [
    ("an id as an argument", with_an_identity, "invalid"),
    ("a repository without grant", of_a_repository_without_grant, "repository_forbidden"),
    ("a repository that does not exist", of_a_repository_that_does_not_exist, "repository_forbidden"),
    ("a read grant used to write", granted(Level.READ), "grant_insufficient"),
    ("a grant withdrawn between two calls", granted(None), "repository_forbidden"),
]


@pytest.mark.parametrize(("name", "change", "code"), BY_ARGUMENTS, ids=[name for name, _, _ in BY_ARGUMENTS])
async def test_what_arguments_decide_is_a_result_that_is_an_error(
    name: str, change: Change, code: str, overheard: Overheard
) -> None:
    async with product() as running:
        owner = await running.person()
        session_id = await running.register(owner)
        async with shell(running, owner, session_id) as peer:
            await peer.initialize()
            assert (await peer.remember(("Ana", "likes", "tea"), scope="repository"))["added"] == 1
            given = await change(running, owner, session_id)
            result = await refused(peer, given)
            assert result["structuredContent"]["code"] == code
            said = repr(result) + overheard.text()
            assert [value for value in given.values() if value in said] == []


async def refused(peer: StdioPeer, more: Environment) -> dict[str, dict[str, object]]:
    """The erroneous result of a write."""
    triple = {"subject": "Ana", "predicate": "likes", "object": "cake"}
    answer = await peer.call("upsert_graph_triples", {"triples": [triple], **more})
    assert answer["result"]["isError"]
    return answer["result"]  # type: ignore[no-any-return]


def test_the_environment_of_a_child_holds_nothing_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SESSION, "from-outside")
    assert SESSION not in environment(tmp_path)
