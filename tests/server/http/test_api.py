"""The REST routes, one by one."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.server.http import api
from codesynapse.server.mcp.messages import OFF_LOOP_BYTES
from tests.integration.harness import Person, Product, fresh, product

SESSIONS = "/api/v1/execution/sessions"
MEMORY = "/api/v1/repos/default/session-memory"
TRIPLE = {"subject": "Ana", "predicate": "likes", "object": "tea"}


@dataclass(kw_only=True)
class Answer:
    status: int
    body: dict[str, Any]
    headers: dict[str, str]


async def ask(running: Product, method: str, path: str, headers: dict[str, str], body: object = None) -> Answer:
    """A request; every answer is JSON."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    async with running.http.request(method, running.base + path, headers=headers, data=data) as answer:
        assert answer.headers["Content-Type"].startswith("application/json")
        return Answer(status=answer.status, body=await answer.json(), headers=dict(answer.headers))


async def bound(running: Product, person: Person | None = None) -> dict[str, str]:
    """Headers of a person under a new session."""
    person = person or await running.person()
    return person.bound(await running.register(person))


async def test_a_first_registration_is_201_a_repeated_one_200_with_the_same_deadline():
    async with product() as running:
        person, session_id = await running.person(), fresh()
        first = await ask(running, "POST", SESSIONS, person.headers, {"session_id": session_id})
        running.clock.advance(hours=1)  # type: ignore[attr-defined]
        again = await ask(running, "POST", SESSIONS, person.headers, {"session_id": session_id})
        assert (first.status, again.status, first.body) == (201, 200, again.body)
        assert first.body["session_id"] == first.body["parent_session_id"] == session_id
        assert (first.body["tenant_id"], first.body["subject_id"]) == (person.tenant, person.subject)


async def test_anyone_elses_id_is_409_with_one_body_live_or_tombstoned():
    async with product() as running:
        ana, ben = await running.person(), await running.person()
        session_id = await running.register(ana)
        live = await ask(running, "POST", SESSIONS, ben.headers, {"session_id": session_id})
        await ask(running, "POST", SESSIONS + "/revoke", ana.headers, {"session_id": session_id})
        dead = await ask(running, "POST", SESSIONS, ben.headers, {"session_id": session_id})
        assert (live.status, live.body) == (dead.status, dead.body) == (409, dead.body)
        own = await ask(running, "POST", SESSIONS, ana.headers, {"session_id": session_id})
        assert (own.status, own.body["code"]) == (403, "revoked")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"session_id": 5},
        {"session_id": ""},
        {"session_id": "a b"},
        {"session_id": "x" * 129},
        [],
        "x",
        None,
        {"session_id": "s", "more": 1},
        {"session_id": "web:1"},
    ],
)
async def test_a_malformed_registration_is_422_and_names_the_field(body: object):
    async with product() as running:
        person = await running.person()
        answer = await ask(running, "POST", SESSIONS, person.headers, json.dumps(body).encode())
        assert (answer.status, answer.body["code"]) == (422, "invalid")
        assert answer.body["field"] in ("session_id", "arguments")


async def test_ones_own_sessions_are_listed_with_their_state():
    async with product() as running:
        ana, ben = await running.person(), await running.person()
        first, second = await running.register(ana), await running.register(ana)
        await running.register(ben)
        await ask(running, "POST", SESSIONS + "/revoke", ana.headers, {"session_id": first})
        listed = (await ask(running, "GET", SESSIONS, ana.headers)).body["sessions"]
        assert {each["session_id"]: each["state"] for each in listed} == {first: "revoked", second: "active"}


async def test_revoking_is_repeatable_and_an_unknown_or_foreign_id_is_404_alike():
    async with product() as running:
        ana, ben = await running.person(), await running.person()
        session_id = await running.register(ana)
        foreign = await ask(running, "POST", SESSIONS + "/revoke", ben.headers, {"session_id": session_id})
        unknown = await ask(running, "POST", SESSIONS + "/revoke", ben.headers, {"session_id": fresh()})
        assert (foreign.status, foreign.body) == (unknown.status, unknown.body) == (404, unknown.body)
        first = await ask(running, "POST", SESSIONS + "/revoke", ana.headers, {"session_id": session_id})
        running.clock.advance(hours=1)  # type: ignore[attr-defined]
        again = await ask(running, "POST", SESSIONS + "/revoke", ana.headers, {"session_id": session_id})
        assert (first.status, first.body) == (200, again.body)


