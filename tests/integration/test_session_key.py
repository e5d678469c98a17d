"""The declared key end to end, over HTTP and over stdio: pauses, notices, honesty, and that it leaves no trace."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from codesynapse.contracts.agents import AgentScope
from codesynapse.contracts.identity import Millis
from codesynapse.server.clock import ManualClock
from codesynapse.server.hints.health import Cause
from tests.integration.harness import Product, Transport, product
from tests.integration.logs import logged
from tests.integration.stdio_peer import StdioPeer, shell
from tests.server.tools.test_graph import CALLS as GRAPH_CALLS
from tests.server.tools.test_memory import CALLS as MEMORY_CALLS

MARK = "q7KEYq7"
TRIPLE = {"subject": "Ana", "predicate": "likes", "object": "tea"}
CALLS = {**GRAPH_CALLS, **MEMORY_CALLS}
Call = Callable[..., Awaitable[dict[str, Any]]]


@asynccontextmanager
async def calling(transport: str) -> AsyncIterator[tuple[Product, Call]]:
    """A product, and calls of one of its chat sessions over HTTP or stdio; they answer the structured content."""
    async with product(embedder="hashing") as running:
        person = await running.person()
        if transport == "http":
            yield running, caller(await running.open(person))
        else:
            async with shell(running, person, await running.register(person)) as peer:
                await peer.initialize()
                yield running, caller(peer)


def caller(peer: Transport | StdioPeer) -> Call:
    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        answer = await peer.call(tool, arguments)
        found: dict[str, Any] = answer.get("result", answer)["structuredContent"]
        return found

    return call


async def write(call: Call, key: str | None = None) -> bool:
    """Whether a write under a key was stored."""
    said = await call("upsert_graph_triples", triples=[TRIPLE], session_key=key)
    assert said.get("persisted", True) is not True or said["added"] + said["unchanged"] == 1
    return "persisted" not in said


def moved(running: Product, seconds: float) -> None:
    assert isinstance(running.clock, ManualClock)
    running.clock.advance(seconds=seconds)


both = pytest.mark.parametrize("transport", ["http", "stdio"])


@both
async def test_a_declared_pause_skips_its_own_writes_and_leaves_others_and_keyless_ones_alone(transport: str):
    async with calling(transport) as (_, call):
        said = await call("pause_persistence", session_key="A", ttl_seconds=60)
        assert (said["paused"], said["ttl_seconds"], said["scope"]) == (True, 60, "session")
        assert [await write(call, key) for key in ("A", " A ", "B", None)] == [False, False, True, True]


@both
async def test_a_keyless_pause_skips_keyless_writes_and_leaves_declared_ones_alone(transport: str):
    async with calling(transport) as (_, call):
        assert (await call("pause_persistence"))["scope"] == "process"
        assert [await write(call, key) for key in (None, "", " ", "transport", "A")] == [False] * 4 + [True]
        assert (await call("persistence_status", session_key="A"))["paused"] is False
        assert (await call("resume_persistence", session_key="A"))["was_active"] is False
        assert (await call("persistence_status"))["paused"] is True
        assert await call("resume_persistence") == {"paused": False, "was_active": True, "scope": "process"}
        assert await write(call)


@both
async def test_a_pause_ends_on_the_clock_without_being_looked_at(transport: str):
    async with calling(transport) as (running, call):
        await call("pause_persistence", session_key="A", ttl_seconds=60)
        moved(running, 59)
        assert (await call("persistence_status", session_key="A"))["ttl_remaining_seconds"] == 1
        assert not await write(call, "A")
        moved(running, 1)
        assert await write(call, "A")
        assert (await call("persistence_status", session_key="A"))["paused"] is False


@both
async def test_a_ttl_and_a_key_out_of_bounds_are_refused_by_name(transport: str):
    async with calling(transport) as (_, call):
        for ttl in (True, False, 0, -1, 86_401, 1.0, "60", None):
            said = await call("pause_persistence", ttl_seconds=ttl)
            assert (said["ok"], said["field"]) == (False, "ttl_seconds")
            assert "1 to 86400" in said["limit"]
        said = await call("pause_persistence", session_key="k" * 257)
        assert (said["ok"], said["field"], said["limit"]) == (False, "session_key", "<= 256 characters")
        assert (await call("persistence_status"))["paused"] is False


@pytest.mark.parametrize(("transport", "shared"), [("http", True), ("stdio", False)])
async def test_only_a_keyless_remote_caller_reads_that_identity_is_shared(transport: str, shared: bool):
    async with calling(transport) as (_, call):
        for key in (None, "", "  ", "transport"):
            said = await call("get_session_findings", session_key=key)
            assert said.get("identity_shared", False) is shared
        assert "identity_shared" not in await call("get_session_findings", session_key="A")


@both
async def test_the_findings_are_the_same_under_every_key_whoever_wrote_or_queued_what(transport: str):
    async with calling(transport) as (running, call):
        await write(call, "A")
        await call("store", agent_id="bob", content="tea", session_key="A")
        await call("archive_episode", agent_id="bob", summary="x", history=[{}] * 51, session_key="A")
        for _ in range(2):
            running.services.hints.embedding_failed(Cause.ENDPOINT)
        said = [await call("get_session_findings", session_key=key) for key in ("A", "B", None)]
        assert [each.pop("identity_shared", False) for each in said] == [False, False, transport == "http"]
        assert said[0] == said[1] == said[2]
        assert (said[0]["total"], said[0]["counts_by_kind"]) == (1, {"embedder": 1})


async def test_the_stateless_revision_over_stdio_claims_no_shared_identity_either():
    async with product() as running:
        person = await running.person()
        async with shell(running, person, await running.register(person)) as peer:
            meta = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            params = {"name": "get_session_findings", "arguments": {}, "_meta": meta}
            answer = await peer.request("tools/call", params)
            assert "identity_shared" not in answer["result"]["structuredContent"]


async def test_two_clients_of_one_server_do_not_silence_one_another_nor_two_organisations():
    async with product() as running:
        ana = await running.person()
        ben = await running.person(ana.tenant)
        first, second, other, foreign = [
            caller(await running.open(person)) for person in (ana, ana, ben, await running.person())
        ]
        await first("pause_persistence", session_key="main")
        assert [await write(each, "main") for each in (first, second, other, foreign)] == [False, False, True, True]
        assert await write(second, "mine")
        await foreign("pause_persistence")
        assert [await write(each) for each in (first, second, other, foreign)] == [True, True, True, False]


async def test_no_header_and_no_transport_stands_in_for_a_key():
    async with product() as running:
        person = await running.person()
        transport, again = await running.open(person), await running.open(person)
        transport.extra = {"X-CodeSynapse-Session-Key": "A", "Session-Key": "A", "session_key": "A"}
        await caller(transport)("pause_persistence")
        assert [await write(caller(again), key) for key in (None, "A")] == [False, True]


@both
async def test_no_key_makes_a_refused_call_allowed_and_none_an_allowed_one_refused(transport: str):
    async with calling(transport) as (_, call):
        await call("pause_persistence", session_key="A")
        for key in ("A", "B", None):
            refused = await call("upsert_graph_triples", triples=[TRIPLE], repo="nothing", session_key=key)
            assert refused["code"] == "repository_forbidden"
            assert (await call("recall_context", query="tea", session_key=key))["revision"] == 0


@both
async def test_a_recall_under_one_key_another_and_none_returns_the_same_bytes_paused_or_not(transport: str):
    async with calling(transport) as (_, call):
        await write(call, "A")
        found = [
            json.dumps(await call("recall_context", query="tea", memory_scope="repository", session_key=key))
            for key in ("A", "B", None)
        ]
        await call("pause_persistence", session_key="A")
        found.append(json.dumps(await call("recall_context", query="tea", memory_scope="repository", session_key="A")))
        assert len(set(found)) == 1
        assert '"tea"' in found[0]


async def notice(call: Call, key: str | None = None) -> tuple[str, str] | None:
    """Whether a recall's notice was in full, and its scope; None without one."""
    said = (await call("recall_context", query="tea", session_key=key)).get("advisory")
    if said is None:
        return None
    return "full" if said["runbook"].startswith("Tell the user") else "short", said["advisory_scope"]


