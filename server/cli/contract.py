"""`contract`: the contract suite on a backend by name."""

import importlib.util
import subprocess
import sys

import click

SUITE_NEEDS = ("pytest", "pytest_asyncio", "hypothesis")
PLUGIN = "codesynapse.contracts.plugin"


@click.command(short_help="Run the contract suite on a backend.", context_settings={"ignore_unknown_options": True})
@click.argument("name", metavar="NAME[=URL]")
@click.argument("more", nargs=-1, type=click.UNPROCESSED, metavar="[PYTEST OPTIONS]")
def contract(name: str, more: tuple[str, ...]) -> None:
    """Run the contract suite on a backend: `sqlite`, `memory`, or another's entry point.

    What stands behind the name is handed to pytest, such as `-k TestSize`.
    """
    missing = [module for module in SUITE_NEEDS if importlib.util.find_spec(module) is None]
    if missing:
        click.echo(
            "The suite needs pytest: install codesynapse[suite]; in its repository: make contract STORE=NAME.", err=True
        )
        sys.exit(2)
    # Named once: a project that switches the entry point off, as this repository does, gets the plugin as well.
    plugin = ("-p", "no:codesynapse", "-p", PLUGIN)
    suite = ("--pyargs", "codesynapse.contracts.suite", "--contract", name)
    sys.exit(subprocess.run([sys.executable, "-m", "pytest", *plugin, *suite, *more], check=False).returncode)
