"""`tool-cost`: what the tool list costs a conversation, and what a parameter adds to it."""

from typing import Any

import click
import msgspec
from msgspec import structs

from codesynapse.server.cli.stores import command, settings_of
from codesynapse.server.services import compose, open_ports
from codesynapse.server.settings import SettingsError
from codesynapse.server.tools.cost import (
    CHARACTERS_A_TOKEN,
    KEY,
    arms_of,
    characters_of,
    cost_of,
    price_of,
    tokens_of,
)


@click.command("tool-cost", short_help="What the tool list costs a conversation.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--parameter", help="Price this parameter, by deleting it from the list; session_key in all four arms.")
@click.option("--toolset", help="Toolsets to count, separated by commas, instead of CODESYNAPSE_TOOLSETS.")
@click.option("--each", is_flag=True, help="Tell the figures of each tool.")
@click.pass_context
@command
async def tool_cost(
    context: click.Context, as_json: bool, parameter: str | None, toolset: str | None, each: bool
) -> None:
    """Characters and estimated tokens of the tools that clients are shown.

    Counted over name, description and input schema of the toolsets that CODESYNAPSE_TOOLSETS names.
    """
    # The list does not depend on the stores; in memory nothing is created or locked.
    settings = structs.replace(settings_of(context), graph="memory", accounts="memory")
    if toolset is not None:
        settings = structs.replace(settings, toolsets=toolset)
    async with open_ports(settings) as ports:
        services = compose(settings, ports)
    said = figures(services.toolbox.catalog.visible(services.toolsets), parameter, each=each)
    if as_json:
        click.echo(msgspec.json.encode(said).decode())
        return
    for line in lines(said):
        click.echo(line)


def figures(tools: list[dict[str, Any]], parameter: str | None, *, each: bool) -> dict[str, Any]:
    """All that is told: the list's cost first, then what was asked for."""
    said: dict[str, Any] = structs.asdict(cost_of(tools))
    if each:
        said["each"] = {
            tool["name"]: {"characters": characters_of(tool), "tokens": tokens_of(characters_of(tool))}
            for tool in tools
        }
    if parameter is not None:
        price = price_of(tools, parameter)
        if not price.tools:
            raise SettingsError("--parameter: no tool that is shown has a parameter of this name.")
        said["parameter"] = {**structs.asdict(price), "percent": round(100 * price.share, 1)}
    if parameter == KEY:
        said["arms"] = [structs.asdict(arm) for arm in arms_of(tools)]
    return said


def lines(said: dict[str, Any]) -> list[str]:
    """The same for a reader."""
    told = [f"{name:<24}{one['characters']:>8,}{one['tokens']:>8,}" for name, one in said.get("each", {}).items()]
    if (price := said.get("parameter")) is not None:
        told.append(
            f"{price['parameter']}: {price['characters']:,} characters on {price['tools']} tools, "
            f"{price['percent']} % of {price['without']:,} without it"
        )
    told += [
        f"arm {arm['arm']}: {arm['characters']:,} characters, +{arm['added']:,} ({arm['percent']} %): {arm['strategy']}"
        for arm in said.get("arms", ())
    ]
    return [
        *told,
        f"{said['tools']} tools, {said['characters']:,} characters,",
        f"about {said['tokens']:,} tokens at {CHARACTERS_A_TOKEN} characters each",
    ]
