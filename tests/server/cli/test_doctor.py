"""`doctor` on homes that are well, and on homes where one thing is wrong."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from aiohttp.test_utils import unused_port

from codesynapse.backends.sqlite.migrate import VERSION
from codesynapse.server.cli.doctor import check_stores
from codesynapse.server.services import open_ports
from codesynapse.server.settings import Settings
from tests.integration.harness import command, process
from tests.server.cli.conftest import CommandLine


def lines(cli: CommandLine, *arguments: str, code: int = 0, **environment: str) -> dict[str, list[str]]:
    """What doctor says, by check: `level: text`. A server is looked for where none is."""
    result = cli.run("doctor", *arguments, **{"CODESYNAPSE_PORT": str(unused_port()), **environment})
    assert (result.exit_code, result.stderr) == (code, ""), result.stdout
    said: dict[str, list[str]] = {}
    for line in result.stdout.splitlines():
        level, check, text = line.split(": ", 2)
        said.setdefault(check, []).append(f"{level}: {text}")
    return said


def database(cli: CommandLine) -> Path:
    return cli.home / "codesynapse.sqlite3"


def test_a_fresh_home_is_well_and_no_server_is_only_a_warning(furnished: CommandLine) -> None:
    said = lines(furnished)
    assert said["settings"] == ["ok: can be used"]
    assert said["home"] == ["ok: is a private folder that can be written"]
    assert said["stores"] == [f"ok: sqlite opens, reads and writes, schema {VERSION}"]
    assert said["server"][0].startswith("warning: none answers")
    assert said["key"] == ["ok: CODESYNAPSE_API_KEY is not set, so there is none to check"]


def test_it_changes_nothing(furnished: CommandLine) -> None:
    def content() -> dict[str, list[object]]:
        # What an index holds lies in tables beside it.
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        with closing(sqlite3.connect(database(furnished))) as connection:
            names = [name for (name,) in connection.execute(tables)]
            return {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}

    before = content()
    lines(furnished)
    assert content() == before


def test_a_home_that_is_not_there_yet_is_a_warning_and_is_not_made(cli: CommandLine) -> None:
    assert lines(cli)["home"] == ["warning: does not exist yet; codesynapse init or serve makes it, with the first key"]
    assert not cli.home.exists()
    cli.home.mkdir(0o700)
    assert lines(cli)["home"] == ["warning: holds no database yet; codesynapse init or serve makes it"]
    assert list(cli.home.iterdir()) == []


def test_a_home_without_accounts_is_told(cli: CommandLine) -> None:
    cli.ok("org", "list")
    assert any(each.startswith("warning: there are no accounts yet") for each in lines(cli)["stores"])


def test_a_bad_setting_is_named_and_its_value_is_not(furnished: CommandLine) -> None:
    said = lines(furnished, code=1, CODESYNAPSE_IDLE_MS="hunter2")
    assert said == {"settings": ["problem: CODESYNAPSE_IDLE_MS: Expected `int`."]}


def test_a_bind_beyond_loopback_without_protection_is_a_problem_of_the_settings(furnished: CommandLine) -> None:
    assert lines(furnished, code=1, CODESYNAPSE_HOST="0.0.0.0")["settings"][0].startswith("problem: CODESYNAPSE_HOST: ")


def test_a_home_that_is_a_file_is_a_problem(cli: CommandLine) -> None:
    cli.home.write_text("")
    assert lines(cli, code=1)["home"][0].startswith("problem: is not a folder")


def test_what_other_users_can_read_is_warned_of(furnished: CommandLine) -> None:
    furnished.home.chmod(0o755)
    (furnished.home / "config.toml").write_text("")
    (furnished.home / "config.toml").chmod(0o644)
    database(furnished).chmod(0o640)
    assert lines(furnished)["home"] == [
        "warning: other users can look into it; chmod 700",
        "warning: other users can read codesynapse.sqlite3; chmod 600",
        "warning: other users can read config.toml; chmod 600",
    ]


def test_a_database_of_a_newer_release_is_a_problem_with_advice(furnished: CommandLine) -> None:
    with closing(sqlite3.connect(database(furnished))) as connection:
        connection.execute("PRAGMA user_version = 999")
    assert lines(furnished, code=1)["stores"][0].startswith("problem: the database was written by a newer release")


@pytest.mark.parametrize("content", [b"something else", b"SQLite format 3\0 and then garbage" * 200])
def test_a_file_that_is_no_database_of_ours_is_a_problem_with_advice(furnished: CommandLine, content: bytes) -> None:
    database(furnished).write_bytes(content)
    (said,) = lines(furnished, code=1)["stores"]
    assert said.startswith("problem: ")


def test_a_backend_that_is_not_installed_is_a_problem(furnished: CommandLine) -> None:
    said = lines(furnished, code=1, CODESYNAPSE_GRAPH="nowhere")
    assert said["stores"][0].startswith("problem: CODESYNAPSE_GRAPH")


def test_stores_in_memory_are_well_but_end_with_their_process(cli: CommandLine) -> None:
    said = lines(cli, CODESYNAPSE_GRAPH="memory", CODESYNAPSE_ACCOUNTS="memory")
    assert "home" not in said
    assert [each.partition(":")[0] for each in said["stores"]] == ["ok", "warning"]


def test_a_client_file_is_checked_as_well(furnished: CommandLine, tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": ["-m", "codesynapse.server", "bridge"], "env": {}}
    (tmp_path / "client.json").write_text(json.dumps({"mcpServers": {"codesynapse": entry}}))
    said = lines(furnished, "--client", str(tmp_path / "client.json"), code=1)["client entry 'codesynapse'"]
    assert any("CODESYNAPSE_API_KEY is missing" in each for each in said)


def test_as_json_it_says_the_same(furnished: CommandLine) -> None:
    result = furnished.run("doctor", "--json", CODESYNAPSE_GRAPH="nowhere", CODESYNAPSE_PORT=str(unused_port()))
    said = json.loads(result.stdout)
    assert (result.exit_code, said["ok"]) == (1, False)
    assert {"level": "ok", "check": "settings", "text": "can be used"} in said["findings"]


async def test_beside_a_running_server_all_is_well_and_no_secret_is_printed(tmp_path: Path) -> None:
    async with process(tmp_path / "home") as running:
        await command(running.home, "session", "register", "chat-4711")
        code, out, err = await command(
            running.home,
            "doctor",
            env={
                "CODESYNAPSE_PORT": running.base.rpartition(":")[2],
                "CODESYNAPSE_API_KEY": running.key,
                "CODESYNAPSE_SESSION_ID": "chat-4711",
                "CODESYNAPSE_PARENT_SESSION_ID": "chat-4711",
            },
        )
    assert (code, err) == (0, "")
    assert [line.partition(":")[0] for line in out.splitlines()] == ["ok"] * 6
    assert running.key not in out
    assert "4711" not in out


async def test_a_store_that_is_named_by_a_url_is_told_without_its_password() -> None:
    settings = Settings(graph="graph://ana:hunter2@example.org", accounts="memory")
    async with open_ports(Settings(graph="memory", accounts="memory")) as ports:
        told = [finding.text for finding in await check_stores(settings, ports)]
    assert any("graph://ana:***@example.org opens" in text for text in told)
    assert not any("hunter2" in text for text in told)
