"""Two servers over one accounts store: a session of one is a session of the other, and ends at both."""

import asyncio
import json
from dataclasses import replace

import pytest
from msgspec import structs

from codesynapse.contracts.identity import Execution
from codesynapse.contracts.requirements import requirement
from codesynapse.server.tools.registry import ToolContext
from tests.integration.harness import Person, Product, Transport
from tests.integration.pair import two_servers
from tests.integration.tools import Gate, call, live_of, primed, register_tools, replayed, status_of, stream


def at(running: Product, transport: Transport) -> Transport:
    """The same session, asked of another server."""
    return replace(transport, url=running.url, requests=1_000)


def gated_upsert(running: Product) -> Gate:
    """The upsert, which waits after its commit: it is there, and not yet answered."""
    gate, upsert = Gate(), running.services.toolbox.tool("upsert_graph_triples")

    async def handler(execution: Execution, arguments: object, context: ToolContext) -> object:
        done = await upsert.handler(execution, arguments, context)
        await gate.wait()
        return done

    running.services.toolbox.register(structs.replace(upsert, name="gated_upsert", toolset="test", handler=handler))
    return gate


TRIPLES = [{"subject": "Ana", "predicate": "likes", "object": "tea"}]


@requirement("survive:servers")
async def test_a_session_of_one_server_goes_on_at_the_other() -> None:
    async with two_servers() as (one, two):
        transport = await one.open(await one.person())
        await transport.request("logging/setLevel", {"level": "error"})
        await transport.remember(("Ana", "likes", "tea"))
        other = at(two, transport)
        assert (await other.recall("Ana"))["facts"][0]["object"] == "tea"
        assert live_of(two, other).connection.log_level == "error"
        await other.remember(("Ana", "likes", "milk"))
        assert (await transport.recall("Ana"))["revision"] == 2


@requirement("survive:servers")
async def test_a_session_that_one_server_closed_is_closed_at_the_other() -> None:
    async with two_servers() as (one, two):
        transport = await one.open(await one.person())
        other = at(two, transport)
        async with stream(other) as events:
            await primed(events)
            assert (await status_of(one, "DELETE", transport.all_headers()))[0] == 204
            await two.server.keeper.notice()
            assert await events.next() is None
        for running in (one, two):
            assert (await status_of(running, "POST", transport.all_headers(), call(1, "recall_context")))[0] == 404
        assert len(one.server.lives) == len(two.server.lives) == 0


async def test_a_read_that_runs_on_one_server_is_named_at_the_other_and_still_answered_where_it_runs() -> None:
    async with two_servers() as (one, two):
        gate, _ = register_tools(one.services), register_tools(two.services)
        transport = await one.open(await one.person())
        async with stream(transport, call("r", "wait", text="late")) as events:
            last = await primed(events)
            await gate.entries(1)
            async with stream(at(two, transport), None, **{"Last-Event-ID": last}) as elsewhere:
                await primed(elsewhere)
                answer = await elsewhere.message()
                assert await elsewhere.next() is None
            assert (answer["id"], answer["error"]["data"]) == ("r", {"ok": False, "code": "interrupted"})
            assert "repeat it" in answer["error"]["message"]
            gate.opened.set()
            assert (await events.message())["result"]["structuredContent"]["text"] == "late"


@pytest.mark.parametrize("scope", ["session", "repository"])
async def test_a_write_that_is_committed_but_not_answered_is_answered_at_the_other_server(scope: str) -> None:
    async with two_servers() as (one, two):
        gate = gated_upsert(one)
        transport = await one.open(await one.person())
        message = call(7, "gated_upsert", triples=TRIPLES, memory_scope=scope)
        async with stream(transport, message) as events:
            last = await primed(events)
            await gate.entries(1)
            async with stream(at(two, transport), None, **{"Last-Event-ID": last}) as elsewhere:
                await primed(elsewhere)
                event = await elsewhere.next()
                assert event is not None
                assert await elsewhere.next() is None
            two.server.lives.close_all()  # Whoever has that answer has lost nothing, whatever the server remembers.
            assert await replayed(at(two, transport), event[0] or "") == []
            gate.opened.set()
            own = (await events.message())["result"]["structuredContent"]
        told = json.loads(event[1])
        assert told["id"] == 7
        assert told["result"]["_meta"]["codesynapse/read_back"] is True
        result = told["result"]["structuredContent"]
        assert {**result, "facts": []} == {**own, "facts": []}
        if scope == "session":
            assert result["facts"] == own["facts"]
        else:
            assert told["result"]["_meta"]["codesynapse/fact_ids"] == [fact["id"] for fact in own["facts"]]


