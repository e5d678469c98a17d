"""What every command that touches the stores needs: settings, open ports, and errors told in one line."""

import asyncio
import functools
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import click

from codesynapse.contracts.errors import CodeSynapseError, Unavailable
from codesynapse.server.services import Services, compose, open_ports
from codesynapse.server.settings import Settings, SettingsError, load
from codesynapse.server.telemetry import configure_logging

R = TypeVar("R")

PARAMETERS = {"member": "user", "key": "key_id", "quota": "caps", "agent_id": "agent"}
"""Fields of the stores' refusals whose parameter has another name."""


def settings_of(context: click.Context) -> Settings:
    """The settings in force, with what the command line said before the command."""
    settings = load(overrides=context.find_root().obj or {})
    configure_logging(settings.log_level)
    return settings


@asynccontextmanager
async def services(settings: Settings) -> AsyncIterator[Services]:
    """The services over the stores that the settings name; `ACCOUNTS=memory` has nothing to administer."""
    if settings.accounts == "memory":
        raise SettingsError("CODESYNAPSE_ACCOUNTS: accounts in memory end with their process; nothing to do here.")
    async with open_ports(settings) as ports:
        yield compose(settings, ports)


def command(work: Callable[..., Awaitable[R]]) -> Callable[..., R]:
    """Run an async command; a refusal becomes one line on standard error and exit code 1, a bad setting 2."""

    @functools.wraps(work)
    def run(*arguments: Any, **options: Any) -> R:
        try:
            return asyncio.run(_awaited(work(*arguments, **options)))
        except SettingsError as error:
            click.echo(str(error), err=True)
            sys.exit(2)
        except CodeSynapseError as error:
            error.field = said_as(click.get_current_context(), error.field)
            click.echo(with_cause(error), err=True)
            sys.exit(1)

    return run


def said_as(context: click.Context, field: str | None) -> str | None:
    """A field as the command line calls it: `--org`, or an argument's name as the help shows it."""
    if field == "path":
        return "CODESYNAPSE_HOME"
    wanted = PARAMETERS.get(field or "", field)
    for parameter in context.command.params:
        if parameter.name == wanted:
            is_option = isinstance(parameter, click.Option)
            return parameter.opts[0] if is_option else parameter.human_readable_name
    return field


def with_cause(error: CodeSynapseError) -> str:
    """The message of an error, and what a store names as its cause: whoever runs commands may know."""
    cause = error.cause if isinstance(error, Unavailable) else None
    return error.message if cause is None else f"{error.message} Cause: {cause}."


async def _awaited(work: Awaitable[R]) -> R:
    return await work
