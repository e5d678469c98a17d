"""Downloads and uploads: a link works once, for its credential, in time; an upload is bounded and its owner's."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import structlog

from codesynapse.contracts.accounts import Level
from codesynapse.server.agents.exported import Writer
from tests.integration.harness import Person, Product, product

AGENT = "bob"
UPLOADS = "/api/v1/uploads"


async def called(running: Product, person: Person, tool: str, **arguments: Any) -> dict[str, Any]:
    transport = await running.open(person)
    return (await transport.call(tool, arguments))["structuredContent"]  # type: ignore[no-any-return]


async def filled(running: Product, person: Person) -> dict[str, Any]:
    """An agent of two memories, and the answer of its export."""
    for content in ("tea", "milk"):
        await called(running, person, "store", agent_id=AGENT, content=content)
    return await called(running, person, "export_memories", agent_id=AGENT)


async def get(running: Product, person: Person, url: str) -> tuple[int, bytes]:
    async with running.http.get(running.base + url, headers=person.headers) as answer:
        return answer.status, await answer.read()


async def upload(running: Product, person: Person, data: object, **headers: str) -> tuple[int, dict[str, Any]]:
    async with running.http.post(running.base + UPLOADS, data=data, headers={**person.headers, **headers}) as answer:
        return answer.status, await answer.json()


async def test_a_link_gives_the_file_once_and_an_upload_of_it_is_imported_with_the_same_digest():
    async with product() as running:
        ana = await running.person()
        exported = await filled(running, ana)
        async with running.http.get(running.base + exported["url"], headers=ana.headers) as answer:
            data = await answer.read()
            assert answer.status == 200
            assert answer.headers["Content-Type"] == "application/x-ndjson"
            assert answer.headers["Cache-Control"] == "no-store"
        assert len(data) == exported["bytes"]
        status, again = await get(running, ana, exported["url"])
        assert (status, json.loads(again)["code"]) == (404, "not_found")
        status, uploaded = await upload(running, ana, data)
        assert (status, uploaded["bytes"]) == (201, len(data))
        said = await called(running, ana, "import_memories", upload_id=uploaded["upload_id"], target_agent_id="new")
        assert (said["imported_memories"], said["digest"]) == (2, exported["digest"])


async def test_a_link_is_of_no_use_to_another_credential_or_to_none():
    async with product() as running:
        ana = await running.person()
        ben = await running.person(ana.tenant)
        other_key = Person(tenant=ana.tenant, subject=ana.subject, key=await running.key(ana.tenant, ana.subject))
        exported = await filled(running, ana)
        missing = await get(running, ben, "/api/v1/downloads/nothing")
        assert missing[0] == 404
        for other in (ben, other_key, await running.person()):
            assert await get(running, other, exported["url"]) == missing
        async with running.http.get(running.base + exported["url"]) as answer:
            assert answer.status == 401
        assert (await get(running, ana, exported["url"]))[0] == 200


async def test_a_link_ends_after_ten_minutes_and_with_the_grant():
    async with product() as running:
        ana = await running.person()
        exported = await filled(running, ana)
        running.clock.advance(seconds=600)  # type: ignore[attr-defined]
        assert (await get(running, ana, exported["url"]))[0] == 404
        exported = await called(running, ana, "export_memories", agent_id=AGENT)
        agents = running.services.ports.agents
        assert agents is not None
        await agents.set_level(ana.tenant, AGENT, ana.subject, None, now_ms=running.clock())
        assert (await get(running, ana, exported["url"]))[0] == 404


async def test_a_link_and_an_upload_are_in_no_log_and_no_metric():
    async with product() as running:
        ana = await running.person()
        with structlog.testing.capture_logs() as logs:
            exported = await filled(running, ana)
            _, data = await get(running, ana, exported["url"])
            await get(running, ana, exported["url"])
            _, uploaded = await upload(running, ana, data)
        async with running.http.get(running.base + "/metrics") as answer:
            metrics = await answer.text()
        for secret in (exported["url"].rpartition("/")[2], uploaded["upload_id"]):
            assert secret not in str(logs)
            assert secret not in metrics


async def test_an_upload_needs_a_credential_and_is_its_owners():
    async with product() as running:
        ana = await running.person()
        ben = await running.person(ana.tenant)
        async with running.http.post(running.base + UPLOADS, data=b"x") as answer:
            assert answer.status == 401
        _, uploaded = await upload(running, ana, export())
        said = await called(running, ben, "import_memories", upload_id=uploaded["upload_id"])
        assert (said["ok"], said["code"]) == (False, "import_refused")
        assert uploaded["upload_id"] not in str(said)


def export() -> bytes:
    lines: list[bytes] = []
    Writer(AGENT, lines.append).end()
    return b"".join(lines)


async def chunks() -> AsyncIterator[bytes]:
    """A body of 3,000 bytes whose length nobody tells."""
    for _ in range(3):
        yield b"x" * 1_000


@pytest.mark.parametrize("told", [True, False], ids=["told", "untold"])
async def test_an_upload_that_is_too_large_is_refused_and_leaves_nothing(told: bool):
    async with product(transfer_max_bytes=2_000) as running:
        ana = await running.person()
        status, said = await upload(running, ana, b"x" * 2_001 if told else chunks())
        assert (status, said["code"], said["limit"]) == (413, "body_too_large", 2_000)
        assert running.services.mover is not None
        assert len(running.services.mover.uploads) == 0
        assert (await upload(running, ana, b"x" * 2_000))[0] == 201


async def test_an_upload_larger_than_a_request_may_be_is_taken():
    async with product() as running:
        ana = await running.person()
        status, said = await upload(running, ana, io.BytesIO(b"x" * (5 * 1024 * 1024)))
        assert (status, said["bytes"]) == (201, 5 * 1024 * 1024)


async def test_a_revoked_chat_session_in_the_headers_is_refused():
    async with product() as running:
        ana = await running.person()
        session_id = await running.register(ana)
        async with running.http.post(
            running.base + "/api/v1/execution/sessions/revoke", json={"session_id": session_id}, headers=ana.headers
        ) as answer:
            assert answer.status == 200
        bound = {each: value for each, value in ana.bound(session_id).items() if each != "Authorization"}
        status, said = await upload(running, ana, b"x", **bound)
        assert (status, said["code"]) == (403, "revoked")


async def test_the_wrong_methods_are_refused():
    async with product() as running:
        ana = await running.person()
        exported = await filled(running, ana)
        async with running.http.head(running.base + exported["url"], headers=ana.headers) as answer:
            assert answer.status == 405
        async with running.http.get(running.base + UPLOADS, headers=ana.headers) as answer:
            assert answer.status == 405
        assert (await get(running, ana, exported["url"]))[0] == 200


async def test_who_may_only_read_may_export_and_follow_the_link():
    async with product() as running:
        ana = await running.person()
        ben = await running.person(ana.tenant)
        await filled(running, ana)
        agents = running.services.ports.agents
        assert agents is not None
        await agents.set_level(ana.tenant, AGENT, ben.subject, Level.READ, now_ms=running.clock())
        exported = await called(running, ben, "export_memories", agent_id=AGENT)
        assert (await get(running, ben, exported["url"]))[0] == 200