async def test_during_an_outage_each_caller_is_told_what_the_table_says_and_again_at_the_next():
    async with product(embedder="hashing") as running:
        person, hints = await running.person(), running.services.hints
        http = caller(await running.open(person))
        stranger = await running.person()
        async with shell(running, stranger, await running.register(stranger)) as peer:
            await peer.initialize()
            stdio = caller(peer)
            for _ in range(2):
                for _ in range(2):
                    hints.embedding_failed(Cause.ENDPOINT)
                first, second = ("full", "session"), ("short", "session")
                for key in ("A", "B", "C"):
                    assert [await notice(http, key) for _ in range(2)] == [first, second]
                assert [await notice(http) for _ in range(3)] == [("full", "process")] * 3
                assert [await notice(stdio) for _ in range(3)] == [first, second, second]
                assert await notice(stdio, "A") == first
                hints.embedded()
                assert [await notice(each, key) for each in (http, stdio) for key in ("A", None)] == [None] * 4


async def test_without_an_embedder_keyless_remote_callers_are_told_in_full_once_between_them():
    async with product(embedder="none") as running:
        person = await running.person()
        first, second = [caller(await running.open(person)) for _ in range(2)]
        assert [await notice(each) for each in (first, second, first)] == [
            ("full", "process"),
            ("short", "process"),
            ("short", "process"),
        ]
        assert await notice(second, "A") == ("full", "session")


