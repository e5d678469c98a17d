"""The stateless revision over HTTP: who is served, under which identity, and how each refusal looks."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from codesynapse.contracts.identity import Execution
from codesynapse.server.modern.service import Modern
from codesynapse.server.tools.registry import Tool, ToolContext
from tests.integration.harness import Product, fresh, product
from tests.integration.stateless import LATEST, Stateless, stateless
from tests.integration.tools import Gate, Words, register_tools, until

TRIPLES = [{"subject": "Ana", "predicate": "likes", "object": "tea"}]
SESSION = ("X-CodeSynapse-Session", "X-CodeSynapse-Parent-Session")


def unbound(peer: Stateless) -> Stateless:
    headers = {name: value for name, value in peer.headers.items() if name not in SESSION}
    return Stateless(http=peer.http, url=peer.url, headers=headers)


async def refusal(peer: Stateless, method: str = "tools/list", **changed: str | None) -> tuple[int, int, Any]:
    """Status, JSON-RPC code, and our code or field where the data has one."""
    message = peer.message(method)
    status, response = await peer.answer(message, **changed)
    error = response["error"]
    return status, error["code"], (error.get("data") or {}).get("code")


async def test_a_discovery_opens_nothing_and_names_every_revision():
    async with product() as running:
        peer = await stateless(running)
        result = await peer.ask("server/discover")
        assert result["supportedVersions"][0] == LATEST
        assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
        assert len(running.server.lives) == len(running.server.exchanges) == 0


async def test_what_one_request_remembers_the_next_recalls_and_another_session_does_not():
    async with product() as running:
        person = await running.person()
        peer = await stateless(running, person)
        stored = await peer.call("upsert_graph_triples", triples=TRIPLES, memory_scope="session")
        assert (stored["structuredContent"]["added"], stored["isError"], stored["resultType"]) == (1, False, "complete")
        facts = (await peer.call("recall_context", query="tea"))["structuredContent"]["facts"]
        assert [fact["object"] for fact in facts] == ["tea"]
        other = await stateless(running, person)
        assert (await other.call("recall_context", query="tea"))["structuredContent"]["facts"] == []


async def test_lists_are_the_same_for_every_request_and_say_how_long_they_hold():
    async with product() as running:
        peer = await stateless(running)
        first, second = await peer.ask("tools/list"), await unbound(peer).ask("tools/list")
        assert first == second
        assert (first["cacheScope"], first["ttlMs"] > 0) == ("private", True)


async def test_without_execution_headers_lists_are_answered_and_nothing_else():
    async with product() as running:
        peer = unbound(await stateless(running))
        for method in ("server/discover", "tools/list"):
            await peer.ask(method)
        for method, params in (
            ("tools/call", {"name": "recall_context", "arguments": {"query": "x"}}),
            ("subscriptions/listen", {"notifications": {}}),
            ("tasks/get", {"taskId": "x"}),
            ("resources/list", {}),
            ("completion/complete", {}),
        ):
            status, code, data = await peer.fails(method, params)
            assert (status, code, data["code"]) == (403, -32600, "execution_missing"), method


async def test_credential_comes_before_execution_before_what_was_sent():
    async with product() as running:
        peer = await stateless(running)
        wrong = {"X_CodeSynapse_Session": "not valid", "Mcp_Method": "wrong"}
        assert await refusal(peer, **wrong, Authorization="Bearer csk_" + "x" * 43) == (401, -32600, "unauthenticated")
        assert await refusal(peer, **wrong) == (400, -32600, "header_invalid")
        unknown = dict.fromkeys((name.replace("-", "_") for name in SESSION), fresh())
        assert await refusal(peer, **unknown, Mcp_Method="wrong") == (403, -32600, "session_not_registered")
        assert await refusal(peer, Mcp_Method="wrong") == (400, -32020, None)


async def test_a_foreign_session_is_refused_on_every_request_for_itself():
    async with product() as running:
        ana, ben = await stateless(running), await stateless(running)
        stolen = Stateless(
            http=running.http, url=running.url, headers=ben.headers | {n: ana.headers[n] for n in SESSION}
        )
        assert await refusal(stolen) == (403, -32600, "session_not_registered")
        await ana.ask("tools/list")


@pytest.mark.parametrize("sent", ["unknown", "x" * 300])
async def test_a_transport_session_means_nothing_here(sent: str):
    async with product() as running:
        peer = await stateless(running)
        status, response = await peer.answer(peer.message("tools/list"), Mcp_Session_Id=sent, Last_Event_ID="x.1")
        assert (status, "result" in response) == (200, True)
        for method in ("GET", "DELETE"):
            headers = peer.headers | {"MCP-Protocol-Version": LATEST, "Mcp-Session-Id": sent}
            async with running.http.request(method, running.url, headers=headers) as answer:
                assert (answer.status, answer.headers["Allow"]) == (405, "POST")


async def test_a_live_session_is_left_alone_by_a_stateless_request_that_names_it():
    async with product() as running:
        person = await running.person()
        transport = await running.open(person)
        peer = Stateless(http=running.http, url=running.url, headers=transport.headers)
        status, _ = await peer.answer(peer.message("tools/list"), Mcp_Session_Id=transport.id)
        assert status == 200
        # Its body is stateless, though its headers say otherwise: a client that disagrees with itself.
        status, response = await peer.answer(
            peer.message("tools/list"), Mcp_Session_Id=transport.id, MCP_Protocol_Version="2025-11-25"
        )
        assert (status, response["error"]["code"]) == (400, -32020)
        assert (await transport.request("ping"))["result"] == {}


async def test_initialize_in_the_words_of_either_era_gets_that_eras_answer():
    async with product() as running:
        peer = await stateless(running)
        assert (await peer.fails("initialize"))[:2] == (404, -32601)
        legacy = await running.open(await running.person(), version="2025-11-25")
        assert legacy.id is not None
        params = {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        async with running.http.post(
            running.url,
            json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
            headers=peer.headers | {"Accept": "application/json, text/event-stream"},
        ) as answer:
            assert (await answer.json())["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "resources/subscribe", "tasks/list", "no/such"])
async def test_a_method_that_is_gone_is_404_with_the_requests_id(method: str):
    async with product() as running:
        assert (await (await stateless(running)).fails(method))[:2] == (404, -32601)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, -32700),
        (b"5", 400, -32600),
        (b"[]", 400, -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', 400, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', 400, -32602),
    ],
)
async def test_what_is_no_request_of_this_era_is_refused_with_400(body: bytes, status: int, code: int):
    async with product() as running:
        peer = await stateless(running)
        headers = peer.headers_of(peer.message("tools/list"))
        async with running.http.post(running.url, data=body, headers=headers) as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (status, code)


async def test_a_notification_is_taken_without_a_word_and_does_nothing():
    async with product() as running:
        gate = register_tools(running.services)
        peer = await stateless(running)
        message = peer.message("tools/call", {"name": "wait", "arguments": {}})
        calling = asyncio.ensure_future(peer.answer(message))
        await gate.entries(1)
        cancelled = peer.message("notifications/cancelled", {"requestId": message["id"]})
        del cancelled["id"]
        async with peer.post(cancelled) as answer:
            assert (answer.status, await answer.read()) == (202, b"")
        gate.opened.set()
        assert "result" in (await calling)[1]


async def test_a_repeated_protocol_header_is_a_disagreement():
    async with product() as running:
        peer = await stateless(running)
        message = peer.message("tools/list")
        headers = [*peer.headers_of(message).items(), ("MCP-Protocol-Version", "2025-11-25")]
        async with running.http.post(running.url, data=json.dumps(message), headers=headers) as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (400, -32020)


async def test_whatever_breaks_a_request_is_an_error_with_its_id(monkeypatch: pytest.MonkeyPatch):
    async with product() as running:
        peer = await stateless(running)

        def break_it(*_: object) -> None:
            raise RuntimeError

        monkeypatch.setattr(Modern, "rounds", break_it)
        message = peer.message("tools/call", {"name": "recall_context", "arguments": {"query": "x"}})
        status, response = await peer.answer(message)
        assert (status, response["id"], response["error"]["code"]) == (500, message["id"], -32603)


async def test_a_tools_refusal_is_a_result_and_an_unknown_tool_is_not():
    async with product() as running:
        peer = await stateless(running)
        result = await peer.call("recall_context", query="")
        assert (result["isError"], result["structuredContent"]["code"]) == (True, "invalid")
        assert (await peer.fails("tools/call", {"name": "nothing"}))[:2] == (400, -32602)
        assert (await peer.fails("tools/call", {}))[:2] == (400, -32602)
        assert (await peer.fails("tools/list", {"cursor": "x"}))[:2] == (400, -32602)


async def test_a_hidden_tool_is_unknown():
    async with product() as running:
        register_tools(running.services)
        peer = await stateless(running)
        peer.headers["X-CodeSynapse-Toolsets"] = "graph"
        assert (await peer.fails("tools/call", {"name": "say", "arguments": {}}))[:2] == (400, -32602)
        peer.headers["X-CodeSynapse-Toolsets"] = "test"
        assert (await peer.call("say", text="x"))["structuredContent"]["text"] == "x"


async def test_too_many_calls_of_a_principal_are_told_to_wait():
    async with product(calls_in_flight_max=1) as running:
        gate = register_tools(running.services)
        peer = await stateless(running)
        first = asyncio.ensure_future(peer.call("wait"))
        await gate.entries(1)
        message = peer.message("tools/call", {"name": "say", "arguments": {}})
        async with peer.post(message) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
            assert (await answer.json())["error"]["data"]["code"] == "too_many_calls"
        # Somebody else's are not counted with them.
        await (await stateless(running)).call("say")
        gate.opened.set()
        await first
        await peer.call("say")


def register_held(running: Product, gate: Gate) -> list[Execution]:
    """A tool that waits for the gate, and tells how it ended."""
    cancelled: list[Execution] = []

    async def held(execution: Execution, words: Words, context: ToolContext) -> Words:
        for step in range(words.count):
            context.progress(step + 1, None, None)
        try:
            await gate.wait()
        except asyncio.CancelledError:
            cancelled.append(execution)
            raise
        return words

    running.services.toolbox.register(
        Tool(
            name="held",
            title="Held",
            description="For tests.",
            toolset="test",
            arguments=Words,
            answer=Words,
            handler=held,
            read_only=True,
        )
    )
    return cancelled


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_client_that_closes_its_response_has_cancelled_its_call(streamed: bool):
    async with product() as running:
        gate = register_tools(running.services)
        cancelled = register_held(running, gate)
        peer = await stateless(running)
        peer.meta = {"progressToken": "t"} if streamed else {}
        message = peer.message("tools/call", {"name": "held", "arguments": {"count": 1}})
        if streamed:
            async with peer.post(message) as answer:
                await answer.content.readline()
                await gate.entries(1)
                answer.close()
        else:
            calling = asyncio.ensure_future(peer.answer(message))
            await gate.entries(1)
            calling.cancel()
        await until(running, lambda: len(cancelled) == 1)
        assert cancelled[0].cancellation.cancelled
        await until(running, lambda: len(running.server.exchanges) == 0)
        assert not running.server.lives.tasks
        await peer.call("say")


async def test_a_call_that_is_cut_off_in_its_commit_has_written_all_or_nothing(tmp_path: Path):
    async with product(store="sqlite", home=tmp_path) as running:
        peer, calls = await stateless(running), 40
        for number in range(calls + 1):
            facts = [{"subject": f"n{number}", "predicate": "has", "object": str(each)} for each in range(2)]
            arguments = {"triples": facts, "memory_scope": "session"}
            message = peer.message("tools/call", {"name": "upsert_graph_triples", "arguments": arguments})
            calling = asyncio.ensure_future(peer.answer(message))
            # A few turns of the loop later each time: before the call, within its commit, after its answer.
            for _ in range(2 * number):
                await asyncio.sleep(0)
            if number < calls:
                calling.cancel()
            await asyncio.wait({calling})
        await until(running, lambda: len(running.server.exchanges) == 0)
        counts = Counter(fact["subject"] for fact in await facts_of(running, peer))
        assert set(counts.values()) == {2}
        # The first never left its client, and the last was let alone.
        assert f"n{calls}" in counts
        assert "n0" not in counts


async def facts_of(running: Product, peer: Stateless) -> list[dict[str, Any]]:
    """All facts of the session's memory, over REST."""
    url = running.base + "/api/v1/repos/default/session-memory?limit=512"
    async with running.http.get(url, headers=peer.headers) as answer:
        assert answer.status == 200, await answer.text()
        facts: list[dict[str, Any]] = (await answer.json())["facts"]
        return facts