async def test_a_write_that_is_not_committed_is_named_and_never_told_as_done() -> None:
    async with two_servers() as (one, two):
        gate, upsert = Gate(), one.services.toolbox.tool("upsert_graph_triples")

        async def handler(execution: Execution, arguments: object, context: ToolContext) -> object:
            await gate.wait()
            return await upsert.handler(execution, arguments, context)

        one.services.toolbox.register(structs.replace(upsert, name="late_upsert", toolset="test", handler=handler))
        transport = await one.open(await one.person())
        async with stream(transport, call(1, "late_upsert", triples=TRIPLES, memory_scope="session")) as events:
            last = await primed(events)
            await gate.entries(1)
            async with stream(at(two, transport), None, **{"Last-Event-ID": last}) as elsewhere:
                await primed(elsewhere)
                answer = await elsewhere.message()
        assert (answer["id"], answer["error"]["data"]["code"]) == (1, "interrupted")
        assert "must be looked up" in answer["error"]["message"]


async def test_of_two_bindings_at_two_servers_the_first_stands_at_both() -> None:
    async with two_servers() as (one, two):
        person = await one.person()
        first, second = await one.register(person), await one.register(person)
        transport = Transport(http=one.http, url=one.url, headers=person.headers)
        await transport.initialize()
        other = at(two, transport)
        await other.request("ping")  # So that the other server knows it, unbound.
        transport.headers, other.headers = person.bound(first), person.bound(second)
        await transport.recall("x")
        status, body = await status_of(two, "POST", other.all_headers(), call(1, "recall_context", query="x"))
        assert (status, body["error"]["data"]["code"]) == (403, "rebind_refused")
        other.headers = person.bound(first)
        assert (await other.recall("x"))["facts"] == []


async def test_a_key_that_is_revoked_at_one_server_ends_its_sessions_at_both_and_brings_none_back() -> None:
    async with two_servers() as (one, two):
        person = await one.person()
        transport = await one.open(person)
        await at(two, transport).recall("x")
        accounts = one.services.ports.accounts
        (key,) = await accounts.keys(person.tenant)
        await accounts.suspend_user(person.subject, suspended=True, now_ms=one.clock())
        await accounts.suspend_user(person.subject, suspended=False, now_ms=one.clock())
        await asyncio.gather(one.server.notice(), two.server.notice())
        for running in (one, two):
            status, _ = await status_of(running, "POST", transport.all_headers(), call(1, "recall_context"))
            assert status == 404
        again = await one.open(person)
        await accounts.revoke_key(person.tenant, key.key_id, now_ms=one.clock())
        for running in (one, two):
            status, _ = await status_of(running, "POST", again.all_headers(), call(1, "recall_context"))
            assert status == 401
        transports = one.services.ports.transports
        assert transports is not None
        assert await transports.find(live_of(one, again).key) is None


async def test_the_caps_count_the_sessions_of_both_servers() -> None:
    async with two_servers(transports_per_principal_max=3) as (one, two):
        person: Person = await one.person()
        session = await one.register(person)
        opened = []
        for running in (one, two, one, two):
            one.clock.advance(seconds=1)  # type: ignore[attr-defined]
            opened.append(await running.open(person, session))
        await one.server.keeper.notice()
        transport_ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        statuses = [(await status_of(two, "POST", each.all_headers(), transport_ping))[0] for each in opened]
        assert statuses == [404, 200, 200, 200]