async def test_facts_are_written_read_recalled_and_cleared():
    async with product() as running:
        headers = await bound(running)
        written = await ask(running, "POST", MEMORY, headers, {"triples": [TRIPLE], "expected_revision": 0})
        assert (written.status, written.body["added"], written.body["revision"]) == (200, 1, 1)
        read = await ask(running, "GET", MEMORY, headers)
        assert (read.body["revision"], read.body["closed"], len(read.body["facts"])) == (1, False, 1)
        recalled = await ask(running, "POST", MEMORY + "/recall", headers, {"query": "tea"})
        assert recalled.body["facts"][0]["object"] == "tea"
        assert (await ask(running, "DELETE", MEMORY, headers)).body == {"closed": True, "removed": 1}
        assert (await ask(running, "GET", MEMORY, headers)).body["closed"] is True
        refused = await ask(running, "POST", MEMORY, headers, {"triples": [TRIPLE]})
        assert (refused.status, refused.body["code"]) == (409, "namespace_closed")


async def test_a_read_takes_its_query_its_limit_and_history():
    async with product() as running:
        headers = await bound(running)
        for city in ("Paris", "Rome"):
            triple = {"subject": "Ana", "predicate": "lives_in", "object": city, "functional": True}
            await ask(running, "POST", MEMORY, headers, {"triples": [triple, TRIPLE]})
            running.clock.advance(seconds=1)  # type: ignore[attr-defined]
        counts = {
            query: len((await ask(running, "GET", MEMORY + query, headers)).body["facts"])
            for query in ("", "?history=true", "?limit=1", "?q=tea", "?q=Rome&limit=512", "?q=")
        }
        assert counts == {"": 2, "?history=true": 3, "?limit=1": 1, "?q=tea": 1, "?q=Rome&limit=512": 1, "?q=": 2}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=513", "limit"),
        ("limit=x", "limit"),
        ("history=5", "history"),
        ("limit=1&limit=2", "query"),
        ("q=" + "x" * 2001, "q"),
        ("other=1", "arguments"),
    ],
)
async def test_a_malformed_query_string_is_422_and_names_the_field(query: str, field: str):
    async with product() as running:
        answer = await ask(running, "GET", f"{MEMORY}?{query}", await bound(running))
        assert (answer.status, answer.body["field"]) == (422, field)


async def test_a_conflict_is_409_with_the_current_revision():
    async with product() as running:
        headers = await bound(running)
        answer = await ask(running, "POST", MEMORY, headers, {"triples": [TRIPLE], "expected_revision": 4})
        assert (answer.status, answer.body["code"], answer.body["revision"]) == (409, "revision_conflict", 0)


@pytest.mark.parametrize("path", [MEMORY, MEMORY + "/recall"])
async def test_a_body_that_is_no_json_or_nests_too_deeply_is_422(path: str):
    async with product() as running:
        headers = await bound(running)
        for body in (b"", b"{", b"\xff", b'{"query":"\\ud800"}', b"[" * 100_000):
            answer = await ask(running, "POST", path, headers, body)
            assert (answer.status, answer.body["code"]) == (422, "invalid")
        assert answer.body["limit"] == "depth 64"


@pytest.mark.parametrize("size", [OFF_LOOP_BYTES - 1_000, OFF_LOOP_BYTES + 1_000])
async def test_a_large_body_is_refused_as_a_small_one_and_read_beside_the_loop(
    size: int, monkeypatch: pytest.MonkeyPatch
):
    decoded, beside = api._decoded, []

    def watched(body: bytes, kind: Any, deepest: int) -> Any:
        beside.append(threading.current_thread() is not threading.main_thread())
        return decoded(body, kind, deepest)

    async with product() as running:
        headers = await bound(running)
        monkeypatch.setattr(api, "_decoded", watched)
        answer = await ask(running, "POST", MEMORY + "/recall", headers, {"query": "x" * size})
        assert (answer.status, answer.body["field"], answer.body["limit"]) == (422, "query", "<= 2000 characters")
        padded = b'{"query":"tea"' + b" " * size + b"}"
        assert (await ask(running, "POST", MEMORY + "/recall", headers, padded)).status == 200
        deep = b'{"query":' + b"[" * 65 + b" " * size
        assert (await ask(running, "POST", MEMORY + "/recall", headers, deep)).body["limit"] == "depth 64"
        assert beside == [size > OFF_LOOP_BYTES] * 3


