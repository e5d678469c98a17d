"""The table of refusals, first half: credential, transport session, execution, in the order of judging."""

from codesynapse.contracts.accounts import new_key
from tests.integration import refusals_world as ways
from tests.integration.refusals_world import ALL, EXECUTION, MEMORY, TRANSPORT, Ask, Case, Spoil, World

SESSION = "X-CodeSynapse-Session"
PARENT = "X-CodeSynapse-Parent-Session"
TRANSPORT_ID = "Mcp-Session-Id"

# --- Credentials. ------------------------------------------------------------------------------------------------


async def no_key(world: World, ask: Ask) -> None:
    del ask.headers["Authorization"]


async def wrong_key(world: World, ask: Ask) -> None:
    ask.headers["Authorization"] = f"Bearer {new_key()}"


async def malformed_key(world: World, ask: Ask) -> None:
    ask.headers["Authorization"] = f"Bearer csk_{world.offer()}"


async def key_of_another_scheme(world: World, ask: Ask) -> None:
    ask.headers["Authorization"] = f"Basic {world.owner.key}"


async def key_twice(world: World, ask: Ask) -> None:
    ask.headers.add("Authorization", ask.headers["Authorization"])


async def revoked_key(world: World, ask: Ask) -> None:
    keys = await world.accounts.keys(world.owner.tenant)
    for record in keys:
        await world.accounts.revoke_key(world.owner.tenant, world.offering(record.key_id), now_ms=world.now_ms)


async def suspended_user(world: World, ask: Ask) -> None:
    await world.accounts.suspend_user(world.offering(world.owner.subject), suspended=True, now_ms=world.now_ms)


async def suspended_organization(world: World, ask: Ask) -> None:
    tenant = world.offering(world.owner.tenant)
    await world.accounts.suspend_organization(tenant, suspended=True, now_ms=world.now_ms)


async def withdrawn_membership(world: World, ask: Ask) -> None:
    await world.accounts.set_member(world.owner.tenant, world.owner.subject, member=False, now_ms=world.now_ms)


async def key_of_second_organization(world: World, ask: Ask) -> None:
    ask.headers["Authorization"] = f"Bearer {(await world.stranger()).key}"


async def key_of_colleague(world: World, ask: Ask) -> None:
    ask.headers["Authorization"] = f"Bearer {(await world.colleague()).key}"


async def second_key_of_owner(world: World, ask: Ask) -> None:
    key = await world.running.key(world.owner.tenant, world.owner.subject)
    ask.headers["Authorization"] = f"Bearer {key}"


CREDENTIALS = [
    Case(name="no key", ways=ALL, status=401, code="unauthenticated", spoil=no_key),
    Case(name="a wrong key", ways=ALL, status=401, code="unauthenticated", spoil=wrong_key),
    Case(name="a malformed key", ways=ALL, status=401, code="unauthenticated", spoil=malformed_key),
    Case(name="a key of another scheme", ways=ALL, status=401, code="unauthenticated", spoil=key_of_another_scheme),
    Case(name="a key given twice", ways=ALL, status=401, code="unauthenticated", spoil=key_twice),
    Case(name="a revoked key", ways=ALL, status=401, code="unauthenticated", spoil=revoked_key, lasting=True),
    Case(name="a suspended user", ways=ALL, status=403, code="suspended", spoil=suspended_user, lasting=True),
    Case(
        name="a suspended organisation",
        ways=ALL,
        status=403,
        code="suspended",
        spoil=suspended_organization,
        lasting=True,
    ),
    Case(
        name="a withdrawn membership",
        ways=ALL,
        status=403,
        code="membership_withdrawn",
        spoil=withdrawn_membership,
        lasting=True,
    ),
]

# --- Transport sessions. -----------------------------------------------------------------------------------------


async def guessed_transport(world: World, ask: Ask) -> None:
    ask.headers[TRANSPORT_ID] = world.offer()


async def transport_twice(world: World, ask: Ask) -> None:
    ask.headers.add(TRANSPORT_ID, ask.headers[TRANSPORT_ID])


async def no_transport(world: World, ask: Ask) -> None:
    del ask.headers[TRANSPORT_ID]


OTHERS = (
    ("the key of a second organisation", key_of_second_organization),
    ("the key of a colleague", key_of_colleague),
)
TRANSPORTS = [
    *(Case(name=name, ways=TRANSPORT, status=404, code="transport_unknown", spoil=spoil) for name, spoil in OTHERS),
    Case(
        name="the owner's second key",
        ways=TRANSPORT,
        status=404,
        code="transport_unknown",
        spoil=second_key_of_owner,
    ),
    Case(
        name="a guessed transport session",
        ways=TRANSPORT,
        status=404,
        code="transport_unknown",
        spoil=guessed_transport,
    ),
    Case(
        name="a transport session given twice",
        ways=TRANSPORT,
        status=400,
        code="header_invalid",
        field=TRANSPORT_ID,
        spoil=transport_twice,
    ),
    Case(
        name="no transport session",
        ways=(ways.get, ways.resume, ways.delete),
        status=405,
        code="http_405",
        spoil=no_transport,
    ),
]

