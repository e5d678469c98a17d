"""`bridge`: the launcher for clients that speak only stdio, or cannot send headers of their own for each thread."""

import asyncio
import sys

import click

from codesynapse.server.bridge import BridgeOptions, run_bridge
from codesynapse.server.settings import SettingsError, load


@click.command()
@click.option("--url", required=True, help="The server's MCP endpoint, such as http://127.0.0.1:8420/mcp.")
@click.option(
    "--thread",
    type=click.Choice(["new"]),
    help="new: make up one chat session id for this process, where the client's runtime has none.",
)
@click.pass_context
def bridge(context: click.Context, url: str, thread: str | None) -> None:
    """Forward standard input and output to a server, under one chat session.

    The key comes from CODESYNAPSE_API_KEY, the id from CODESYNAPSE_SESSION_ID.
    """
    try:
        settings = load(overrides=context.find_root().obj or {})
    except SettingsError as error:
        click.echo(str(error), err=True)
        sys.exit(2)
    options = BridgeOptions(
        url=url,
        api_key=settings.api_key or None,
        session_id=settings.session_id or None,
        parent_session_id=settings.parent_session_id or None,
        new_thread=thread == "new",
    )
    sys.exit(asyncio.run(run_bridge(options, sys.stdin.buffer, sys.stdout.buffer, sys.stderr)))