@pytest.mark.parametrize(("level", "status", "code"), [(None, 403, "repository_forbidden"), (Level.READ, 200, None)])
async def test_a_namespace_is_a_repository_that_one_may_read(level: Level | None, status: int, code: str | None):
    async with product() as running:
        headers = await bound(running, await running.person(level=level))
        answer = await ask(running, "POST", MEMORY, headers, {"triples": [TRIPLE]})
        assert (answer.status, answer.body.get("code")) == (status, code)
        missing = await ask(running, "GET", MEMORY.replace("default", "nothing"), headers)
        assert (missing.status, missing.body["code"]) == (403, "repository_forbidden")


async def test_during_the_last_day_the_deadline_is_a_header():
    async with product() as running:
        headers = await bound(running)
        assert "X-CodeSynapse-Session-Expires" not in (await ask(running, "GET", MEMORY, headers)).headers
        running.clock.advance(days=6, seconds=1)  # type: ignore[attr-defined]
        answer = await ask(running, "GET", MEMORY, headers)
        assert answer.headers["X-CodeSynapse-Session-Expires"] == "2027-01-22T08:00:00.000Z"


@pytest.mark.parametrize(
    ("method", "path"), [("GET", SESSIONS), ("POST", SESSIONS), ("GET", MEMORY), ("DELETE", MEMORY)]
)
async def test_without_a_credential_every_route_is_401(method: str, path: str):
    async with product() as running:
        answer = await ask(running, method, path, {}, {} if method == "POST" else None)
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


async def test_without_the_execution_headers_memory_is_403():
    async with product() as running:
        person = await running.person()
        answer = await ask(running, "GET", MEMORY, person.headers)
        assert (answer.status, answer.body["code"]) == (403, "execution_missing")


async def test_a_registration_is_answered_with_the_identity_and_its_two_moments():
    async with product() as running:
        person, session_id = await running.person(), fresh()
        answer = await ask(running, "POST", SESSIONS, person.headers, {"session_id": session_id})
        assert answer.body == {
            "tenant_id": person.tenant,
            "subject_id": person.subject,
            "session_id": session_id,
            "parent_session_id": session_id,
            "registered_at": "2027-01-15T08:00:00.000Z",
            "expires_at": "2027-01-22T08:00:00.000Z",
        }


async def test_a_read_without_a_limit_answers_fifty_facts_and_with_one_up_to_512():
    async with product() as running:
        headers = await bound(running)
        for start in (0, 50):
            triples = [{**TRIPLE, "object": f"tea {number}"} for number in range(start, start + 50)]
            await ask(running, "POST", MEMORY, headers, {"triples": triples})
        counts = [
            len((await ask(running, "GET", MEMORY + query, headers)).body["facts"]) for query in ("", "?limit=512")
        ]
        assert counts == [50, 100]


async def test_triples_are_validated_and_keep_their_own_source_or_that_of_the_request():
    async with product() as running:
        headers = await bound(running)
        triples = [TRIPLE, {**TRIPLE, "object": "milk", "source": "a letter"}]
        written = await ask(running, "POST", MEMORY, headers, {"triples": triples, "source": "a book"})
        assert {fact["object"]: fact["source"] for fact in written.body["facts"]} == {
            "tea": "a book",
            "milk": "a letter",
        }
        bare = await ask(running, "POST", MEMORY, headers, {"triples": [{**TRIPLE, "object": "juice"}]})
        assert "source" not in bare.body["facts"][0]
        for triple, field in (
            ({**TRIPLE, "predicate": "Likes"}, "triples[0].predicate"),
            ({**TRIPLE, "object": "a\nb"}, "triples[0].object"),
            ({**TRIPLE, "valid_from": "soon"}, "triples[0].valid_from"),
            ({**TRIPLE, "more": 1}, "triples[0]"),
        ):
            refused = await ask(running, "POST", MEMORY, headers, {"triples": [triple]})
            assert (refused.status, refused.body["field"]) == (422, field)
