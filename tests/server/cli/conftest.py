"""The command line on a home of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog
from click.testing import CliRunner, Result

from codesynapse.server.__main__ import main


@dataclass
class CommandLine:
    """Runs commands in this process, on a temporary home."""

    home: Path

    def run(self, *arguments: str, **environment: str) -> Result:
        """A command to its end, whatever becomes of it. Only an exit or a refusal is an end; a traceback is not."""
        result = CliRunner().invoke(main, arguments, env={"CODESYNAPSE_HOME": str(self.home), **environment})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def ok(self, *arguments: str, **environment: str) -> str:
        """What a command that succeeds prints."""
        result = self.run(*arguments, **environment)
        assert (result.exit_code, result.stderr) == (0, "")
        return result.stdout.strip()

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        """What a listing prints, row by row."""
        return [json.loads(line) for line in self.ok(*arguments).splitlines()]

    def refused(self, *arguments: str, code: int = 1, **environment: str) -> str:
        """The one line that a refused command says; on standard output it says nothing."""
        result = self.run(*arguments, **environment)
        assert (result.exit_code, result.stdout) == (code, "")
        return result.stderr.strip()

    def key(self) -> str:
        """The key of a first start."""
        return self.ok("init").removeprefix("CODESYNAPSE_API_KEY=")


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandLine]:
    for name in [name for name in os.environ if name.startswith("CODESYNAPSE_")]:
        monkeypatch.delenv(name)
    yield CommandLine(tmp_path / "home")
    # The commands sent the log to a stream of click's runner, which is closed by now.
    structlog.reset_defaults()


@pytest.fixture
def furnished(cli: CommandLine) -> CommandLine:
    """With the first accounts, and an organisation `acme` with the member `bo` and the repository `library`."""
    cli.key()
    cli.ok("org", "create", "acme")
    cli.ok("user", "create", "bo", "--org", "acme")
    cli.ok("repo", "create", "library", "--org", "acme")
    return cli
