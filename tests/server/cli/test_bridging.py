"""`bridge` on the command line: from options and environment to a launcher, and what it refuses before reading."""

from __future__ import annotations

import pytest

from codesynapse.server.bridge import BridgeOptions
from codesynapse.server.cli import bridging
from tests.server.cli.conftest import CommandLine

URL = "http://127.0.0.1:8420/mcp"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[BridgeOptions]:
    """The options of each launcher that would have been started."""
    options: list[BridgeOptions] = []

    async def run(given: BridgeOptions, *_: object) -> int:
        options.append(given)
        return 7

    monkeypatch.setattr(bridging, "run_bridge", run)
    return options


def test_options_and_environment_reach_the_launcher_and_its_exit_code_comes_back(
    cli: CommandLine, started: list[BridgeOptions]
) -> None:
    given = {"CODESYNAPSE_API_KEY": "csk_x", "CODESYNAPSE_SESSION_ID": "s", "CODESYNAPSE_PARENT_SESSION_ID": "s"}
    assert cli.run("bridge", "--url", URL, **given).exit_code == 7
    assert started == [BridgeOptions(url=URL, api_key="csk_x", session_id="s", parent_session_id="s")]


def test_what_is_not_given_is_none_and_no_id_takes_its_place(cli: CommandLine, started: list[BridgeOptions]) -> None:
    cli.run("bridge", "--url", URL)
    assert started == [BridgeOptions(url=URL, api_key=None)]
    assert not started[0].new_thread


def test_a_thread_of_its_own_is_asked_for_by_name(cli: CommandLine, started: list[BridgeOptions]) -> None:
    cli.run("bridge", "--url", URL, "--thread", "new")
    assert started[0].new_thread
    assert cli.run("bridge", "--url", URL, "--thread", "old").exit_code == 2
    assert len(started) == 1


def test_without_a_url_it_does_not_start(cli: CommandLine, started: list[BridgeOptions]) -> None:
    result = cli.run("bridge")
    assert (result.exit_code, "--url" in result.stderr, started) == (2, True, [])


def test_a_bad_setting_is_refused_by_name_before_the_launcher_starts(
    cli: CommandLine, started: list[BridgeOptions]
) -> None:
    assert cli.refused("bridge", "--url", URL, code=2, CODESYNAPSE_PORT="hunter2") == (
        "CODESYNAPSE_PORT: Expected `int`."
    )
    assert started == []
