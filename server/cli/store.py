"""`store`: moving all memory from one store to another, comparing two, and what one holds."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click
import msgspec

from codesynapse.backends import features_of
from codesynapse.contracts.errors import CodeSynapseError
from codesynapse.contracts.ports import Portable
from codesynapse.server.cli.moving import copy, differences, inventory, kinds_of
from codesynapse.server.cli.probing import graph_advice
from codesynapse.server.cli.stores import command, settings_of
from codesynapse.server.clock import system_clock
from codesynapse.server.services import backend_of, open_store, sqlite_path
from codesynapse.server.settings import Settings, SettingsError

DEADLINE_MS = 120_000
"""A page or a whole repository may take longer than a call of a chat."""

from_option = click.option("--from", "source", required=True, metavar="NAME|URL", help="Store that is read.")
to_option = click.option("--to", "target", required=True, metavar="NAME|URL", help="Store that is written.")
organization_option = click.option("--org", "organization", help="Only this organisation.")


@click.group()
def store() -> None:
    """Graph stores: move to another, compare two, measure one.

    A store is named as in CODESYNAPSE_GRAPH: sqlite for the home's file, sqlite:///PATH, neo4j://…, bolt://…,
    hugegraph+http://…. Stop every server that writes to one of them first.
    """


@store.command("copy")
@from_option
@to_option
@organization_option
@click.option("--verbose", is_flag=True, help="One line for each thing, also where all is well.")
@click.pass_context
@command
async def copy_store(context: click.Context, source: str, target: str, organization: str | None, verbose: bool) -> None:
    """Copy all memory into another store. Run it again after an interruption; it goes on.

    What is there already and equal is left alone; what is there and differs is named, and the exit code is 1.
    """
    settings = _patient(context)
    if _same(settings, source, target):
        raise SettingsError("--to: is the same store as --from.")
    async with _opened(settings, source, "--from") as old, _opened(settings, target, "--to", made=True) as new:
        steps = await copy(old, new, tenant_id=organization, clock=system_clock)
    _known(organization, bool(steps), "--from")
    bad = [step for step in steps if step.state not in ("copied", "equal")]
    for step in steps if verbose else bad:
        _say(
            {
                "kind": step.name[0],
                "name": step.name[1:],
                "state": step.state,
                "digest": step.digest or None,
                "before": step.before,
                "after": step.after,
                "code": step.code,
            }
        )
    counts = {state: kinds_of(step.name for step in steps if step.state == state) for state in ("copied", "equal")}
    _say({**counts, "different": kinds_of(step.name for step in bad)})
    if bad:
        sys.exit(1)


@store.command("verify")
@from_option
@to_option
@organization_option
@click.pass_context
@command
async def verify_store(context: click.Context, source: str, target: str, organization: str | None) -> None:
    """Compare two stores and list what they do not hold alike. Exits 1 when there is any."""
    settings = _patient(context)
    async with _opened(settings, source, "--from") as old, _opened(settings, target, "--to") as new:
        left, right = await inventory(old, organization), await inventory(new, organization)
    _known(organization, not (left.empty and right.empty), "--from, --to")
    found = differences(left, right)
    for name, one, other in found:
        _say({"kind": name[0], "name": name[1:], "from": one, "to": other})
    held = {"from": kinds_of(left.digests), "to": kinds_of(right.digests)}
    _say({**held, "different": kinds_of(name for name, _, _ in found)})
    if found:
        sys.exit(1)


@store.command("stats")
@click.option("--of", "named", metavar="NAME|URL", help="The store; else CODESYNAPSE_GRAPH.")
@organization_option
@click.pass_context
@command
async def store_stats(context: click.Context, named: str | None, organization: str | None) -> None:
    """Count what a store holds, and name the largest."""
    settings = _patient(context)
    async with _opened(settings, named or settings.graph, "--of") as portable:
        _say((await inventory(portable, organization)).stats())


def _say(row: dict[str, object]) -> None:
    click.echo(msgspec.json.encode(row).decode())


def _known(organization: str | None, found: bool, option: str) -> None:
    """Refuse an organisation of which there is nothing: its name is misspelt rather than its memory empty."""
    if organization is not None and not found:
        raise SettingsError(f"--org: {option} holds nothing of an organisation of this name.")


def _patient(context: click.Context) -> Settings:
    settings = settings_of(context)
    deadline_ms = max(settings.store_deadline_ms, DEADLINE_MS)
    return msgspec.structs.replace(settings, store_deadline_ms=deadline_ms)


def _same(settings: Settings, source: str, target: str) -> bool:
    """Whether two names mean one store, as far as can be told by looking at them."""
    if {backend_of(source), backend_of(target)} == {"sqlite"}:
        paths = [os.path.realpath(sqlite_path(settings, each)) for each in (source, target)]
        return paths[0] == paths[1]
    return source == target


@asynccontextmanager
async def _opened(settings: Settings, setting: str, option: str, *, made: bool = False) -> AsyncIterator[Portable]:
    """A store that can be moved. made: whether a file may be missing."""
    name = backend_of(setting)
    try:
        features = await asyncio.to_thread(features_of, name)
    except CodeSynapseError:
        raise SettingsError(f"{option}: no backend of this name is installed.") from None
    except ModuleNotFoundError as error:
        raise SettingsError(f"{option}: the package {error.name} is missing; install the store's extra.") from None
    if not features.durable:
        raise SettingsError(f"{option}: what this store holds ends with its process; there is nothing to move.")
    if not features.portable:
        raise SettingsError(f"{option}: this backend cannot be moved.")
    missing = name == "sqlite" and not await asyncio.to_thread(os.path.exists, sqlite_path(settings, setting))
    if missing and not made:
        raise SettingsError(f"{option}: there is no such file.")
    async with open_store(settings, setting, named=option) as backend:
        assert backend.portable is not None
        try:
            await backend.portable.scan(after=None, limit=1, tenant_id=None)
        except CodeSynapseError as error:
            # Here it is known which of two stores is meant, and that nothing was written.
            raise SettingsError(f"{option}: {graph_advice(error).replace('CODESYNAPSE_GRAPH', option)}.") from None
        yield backend.portable