async def test_a_recall_that_is_not_degraded_carries_no_notice():
    async with product(embedder="hashing") as running:
        call = caller(await running.open(await running.person()))
        running.services.hints.embedding_failed(Cause.ENDPOINT)
        assert [await notice(call, key) for key in ("A", None)] == [None, None]


async def test_a_silenced_notice_is_never_told():
    async with product(embedder="none", degraded_advisory=False) as running:
        assert await notice(caller(await running.open(await running.person())), "A") is None


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_the_queue_is_told_to_those_alone_who_may_read_its_agents(store: str, tmp_path: Path):
    async with product(store=store, home=tmp_path) as running:
        ana, stranger = await running.person(), await running.person()
        agents = running.services.ports.agents
        assert agents is not None
        scope = AgentScope(tenant_id=ana.tenant, subject_id=ana.subject, agent_id="bot")
        await agents.enqueue(scope, "archive_episode", "{}", once=None, now_ms=Millis(running.clock()))
        seen = [await caller(await running.open(person))("get_queue_status") for person in (ana, stranger)]
        assert [(each["enabled"], each["pending"], each["max_retries"], each["retry_delay"]) for each in seen] == [
            (True, 1, 3, 30),
            (True, 0, 3, 30),
        ]


async def test_the_operators_file_is_what_get_operating_context_reads(tmp_path: Path):
    file = tmp_path / "context.toml"
    file.write_text('summary = "Be brief."\n[sections]\nstyle = "Short facts."\n')
    async with product(operating_context=str(file)) as running:
        call = caller(await running.open(await running.person()))
        assert (await call("get_operating_context"))["sections"] == ["style"]
        assert (await call("get_operating_context", section="style"))["text"] == "Short facts."
        assert (await call("get_operating_context", section="other"))["field"] == "section"


async def test_a_key_reaches_no_database_no_log_and_no_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with logged(monkeypatch) as text:
        async with product(store="sqlite", home=tmp_path, log_level="debug") as running:
            call = caller(await running.open(await running.person()))
            for tool in running.services.toolbox.catalog.visible(None):
                if "session_key" in tool["inputSchema"]["properties"]:
                    for _ in range(2):
                        said = await call(tool["name"], **CALLS.get(tool["name"], {}), session_key=MARK)
                        assert MARK not in json.dumps(said)
            await call("resume_persistence", session_key=MARK)
            history = [{}] * 51
            queued = await call("archive_episode", agent_id="bob", summary="x", history=history, session_key=MARK)
            assert queued["queued"] is True
            await call("pause_persistence", session_key=MARK * 40)
            async with running.http.get(running.base + "/metrics") as answer:
                assert MARK not in await answer.text()
            files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
            assert any(b"likes" in content for content in files.values())
            assert [path for path, content in files.items() if MARK.encode() in content] == []
        logs = text.getvalue()
    assert MARK not in logs
