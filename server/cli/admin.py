"""`session`, `org`, `user`, `key` and `repo`: governance by whoever holds the home or the accounts database."""

import click
import msgspec

from codesynapse.contracts.accounts import Caller, Level
from codesynapse.contracts.errors import Invalid, NotFound
from codesynapse.contracts.identity import require_id
from codesynapse.server.cli.first import ORGANIZATION, USER, issue_key, tell_key
from codesynapse.server.cli.stores import command, services, settings_of
from codesynapse.server.clock import rfc3339
from codesynapse.server.services import Services

organization_option = click.option(
    "--org", "organization", default=ORGANIZATION, show_default=True, help="The organisation."
)
user_option = click.option("--user", default=USER, show_default=True, help="The user.")
session_argument = click.argument("session_id")
user_argument = click.argument("user", metavar="NAME")
repository_argument = click.argument("repository", metavar="NAME")


def show(rows: list[dict[str, object]]) -> None:
    """One JSON object a line, for people and for scripts alike."""
    for row in rows:
        click.echo(msgspec.json.encode(row).decode())


def _caller(organization: str, user: str) -> Caller:
    return Caller(
        tenant_id=require_id(organization, field="organization"),
        subject_id=require_id(user, field="user"),
        key_id="command-line",
    )


async def require_member(running: Services, organization: str, user: str, *, former: bool = False) -> None:
    """Raises NotFound for an unknown organisation or user. former: a withdrawn member will do."""
    members = await running.ports.accounts.members(organization)
    if not any(member.subject_id == user and (former or not member.withdrawn) for member in members):
        raise NotFound(field="user")


@click.group()
def session() -> None:
    """Chat sessions: register, list, revoke."""


@session.command("register")
@session_argument
@organization_option
@user_option
@click.pass_context
@command
async def register_session(context: click.Context, session_id: str, organization: str, user: str) -> None:
    """Bind a session id to a user, for seven days."""
    async with services(settings_of(context)) as running:
        await require_member(running, organization, user)
        done = await running.sessions.register(_caller(organization, user), session_id)
        expires_at = rfc3339(done.binding.expires_at_ms)
        click.echo(f"{'registered' if done.created else 'already registered'}, until {expires_at}")


@session.command("list")
@organization_option
@user_option
@click.pass_context
@command
async def list_sessions(context: click.Context, organization: str, user: str) -> None:
    """A user's sessions, newest first."""
    async with services(settings_of(context)) as running:
        await require_member(running, organization, user, former=True)
        now_ms = running.clock()
        bindings = await running.sessions.listed(_caller(organization, user))
        show(
            [
                {
                    "session_id": binding.identity.session_id,
                    "state": binding.state(now_ms).value,
                    "registered_at": rfc3339(binding.registered_at_ms),
                    "expires_at": rfc3339(binding.expires_at_ms),
                }
                for binding in bindings
            ]
        )


@session.command("revoke")
@session_argument
@organization_option
@click.pass_context
@command
async def revoke_session(context: click.Context, session_id: str, organization: str) -> None:
    """End a session for good; its streams close within a second, its memory is removed."""
    async with services(settings_of(context)) as running:
        await running.sessions.revoke(_caller(organization, USER), session_id, operator=True)
        click.echo("revoked")


@click.group()
def org() -> None:
    """Organisations."""


@org.command("create")
@click.argument("organization")
@click.pass_context
@command
async def create_organization(context: click.Context, organization: str) -> None:
    """Create an organisation."""
    async with services(settings_of(context)) as running:
        await running.ports.accounts.create_organization(organization, now_ms=running.clock())
        click.echo("created")


@org.command("list")
@click.pass_context
@command
async def list_organizations(context: click.Context) -> None:
    """All organisations."""
    async with services(settings_of(context)) as running:
        show([{"organization": name} for name in await running.ports.accounts.organizations()])


@org.command("suspend")
@click.argument("organization")
@click.option("--lift", is_flag=True, help="Lift the suspension.")
@click.pass_context
@command
async def suspend_organization(context: click.Context, organization: str, lift: bool) -> None:
    """Refuse everything to an organisation, at once."""
    async with services(settings_of(context)) as running:
        accounts = running.ports.accounts
        await accounts.suspend_organization(organization, suspended=not lift, now_ms=running.clock())
        click.echo("lifted" if lift else "suspended")


@org.command("quotas")
@click.argument("organization")
@click.option("--set", "caps", multiple=True, metavar="NAME=NUMBER", help="Set a cap; may be repeated.")
@click.pass_context
@command
async def organization_quotas(context: click.Context, organization: str, caps: tuple[str, ...]) -> None:
    """Show the caps of an organisation, or set some; a change is audited."""
    async with services(settings_of(context)) as running:
        quotas = await running.ports.accounts.quotas(organization)
        if caps:
            quotas = quotas.changed(dict(_cap(each) for each in caps))
            # The stores first: with the new caps recorded here, they must hold there.
            await running.ports.session_memory.set_quotas(organization, quotas)
            await running.ports.repository.set_quotas(organization, quotas)
            if running.ports.agents is not None:
                await running.ports.agents.set_quotas(organization, quotas)
            await running.ports.accounts.set_quotas(organization, quotas, now_ms=running.clock())
        show([msgspec.structs.asdict(quotas)])


