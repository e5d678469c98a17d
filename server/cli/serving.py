"""`serve`, `init` and `stdio`."""

import asyncio
import os
import signal
import sys

import click

from codesynapse.contracts.errors import CodeSynapseError, SessionExpired, SessionNotRegistered, SessionRevoked
from codesynapse.contracts.identity import valid_id
from codesynapse.server.app import Server, listening
from codesynapse.server.cli.first import bootstrap, keeping, tell_key
from codesynapse.server.cli.home import HomeTaken, locked, one_first_start
from codesynapse.server.cli.stores import command, services, settings_of
from codesynapse.server.services import Services, compose, open_ports
from codesynapse.server.settings import Settings, SettingsError
from codesynapse.server.stdio import StdioShell
from codesynapse.server.telemetry import log
from codesynapse.server.work.loops import repeating
from codesynapse.server.work.queue import QUEUE_S


@click.command()
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=int, help="Port to listen on; 0 picks a free one.")
@click.option("--insecure-http", is_flag=True, default=None, help="Listen beyond loopback without TLS.")
@click.pass_context
def serve(context: click.Context, /, **options: object) -> None:
    """Serve over HTTP until interrupted. The first start prints a key."""
    context.find_root().obj.update({name: value for name, value in options.items() if value is not None})
    _serve(context)


@command
async def _serve(context: click.Context) -> None:
    settings = settings_of(context)
    try:
        with locked(settings.home):
            await _serve_until_told(settings)
    except HomeTaken:
        raise SettingsError("CODESYNAPSE_HOME: another `serve` runs on this home; stop it or choose another.") from None


async def _serve_until_told(settings: Settings) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    async with open_ports(settings) as ports:
        composed = compose(settings, ports)
        with one_first_start(settings.home):
            key = await bootstrap(ports.accounts, composed.clock, keeping(settings.bootstrap_key_file))
        async with listening(Server(composed)) as url:
            _welcome(url, key, settings.bootstrap_key_file)
            await ended.wait()
            log.info("stopping")


def _welcome(url: str, key: str | None, key_file: str) -> None:
    """How to connect. A client's line uses the bridge: a static session header would be shared by all its chats."""
    if key is not None:
        tell_key(key, key_file)
    click.echo(f"listening on {url}")
    click.echo("To connect a client that starts its servers over stdio, one session for each process:")
    click.echo(f"  codesynapse bridge --url {url} --thread new")
    click.echo("with CODESYNAPSE_API_KEY in its environment. Docs: docs/getting-started.md")
    sys.stdout.flush()


@click.command()
@click.pass_context
def init(context: click.Context) -> None:
    """Create the home, the first accounts and a key, without serving."""
    _init(context)


@command
async def _init(context: click.Context) -> None:
    settings = settings_of(context)
    async with services(settings) as running:
        with one_first_start(settings.home):
            key = await bootstrap(running.ports.accounts, running.clock, keeping(settings.bootstrap_key_file))
    if key is None:
        click.echo("There are accounts already; a key is shown only when it is made: codesynapse key create.")
    else:
        tell_key(key, settings.bootstrap_key_file)


@click.command()
@click.pass_context
def stdio(context: click.Context) -> None:
    """Serve one chat thread over standard input and output.

    CODESYNAPSE_API_KEY, CODESYNAPSE_SESSION_ID and CODESYNAPSE_PARENT_SESSION_ID must name a registered session.
    """
    _stdio(context)


@command
async def _stdio(context: click.Context) -> None:
    settings = settings_of(context)
    _check_environment(settings)
    # Whatever prints to standard output must not break the protocol: only our own descriptor leads there.
    write_fd = os.dup(1)
    os.dup2(2, 1)
    async with services(settings) as running:
        shell = _shell(running)
        try:
            await shell.open()
        except CodeSynapseError as error:
            # A suspension and a withdrawn membership end what the key may do; no other session would help.
            of_session = isinstance(error, SessionNotRegistered | SessionExpired | SessionRevoked)
            variable = "CODESYNAPSE_SESSION_ID" if of_session else "CODESYNAPSE_API_KEY"
            raise SettingsError(f"{variable}: {error.message}") from None
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, shell.stop)
        # Without a server beside it, nobody else would work off what this thread queues.
        async with repeating(QUEUE_S, running.work):
            await shell.serve(0, write_fd)


def _check_environment(settings: Settings) -> None:
    """Raises SettingsError that names the variable; nothing stands in for an id."""
    if not settings.api_key:
        raise SettingsError("CODESYNAPSE_API_KEY: stdio needs an API key.")
    if not valid_id(settings.session_id):
        raise SettingsError("CODESYNAPSE_SESSION_ID: stdio needs the chat's id, 1 to 128 letters, digits or ._:-")
    if settings.parent_session_id != settings.session_id:
        raise SettingsError("CODESYNAPSE_PARENT_SESSION_ID: must be given, and equal CODESYNAPSE_SESSION_ID.")


def _shell(running: Services) -> StdioShell:
    return StdioShell(
        sessions=running.sessions,
        calls=running.calls,
        modern=running.modern,
        info=running.info,
        limits=running.limits,
        clock=running.clock,
        toolsets=running.toolsets,
        key=running.settings.api_key,
        session_id=running.settings.session_id,
    )
