"""What memory promises from the outside: alike on every store, durable where it is said, bounded by settings."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.integration.harness import Product, Transport, product

MEMORY = "/api/v1/repos/default/session-memory"
STATEMENTS = [
    ("Ana", "lives_in", "Paris"),
    ("Ana", "works_at", "the old museum"),
    ("Ben", "lives_in", "Rome"),
    ("Ben", "likes", "green tea"),
    ("Ana", "likes", "tea"),
    ("Cleo", "knows", "Ana"),
    ("the old museum", "is_in", "Paris"),
]
QUESTIONS = ["Where does Ana live?", "tea", "Ana", "Who works at the museum in Paris?", "nothing of it"]


async def answers(store: str, home: Path, **graph: str) -> list[object]:
    """What a store's server answers to the same questions about the same memory."""
    async with product(store=store, home=home, **graph) as running:
        transport = await running.open(await running.person())
        for statement in STATEMENTS:
            for scope in ("session", "repository"):
                await transport.remember(statement, scope=scope)
            running.clock.advance(seconds=1)  # type: ignore[attr-defined]
        found = []
        for question in QUESTIONS:
            for scope in ("session", "repository"):
                recalled = await transport.recall(question, memory_scope=scope)
                found.append([(fact["id"], fact["score"]) for fact in recalled["facts"]])
        return found


async def test_equal_memory_and_an_equal_question_give_the_same_order_on_every_store(
    tmp_path: Path, graph: str
) -> None:
    on_memory = await answers("memory", tmp_path)
    assert [len(found) for found in on_memory[:2]] == [len(on_memory[0])] * 2
    assert len(on_memory[0]) > 2
    assert await answers("sqlite", tmp_path, graph=graph) == on_memory


@pytest.mark.parametrize("end", ["revoked", "expired"])
async def test_repository_memory_outlives_the_session_that_wrote_it(end: str) -> None:
    async with product() as running:
        person = await running.person()
        session_id = await running.register(person)
        transport = await running.open(person, session_id)
        await transport.remember(("Ana", "likes", "tea"), scope="repository")
        await transport.remember(("Ana", "likes", "milk"))
        if end == "expired":
            running.clock.advance(days=8)  # type: ignore[attr-defined]
        else:
            body, path = {"session_id": session_id}, "/api/v1/execution/sessions/revoke"
            async with running.http.post(running.base + path, json=body, headers=person.headers) as answer:
                assert answer.status == 200
        later = await running.open(person)
        (fact,) = (await later.recall("Ana", memory_scope="repository"))["facts"]
        assert (fact["object"], fact["origin_session_id"]) == ("tea", session_id)
        assert (await later.recall("Ana"))["facts"] == []


async def asked(running: Product, transport: Transport, path: str, body: object) -> dict[str, Any]:
    async with running.http.post(running.base + MEMORY + path, json=body, headers=transport.headers) as answer:
        return await answer.json()  # type: ignore[no-any-return]


async def test_rest_and_tools_take_and_return_the_same_objects() -> None:
    async with product() as running:
        transport = await running.open(await running.person())
        triple = {"subject": "Ana", "subject_type": "Person", "predicate": "likes", "object": "tea", "source": "a book"}
        by_tool = await transport.call("upsert_graph_triples", {"triples": [triple], "memory_scope": "session"})
        again = await asked(running, transport, "", {"triples": [triple]})
        assert (by_tool["structuredContent"]["added"], again["unchanged"]) == (1, 1)
        counts = {"added": 0, "unchanged": 0}
        assert {**by_tool["structuredContent"], **counts} == {**again, **counts}
        by_tool = await transport.recall("tea")
        # What a model is told beside an answer: no model reads the other one.
        assert by_tool.pop("advisory")
        assert await asked(running, transport, "/recall", {"query": "tea"}) == by_tool
        wrong = {"triples": [{**triple, "more": 1}]}
        refused = await transport.call("upsert_graph_triples", wrong)
        assert refused["structuredContent"] == await asked(running, transport, "", wrong)


async def test_a_store_that_does_not_answer_in_time_ends_the_call_with_an_error(tmp_path: Path) -> None:
    async with product(store="sqlite", home=tmp_path, store_deadline_ms=50) as running:
        transport = await running.open(await running.person())
        with closing(sqlite3.connect(tmp_path / "codesynapse.sqlite3", isolation_level=None)) as another:
            another.execute("BEGIN IMMEDIATE")
            assert (await transport.remember(("Ana", "likes", "tea")))["code"] == "store_busy"
            another.execute("ROLLBACK")
        assert (await transport.remember(("Ana", "likes", "tea")))["revision"] == 1


async def test_a_raised_limit_lets_through_what_the_default_refuses() -> None:
    written = {"triples": [{"subject": "Ana", "predicate": "likes", "object": "tea"}]}
    five_mebibytes = json.dumps(written).encode().ljust(5 * 1024 * 1024)
    for raised, status in (({}, 413), ({"body_max_bytes": 6 * 1024 * 1024}, 200)):
        async with product(**raised) as running:
            person = await running.person()
            headers = person.bound(await running.register(person))
            body = io.BytesIO(five_mebibytes)
            async with running.http.post(running.base + MEMORY, data=body, headers=headers) as answer:
                assert answer.status == status
                assert status == 200 or (await answer.json())["limit"] == 4 * 1024 * 1024
