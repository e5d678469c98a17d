"""`codesynapse`: the command line's root."""

import click

from codesynapse.server.cli.lazy import LazyGroup

CLI = "codesynapse.server.cli"
COMMANDS = {
    "serve": f"{CLI}.serving:serve",
    "init": f"{CLI}.serving:init",
    "stdio": f"{CLI}.serving:stdio",
    "bridge": f"{CLI}.bridging:bridge",
    "session": f"{CLI}.admin:session",
    "org": f"{CLI}.admin:org",
    "user": f"{CLI}.admin:user",
    "key": f"{CLI}.admin:key",
    "repo": f"{CLI}.admin:repo",
    "agent": f"{CLI}.agents:agent",
    "store": f"{CLI}.store:store",
    "doctor": f"{CLI}.doctor:doctor",
    "tool-cost": f"{CLI}.cost:tool_cost",
    "contract": f"{CLI}.contract:contract",
}


@click.group(cls=LazyGroup, places=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--home", help="Data folder; else CODESYNAPSE_HOME.")
@click.option("--graph", help="Graph store; else CODESYNAPSE_GRAPH.")
@click.option("--accounts", help="Accounts store; else CODESYNAPSE_ACCOUNTS.")
@click.version_option(package_name="codesynapse")
@click.pass_context
def main(context: click.Context, /, **options: object) -> None:
    """A self-hosted memory server for AI agents. All settings: docs/configuration.md."""
    context.obj = {name: value for name, value in options.items() if value is not None}


if __name__ == "__main__":
    main()