@pytest.mark.parametrize("ending", ["revoke", "key", "deadline"])
async def test_access_that_ends_cuts_a_running_call_and_a_subscription(ending: str):
    async with product() as running:
        gate = register_tools(running.services)
        cancelled = register_held(running, gate)
        person = await running.person()
        session_id = await running.register(person)
        peer = await stateless(running, person, session_id)
        other = await stateless(running)
        async with other.stream("subscriptions/listen", {"notifications": {}}) as undisturbed:
            await undisturbed.message()
            async with peer.stream("subscriptions/listen", {"notifications": {}}) as listening:
                await listening.message()
                calling = asyncio.ensure_future(peer.answer(peer.message("tools/call", {"name": "held"})))
                await gate.entries(1)
                await end_access(running, ending, person, session_id)
                with pytest.raises(aiohttp.ClientError):
                    await calling
                with pytest.raises(aiohttp.ClientError):
                    await listening.next()
            await until(running, lambda: len(cancelled) == 1)
            if ending != "deadline":
                assert len(running.server.exchanges) == 1


async def test_access_that_ended_while_a_subscription_was_asked_for_opens_none(monkeypatch: pytest.MonkeyPatch):
    async with product() as running:
        person = await running.person()
        session_id = await running.register(person)
        peer = await stateless(running, person, session_id)
        authorize = running.services.sessions.authorize

        async def authorize_and_revoke(*arguments: Any) -> Any:
            authority = await authorize(*arguments)
            monkeypatch.setattr(running.services.sessions, "authorize", authorize)
            await running.services.sessions.revoke(authority.caller, session_id)
            return authority

        monkeypatch.setattr(running.services.sessions, "authorize", authorize_and_revoke)
        status, code, data = await peer.fails("subscriptions/listen", {"notifications": {}})
        assert (status, code, data["code"]) == (403, -32600, "revoked")
        assert len(running.server.exchanges) == 0


async def end_access(running: Product, ending: str, person: Any, session_id: str) -> None:
    if ending == "revoke":
        body = {"session_id": session_id}
        url = running.base + "/api/v1/execution/sessions/revoke"
        async with running.http.post(url, json=body, headers=person.headers) as answer:
            assert answer.status == 200
    elif ending == "key":
        authority = await running.services.sessions.authorize(person.key, None)
        await running.services.ports.accounts.revoke_key(person.tenant, authority.caller.key_id, now_ms=running.clock())
        await running.server.notice()
    else:
        running.clock.advance(days=8)  # type: ignore[attr-defined]
        await running.server._sweep()
