"""A keyless sequence of sixty calls over all four toolsets, as it is played and as it was recorded.

Clock, organisation, user and chat session are given, so that every byte of an answer follows from the calls.
`python -m tests.integration.keyless` records it anew; do that only where an answer is meant to change.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from codesynapse.contracts.identity import Execution
from codesynapse.server.clock import ManualClock
from codesynapse.server.hints.health import Cause
from codesynapse.server.services import VERSION
from codesynapse.server.tools.registry import Hold, Tool, Toolbox, ToolContext
from tests.integration.harness import Person, Product, Transport, events_in, product
from tests.integration.stdio_peer import StdioPeer, shell

RECORDING = Path(__file__).parent / "keyless.jsonl"
KEY = "session_key"
TRANSPORTS = ("http", "stdio")
FOLDER = "EXPORTS"
"""Stands in the recording for the folder of exports, which lies elsewhere on every machine."""

AGENT = "bob"
LINES = [{"role": "user", "content": "a line", "timestamp": f"2026-01-01T00:00:{second:02}Z"} for second in range(51)]
TEA = {"subject": "Ana", "predicate": "drinks", "object": "tea", "subject_type": "person", "subject_aliases": ["Anna"]}
LIVES = {"subject": "Ana", "predicate": "lives_in", "object": "Oslo", "functional": True}
MOVED = {**LIVES, "object": "Bergen", "source": "a letter"}


class Event(Struct, frozen=True):
    """Something that happens between two calls. kind: `wait` so many seconds, `work` the queue off, or `fail`
    for the embedder, which the next recall finds recovered."""

    kind: str
    seconds: int = 0


Call = tuple[str, dict[str, Any]]
EVENTS: dict[int, Sequence[Event]] = {
    11: [Event("fail"), Event("fail")],
    17: [Event("work")],
    50: [Event("wait", 60)],
}
"""What happens after the call of this number, counted from zero. Then the clock goes on by a second, so that a queued
write is done at one time, whether by this event or by the server's own loop just before it."""

