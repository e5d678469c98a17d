"""`contract NAME` is the suite's one command, for our stores and for a stranger's."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.integration.harness import command
from tests.server.cli.conftest import CommandLine

SOME = ("-q", "-k", "TestSize")


async def test_the_suite_runs_on_the_named_backend_and_ends_as_pytest_does(tmp_path: Path) -> None:
    code, out, _ = await command(tmp_path, "contract", "memory", *SOME)
    assert code == 0, out
    assert " passed" in out.splitlines()[-1]


async def test_a_backend_that_is_not_installed_is_refused_by_name(tmp_path: Path) -> None:
    code, out, err = await command(tmp_path, "contract", "nowhere", *SOME)
    assert code == 4, out
    assert "no backend 'nowhere'" in err
    assert "hugegraph, memory, neo4j, sqlite" in err


def test_without_the_extra_it_says_what_to_install(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "codesynapse[suite]" in cli.refused("contract", "memory", code=2)
