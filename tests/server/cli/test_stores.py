"""What every command shares: settings, stores, and one line for a refusal."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from codesynapse.contracts.errors import Invalid, StoreFault
from codesynapse.server.cli.stores import command, said_as
from codesynapse.server.settings import SettingsError
from tests.server.cli.conftest import CommandLine


@click.command()
@click.argument("organization")
@click.option("--user")
@click.option("--set", "caps")
@click.pass_context
@command
async def sample(context: click.Context, organization: str, user: str | None, caps: str | None) -> None:
    match organization:
        case "setting":
            raise SettingsError("CODESYNAPSE_X: no.")
        case "refused":
            raise Invalid(field="user", limit=1)
        case "full":
            fault = StoreFault()
            fault.cause = "SQLITE_FULL"
            raise fault
    click.echo("done")


@pytest.mark.parametrize(
    ("argument", "code", "out", "err"),
    [
        ("fine", 0, "done\n", ""),
        ("setting", 2, "", "CODESYNAPSE_X: no.\n"),
        ("refused", 1, "", "An argument is not valid. Field: --user. Limit: 1.\n"),
        ("full", 1, "", "The store failed; the operator's log says more. Cause: SQLITE_FULL.\n"),
    ],
)
def test_a_refusal_is_one_line_and_an_exit_code(argument: str, code: int, out: str, err: str) -> None:
    result = CliRunner().invoke(sample, [argument])
    assert (result.exit_code, result.stdout, result.stderr) == (code, out, err)


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("organization", "ORGANIZATION"),
        ("user", "--user"),
        ("member", "--user"),
        ("quota", "--set"),
        ("path", "CODESYNAPSE_HOME"),
        ("something else", "something else"),
        (None, None),
    ],
)
def test_a_field_is_called_as_the_command_line_calls_it(field: str | None, said: str | None) -> None:
    with click.Context(sample) as context:
        assert said_as(context, field) == said


def test_options_before_the_command_are_settings(cli: CommandLine) -> None:
    other = cli.home.with_name("other")
    cli.ok("--home", str(other), "init")
    assert other.exists()
    assert not cli.home.exists()
    assert cli.refused("--graph", "nowhere", "init", code=2).startswith("CODESYNAPSE_GRAPH")


def test_accounts_in_memory_cannot_be_administered(cli: CommandLine) -> None:
    options = ("--graph", "memory", "--accounts", "memory")
    assert cli.refused(*options, "org", "list", code=2).startswith("CODESYNAPSE_ACCOUNTS: ")


def test_accounts_in_memory_beside_a_durable_graph_are_refused(cli: CommandLine) -> None:
    assert cli.refused("--accounts", "memory", "serve", "--port", "0", code=2).startswith("CODESYNAPSE_ACCOUNTS: ")


def test_a_home_that_cannot_be_used_is_named(cli: CommandLine) -> None:
    cli.home.write_text("a file")
    assert "CODESYNAPSE_HOME" in cli.refused("init")
