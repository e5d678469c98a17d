"""`tool-cost` prints the same figures on every machine, and touches nothing."""

from __future__ import annotations

import json

from tests.server.cli.conftest import CommandLine


def test_the_figures_are_those_of_the_listed_tools(cli: CommandLine) -> None:
    figures = json.loads(cli.ok("tool-cost", "--json"))
    assert list(figures) == ["characters", "tokens", "tools"]
    assert figures["tools"] >= 9
    assert figures["tokens"] == -(-figures["characters"] // 4)


def test_a_second_run_prints_the_same_and_no_home_is_made(cli: CommandLine) -> None:
    assert cli.ok("tool-cost", "--json") == cli.ok("tool-cost", "--json")
    assert not cli.home.exists()


def test_without_json_it_says_how_tokens_are_counted(cli: CommandLine) -> None:
    figures = json.loads(cli.ok("tool-cost", "--json"))
    said = cli.ok("tool-cost")
    assert f"{figures['tools']} tools, {figures['characters']:,} characters" in said
    assert f"about {figures['tokens']:,} tokens at 4 characters each" in said


def test_only_the_chosen_toolsets_are_counted(cli: CommandLine) -> None:
    def counted(toolsets: str) -> int:
        tools: int = json.loads(cli.ok("tool-cost", "--json", CODESYNAPSE_TOOLSETS=toolsets))["tools"]
        return tools

    assert counted("graph") + counted("session") == counted("graph,session")
    assert counted("graph") < counted("all")
    assert cli.refused("tool-cost", code=2, CODESYNAPSE_TOOLSETS="nothing").startswith("CODESYNAPSE_TOOLSETS: ")
