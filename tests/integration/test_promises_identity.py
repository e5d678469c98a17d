"""Who a request is of: what may not stand in for a session's id, and what never decides whose memory is read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.server.clock import system_clock
from tests.integration.harness import Person, Product, Transport, fresh, messages_of, product
from tests.integration.stdio_peer import shell, stdio_process
from tests.integration.tools import asking, status_of

MEMORY = "/api/v1/repos/default/session-memory"
TRIPLE = {"subject": "Ana", "predicate": "likes", "object": "tea"}
ROUTES: list[tuple[str, str, object]] = [
    ("GET", MEMORY, None),
    ("POST", MEMORY, {"triples": [TRIPLE]}),
    ("POST", MEMORY + "/recall", {"query": "tea"}),
    ("DELETE", MEMORY, None),
]


async def rest(
    running: Product, method: str, path: str, headers: dict[str, str], body: object = None
) -> tuple[int, dict[str, Any]]:
    """A request to a REST route: status and body."""
    async with running.http.request(method, running.base + path, headers=headers, json=body) as answer:
        return answer.status, await answer.json()


# What a server could take for an id where a client sends none.
SUBSTITUTES: dict[str, Callable[[Transport, Person], str]] = {
    "a request id": lambda transport, person: str(transport.requests),
    "the transport's id": lambda transport, person: str(transport.id),
    "a moment": lambda transport, person: "1800000000000",
    "the hash of the key": lambda transport, person: hashlib.sha256(person.key.encode()).hexdigest(),
    "the user": lambda transport, person: person.subject,
    "a default": lambda transport, person: "default",
}


@pytest.mark.parametrize("name", SUBSTITUTES)
async def test_nothing_that_a_server_has_at_hand_stands_in_for_a_registered_id(name: str) -> None:
    async with product() as running:
        person = await running.person()
        transport = Transport(http=running.http, url=running.url, headers=person.headers)
        await transport.initialize()
        headers = person.bound(SUBSTITUTES[name](transport, person))
        call = transport.message("tools/call", {"name": "recall_context", "arguments": {"query": "tea"}})
        status, body = await status_of(running, "POST", {**transport.all_headers(), **headers}, call)
        assert (status, body["error"]["data"]["code"]) == (403, "session_not_registered")
        status, body = await rest(running, "POST", MEMORY, headers, {"triples": [TRIPLE]})
        assert (status, body["code"]) == (403, "session_not_registered")
        assert (await rest(running, "GET", "/api/v1/execution/sessions", person.headers))[1] == {"sessions": []}


async def test_transports_of_one_session_share_its_memory_and_one_of_another_session_reads_its_own() -> None:
    async with product() as running:
        person = await running.person()
        session_id = await running.register(person)
        first, second = await running.open(person, session_id), await running.open(person, session_id)
        other = await running.open(person)
        await first.remember(("Ana", "likes", "tea"))
        assert [fact["object"] for fact in (await second.recall("tea"))["facts"]] == ["tea"]
        assert (await other.recall("tea"))["facts"] == []
        # The same memory without any transport session; and the ids of transports are nobody's memory.
        _, read = await rest(running, "GET", MEMORY, person.bound(session_id))
        assert [fact["object"] for fact in read["facts"]] == ["tea"]
        status, _ = await rest(running, "GET", MEMORY, person.bound(str(first.id)))
        assert status == 403


async def test_equal_request_trace_and_progress_ids_lead_two_sessions_to_their_own_memory() -> None:
    async with product() as running:
        person = await running.person()
        transports = {name: await running.open(person) for name in ("tea", "milk")}
        for name, transport in transports.items():
            await transport.remember(("Ana", "likes", name))
            trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            transport.extra = {"X-Request-Id": "same", "traceparent": trace}
        for name, transport in transports.items():
            async with transport.post(asking("same", "recall_context", "same", query="What does Ana like?")) as answer:
                (message,) = await messages_of(answer)
            assert message["id"] == "same"
            assert [fact["object"] for fact in message["result"]["structuredContent"]["facts"]] == [name]


async def test_the_key_alone_decides_in_which_organisation_a_session_is_registered() -> None:
    async with product() as running:
        ana = await running.person()
        elsewhere, accounts = await running.organization(), running.services.ports.accounts
        await accounts.set_member(elsewhere, ana.subject, member=True, now_ms=running.clock())
        keys = {ana.tenant: ana.key, elsewhere: await running.key(elsewhere, ana.subject)}
        for tenant, other in ((ana.tenant, elsewhere), (elsewhere, ana.tenant)):
            headers = {"Authorization": f"Bearer {keys[tenant]}", "X-CodeSynapse-Organization": other}
            path = f"/api/v1/execution/sessions?tenant_id={other}"
            status, body = await rest(running, "POST", path, headers, {"session_id": fresh()})
            assert (status, body["tenant_id"], body["subject_id"]) == (201, tenant, ana.subject)
            named = {"session_id": fresh(), "tenant_id": other}
            assert (await rest(running, "POST", "/api/v1/execution/sessions", headers, named))[0] == 422


async def test_an_administrator_without_a_session_or_without_a_grant_reads_and_writes_no_memory() -> None:
    async with product() as running:
        admin = await running.person(level=Level.ADMIN)
        secret, accounts = fresh("repo"), running.services.ports.accounts
        await accounts.create_repository(admin.tenant, secret, now_ms=running.clock())
        for method, path, body in ROUTES:
            status, answer = await rest(running, method, path, admin.headers, body)
            assert (status, answer["code"]) == (403, "execution_missing")
            bound = admin.bound(await running.register(admin))
            status, answer = await rest(running, method, path.replace("default", secret), bound, body)
            assert (status, answer["code"]) == (403, "repository_forbidden")
            assert (await rest(running, method, path, bound, body))[0] == 200
        transport = await running.open(admin)
        for scope in ("session", "repository"):
            arguments = {"triples": [TRIPLE], "memory_scope": scope, "repo": secret}
            refused = await transport.call("upsert_graph_triples", arguments)
            assert refused["structuredContent"]["code"] == "repository_forbidden"


async def test_a_session_of_stdio_is_one_whatever_its_client_or_its_environment_says_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with product() as running:
        person = await running.person()
        own, other = await running.register(person), await running.register(person)
        async with shell(running, person, own) as peer:
            await peer.initialize()
            assert (await peer.remember(("Ana", "likes", "tea")))["added"] == 1
            for name in ("CODESYNAPSE_SESSION_ID", "CODESYNAPSE_PARENT_SESSION_ID"):
                monkeypatch.setenv(name, other)
            assert "error" in await peer.request("initialize", {"protocolVersion": "2025-11-25"})
            for where in ({"session_id": other}, {"_meta": {"session_id": other, "X-CodeSynapse-Session": other}}):
                arguments = {"triples": [{**TRIPLE, "object": "milk"}], "memory_scope": "session"}
                await peer.request("tools/call", {"name": "upsert_graph_triples", "arguments": arguments, **where})
        _, read = await rest(running, "GET", MEMORY, person.bound(own))
        assert {fact["object"] for fact in read["facts"]} == {"tea", "milk"}
        assert (await rest(running, "GET", MEMORY, person.bound(other)))[1]["facts"] == []


async def test_the_id_of_the_headers_and_that_of_the_environment_arrive_at_the_stored_fact(tmp_path: Path) -> None:
    async with product(store="sqlite", home=tmp_path, clock=system_clock) as running:
        person = await running.person()
        by_headers, by_environment = await running.register(person), await running.register(person)
        transport = await running.open(person, by_headers)
        await transport.remember(("Ana", "likes", "tea"), scope="repository")
        async with stdio_process(tmp_path, person, by_environment, []) as peer:
            await peer.remember(("Ana", "likes", "milk"), scope="repository")
        facts = (await transport.recall("What does Ana like?", memory_scope="repository"))["facts"]
        origins = {fact["object"]: fact["origin_session_id"] for fact in facts}
        assert origins == {"tea": by_headers, "milk": by_environment}


async def test_the_accounts_are_asked_for_the_binding_before_every_single_tool_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with product() as running:
        person = await running.person()
        session_id = await running.register(person)
        transport = await running.open(person, session_id)
        accounts, asked = running.services.ports.accounts, list[object]()
        authorize = accounts.authorize

        async def overhear(key_hash: str, named: str | None, **more: Any) -> Any:
            asked.append(named)
            return await authorize(key_hash, named, **more)

        monkeypatch.setattr(accounts, "authorize", overhear)
        for number in range(1, 4):
            await transport.recall("tea")
            assert asked[:number] == [session_id] * number
        async with shell(running, person, session_id) as peer:
            await peer.initialize()
            for _ in range(3):
                asked.clear()
                await peer.call("recall_context", {"query": "tea"})
                assert session_id in asked
