"""`agent`: grants are set, shown, taken back and audited, and what is wrong is refused by its name."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from codesynapse.contracts.accounts import Action
from tests.integration.harness import Transport, command, fresh, process
from tests.integration.test_kill import calling, register
from tests.server.cli.conftest import CommandLine
from tests.server.cli.test_admin import FORM, NOTHING, audited, stored

ACME = ("--org", "acme")
REFUSED = [
    (("agent", "list", "--org", "nowhere"), NOTHING.format("--org")),
    (("agent", "list", *ACME, "--user", "nobody"), NOTHING.format("--user")),
    (("agent", "grant", "nothing", "read", *ACME, "--user", "bo"), NOTHING.format("NAME")),
    (("agent", "grant", "a b", "read", *ACME, "--user", "bo"), FORM.format("NAME")),
    (("agent", "grant", "a", "read", *ACME, "--user", "nobody"), NOTHING.format("--user")),
    (("agent", "grant", "a", "read", "--org", "nowhere", "--user", "bo"), NOTHING.format("--org")),
    (("agent", "grant", "a", "read", "--org", "home"), NOTHING.format("NAME")),
]


@pytest.fixture
def kept(furnished: CommandLine) -> CommandLine:
    """In `acme`, ana has an agent `a`, and bo, its member, has no grant on it."""
    assert asyncio.run(stored(furnished.home, "acme", 1)) == ["stored"]
    return furnished


def test_each_command_refuses_by_the_name_of_the_option_that_is_wrong(kept: CommandLine) -> None:
    assert [(words, said) for words, said in REFUSED if said not in kept.refused(*words)] == []


def test_a_grant_is_set_shown_changed_withdrawn_and_audited(kept: CommandLine) -> None:
    assert kept.rows("agent", "list", *ACME) == [{"agent": "a"}]
    assert kept.rows("agent", "list", *ACME, "--user", "bo") == []
    for level in ("read", "admin"):
        assert kept.ok("agent", "grant", "a", level, *ACME, "--user", "bo") == "granted"
        assert kept.rows("agent", "list", *ACME, "--user", "bo") == [{"agent": "a", "level": level}]
    assert kept.ok("agent", "grant", "a", "none", *ACME, "--user", "bo") == "withdrawn"
    assert kept.rows("agent", "list", *ACME, "--user", "bo") == []
    assert [
        (each.action, each.subject_id, each.target, each.detail)
        for each in asyncio.run(audited(kept.home))
        if each.target == "a"
    ] == [
        (Action.AGENT_CREATED, "ana", "a", None),
        (Action.AGENT_GRANT_SET, "bo", "a", "read"),
        (Action.AGENT_GRANT_SET, "bo", "a", "admin"),
        (Action.AGENT_GRANT_WITHDRAWN, "bo", "a", None),
    ]


def test_who_left_the_organisation_is_granted_nothing_and_may_still_lose_a_grant(kept: CommandLine) -> None:
    kept.ok("agent", "grant", "a", "read", *ACME, "--user", "bo")
    kept.ok("user", "member", "bo", *ACME, "--withdraw")
    assert kept.refused("agent", "grant", "a", "write", *ACME, "--user", "bo") == NOTHING.format("--user")
    assert kept.ok("agent", "grant", "a", "none", *ACME, "--user", "bo") == "withdrawn"


def test_an_unknown_level_is_refused_with_the_levels(kept: CommandLine) -> None:
    assert "'read', 'write', 'admin', 'none'" in kept.refused("agent", "grant", "a", "own", code=2)


async def test_a_grant_of_the_command_line_holds_for_the_next_call_of_a_running_server(tmp_path: Path) -> None:
    async with process(tmp_path) as running, aiohttp.ClientSession() as http:
        headers = running.owner.bound(await register(running, http, fresh()))
        transport = Transport(http=http, url=running.url, headers=headers)
        await transport.initialize()
        call = calling(transport)
        assert (await call("store", {"agent_id": "a", "content": "tea"}))["ok"] is True
        for level, code in (("none", "agent_forbidden"), ("read", "agent_forbidden"), ("write", None)):
            assert (await command(tmp_path, "agent", "grant", "a", level))[0] == 0
            said = await call("store", {"agent_id": "a", "content": f"tea with {level}"})
            assert said.get("code") == code
            read = await call("list_memories", {"agent_id": "a"})
            assert read.get("code") == (code if level == "none" else None)
