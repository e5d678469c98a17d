"""A command is imported when it is called, so that a client's launcher does not wait for the whole server."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from codesynapse.contracts.requirements import requirement
from codesynapse.server.__main__ import COMMANDS, main
from codesynapse.server.cli.lazy import LazyGroup

# Prints which of the given modules are imported after a command line has run.
PROBE = """
import sys
from codesynapse.contracts.requirements import requirement
from codesynapse.server.__main__ import main
try:
    main(sys.argv[1].split())
except SystemExit:
    pass
print(*[name for name in sys.argv[2:] if name in sys.modules])
"""


def imported_after(arguments: str, *modules: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, arguments, *modules], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_where_the_table_says_and_has_a_help_text(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name
    assert command.help


def test_an_unknown_command_is_none() -> None:
    assert main.get_command(click.Context(main), "nothing") is None


def test_commands_are_listed_in_the_order_of_the_table() -> None:
    group = LazyGroup(places={"b": "x:y", "a": "x:y"})
    assert group.list_commands(click.Context(group)) == ["b", "a"]


def test_the_bridge_starts_without_the_server_and_serve_needs_it() -> None:
    assert imported_after("bridge --help", "codesynapse.server.app", "aiohttp_sse") == []
    assert imported_after("serve --help", "codesynapse.server.app") == ["codesynapse.server.app"]


@requirement("bridge:light")
def test_the_bridge_imports_no_more_than_it_needs() -> None:
    """aiohttp's client is most of what it needs; whatever else is imported delays the first answer."""
    heavy = ("app", "mcp.messages", "http.mcp", "tools.registry", "memory.engine", "telemetry", "stdio")
    others = ("codesynapse.backends", "sqlite3", "prometheus_client", "rich", "numpy", "sqlalchemy", "jsonschema")
    names = (*(f"codesynapse.server.{each}" for each in heavy), *others)
    assert imported_after("bridge --url http://127.0.0.1:9/mcp", "aiohttp", *names) == ["aiohttp"]