CALLS: Sequence[Call] = (
    ("get_operating_context", {}),
    ("get_session_findings", {}),
    ("persistence_status", {}),
    ("store", {"agent_id": AGENT, "content": "Ana drinks green tea in the morning"}),
    ("store", {"agent_id": AGENT, "content": "Ana drinks green tea in the morning"}),
    ("store", {"agent_id": AGENT, "message": {"content": "Ben prefers coffee", "id": "m1"}, "lock": True}),
    ("store", {"agent_id": AGENT, "content": "Tea is in the kitchen", "channel": "c", "project_id": "p"}),
    ("store", {"agent_id": AGENT, "content": "Cem has milk", "idempotency_key": "once"}),
    ("store", {"agent_id": AGENT, "content": "Cem has milk", "idempotency_key": "once"}),
    ("store", {"agent_id": AGENT, "content": "Cem has cocoa", "idempotency_key": "once"}),
    ("store", {"agent_id": "", "content": "nobody's"}),
    ("recall", {"agent_id": AGENT, "query": "who drinks tea"}),
    ("recall_context", {"query": "tea"}),
    ("recall", {"agent_id": AGENT, "query": "coffee", "deep": True, "match_reason": True}),
    ("recall_with_context", {"agent_id": AGENT, "query": "tea", "external_context": LINES[:1]}),
    ("get_contents", {"agent_id": AGENT, "refs": ["mem:1", "mem:99"]}),
    ("archive_episode", {"agent_id": AGENT, "summary": "A short talk about tea", "keywords": "tea"}),
    ("archive_episode", {"agent_id": AGENT, "summary": "A long talk about milk", "history": LINES}),
    ("get_queue_status", {}),
    ("list_episodes", {"agent_id": AGENT}),
    ("update_profile", {"agent_id": AGENT, "profile": "Likes short answers."}),
    ("get_profile", {"agent_id": AGENT}),
    ("update_memory", {"memory_id": 1, "content": "Ana drinks black tea in the morning"}),
    ("update_memory", {"memory_id": 2, "content": "Ben prefers cocoa"}),
    ("lock_memory", {"memory_id": 1}),
    ("delete_memory", {"memory_id": 1}),
    ("unlock_memory", {"memory_id": 1}),
    ("upsert_graph_triples", {"triples": [TEA, LIVES]}),
    ("upsert_graph_triples", {"triples": [TEA, MOVED], "memory_scope": "session"}),
    ("upsert_graph_triples", {"triples": [MOVED], "expected_revision": 1}),
    ("recall_context", {"query": "where does Ana live", "memory_scope": "repository", "history": True}),
    ("recall_context", {"query": "tea", "repo": "nowhere"}),
    ("search_graph_nodes", {"query": "ana"}),
    ("query_subgraph", {"nodes": ["Ana"], "depth": 2}),
    ("calibrate_threshold", {"agent_id": AGENT}),
    ("get_recall_precision", {"agent_id": AGENT}),
    ("export_memories", {"agent_id": AGENT, "output_path": "kept"}),
    ("pause_persistence", {"ttl_seconds": 60}),
    ("persistence_status", {}),
    ("store", {"agent_id": AGENT, "content": "Off the record"}),
    ("store", {"agent_id": AGENT}),
    ("archive_episode", {"agent_id": AGENT, "summary": "Off the record"}),
    ("upsert_graph_triples", {"triples": [{**TEA, "object": "rum"}]}),
    ("delete_memory", {"memory_id": 3}),
    ("set_recall_precision", {"agent_id": AGENT, "precision": "strict"}),
    ("import_memories", {"input_path": "kept", "target_agent_id": "eve"}),
    ("merge_memories", {"source_agent_id": AGENT, "target_agent_id": "eve", "dry_run": True}),
    ("check_health", {"fix": True}),
    ("deep_check", {"agent_id": AGENT, "fix": True}),
    ("list_memories", {}),
    ("pause_persistence", {"ttl_seconds": 0}),
    ("resume_persistence", {}),
    ("set_recall_precision", {"agent_id": AGENT, "precision": "strict"}),
    ("import_memories", {"input_path": "kept", "target_agent_id": "eve"}),
    ("merge_memories", {"source_agent_id": AGENT, "target_agent_id": "eve", "mode": "move"}),
    ("migrate_channel_axis", {"dry_run": False}),
    ("check_health", {}),
    ("delete_episode", {"episode_id": 5}),
    ("delete_agent_data", {"agent_id": "eve"}),
    ("list_memories", {}),
)


def unkeyed(toolbox: Toolbox) -> list[str]:
    """Take the key out of a server's registry, from what it lists and from what it accepts; the tools that had it."""
    taken = []
    for listed in toolbox.catalog.visible(None):
        if listed["inputSchema"]["properties"].pop(KEY, None) is not None:
            toolbox._tools[listed["name"]] = without_key(toolbox.tool(listed["name"]))
            taken.append(listed["name"])
    return taken


def without_key(tool: Tool) -> Tool:
    """A tool whose arguments have no such field; its handler is given its own struct, of a caller that sent none."""
    kind = tool.arguments
    assert kind is not None
    fields = [
        (each.name, each.type, msgspec.field(default=each.default, default_factory=each.default_factory))
        for each in structs.fields(kind)
        if each.name != KEY
    ]
    made = msgspec.defstruct(kind.__name__, fields, namespace={KEY: None}, kw_only=True, forbid_unknown_fields=True)

    def whole(arguments: Any) -> Struct:
        return kind(**{name: getattr(arguments, name) for name in made.__struct_fields__})

    async def handler(execution: Execution, arguments: Any, context: ToolContext) -> Any:
        return await tool.handler(execution, whole(arguments), context)

    hold = tool.hold
    if hold is not None:
        check, kept = hold.check, hold.kept
        hold = Hold(
            check=lambda execution, given: check(execution, whole(given)), kept=lambda given: kept(whole(given))
        )
    return structs.replace(tool, arguments=made, handler=handler, hold=hold)


