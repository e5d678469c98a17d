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


def test_the_key_is_priced_in_all_four_arms_and_the_shipped_one_is_the_list(cli: CommandLine) -> None:
    said = json.loads(cli.ok("tool-cost", "--json", "--parameter", "session_key"))
    arms = {each["arm"]: each for each in said["arms"]}
    assert list(arms) == ["A", "B", "C", "D"]
    assert arms["D"]["characters"] == said["characters"]
    assert arms["D"]["added"] == said["parameter"]["characters"]
    assert said["parameter"]["without"] + said["parameter"]["characters"] == said["characters"]
    text = cli.ok("tool-cost", "--parameter", "session_key")
    assert f"session_key: {said['parameter']['characters']:,} characters on {said['parameter']['tools']} tools" in text
    assert f"arm A: {arms['A']['characters']:,} characters" in text


def test_another_parameter_has_a_price_and_no_arms(cli: CommandLine) -> None:
    said = json.loads(cli.ok("tool-cost", "--json", "--parameter", "agent_id"))
    assert said["parameter"]["tools"] > 0
    assert "arms" not in said


def test_a_parameter_that_no_tool_has_is_an_error(cli: CommandLine) -> None:
    for toolset in ("all", "graph"):
        result = cli.run("tool-cost", "--toolset", toolset, "--parameter", "nothing")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "--parameter" in result.stderr


def test_toolsets_are_chosen_and_each_tool_is_told(cli: CommandLine) -> None:
    said = json.loads(cli.ok("tool-cost", "--json", "--toolset", "graph,session", "--each"))
    assert sum(each["characters"] for each in said["each"].values()) == said["characters"]
    assert len(said["each"]) == said["tools"]
    assert f"{said['each']['recall_context']['characters']:,}" in cli.ok("tool-cost", "--toolset", "graph", "--each")
    assert cli.refused("tool-cost", "--toolset", "nothing", code=2).startswith("CODESYNAPSE_TOOLSETS: ")
