"""Whatever a call asks of the stores, it asks within one deadline: over MCP and over REST."""

from __future__ import annotations

from typing import Any

import pytest

from codesynapse.contracts.deadlines import left
from codesynapse.contracts.memory import Scope, Snapshot
from tests.integration.harness import Product, product

MEMORY = "/api/v1/repos/default/session-memory"
DEADLINE_MS = 7_000
LONGER_S = 1_000.0


def listening(running: Product, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What each reading of session memory has left, in seconds, of a time that is longer than any deadline."""
    given: list[float] = []
    memory = running.services.ports.session_memory
    load = memory.load

    async def heard(scope: Scope, *, now_ms: Any) -> Snapshot:
        given.append(left(LONGER_S))
        return await load(scope, now_ms=now_ms)

    monkeypatch.setattr(memory, "load", heard)
    return given


async def test_a_tool_and_a_request_over_rest_have_one_deadline_for_all_that_they_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with product(store_deadline_ms=DEADLINE_MS) as running:
        given = listening(running, monkeypatch)
        transport = await running.open(await running.person())
        triples = [{"subject": "Ana", "predicate": "likes", "object": "tea"}]
        await transport.call("upsert_graph_triples", {"triples": triples, "memory_scope": "session"})
        await transport.recall("Ana")
        asked: list[tuple[str, str, dict[str, Any]]] = [
            ("POST", "", {"json": {"triples": triples}}),
            ("POST", "/recall", {"json": {"query": "tea"}}),
            ("GET", "", {}),
            ("DELETE", "", {}),
        ]
        counts = [len(given)]
        for method, path, body in asked:
            url = running.base + MEMORY + path
            async with running.http.request(method, url, headers=transport.headers, **body) as answer:
                assert answer.status == 200, await answer.text()
            counts.append(len(given))
    assert min(given) > 0
    assert max(given) <= DEADLINE_MS / 1000
    assert counts[0] >= 2
    assert counts == sorted(set(counts)), "each of them reads"
