"""One session id from two credentials, two organisations and two transports; transport ids of somebody else."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.integration.harness import Person, Product, Transport, product
from tests.integration.tools import call, primed, register_tools, replayed, status_of, stream

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
Stranger = Callable[[Product, Person], Awaitable[Person]]


async def another_key(running: Product, owner: Person) -> Person:
    key = await running.key(owner.tenant, owner.subject)
    return Person(tenant=owner.tenant, subject=owner.subject, key=key)


async def colleague(running: Product, owner: Person) -> Person:
    return await running.person(owner.tenant)


async def somebody_elsewhere(running: Product, _: Person) -> Person:
    return await running.person()


async def oneself_elsewhere(running: Product, owner: Person) -> Person:
    """The same user, in another organisation."""
    tenant, accounts = await running.organization(), running.services.ports.accounts
    await accounts.set_member(tenant, owner.subject, member=True, now_ms=running.clock())
    return Person(tenant=tenant, subject=owner.subject, key=await running.key(tenant, owner.subject))


STRANGERS = [another_key, colleague, somebody_elsewhere, oneself_elsewhere]


@asynccontextmanager
async def living(running: Product, transport: Transport) -> AsyncIterator[None]:
    """A session with a stream and a call that must not notice what happens inside."""
    gate = register_tools(running.services)
    async with stream(transport) as standalone, stream(transport, call("own", "wait", text="mine")) as events:
        await primed(standalone)
        await primed(events)
        await gate.entries(1)
        yield
        gate.opened.set()
        assert (await events.message())["result"]["structuredContent"]["text"] == "mine"
        assert await transport.request("ping") != {}
        async with stream(transport):
            assert await standalone.rest() == []


def asked(transport: Transport, person: Person, session: str, transport_id: str | None) -> dict[str, str]:
    headers = {**transport.all_headers(), **person.bound(session)}
    return {**headers, "Mcp-Session-Id": transport_id or ""}


@pytest.mark.parametrize("restarted", [False, True], ids=["alive", "restarted"])
@pytest.mark.parametrize("stranger", STRANGERS)
async def test_a_foreign_transport_id_is_an_unknown_one_and_its_owner_notices_nothing(
    tmp_path: Path, stranger: Stranger, restarted: bool
) -> None:
    async with product(store="sqlite", home=tmp_path) as running:
        owner = await running.person()
        transport = await running.open(owner)
    async with product(store="sqlite", home=tmp_path) as running:
        transport.url, transport.http = running.url, running.http
        if not restarted:
            transport = await running.open(owner)
        other = await stranger(running, owner)
        session = await running.register(other)
        same = (other.tenant, other.subject) == (owner.tenant, owner.subject)
        sessions = [session, transport.headers["X-CodeSynapse-Session"]] if same else [session]
        seen: list[Any] = []
        for transport_id in (transport.id, "an-id-that-nobody-has"):
            for each in sessions:
                headers = asked(transport, other, each, transport_id)
                seen += [await status_of(running, "POST", headers, PING)]
                seen += [await status_of(running, method, headers) for method in ("GET", "DELETE")]
        assert [status for status, _ in seen] == [404] * len(seen)
        assert seen[: len(seen) // 2] == seen[len(seen) // 2 :]
        if not restarted:
            async with living(running, transport):
                for method in ("GET", "DELETE"):
                    assert (await status_of(running, method, asked(transport, other, session, transport.id)))[0] == 404
        assert await transport.request("ping") != {}


async def test_two_credentials_of_one_user_share_a_chat_session_on_transports_of_their_own() -> None:
    async with product() as running:
        owner = await running.person()
        other = await another_key(running, owner)
        session = await running.register(owner)
        first, second = await running.open(owner, session), await running.open(other, session)
        await first.remember(("Ana", "likes", "tea"))
        assert [fact["object"] for fact in (await second.recall("Ana"))["facts"]] == ["tea"]
        assert first.id != second.id


async def test_one_credential_uses_a_chat_session_on_two_transports_and_each_gets_its_own_answers() -> None:
    async with product() as running:
        gate, owner = register_tools(running.services), await running.person()
        session = await running.register(owner)
        one, two = await running.open(owner, session), await running.open(owner, session)
        async with (
            stream(one, call(7, "wait", text="one")) as first,
            stream(two, call(7, "wait", text="two")) as second,
        ):
            ids = [await primed(events) for events in (first, second)]
            await gate.entries(2)
            assert await replayed(one, ids[1]) == []
            assert await replayed(two, ids[0]) == []
            gate.opened.set()
            texts = [(await each.message())["result"]["structuredContent"]["text"] for each in (first, second)]
        assert texts == ["one", "two"]


@pytest.mark.parametrize("stranger", [colleague, somebody_elsewhere, oneself_elsewhere])
async def test_the_chat_session_of_another_participant_is_neither_registered_nor_used(stranger: Stranger) -> None:
    async with product() as running:
        owner = await running.person()
        session = await running.register(owner)
        other = await stranger(running, owner)
        own = await running.open(owner, session)
        await own.remember(("Ana", "likes", "tea"))
        async with running.http.post(
            running.base + "/api/v1/execution/sessions", json={"session_id": session}, headers=other.headers
        ) as answer:
            assert answer.status == 409
        transport = Transport(http=running.http, url=running.url, headers=other.headers)
        await transport.initialize()
        transport.headers = other.bound(session)
        status, body = await status_of(running, "POST", transport.all_headers(), call(1, "recall_context", query="Ana"))
        assert (status, body["error"]["data"]["code"]) == (403, "session_not_registered")
        assert "tea" not in str(body)
        assert (await own.recall("Ana"))["facts"][0]["object"] == "tea"
