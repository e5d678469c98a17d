"""`session`, `org`, `user`, `key` and `repo`: what each does, and what each refuses, by the option that is wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from codesynapse.backends.sqlite import open_sqlite
from codesynapse.contracts.accounts import Action, AuditRecord
from codesynapse.contracts.agents import AgentScope, NewMemory
from codesynapse.contracts.errors import QuotaExceeded
from codesynapse.contracts.identity import Millis
from tests.integration.harness import Process, Transport, command, process
from tests.server.cli.conftest import CommandLine

EXISTS = "Something of this name exists already. Field: {}."
NOTHING = "There is nothing of this name. Field: {}."
FORM = "An argument is not valid. Field: {}. Limit: 1 to 128 letters, digits or ._:-."


async def audited(home: Path) -> list[AuditRecord]:
    async with open_sqlite({"path": str(home / "codesynapse.sqlite3")}) as backend:
        assert backend.accounts is not None
        return await backend.accounts.audit(after=0, limit=500)


async def stored(home: Path, tenant_id: str, count: int) -> list[str | None]:
    """What becomes of so many memories: "stored", or the cap that refused it."""
    scope = AgentScope(tenant_id=tenant_id, subject_id="ana", agent_id="a")
    async with open_sqlite({"path": str(home / "codesynapse.sqlite3")}) as backend:
        assert backend.agents is not None
        became: list[str | None] = []
        for number in range(count):
            try:
                await backend.agents.store(scope, NewMemory(content=f"{number}"), once=None, now_ms=Millis(1))
                became.append("stored")
            except QuotaExceeded as refusal:
                became.append(refusal.field)
        return became


REFUSED = [
    (("org", "create", "acme"), EXISTS.format("ORGANIZATION")),
    (("org", "create", "a b"), FORM.format("ORGANIZATION")),
    (("org", "suspend", "nowhere"), NOTHING.format("ORGANIZATION")),
    (("org", "quotas", "nowhere"), NOTHING.format("ORGANIZATION")),
    (("org", "quotas", "acme", "--set", "half"), "An argument is not valid. Field: --set. Limit: NAME=NUMBER."),
    (("org", "quotas", "acme", "--set", "namespace_facts_max=-1"), "Field: --set. Limit: NAME=NUMBER."),
    (("org", "quotas", "acme", "--set", "namespace_facts_max=0"), "Field: namespace_facts_max. Limit: 1 to "),
    (("org", "quotas", "acme", "--set", "nothing=1"), "Field: --set. Limit: one of sessions_active_max, "),
    (("user", "create", "bo", "--org", "acme"), EXISTS.format("NAME")),
    (("user", "create", "b o", "--org", "acme"), FORM.format("NAME")),
    (("user", "create", "new", "--org", "nowhere"), NOTHING.format("--org")),
    (("user", "list", "--org", "nowhere"), NOTHING.format("--org")),
    (("user", "suspend", "nobody"), NOTHING.format("NAME")),
    (("user", "member", "nobody", "--org", "acme"), NOTHING.format("NAME")),
    (("user", "member", "bo", "--org", "nowhere"), NOTHING.format("--org")),
    (("user", "member", "owner", "--org", "acme", "--withdraw"), NOTHING.format("NAME")),
    (("key", "create", "--org", "nowhere"), NOTHING.format("--org")),
    (("key", "create", "--org", "acme", "--user", "owner"), NOTHING.format("--user")),
    (("key", "list", "--org", "nowhere"), NOTHING.format("--org")),
    (("key", "revoke", "key-of-nobody"), NOTHING.format("KEY_ID")),
    (("repo", "create", "library", "--org", "acme"), EXISTS.format("NAME")),
    (("repo", "create", "a/b", "--org", "acme"), FORM.format("NAME")),
    (("repo", "create", "new", "--org", "nowhere"), NOTHING.format("--org")),
    (("repo", "list", "--org", "nowhere"), NOTHING.format("--org")),
    (("repo", "grant", "nothing", "read", "--org", "acme", "--user", "bo"), NOTHING.format("NAME")),
    (("repo", "grant", "library", "read", "--org", "acme", "--user", "nobody"), NOTHING.format("--user")),
    (("session", "register", "two words"), FORM.format("SESSION_ID")),
    (("session", "register", "web:x"), "Field: SESSION_ID. Limit: no web: prefix."),
    (("session", "register", "new", "--user", "bo"), NOTHING.format("--user")),
    (("session", "register", "new", "--org", "nowhere"), NOTHING.format("--org")),
    (("session", "list", "--user", "bo"), NOTHING.format("--user")),
    (("session", "list", "--org", "nowhere"), NOTHING.format("--org")),
    (("session", "revoke", "nothing"), "No such chat session is registered to this caller."),
    (("session", "revoke", "two words"), FORM.format("SESSION_ID")),
]


def test_each_command_refuses_by_the_name_of_the_option_that_is_wrong(furnished: CommandLine) -> None:
    assert [(words, said) for words, said in REFUSED if said not in furnished.refused(*words)] == []


def test_an_unknown_level_is_refused_with_the_levels(furnished: CommandLine) -> None:
    result = furnished.run("repo", "grant", "library", "own", "--org", "acme", "--user", "bo")
    assert result.exit_code == 2
    assert "'read', 'write', 'admin', 'none'" in result.stderr


def test_a_refused_user_leaves_nothing_behind(furnished: CommandLine) -> None:
    furnished.refused("user", "create", "cleo", "--org", "nowhere")
    furnished.ok("user", "create", "cleo", "--org", "acme")


def test_organisations_users_and_repositories_are_listed(furnished: CommandLine) -> None:
    assert furnished.rows("org", "list") == [{"organization": "acme"}, {"organization": "home"}]
    assert furnished.rows("repo", "list", "--org", "acme") == [{"repository": "library"}]
    member = {"subject_id": "bo", "suspended": False, "withdrawn": False}
    assert furnished.rows("user", "list", "--org", "acme") == [member]


def test_a_suspension_and_a_withdrawn_membership_are_shown_and_lifted(furnished: CommandLine) -> None:
    def shown() -> tuple[bool, bool]:
        (row,) = furnished.rows("user", "list", "--org", "acme")
        return row["suspended"], row["withdrawn"]

    assert furnished.ok("user", "suspend", "bo") == "suspended"
    assert furnished.ok("user", "member", "bo", "--org", "acme", "--withdraw") == "withdrawn"
    assert shown() == (True, True)
    assert furnished.ok("user", "suspend", "bo", "--lift") == "lifted"
    assert furnished.ok("user", "member", "bo", "--org", "acme") == "added"
    assert shown() == (False, False)


def test_a_session_is_registered_listed_and_revoked_for_good(furnished: CommandLine) -> None:
    first = furnished.ok("session", "register", "chat-1")
    assert first.startswith("registered, until ")
    assert furnished.ok("session", "register", "chat-1") == "already " + first
    assert [(row["session_id"], row["state"]) for row in furnished.rows("session", "list")] == [("chat-1", "active")]
    assert furnished.ok("session", "revoke", "chat-1") == "revoked"
    assert [row["state"] for row in furnished.rows("session", "list")] == ["revoked"]
    assert "was revoked" in furnished.refused("session", "register", "chat-1")
    # Repeatable: whoever revokes does not have to know whether somebody else was faster.
    assert furnished.ok("session", "revoke", "chat-1") == "revoked"


def test_a_session_of_one_user_is_not_given_to_another(furnished: CommandLine) -> None:
    furnished.ok("session", "register", "chat-1")
    said = furnished.refused("session", "register", "chat-1", "--org", "acme", "--user", "bo")
    assert said == "The chat session is bound to another participant."
    assert "No such chat session" in furnished.refused("session", "revoke", "chat-1", "--org", "acme")


def test_a_former_member_gets_no_key_and_no_session_but_can_be_looked_up(furnished: CommandLine) -> None:
    furnished.ok("session", "register", "chat-1", "--org", "acme", "--user", "bo")
    furnished.ok("user", "member", "bo", "--org", "acme", "--withdraw")
    assert furnished.refused("key", "create", "--org", "acme", "--user", "bo") == NOTHING.format("--user")
    refused = furnished.refused("session", "register", "chat-2", "--org", "acme", "--user", "bo")
    assert refused == NOTHING.format("--user")
    assert len(furnished.rows("session", "list", "--org", "acme", "--user", "bo")) == 1


def test_a_key_is_printed_once_and_listed_by_its_id(furnished: CommandLine) -> None:
    key = furnished.ok("key", "create", "--org", "acme", "--user", "bo").removeprefix("CODESYNAPSE_API_KEY=")
    (row,) = furnished.rows("key", "list", "--org", "acme")
    assert (row["user"], row["revoked"]) == ("bo", False)
    assert key not in str(row)
    assert furnished.ok("key", "revoke", row["key_id"], "--org", "acme") == "revoked"
    assert furnished.rows("key", "list", "--org", "acme")[0]["revoked"]


def test_a_key_of_another_organisation_is_not_revoked(furnished: CommandLine) -> None:
    (row,) = furnished.rows("key", "list")
    assert furnished.refused("key", "revoke", row["key_id"], "--org", "acme") == NOTHING.format("KEY_ID")
    assert furnished.rows("key", "list") == [row]


def test_quotas_are_shown_with_their_defaults_and_as_they_were_set(furnished: CommandLine) -> None:
    (before,) = furnished.rows("org", "quotas", "acme")
    caps = ("--set", "namespace_facts_max=3", "--set", "session_facts_max=5")
    (after,) = furnished.rows("org", "quotas", "acme", *caps)
    assert after == {**before, "namespace_facts_max": 3, "session_facts_max": 5}
    assert furnished.rows("org", "quotas", "acme") == [after]
    assert furnished.rows("org", "quotas", "home") == [before]


def test_a_cap_of_agents_holds_in_their_store(furnished: CommandLine) -> None:
    furnished.ok("org", "quotas", "acme", "--set", "agent_memories_max=1")
    assert asyncio.run(stored(furnished.home, "acme", 2)) == ["stored", "agent_memories"]


def test_a_refused_cap_leaves_the_others_as_they_were(furnished: CommandLine) -> None:
    before = furnished.rows("org", "quotas", "acme")
    furnished.refused("org", "quotas", "acme", "--set", "namespace_facts_max=3", "--set", "session_facts_max=0")
    assert furnished.rows("org", "quotas", "acme") == before


def test_a_changed_cap_is_audited_with_its_value(furnished: CommandLine) -> None:
    furnished.ok("org", "quotas", "acme", "--set", "namespace_facts_max=3")
    records = asyncio.run(audited(furnished.home))
    changes = [(each.tenant_id, each.detail) for each in records if each.action is Action.QUOTAS_CHANGED]
    assert changes == [("acme", "namespace_facts_max=3")]


def test_showing_quotas_is_not_a_change(furnished: CommandLine) -> None:
    furnished.ok("org", "quotas", "acme")
    assert not [each for each in asyncio.run(audited(furnished.home)) if each.action is Action.QUOTAS_CHANGED]


async def opened(running: Process, http: aiohttp.ClientSession, session_id: str) -> Transport:
    """A bound transport of a session that the command line registers beside the running server."""
    code, _, err = await command(running.home, "session", "register", session_id)
    assert code == 0, err
    transport = Transport(http=http, url=running.url, headers=running.owner.bound(session_id))
    await transport.initialize()
    return transport


def triples(*objects: str) -> dict[str, object]:
    sent = [{"subject": "Ana", "predicate": "knows", "object": each} for each in objects]
    return {"triples": sent, "memory_scope": "session"}


async def test_a_cap_that_is_lowered_holds_for_a_running_server_at_once(tmp_path: Path) -> None:
    async with process(tmp_path) as running, aiohttp.ClientSession() as http:
        transport = await opened(running, http, "chat-1")
        assert (await transport.call("upsert_graph_triples", triples("Bo", "Cleo")))["isError"] is False
        await command(tmp_path, "org", "quotas", "home", "--set", "namespace_facts_max=2")
        refused = (await transport.call("upsert_graph_triples", triples("Dan")))["structuredContent"]
        assert (refused["code"], refused["field"], refused["limit"]) == ("quota_exceeded", "namespace_facts", 2)
        await command(tmp_path, "org", "quotas", "home", "--set", "namespace_facts_max=3")
        assert (await transport.call("upsert_graph_triples", triples("Dan")))["isError"] is False


async def test_a_lowered_cap_of_sessions_refuses_the_next_registration(tmp_path: Path) -> None:
    await command(tmp_path, "init")
    await command(tmp_path, "org", "quotas", "home", "--set", "sessions_active_max=1")
    assert (await command(tmp_path, "session", "register", "chat-1"))[0] == 0
    code, _, err = await command(tmp_path, "session", "register", "chat-2")
    assert code == 1
    assert "no room for another active chat session" in err
    assert (await command(tmp_path, "session", "revoke", "chat-1"))[0] == 0
    assert (await command(tmp_path, "session", "register", "chat-2"))[0] == 0


@pytest.mark.parametrize(
    ("ending", "lifting", "status"),
    [
        (("user", "suspend", "owner"), ("user", "suspend", "owner", "--lift"), 403),
        (("org", "suspend", "home"), ("org", "suspend", "home", "--lift"), 403),
        (("user", "member", "owner", "--withdraw"), ("user", "member", "owner"), 403),
    ],
)
async def test_what_the_command_line_ends_a_running_server_refuses_until_it_is_lifted(
    tmp_path: Path, ending: tuple[str, ...], lifting: tuple[str, ...], status: int
) -> None:
    async def listing() -> int:
        url = running.base + "/api/v1/execution/sessions"
        async with http.get(url, headers=running.owner.headers) as answer:
            return answer.status

    async with process(tmp_path) as running, aiohttp.ClientSession() as http:
        assert await listing() == 200
        assert (await command(tmp_path, *ending))[0] == 0
        assert await listing() == status
        assert (await command(tmp_path, *lifting))[0] == 0
        assert await listing() == 200


async def test_a_grant_that_the_command_line_withdraws_is_missed_by_the_next_call(tmp_path: Path) -> None:
    async with process(tmp_path) as running, aiohttp.ClientSession() as http:
        transport = await opened(running, http, "chat-1")
        assert (await transport.call("upsert_graph_triples", triples("Bo")))["isError"] is False
        await command(tmp_path, "repo", "grant", "default", "none")
        refused = (await transport.call("upsert_graph_triples", triples("Bo")))["structuredContent"]
        assert refused["code"] == "repository_forbidden"
        await command(tmp_path, "repo", "grant", "default", "read")
        assert (await transport.call("upsert_graph_triples", triples("Bo")))["isError"] is False