@asynccontextmanager
async def peer_of(transport: str, running: Product) -> AsyncIterator[Transport | StdioPeer]:
    """An initialised peer of the one user, whose organisation, name and chat session are always the same."""
    tenant = await running.organization("acme")
    person: Person = await running.person(tenant, subject="ana")
    session_id = await running.register(person, "chat-1")
    if transport == "http":
        yield await running.open(person, session_id)
    else:
        async with shell(running, person, session_id) as peer:
            await peer.initialize()
            yield peer


async def answered(peer: Transport | StdioPeer, method: str, params: object) -> bytes:
    """The bytes that answer a request: the message in the response, or the line."""
    if isinstance(peer, StdioPeer):
        await peer.message(method, params)
        return (await peer.reader.readline()).removesuffix(b"\n")
    async with peer.post(peer.message(method, params)) as answer:
        assert answer.status == 200
        body = await answer.read()
    if answer.headers["Content-Type"] == "application/json":
        return bytes(body)
    # The ids of a stream's events are drawn anew for each; what they carry is the answer.
    (said,) = [data for _, data in events_in(body) if data]
    return said.encode()


async def happened(running: Product, event: Event) -> None:
    assert isinstance(running.clock, ManualClock)
    match event.kind:
        case "wait":
            running.clock.advance(seconds=event.seconds)
        case "work":
            await running.services.work()
        case "fail":
            running.services.hints.embedding_failed(Cause.ENDPOINT)


async def played(transport: str, home: Path, *, keyed: bool, store: str = "memory") -> tuple[bytes, list[bytes]]:
    """The list of tools, and the answers to all calls, of a fresh server. keyed: with the key in the registry."""
    exports = home / FOLDER
    async with product(store=store, home=home, embedder="hashing", export_dir=str(exports)) as running:
        assert isinstance(running.clock, ManualClock)
        assert keyed or unkeyed(running.services.toolbox)
        async with peer_of(transport, running) as peer:
            tools = await answered(peer, "tools/list", {})
            answers = []
            for number, (tool, arguments) in enumerate(CALLS):
                said = await answered(peer, "tools/call", {"name": tool, "arguments": arguments})
                answers.append(placeless(said, str(exports)))
                for event in EVENTS.get(number, ()):
                    await happened(running, event)
                running.clock.advance(seconds=1)
    return tools, answers


def placeless(said: bytes, exports: str) -> bytes:
    """An answer without the two things in it that are not for calls to say: where files lie, and the release."""
    version = VERSION.encode()
    return (
        said.replace(exports.encode(), b"EXPORTS")
        .replace(b'"server_version":"%b"' % version, b'"server_version":""')
        .replace(b'\\"server_version\\":\\"%b\\"' % version, b'\\"server_version\\":\\"\\"')
    )


async def record() -> None:
    """Write the recording: each call with its answers, as text, since every byte counts."""
    answers = {}
    for transport in TRANSPORTS:
        with tempfile.TemporaryDirectory() as home:
            _, answers[transport] = await played(transport, Path(home), keyed=True)
    over_http, over_stdio = (answers[each] for each in TRANSPORTS)
    rows = []
    for (tool, arguments), http, stdio in zip(CALLS, over_http, over_stdio, strict=True):
        differs = {} if http == stdio else {"stdio": stdio.decode()}
        rows.append(json.dumps({"tool": tool, "arguments": arguments, "said": http.decode(), **differs}) + "\n")
    RECORDING.write_text("".join(rows), encoding="utf-8")


def recorded(transport: str) -> list[tuple[Call, bytes]]:
    """The calls as they were recorded, each with the bytes of its answer."""
    rows = map(json.loads, RECORDING.read_text(encoding="utf-8").splitlines())
    found = []
    for row in rows:
        said = row["said"] if transport == "http" else row.get("stdio", row["said"])
        found.append(((row["tool"], row["arguments"]), said.encode()))
    return found


if __name__ == "__main__":
    asyncio.run(record())
