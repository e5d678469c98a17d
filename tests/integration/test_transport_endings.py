"""What ends a transport session: time, caps, a revocation, an expiry, the server's own end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest

from codesynapse.contracts.repository import RepositoryScope
from codesynapse.contracts.requirements import requirement
from tests.integration.harness import Person, Product, Transport, fresh, product
from tests.integration.tools import HANG_S, call, primed, register_tools, status_of, stream, until

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}},
}


async def alive(running: Product, transport: Transport) -> bool:
    status, _ = await status_of(running, "POST", transport.all_headers(), transport.message("ping"))
    assert status in (200, 404)
    return status == 200


async def look_after(running: Product, **passed: float) -> None:
    running.clock.advance(**passed)  # type: ignore[attr-defined]
    await running.server._sweep()


async def test_an_idle_session_ends_after_half_an_hour_and_any_use_begins_it_anew():
    async with product() as running:
        used, idle = await running.open(await running.person()), await running.open(await running.person())
        await look_after(running, seconds=1_799)
        assert await alive(running, used)
        await look_after(running, seconds=1)
        assert (await alive(running, used), await alive(running, idle)) == (True, False)


@requirement("protocol:idle-sessions-end")
async def test_a_thousand_sessions_that_nobody_ended_are_gone_after_the_idle_time():
    async with product(transports_per_principal_max=1_000) as running:
        person = await running.person()
        session_id = await running.register(person)
        for _ in range(20):
            await asyncio.gather(*(running.open(person, session_id) for _ in range(50)))
        assert len(running.server.lives) == 1_000
        await look_after(running, seconds=1_799)
        assert len(running.server.lives) == 1_000
        await look_after(running, seconds=1)
        assert (len(running.server.lives), running.server.lives.budget.used) == (0, 0)
        assert await alive(running, await running.open(person, session_id))


async def test_a_session_that_never_said_it_was_initialized_ends_after_a_minute():
    async with product() as running:
        person = await running.person()
        transport = Transport(http=running.http, url=running.url, headers=person.headers)
        async with running.http.post(running.url, json=INITIALIZE, headers=person.headers) as answer:
            transport.id = answer.headers["Mcp-Session-Id"]
        await look_after(running, seconds=59)
        assert len(running.server.lives) == 1
        await look_after(running, seconds=1)
        assert not await alive(running, transport)


async def test_a_session_whose_stream_was_cut_after_hours_has_all_its_idle_time_to_resume():
    async with product() as running:
        transport = await running.open(await running.person())
        async with stream(transport) as events:
            await primed(events)
            running.clock.advance(hours=5)  # type: ignore[attr-defined]
        await until(running, lambda: all(live.idle for live in running.server.lives._table.values()))
        await look_after(running, seconds=1_799)
        assert len(running.server.lives) == 1
        await look_after(running, seconds=1)
        assert len(running.server.lives) == 0


async def test_a_session_with_an_open_stream_or_a_running_call_is_not_idle():
    async with product() as running:
        gate = register_tools(running.services)
        listening, working = await running.open(await running.person()), await running.open(await running.person())
        working.accept = "application/json"
        calling = asyncio.create_task(working.call("wait"))
        await gate.entries(1)
        async with stream(listening) as events:
            await primed(events)
            await look_after(running, hours=5)
            assert len(running.server.lives) == 2
            gate.opened.set()
            await calling
        await until(running, lambda: all(live.idle for live in running.server.lives._table.values()))
        await look_after(running, hours=5)
        assert len(running.server.lives) == 0


async def test_a_principals_65th_session_ends_its_least_recently_used_idle_one():
    async with product() as running:
        person, other = await running.person(), await running.open(await running.person())
        session_id = await running.register(person)
        transports = [await running.open(person, session_id) for _ in range(64)]
        assert await alive(running, transports[0])
        await running.open(person, session_id)
        assert [await alive(running, each) for each in transports[:3]] == [True, False, True]
        assert await alive(running, other)
        assert len(running.server.lives) == 65


async def initialize(running: Product, person: Person) -> tuple[int, Any, str | None]:
    async with running.http.post(running.url, json=INITIALIZE, headers=person.headers) as answer:
        return answer.status, await answer.json(), answer.headers.get("Retry-After")


async def test_where_none_is_idle_the_next_session_is_429():
    async with product(transports_per_principal_max=2) as running:
        person = await running.person()
        async with stream(await running.open(person)) as one, stream(await running.open(person)) as two:
            await primed(one)
            await primed(two)
            status, body, retry_after = await initialize(running, person)
            assert (status, body["error"]["data"]["code"], retry_after) == (429, "too_many_transports", "1")
            assert body["error"]["data"]["limit"] == 2


async def test_at_the_cap_of_all_the_next_session_is_503_and_says_when_to_come_again():
    async with product(transports_max=2) as running:
        first = await running.open(await running.person())
        await running.open(await running.person())
        late = await running.person()
        status, body, retry_after = await initialize(running, late)
        assert (status, body["error"]["data"]["code"], retry_after) == (503, "server_full", "1")
        assert await alive(running, first)
        await status_of(running, "DELETE", first.all_headers())
        assert (await initialize(running, late))[0] == 200


End = Callable[[Product, Person, str], Awaitable[None]]


async def revoke_over_rest(running: Product, person: Person, session_id: str) -> None:
    url = running.base + "/api/v1/execution/sessions/revoke"
    async with running.http.post(url, json={"session_id": session_id}, headers=person.headers) as answer:
        assert answer.status == 200


async def expire(running: Product, _: Person, __: str) -> None:
    await look_after(running, days=7)


async def suspend_user(running: Product, person: Person, _: str) -> None:
    accounts = running.services.ports.accounts
    await accounts.suspend_user(person.subject, suspended=True, now_ms=running.clock())


async def suspend_organization(running: Product, person: Person, _: str) -> None:
    accounts = running.services.ports.accounts
    await accounts.suspend_organization(person.tenant, suspended=True, now_ms=running.clock())


async def withdraw_membership(running: Product, person: Person, _: str) -> None:
    accounts = running.services.ports.accounts
    await accounts.set_member(person.tenant, person.subject, member=False, now_ms=running.clock())


async def revoke_key(running: Product, person: Person, _: str) -> None:
    accounts = running.services.ports.accounts
    (key,) = await accounts.keys(person.tenant)
    await accounts.revoke_key(person.tenant, key.key_id, now_ms=running.clock())


ENDS = [revoke_over_rest, expire, suspend_user, suspend_organization, withdraw_membership, revoke_key]


@pytest.mark.parametrize("end", ENDS)
async def test_the_end_of_access_closes_open_streams_and_nothing_follows(end: End):
    async with product() as running:
        gate = register_tools(running.services)
        person = await running.person()
        session_id = await running.register(person)
        transport = await running.open(person, session_id)
        untouched = await running.open(await running.person())
        async with stream(transport) as standalone, stream(transport, call(1, "write", text="tea")) as calling:
            last = await primed(calling)
            await primed(standalone)
            await gate.entries(1)
            await end(running, person, session_id)
            # The server looks for itself; the test waits for what it does.
            assert (await standalone.rest(), await calling.rest()) == ([], [])
            gate.opened.set()
        headers = {**transport.all_headers(), "Last-Event-ID": last}
        assert (await status_of(running, "GET", headers))[0] in (401, 403, 404)
        assert end is expire or await alive(running, untouched)
        assert not running.server.lives.tasks


async def test_after_a_revocation_over_rest_its_streams_are_closed_before_the_answer():
    async with product() as running:
        person = await running.person()
        session_id = await running.register(person)
        transport = await running.open(person, session_id)
        async with stream(transport) as events:
            await primed(events)
            await revoke_over_rest(running, person, session_id)
            assert len(running.server.lives) == 0


async def test_a_json_client_whose_access_ends_during_its_call_gets_no_answer_of_it():
    async with product() as running:
        gate = register_tools(running.services)
        person = await running.person()
        session_id = await running.register(person)
        transport = await running.open(person, session_id)
        transport.accept = "application/json"
        waiting = asyncio.create_task(status_of(running, "POST", transport.all_headers(), call(1, "wait", text="x")))
        await gate.entries(1)
        await revoke_over_rest(running, person, session_id)
        status, body = await waiting
        assert (status, body["error"]["data"]["code"]) == (404, "transport_unknown")


async def slowly(running: Product, path: str, headers: dict[str, str], body: bytes, between: Awaitable[None]) -> bytes:
    """The answer to a request whose body is sent only after something else has happened."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(running.base.rpartition(":")[2]))
    head = {**headers, "Host": "localhost", "Content-Length": str(len(body)), "Expect": "100-continue"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    writer.write(f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode())
    async with asyncio.timeout(HANG_S):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
        await between
        writer.write(body)
        answer = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    return answer


def watched(running: Product, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Is set when the accounts have answered who asks."""
    accounts, answered = running.services.ports.accounts, asyncio.Event()
    authorize = accounts.authorize

    async def watch(*arguments: Any, **more: Any) -> Any:
        authority = await authorize(*arguments, **more)
        answered.set()
        return authority

    monkeypatch.setattr(accounts, "authorize", watch)
    return answered


REPOSITORY_WRITE = call(1, "upsert_graph_triples", triples=[{"subject": "Ana", "predicate": "likes", "object": "tea"}])
SESSION_WRITE = {"triples": [{"subject": "Ana", "predicate": "likes", "object": "tea"}]}


@pytest.mark.parametrize("end", [each for each in ENDS if each is not expire])
@pytest.mark.parametrize("path", ["/mcp", "/api/v1/repos/default/session-memory", "/api/v1/execution/sessions"])
async def test_a_body_that_arrives_after_the_end_of_access_is_refused(
    end: End, path: str, monkeypatch: pytest.MonkeyPatch
):
    async with product() as running:
        person = await running.person()
        session_id = await running.register(person)
        transport = await running.open(person, session_id)
        headers = transport.all_headers() if path == "/mcp" else person.bound(session_id)
        body = {"/mcp": REPOSITORY_WRITE, "/api/v1/execution/sessions": {"session_id": fresh()}}.get(
            path, SESSION_WRITE
        )
        answered = watched(running, monkeypatch)

        async def between() -> None:
            await answered.wait()
            await end(running, person, session_id)

        answer = await slowly(running, path, headers, json.dumps(body).encode(), between())
        assert answer.split()[1] in (b"401", b"403")
        scope = RepositoryScope(tenant_id=person.tenant, repository="default")
        assert await running.services.ports.repository.find_nodes(scope, "", after=None, limit=1) == []


async def test_at_the_servers_end_running_calls_are_answered_and_streams_end_cleanly():
    async with aiohttp.ClientSession() as http, AsyncExitStack() as stack:
        running = await stack.enter_async_context(product())
        gate = register_tools(running.services)
        opened = await running.open(await running.person())
        transport = Transport(http=http, url=opened.url, headers=opened.headers, id=opened.id)
        async with stream(transport) as standalone, stream(transport, call(1, "wait")) as calling:
            await primed(standalone)
            await primed(calling)
            await gate.entries(1)
            ending = asyncio.create_task(stack.aclose())
            gate.opened.set()
            assert (await calling.message())["id"] == 1
            assert (await calling.rest(), await standalone.rest()) == ([], [])
            await ending


async def test_a_call_that_does_not_end_in_time_does_not_hold_up_the_servers_end():
    async with aiohttp.ClientSession() as http, AsyncExitStack() as stack:
        running = await stack.enter_async_context(product(shutdown_ms=1))
        gate = register_tools(running.services)
        opened = await running.open(await running.person())
        transport = Transport(http=http, url=opened.url, headers=opened.headers, id=opened.id)
        async with stream(transport, call(1, "wait")) as calling:
            await primed(calling)
            await gate.entries(1)
            async with asyncio.timeout(HANG_S):
                await stack.aclose()
