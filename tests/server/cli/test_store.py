"""`store copy`, `store verify` and `store stats` on files of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import unused_port

from codesynapse.backends.sqlite import open_sqlite
from codesynapse.contracts.memory import Scope
from codesynapse.contracts.ports import Backend
from codesynapse.contracts.suite.worlds import NOW, Chat, Library, new_library
from tests.server.cli.conftest import CommandLine
from tests.servers.running import Record

TENANT = "acme"


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Backend]:
    async with open_sqlite({"path": str(path)}) as backend:
        yield backend


def chat_of(backend: Backend, session: str = "chat", tenant: str = TENANT) -> Chat:
    assert backend.session_memory is not None
    return Chat(backend.session_memory, Scope(tenant_id=tenant, session_id=session, ns="default"))


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """The names of two stores."""
    return f"sqlite://{tmp_path / 'old.db'}", f"sqlite://{tmp_path / 'new.db'}"


@pytest.fixture
async def furnished(tmp_path: Path) -> Path:
    """A store with two organisations, one with a session and a repository, the other with a session."""
    path = tmp_path / "old.db"
    async with opened(path) as backend:
        await chat_of(backend).remember("ana likes tea")
        await chat_of(backend, tenant="other").remember("bo likes milk", "bo likes tea")
        assert backend.session_memory is not None
        await backend.session_memory.revoke(TENANT, "ended", now_ms=NOW)
        assert backend.repository is not None
        library: Library = new_library(backend.repository, tenant=TENANT)
        await library.remember("ana likes tea")
    return path


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


WHOLE = {"repository": 1, "scope": 2, "tombstone": 1}


@pytest.mark.usefixtures("furnished")
class TestCopy:
    def test_everything_is_copied_once_and_found_equal_the_second_time(
        self, cli: CommandLine, files: tuple[str, str]
    ) -> None:
        arguments = ("store", "copy", "--from", files[0], "--to", files[1])
        assert rows(cli.ok(*arguments)) == [{"copied": WHOLE, "equal": {}, "different": {}}]
        assert rows(cli.ok(*arguments)) == [{"copied": {}, "equal": WHOLE, "different": {}}]

    def test_each_thing_is_told_with_its_digest_before_and_after(
        self, cli: CommandLine, files: tuple[str, str]
    ) -> None:
        arguments = ("store", "copy", "--verbose", "--from", files[0], "--to", files[1])
        *first, _ = rows(cli.ok(*arguments))
        *second, _ = rows(cli.ok(*arguments))
        assert [(row["kind"], row["state"], row["before"]) for row in first] == [
            ("tombstone", "copied", None),
            ("scope", "copied", None),
            ("scope", "copied", None),
            ("repository", "copied", None),
        ]
        assert all(row["digest"] == row["after"] for row in first)
        assert [(row["state"], row["before"]) for row in second] == [("equal", row["digest"]) for row in first]

    async def test_what_differs_is_named_and_left_as_it_is(
        self, cli: CommandLine, files: tuple[str, str], tmp_path: Path
    ) -> None:
        async with opened(tmp_path / "new.db") as backend:
            await chat_of(backend).remember("ana likes milk")
            await chat_of(backend, "only-here").remember("ana likes juice")
        result = await in_thread(cli, "store", "copy", "--from", files[0], "--to", files[1])
        difference, summary = rows(result.stdout)
        assert result.exit_code == 1
        assert (difference["name"], difference["state"]) == ([TENANT, "chat", "default"], "different")
        assert summary["different"] == {"scope": 1}
        assert summary["copied"] == {"repository": 1, "scope": 1, "tombstone": 1}
        async with opened(tmp_path / "new.db") as backend:
            assert len((await chat_of(backend).load()).facts) == 1

    async def test_the_content_of_a_session_that_was_revoked_there_is_refused(
        self, cli: CommandLine, files: tuple[str, str], tmp_path: Path
    ) -> None:
        async with opened(tmp_path / "new.db") as backend:
            assert backend.session_memory is not None
            await backend.session_memory.revoke(TENANT, "chat", now_ms=NOW)
        result = await in_thread(cli, "store", "copy", "--from", files[0], "--to", files[1])
        refusal, _ = rows(result.stdout)
        assert (result.exit_code, refusal["state"], refusal["code"]) == (1, "refused", "revoked")

    def test_one_organisation_alone_can_be_copied(self, cli: CommandLine, files: tuple[str, str]) -> None:
        out = cli.ok("store", "copy", "--from", files[0], "--to", files[1], "--org", "other")
        assert rows(out)[0]["copied"] == {"scope": 1}

    def test_an_organisation_of_which_there_is_nothing_is_no_success(
        self, cli: CommandLine, files: tuple[str, str]
    ) -> None:
        cli.ok("store", "copy", "--from", files[0], "--to", files[1])
        for work in ("copy", "verify"):
            line = cli.refused("store", work, "--from", files[0], "--to", files[1], "--org", "othr", code=2)
            assert line.startswith("--org: --from")

    def test_the_homes_file_is_called_sqlite(self, cli: CommandLine, files: tuple[str, str]) -> None:
        cli.ok("store", "copy", "--from", files[0], "--to", "sqlite")
        assert (cli.home / "codesynapse.sqlite3").exists()
        assert rows(cli.ok("store", "verify", "--from", files[0], "--to", "sqlite"))[-1]["different"] == {}


async def in_thread(cli: CommandLine, *arguments: str) -> Any:
    """A command beside a loop, since each runs one of its own."""
    return await asyncio.to_thread(cli.run, *arguments)


@pytest.mark.usefixtures("furnished")
class TestVerify:
    def test_two_copies_are_alike(self, cli: CommandLine, files: tuple[str, str]) -> None:
        cli.ok("store", "copy", "--from", files[0], "--to", files[1])
        out = cli.ok("store", "verify", "--from", files[0], "--to", files[1])
        assert rows(out) == [{"from": WHOLE, "to": WHOLE, "different": {}}]

    async def test_what_is_missing_and_what_differs_are_named(
        self, cli: CommandLine, files: tuple[str, str], tmp_path: Path
    ) -> None:
        async with opened(tmp_path / "new.db") as backend:
            await chat_of(backend).remember("ana likes milk")
        result = await in_thread(cli, "store", "verify", "--from", files[0], "--to", files[1], "--org", TENANT)
        *found, summary = rows(result.stdout)
        assert result.exit_code == 1
        assert [(row["kind"], row["to"] is None) for row in found] == [
            ("repository", True),
            ("scope", False),
            ("tombstone", True),
        ]
        assert summary["to"] == {"scope": 1}


@pytest.mark.usefixtures("furnished")
def test_stats_count_and_name_the_largest(cli: CommandLine, files: tuple[str, str]) -> None:
    (stats,) = rows(cli.ok("store", "stats", "--of", files[0]))
    assert (stats["tenants"], stats["counts"], stats["unfinished"]) == (2, WHOLE, 0)
    assert stats["largest_scope"]["name"] == ["other", "chat", "default"]
    assert 0 < stats["largest_scope"]["bytes"] < stats["session_bytes"]
    assert (stats["repository_entities"], stats["repository_facts"]) == (2, 1)
    assert stats["largest_repository"]["facts"] == 1


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("memory", "sqlite:///x.db", "--from: what this store holds ends with its process"),
        ("sqlite:///x.db", "memory", "--from: there is no such file"),
        ("nowhere", "sqlite", "--from: no backend of this name"),
        ("sqlite", "sqlite", "--to: is the same store"),
        ("neo4j://ana:secret@/", "sqlite", "--from: "),
    ],
)
def test_what_cannot_be_moved_is_said_in_one_line(cli: CommandLine, source: str, target: str, said: str) -> None:
    line = cli.refused("store", "copy", "--from", source, "--to", target, code=2)
    assert line.startswith(said)
    assert "secret" not in line


@pytest.mark.usefixtures("furnished")
@pytest.mark.parametrize("url", ["bolt://ana:secret@127.0.0.1:{}", "hugegraph+http://ana:secret@127.0.0.1:{}"])
def test_which_of_the_two_stores_does_not_answer_is_said(cli: CommandLine, files: tuple[str, str], url: str) -> None:
    away = url.format(unused_port())
    for option, pair in (("--to", (files[0], away)), ("--from", (away, files[0]))):
        line = cli.refused("store", "copy", "--from", pair[0], "--to", pair[1], code=2)
        assert line.startswith(f"{option}: ")
        assert "secret" not in line
        assert "CODESYNAPSE_GRAPH" not in line


def test_neo4j_that_refuses_the_password_is_named_by_the_option(cli: CommandLine, neo4j_server: Record) -> None:
    wrong = neo4j_server.url.replace(neo4j_server.url.split(":")[2].split("@")[0], "wr0ng")
    line = cli.refused("store", "stats", "--of", wrong, code=2)
    assert line == "--of: --of must name the user and the password of the Neo4j server."


@pytest.mark.usefixtures("furnished")
def test_memory_is_refused_as_a_target_too(cli: CommandLine, files: tuple[str, str]) -> None:
    line = cli.refused("store", "copy", "--from", files[0], "--to", "memory", code=2)
    assert line.startswith("--to: what this store holds ends with its process")


def test_a_file_that_is_not_there_is_not_made_by_looking(
    cli: CommandLine, files: tuple[str, str], tmp_path: Path
) -> None:
    for arguments in (("stats", "--of", files[0]), ("verify", "--from", files[0], "--to", files[1])):
        assert "there is no such file" in cli.refused("store", *arguments, code=2)
    assert list(tmp_path.iterdir()) == []
