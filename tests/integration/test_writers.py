"""64 writers at once: no update is lost, and whoever is refused is told the current revision."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from codesynapse.contracts.requirements import requirement
from tests.integration.harness import Transport, fresh, process, product
from tests.integration.load import Writer, opened
from tests.integration.stdio_peer import StdioPeer, stdio_process
from tests.integration.test_kill import calling, register

WRITERS = 64
RIVALS = 16
# The session's snapshot and the repository's rows are guarded apart, and so is each store.
PLACES = [("session", "memory"), ("session", "sqlite"), ("repository", "sqlite")]


def small(number: int, **more: object) -> dict[str, object]:
    """A write that is one's own; 64 of them fit into a namespace."""
    triple = {"subject": f"writer {number}", "predicate": "is", "object": "here"}
    return {"triples": [triple], "memory_scope": "session", **more}


async def upsert(transport: Transport, arguments: dict[str, object]) -> dict[str, Any]:
    """The structured answer of an upsert, refused or not."""
    return (await transport.call("upsert_graph_triples", arguments))["structuredContent"]  # type: ignore[no-any-return]


async def facts_of(transport: Transport, base: str) -> tuple[int, set[str]]:
    """The revision of the session's memory, and the subjects in it."""
    url = base + "/api/v1/repos/default/session-memory?limit=512"
    async with transport.http.get(url, headers=transport.headers) as answer:
        read = await answer.json()
    return read["revision"], {fact["subject"] for fact in read["facts"]}


@pytest.mark.parametrize(("scope", "store"), PLACES)
async def test_64_writers_through_64_transports_of_one_session_lose_no_update(
    scope: str, store: str, tmp_path: Path
) -> None:
    async with product(store=store, home=tmp_path) as running:
        person = await running.person()
        session_id = await running.register(person)
        transports = [await running.open(person, session_id) for _ in range(WRITERS)]
        answers = await asyncio.gather(
            *(upsert(each, small(number, memory_scope=scope)) for number, each in enumerate(transports))
        )
        assert [answer["added"] for answer in answers] == [1] * WRITERS
        # Each had a revision of its own, and none was skipped.
        assert sorted(answer["revision"] for answer in answers) == list(range(1, WRITERS + 1))
        found = await transports[0].recall("writer here", memory_scope=scope, limit=50)
        assert (found["revision"], len(found["facts"])) == (WRITERS, 50)
        if scope == "session":
            revision, subjects = await facts_of(transports[0], running.base)
            assert (revision, subjects) == (WRITERS, {f"writer {number}" for number in range(WRITERS)})


@requirement("commits:expected")
@pytest.mark.parametrize(("scope", "store"), PLACES)
async def test_of_writers_who_expect_one_revision_exactly_one_wins_and_the_others_are_told_the_current_one(
    scope: str, store: str, tmp_path: Path
) -> None:
    async with product(store=store, home=tmp_path) as running:
        person = await running.person()
        session_id = await running.register(person)
        transports = [await running.open(person, session_id) for _ in range(RIVALS)]
        asked = [small(number, memory_scope=scope, expected_revision=0) for number in range(RIVALS)]
        answers = await asyncio.gather(*(upsert(*each) for each in zip(transports, asked, strict=True)))
        winners = [number for number, answer in enumerate(answers) if "added" in answer]
        assert len(winners) == 1
        losers = [answer for answer in answers if "added" not in answer]
        assert {(answer["code"], answer["revision"]) for answer in losers} == {("revision_conflict", 1)}
        found = await transports[0].recall("writer here", memory_scope=scope)
        assert [fact["subject"] for fact in found["facts"]] == [f"writer {winners[0]}"]
        # With the revision that they were told, the next one wins.
        again = await upsert(transports[1], small(99, memory_scope=scope, expected_revision=losers[0]["revision"]))
        assert (again["added"], again["revision"]) == (1, 2)


async def test_a_conflict_over_rest_is_409_with_the_current_revision() -> None:
    async with product() as running:
        transport = await running.open(await running.person())
        url = running.base + "/api/v1/repos/default/session-memory"
        triple = {"subject": "Ana", "predicate": "likes", "object": "tea"}
        for expected, status, revision in ((0, 200, 1), (0, 409, 1), (1, 200, 1)):
            body = {"triples": [triple], "expected_revision": expected}
            async with running.http.post(url, json=body, headers=transport.headers) as answer:
                assert (answer.status, (await answer.json())["revision"]) == (status, revision)


async def write_each(peer: StdioPeer, numbers: range) -> list[dict[str, Any]]:
    """Writes that are all in flight before the first is answered."""
    for number in numbers:
        await peer.message("tools/call", {"name": "upsert_graph_triples", "arguments": small(number)})
    return [(await peer.next())["result"]["structuredContent"] for _ in numbers]


@requirement("commits:retry")
async def test_64_writers_in_two_processes_on_one_namespace_lose_no_update(tmp_path: Path) -> None:
    errors: list[str] = []
    async with process(tmp_path) as server, aiohttp.ClientSession() as http:
        session_id = await register(server, http, fresh())
        transport = Transport(http=http, url=server.url, headers=server.owner.bound(session_id))
        await transport.initialize()
        async with stdio_process(tmp_path, server.owner, session_id, errors) as peer:
            by_server, by_stdio = await asyncio.gather(
                asyncio.gather(*(upsert(transport, small(number)) for number in range(WRITERS // 2))),
                write_each(peer, range(WRITERS // 2, WRITERS)),
            )
        answers = [*by_server, *by_stdio]
        refused = [answer for answer in answers if "added" not in answer]
        # A conflict that outlasts the retries is reported; nothing is dropped in silence.
        assert {answer["code"] for answer in refused} <= {"revision_conflict"}
        revision, subjects = await facts_of(transport, server.base)
        assert revision == len(subjects) == WRITERS - len(refused)
        revisions = [answer["revision"] for answer in answers if "added" in answer]
        assert sorted(revisions) == list(range(1, revision + 1))
        assert all(0 < answer["revision"] <= revision for answer in refused)
        print(f"{len(by_server)} + {len(by_stdio)} writers in two processes, {len(refused)} conflicts were reported")
    assert "".join(errors) == ""


async def test_the_writers_of_a_repository_in_two_processes_share_one_counter(tmp_path: Path) -> None:
    errors: list[str] = []
    async with process(tmp_path) as server, aiohttp.ClientSession() as http:
        sessions = [await register(server, http, fresh()) for _ in range(2)]
        transport = Transport(http=http, url=server.url, headers=server.owner.bound(sessions[0]))
        await transport.initialize()
        writers = [
            Writer(name=fresh("w"), tenant="home", session=session_id, scope="repository") for session_id in sessions
        ]
        async with stdio_process(tmp_path, server.owner, sessions[1], errors) as peer:

            async def over_stdio(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
                return (await peer.call(tool, arguments))["result"]["structuredContent"]  # type: ignore[no-any-return]

            for _ in range(WRITERS // 4):
                await asyncio.gather(writers[0].write(calling(transport)), writers[1].write(over_stdio))
    async with opened(tmp_path) as ports:
        there = [len(await writer.found(ports)) for writer in writers]
        assert there == [WRITERS // 4] * 2
        assert await writers[0].revision(ports) == sum(there)
    assert sorted(writers[0].revisions + writers[1].revisions) == list(range(1, sum(there) + 1))
