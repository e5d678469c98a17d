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
@click.option("--report", type=click.Choice(["html", "json"]), help="Also write a report that you can publish.")
@click.option("--output", metavar="FILE", help="Where to write it; here, as contract-NAME.html, unless you say.")
def contract(name: str, more: tuple[str, ...], report: str | None, output: str | None) -> None:
    """Run the contract suite on a backend: `sqlite`, `memory`, or another's entry point.

    What stands behind the name is handed to pytest, such as `-k TestSize`.
    """
    if output is not None and report is None:
        raise click.UsageError("--output names the file of a report: name its form as well, with --report.")
    missing = [module for module in SUITE_NEEDS if importlib.util.find_spec(module) is None]
    if missing:
        click.echo(
            "The suite needs pytest: install codesynapse[suite]; in its repository: make contract STORE=NAME.", err=True
        )
        sys.exit(2)
    # Named once: a project that switches the entry point off, as this repository does, gets the plugin as well.
    plugin = ("-p", "no:codesynapse", "-p", PLUGIN)
    suite = ("--pyargs", "codesynapse.contracts.suite", "--contract", name)
    wanted = [
        *(("--contract-report", report) if report else ()),
        *(("--contract-report-output", output) if output else ()),
    ]
    sys.exit(subprocess.run([sys.executable, "-m", "pytest", *plugin, *suite, *wanted, *more], check=False).returncode)
