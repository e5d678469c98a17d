"""`agent`: who may use which agent's memory, set by whoever holds the home or the accounts database."""

import click

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agent_port import AgentMemory
from codesynapse.contracts.errors import Unsupported
from codesynapse.contracts.identity import require_id
from codesynapse.server.cli.admin import organization_option, require_member, show, user_option
from codesynapse.server.cli.stores import command, services, settings_of
from codesynapse.server.services import Services

agent_argument = click.argument("agent", metavar="NAME")


def _agents(running: Services) -> AgentMemory:
    """Raises Unsupported where no store keeps agent memory."""
    if running.ports.agents is None:
        raise Unsupported(field="agents")
    return running.ports.agents


@click.group()
def agent() -> None:
    """Agents' memory: which there are, and who may use them."""


@agent.command("list")
@organization_option
@click.option("--user", default=None, help="Only those that this user has a grant on, with its level.")
@click.pass_context
@command
async def list_agents(context: click.Context, organization: str, user: str | None) -> None:
    """The agents of an organisation; the first write to a name makes one."""
    async with services(settings_of(context)) as running:
        if user is None:
            await running.ports.accounts.members(organization)  # Raises for an unknown organisation.
        else:
            await require_member(running, organization, user, former=True)
        found = await _agents(running).agents(organization, user)
        show([{"agent": each.agent_id, **({"level": each.level.value} if each.level else {})} for each in found])


@agent.command("grant")
@agent_argument
@click.argument("level", type=click.Choice([*(each.value for each in Level), "none"]), metavar="LEVEL")
@organization_option
@user_option
@click.pass_context
@command
async def grant(context: click.Context, agent: str, level: str, organization: str, user: str) -> None:
    """Grant a user read, write or admin on an agent; none withdraws it."""
    wanted = None if level == "none" else Level(level)
    async with services(settings_of(context)) as running:
        await require_member(running, organization, user, former=wanted is None)
        agent_id = require_id(agent, field="agent_id")
        await _agents(running).set_level(organization, agent_id, user, wanted, now_ms=running.clock())
        click.echo("withdrawn" if wanted is None else "granted")
