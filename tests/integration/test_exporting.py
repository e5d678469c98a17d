"""Ten thousand memories leave one server and enter an empty one, over HTTP, with one digest (a tenth by default)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codesynapse.contracts.agent_work import EpisodeRecord, MemoryRecord, ProfileRecord, Record
from codesynapse.contracts.agents import AgentScope, Bucket, NewEpisode, NewMemory
from codesynapse.contracts.identity import Millis
from codesynapse.server.agents.wording import terms_of
from tests.integration.cutting import FULL
from tests.integration.harness import START_MS, Person, Product, product

COUNT = 10_000 if FULL else 1_000
AGENT = "bob"


def records() -> Iterator[Record]:
    """Memories of all kinds, an episode behind every hundredth, and a profile."""
    yield ProfileRecord(text="Ana, who drinks tea.")
    for number in range(COUNT):
        content = f"Ana drank cup {number} of “tea” on day {number % 365} ☕ 茶"
        yield MemoryRecord(
            memory=NewMemory(
                content=content,
                bucket=Bucket(project_id=f"p{number % 3}", channel="" if number % 2 else "c"),
                message_id=f"m{number}" if number % 5 == 0 else "",
                source={"type": "User", "id": f"discord:{number % 7}", "name": "Ana\u2028"},
                timestamp="2026-11-30T20:00:00Z" if number % 2 else "",
                metadata={"n": number, "f": 0.1, "nested": {"b": [True, None]}},
                locked=number % 11 == 0,
                terms=terms_of(content),
            ),
            created_at_ms=Millis(START_MS + number),
            recalled=number % 4,
            recalled_at_ms=Millis(START_MS) if number % 4 else None,
        )
        if number % 100 == 0:
            summary = f"talk {number}"
            yield EpisodeRecord(
                episode=NewEpisode(summary=summary, keywords="tea", terms=terms_of(summary, "tea")),
                created_at_ms=Millis(START_MS + number),
            )


async def called(running: Product, person: Person, tool: str, **arguments: Any) -> dict[str, Any]:
    transport = await running.open(person)
    said: dict[str, Any] = (await transport.call(tool, arguments))["structuredContent"]
    assert said["ok"] is True, said
    return said


async def exported(running: Product, person: Person) -> tuple[dict[str, Any], bytes]:
    said = await called(running, person, "export_memories", agent_id=AGENT)
    async with running.http.get(running.base + said["url"], headers=person.headers) as answer:
        assert answer.status == 200
        return said, await answer.read()


async def test_ten_thousand_memories_enter_an_empty_server_with_the_digest_that_they_left_with(tmp_path: Path):
    async with product(store="sqlite", home=tmp_path / "one") as running:
        ana = await running.person()
        agents = running.services.ports.agents
        assert agents is not None
        scope = AgentScope(tenant_id=ana.tenant, subject_id=ana.subject, agent_id=AGENT)
        await agents.take_in(scope, records(), dry_run=False, now_ms=running.clock())
        left, data = await exported(running, ana)
        assert (left["memories"], left["episodes"], left["profiles"]) == (COUNT, COUNT // 100, 1)
    async with product(store="sqlite", home=tmp_path / "two") as running:
        ben = await running.person()
        async with running.http.post(
            running.base + "/api/v1/uploads", data=io.BytesIO(data), headers=ben.headers
        ) as answer:
            upload_id = (await answer.json())["upload_id"]
        entered = await called(running, ben, "import_memories", upload_id=upload_id)
        assert (entered["imported_memories"], entered["skipped_memories"]) == (COUNT, 0)
        assert entered["digest"] == left["digest"]
        again, copied = await exported(running, ben)
        assert (again["digest"], copied) == (left["digest"], data)
        health = await called(running, ben, "check_health", checks=["index_missing", "counts_wrong", "stale_terms"])
        assert (health["issues"], health["total_memories"]) == ([], COUNT)
        deep = await called(running, ben, "deep_check", agent_id=AGENT, checks=["unreachable", "unportable"])
        assert {each["count"] for each in deep["results"].values()} == {0}
