"""A body that comes long after its headers is judged by what holds when it has come."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.integration import refusals_world as ways
from tests.integration.refusals_identity import expired, revoked, revoked_key, suspended_user
from tests.integration.refusals_world import Ask, Spoil, Way, World, world


@asynccontextmanager
async def headers_sent(here: World, ask: Ask) -> AsyncIterator[Callable[[], Awaitable[bytes]]]:
    """A request whose headers and first byte are with the server; yields what sends the rest and reads the answer."""
    body = json.dumps(ask.body).encode()
    lines = [f"{ask.method} {ask.path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
    lines += ["Connection: close", *(f"{name}: {value}" for name, value in ask.headers.items())]
    host, _, port = here.running.base.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body[:1])

    async def finish() -> bytes:
        writer.write(body[1:])
        return await reader.read()

    try:
        yield finish
    finally:
        writer.close()


async def authorized(here: World, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Tells when the next request has been authorised."""
    sessions, done = here.running.services.sessions, asyncio.Event()
    original = sessions.authorize

    async def watched(key: str | None, session_id: str | None) -> object:
        authority = await original(key, session_id)
        done.set()
        return authority

    monkeypatch.setattr(sessions, "authorize", watched)
    return done


ENDINGS: list[tuple[Spoil, int, str]] = [
    (revoked, 403, "revoked"),
    (expired, 403, "expired"),
    (suspended_user, 403, "suspended"),
    (revoked_key, 401, "unauthenticated"),
]


@pytest.mark.parametrize(("ending", "status", "code"), ENDINGS, ids=[each.__name__ for each, _, _ in ENDINGS])
@pytest.mark.parametrize("way", [ways.write, ways.remember, ways.initialize], ids=lambda way: way.__name__)
async def test_access_that_ends_before_the_body_has_come_is_refused(
    way: Way, ending: Spoil, status: int, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(monkeypatch) as here:
        ask = await way(here, "first")
        done = await authorized(here, monkeypatch)
        async with headers_sent(here, ask) as finish:
            await done.wait()
            await ending(here, ask)
            answer = await finish()
        assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer
        assert f'"code":"{code}"'.encode() in answer


@pytest.mark.parametrize("way", [ways.write, ways.remember, ways.initialize], ids=lambda way: way.__name__)
async def test_a_late_body_is_served_where_access_goes_on(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(monkeypatch) as here:
        ask = await way(here, "first")
        done = await authorized(here, monkeypatch)
        async with headers_sent(here, ask) as finish:
            await done.wait()
            assert (await finish()).startswith(b"HTTP/1.1 200 ")


async def late(here: World, version: str) -> Ask:
    """A write, alone or as a batch of the revision that knows them."""
    transport = here.seats["first"] = await here.running.open(here.owner, here.session, version=version)
    ask = await ways.write(here, "first")
    if transport.version == "2025-03-26":
        ask.body = [ask.body]  # type: ignore[assignment]
    return ask


@pytest.mark.parametrize("version", ["2025-11-25", "2025-03-26"], ids=["single", "batch"])
async def test_a_transport_that_ends_before_the_body_has_come_is_unknown_and_keeps_nothing(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(monkeypatch) as here:
        ask = await late(here, version)
        ending = replace(ask, method="DELETE", body=None)
        done = await authorized(here, monkeypatch)
        async with headers_sent(here, ask) as finish:
            await done.wait()
            assert (await here.send(ending)).status == 204
            answer = await finish()
        assert answer.startswith(b"HTTP/1.1 404 "), answer
        # What a closed session's log holds, nobody would ever give back.
        assert here.running.server.lives.budget.used == 0
        found = await (await here.seat("spare")).recall("Ana", memory_scope="repository")
        assert found["facts"] == []


@pytest.mark.parametrize("version", ["2025-11-25", "2025-03-26"], ids=["single", "batch"])
async def test_a_late_call_of_a_transport_that_stays_is_answered(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(monkeypatch) as here:
        ask = await late(here, version)
        done = await authorized(here, monkeypatch)
        async with headers_sent(here, ask) as finish:
            await done.wait()
            assert b'"isError":false' in await finish()