# --- Executions. -------------------------------------------------------------------------------------------------


def name_session(ask: Ask, session_id: str) -> None:
    ask.headers[SESSION] = ask.headers[PARENT] = session_id


async def guessed(world: World, ask: Ask) -> None:
    name_session(ask, world.offer())


async def foreign(world: World, ask: Ask) -> None:
    name_session(ask, await world.session_of(await world.stranger()))


async def of_colleague(world: World, ask: Ask) -> None:
    name_session(ask, await world.session_of(await world.colleague()))


async def foreign_revoked(world: World, ask: Ask) -> None:
    name_session(ask, await world.session_of(await world.colleague(), "revoked"))


async def foreign_expired(world: World, ask: Ask) -> None:
    name_session(ask, await world.session_of(await world.colleague(), "expired"))


async def another_of_owner(world: World, ask: Ask) -> None:
    name_session(ask, await world.session_of(world.owner))


async def revoked(world: World, ask: Ask) -> None:
    """In the store alone, as another process does: the transport is still open."""
    await world.accounts.revoke(world.owner.tenant, world.session, subject_id=world.owner.subject, now_ms=world.now_ms)


async def expired(world: World, ask: Ask) -> None:
    world.running.clock.advance(days=7)  # type: ignore[attr-defined]


async def no_headers(world: World, ask: Ask) -> None:
    del ask.headers[SESSION], ask.headers[PARENT]


async def another_parent(world: World, ask: Ask) -> None:
    ask.headers[PARENT] = await world.session_of(world.owner)


def missing(name: str) -> Spoil:
    async def spoil(world: World, ask: Ask) -> None:
        del ask.headers[name]

    return spoil


def twice(name: str) -> Spoil:
    async def spoil(world: World, ask: Ask) -> None:
        ask.headers.add(name, ask.headers[name])

    return spoil


def malformed(name: str, form: str) -> Spoil:
    async def spoil(world: World, ask: Ask) -> None:
        ask.headers[name] = form.format(world.offer())

    return spoil


FORMS = {
    "empty": "",
    "with a blank": "{} x",
    "with a comma": "{0},{0}",
    "beyond ASCII": "{}é",
    "too long": "{}" + "x" * 128,
}
EXECUTIONS = [
    *(
        Case(name=name, ways=EXECUTION, status=403, code="session_not_registered", spoil=spoil)
        for name, spoil in (
            ("a guessed session", guessed),
            ("a session of a second organisation", foreign),
            ("a session of a colleague", of_colleague),
            ("a revoked session of a colleague", foreign_revoked),
        )
    ),
    Case(
        name="an expired session of a colleague",
        ways=EXECUTION,
        status=403,
        code="session_not_registered",
        spoil=foreign_expired,
        lasting=True,
    ),
    *(
        Case(name=name, ways=(ways.initialize, *MEMORY), status=403, code="session_not_registered", spoil=spoil)
        for name, spoil in OTHERS
    ),
    Case(
        name="another session of the owner",
        ways=TRANSPORT,
        status=403,
        code="rebind_refused",
        spoil=another_of_owner,
    ),
    Case(name="a revoked session", ways=EXECUTION, status=403, code="revoked", spoil=revoked, lasting=True),
    Case(name="an expired session", ways=EXECUTION, status=403, code="expired", spoil=expired, lasting=True),
    Case(
        name="no execution headers",
        ways=(*TRANSPORT, *MEMORY),
        status=403,
        code="execution_missing",
        spoil=no_headers,
    ),
    Case(
        name="a parent other than the session",
        ways=EXECUTION,
        status=400,
        code="header_invalid",
        field=PARENT,
        spoil=another_parent,
    ),
    *(
        Case(
            name=f"{name} missing",
            ways=EXECUTION,
            status=403,
            code="execution_missing",
            field=name,
            spoil=missing(name),
        )
        for name in (SESSION, PARENT)
    ),
    *(
        Case(name=f"{name} twice", ways=EXECUTION, status=400, code="header_invalid", field=name, spoil=twice(name))
        for name in (SESSION, PARENT)
    ),
    *(
        Case(
            name=f"{name} {form}",
            ways=(ways.post, ways.get, ways.initialize, ways.read),
            status=400,
            code="header_invalid",
            field=name,
            spoil=malformed(name, FORMS[form]),
        )
        for name in (SESSION, PARENT)
        for form in FORMS
    ),
]
