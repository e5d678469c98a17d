"""The table of refusals, second half: what arguments decide, and registration and revocation."""

from collections.abc import Awaitable, Callable

from codesynapse.contracts.accounts import Level
from tests.integration import refusals_world as ways
from tests.integration.harness import fresh
from tests.integration.refusals_world import MEMORY, Ask, Case, Spoil, World, grant

# --- Arguments. --------------------------------------------------------------------------------------------------


def identity_argument(name: str) -> Spoil:
    async def spoil(world: World, ask: Ask) -> None:
        """The very session of the caller: even the right one is no argument."""
        if ask.body is None:
            ask.path += f"?{name}={world.session}"
        else:
            ask.body.get("params", {}).get("arguments", ask.body)[name] = world.session

    return spoil


def other_repository(find: Callable[[World], Awaitable[str]]) -> Spoil:
    async def spoil(world: World, ask: Ask) -> None:
        name = world.offering(await find(world))
        if ask.path == "/mcp":
            assert ask.body is not None
            ask.body["params"]["arguments"]["repo"] = name
        else:
            ask.path = ask.path.replace("/default/", f"/{name}/")

    return spoil


async def ungranted(world: World) -> str:
    name = fresh("repo")
    await world.accounts.create_repository(world.owner.tenant, name, now_ms=world.now_ms)
    return name


async def nonexistent(world: World) -> str:
    return fresh("repo")


async def of_second_organization(world: World) -> str:
    name = fresh("repo")
    await world.running.organization(repository=name)
    return name


async def only_reading(world: World, ask: Ask) -> None:
    await grant(world, Level.READ)


async def grant_withdrawn(world: World, ask: Ask) -> None:
    await grant(world, None)


REPOSITORIES = (
    ("a repository without grant", other_repository(ungranted)),
    ("a repository that does not exist", other_repository(nonexistent)),
    ("a repository of a second organisation", other_repository(of_second_organization)),
)
CALLS = (ways.post, ways.write)
ARGUMENTS = [
    *(
        Case(name=f"{name} as an argument", ways=where, status=status, code="invalid", spoil=identity_argument(name))
        for name in ("session_id", "parent_session_id", "tenant_id", "subject_id")
        for where, status in ((CALLS, 200), ((ways.read, ways.remember, ways.recall), 422))
    ),
    *(
        Case(name=name, ways=where, status=status, code="repository_forbidden", field="repo", spoil=spoil)
        for name, spoil in REPOSITORIES
        for where, status in ((CALLS, 200), (MEMORY, 403))
    ),
    Case(
        name="a read grant used to write",
        ways=(ways.write,),
        status=200,
        code="grant_insufficient",
        field="repo",
        spoil=only_reading,
        lasting=True,
    ),
    *(
        Case(
            name="a grant withdrawn between two calls",
            ways=where,
            status=status,
            code="repository_forbidden",
            field="repo",
            spoil=grant_withdrawn,
            lasting=True,
        )
        for where, status in ((CALLS, 200), (MEMORY, 403))
    ),
]

# --- Registration and revocation. --------------------------------------------------------------------------------


def naming(find: Callable[[World], Awaitable[str]]) -> Spoil:
    """Put an id into the body."""

    async def spoil(world: World, ask: Ask) -> None:
        assert ask.body is not None
        ask.body["session_id"] = world.offering(await find(world))

    return spoil


def somebodys(who: str, state: str) -> Callable[[World], Awaitable[str]]:
    async def find(world: World) -> str:
        person = world.owner if who == "owner" else await getattr(world, who)()
        return await world.session_of(person, state)

    return find


async def unknown(world: World) -> str:
    return fresh()


async def of_dashboard(world: World) -> str:
    return "web:" + fresh()


async def not_an_id(world: World) -> str:
    return f"{fresh()}\n"


def capped(**caps: int) -> Spoil:
    async def spoil(world: World, ask: Ask) -> None:
        quotas = (await world.accounts.quotas(world.owner.tenant)).changed(caps)
        await world.accounts.set_quotas(world.owner.tenant, quotas, now_ms=world.now_ms)

    return spoil


FOREIGN = [(who, state) for who in ("colleague", "stranger") for state in ("live", "revoked", "expired")]
REGISTER, REVOKE = (ways.register,), (ways.revoke,)
REGISTRATION = [
    *(
        Case(
            name=f"the {state} id of a {who}",
            ways=REGISTER,
            status=409,
            code="binding_conflict",
            spoil=naming(somebodys(who, state)),
        )
        for who, state in FOREIGN
    ),
    *(
        Case(
            name=f"one's own {state} id",
            ways=REGISTER,
            status=403,
            code=state,
            spoil=naming(somebodys("owner", state)),
        )
        for state in ("revoked", "expired")
    ),
    Case(
        name="an id of the dashboard's",
        ways=REGISTER,
        status=422,
        code="invalid",
        field="session_id",
        spoil=naming(of_dashboard),
    ),
    *(
        Case(name="what is no id", ways=where, status=422, code="invalid", field="session_id", spoil=naming(not_an_id))
        for where in (REGISTER, REVOKE)
    ),
    Case(
        name="the cap of active sessions",
        ways=REGISTER,
        status=429,
        code="too_many_sessions",
        spoil=capped(sessions_active_max=1),
        lasting=True,
    ),
    Case(
        name="the cap of retained sessions",
        ways=REGISTER,
        status=409,
        code="capacity",
        spoil=capped(sessions_retained_max=1),
        lasting=True,
    ),
    Case(name="an unknown id", ways=REVOKE, status=404, code="session_unknown", spoil=naming(unknown)),
    *(
        Case(
            name=f"the {state} id of a {who}",
            ways=REVOKE,
            status=404,
            code="session_unknown",
            spoil=naming(somebodys(who, state)),
        )
        for who, state in FOREIGN
    ),
]
