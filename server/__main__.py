"""`codesynapse`: the command line's root."""

import click

from codesynapse.server.cli.admin import key, org, repo, session, user
from codesynapse.server.cli.serving import init, serve, stdio


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--home", help="Data folder; else CODESYNAPSE_HOME.")
@click.option("--graph", help="Graph store; else CODESYNAPSE_GRAPH.")
@click.option("--accounts", help="Accounts store; else CODESYNAPSE_ACCOUNTS.")
@click.version_option(package_name="codesynapse")
@click.pass_context
def main(context: click.Context, /, **options: object) -> None:
    """A self-hosted memory server for AI agents. All settings: docs/configuration.md."""
    context.obj = {name: value for name, value in options.items() if value is not None}


for each in (serve, init, stdio, session, org, user, key, repo):
    main.add_command(each)


if __name__ == "__main__":
    main()