def _cap(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if not number.isascii() or not number.isdigit() or len(number) > 15:
        raise Invalid(field="quota", limit="NAME=NUMBER")
    return name, int(number)


@click.group()
def user() -> None:
    """Users and their memberships."""


@user.command("create")
@user_argument
@organization_option
@click.pass_context
@command
async def create_user(context: click.Context, user: str, organization: str) -> None:
    """Create a user as a member of an organisation."""
    async with services(settings_of(context)) as running:
        accounts, now_ms = running.ports.accounts, running.clock()
        await accounts.members(organization)  # An unknown organisation must not leave a user behind.
        await accounts.create_user(user, now_ms=now_ms)
        await accounts.set_member(organization, user, member=True, now_ms=now_ms)
        click.echo("created")


@user.command("list")
@organization_option
@click.pass_context
@command
async def list_users(context: click.Context, organization: str) -> None:
    """The users of an organisation."""
    async with services(settings_of(context)) as running:
        show([msgspec.structs.asdict(member) for member in await running.ports.accounts.members(organization)])


@user.command("suspend")
@user_argument
@click.option("--lift", is_flag=True, help="Lift the suspension.")
@click.pass_context
@command
async def suspend_user(context: click.Context, user: str, lift: bool) -> None:
    """Refuse everything to a user, in every organisation, at once."""
    async with services(settings_of(context)) as running:
        await running.ports.accounts.suspend_user(user, suspended=not lift, now_ms=running.clock())
        click.echo("lifted" if lift else "suspended")


@user.command("member")
@user_argument
@organization_option
@click.option("--withdraw", is_flag=True, help="Withdraw the membership.")
@click.pass_context
@command
async def member(context: click.Context, user: str, organization: str, withdraw: bool) -> None:
    """Add an existing user to an organisation, or withdraw the membership."""
    async with services(settings_of(context)) as running:
        await running.ports.accounts.set_member(organization, user, member=not withdraw, now_ms=running.clock())
        click.echo("withdrawn" if withdraw else "added")


@click.group()
def key() -> None:
    """API keys."""


@key.command("create")
@organization_option
@user_option
@click.pass_context
@command
async def create_key(context: click.Context, organization: str, user: str) -> None:
    """Make a key for a user and print it, once."""
    async with services(settings_of(context)) as running:
        await require_member(running, organization, user)
        tell_key(await issue_key(running.ports.accounts, running.clock, organization, user))


@key.command("list")
@organization_option
@click.pass_context
@command
async def list_keys(context: click.Context, organization: str) -> None:
    """The keys of an organisation, by their ids."""
    async with services(settings_of(context)) as running:
        records = await running.ports.accounts.keys(organization)
        show(
            [
                {
                    "key_id": record.key_id,
                    "user": record.subject_id,
                    "created_at": rfc3339(record.created_at_ms),
                    "revoked": record.revoked_at_ms is not None,
                }
                for record in records
            ]
        )


@key.command("revoke")
@click.argument("key_id")
@organization_option
@click.pass_context
@command
async def revoke_key(context: click.Context, key_id: str, organization: str) -> None:
    """End a key for good."""
    async with services(settings_of(context)) as running:
        await running.ports.accounts.revoke_key(organization, key_id, now_ms=running.clock())
        click.echo("revoked")


@click.group()
def repo() -> None:
    """Repositories and grants."""


@repo.command("create")
@repository_argument
@organization_option
@click.pass_context
@command
async def create_repository(context: click.Context, repository: str, organization: str) -> None:
    """Create a repository; grant it to somebody next."""
    async with services(settings_of(context)) as running:
        await running.ports.accounts.create_repository(organization, repository, now_ms=running.clock())
        click.echo("created")


@repo.command("list")
@organization_option
@click.pass_context
@command
async def list_repositories(context: click.Context, organization: str) -> None:
    """The repositories of an organisation."""
    async with services(settings_of(context)) as running:
        found = await running.ports.accounts.repositories(organization)
        show([{"repository": each.repository} for each in found])


@repo.command("grant")
@repository_argument
@click.argument("level", type=click.Choice([*(each.value for each in Level), "none"]), metavar="LEVEL")
@organization_option
@user_option
@click.pass_context
@command
async def grant(context: click.Context, repository: str, level: str, organization: str, user: str) -> None:
    """Grant a user read, write or admin on a repository; none withdraws it."""
    wanted = None if level == "none" else Level(level)
    async with services(settings_of(context)) as running:
        await running.ports.accounts.set_grant(organization, repository, user, wanted, now_ms=running.clock())
        click.echo("withdrawn" if wanted is None else "granted")
