"""`tool-cost`: what the tool list costs a conversation."""

import click
import msgspec
from msgspec import structs

from codesynapse.server.cli.stores import command, settings_of
from codesynapse.server.services import compose, open_ports
from codesynapse.server.tools.cost import CHARACTERS_A_TOKEN, cost_of


@click.command("tool-cost", short_help="What the tool list costs a conversation.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
@command
async def tool_cost(context: click.Context, as_json: bool) -> None:
    """Characters and estimated tokens of the tools that clients are shown.

    Counted over name, description and input schema of the toolsets that CODESYNAPSE_TOOLSETS names.
    """
    # The list does not depend on the stores; in memory nothing is created or locked.
    settings = structs.replace(settings_of(context), graph="memory", accounts="memory")
    async with open_ports(settings) as ports:
        services = compose(settings, ports)
    cost = cost_of(services.toolbox.catalog.visible(services.toolsets))
    if as_json:
        click.echo(msgspec.json.encode(cost).decode())
        return
    click.echo(f"{cost.tools} tools, {cost.characters:,} characters,")
    click.echo(f"about {cost.tokens:,} tokens at {CHARACTERS_A_TOKEN} characters each")
