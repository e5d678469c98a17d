"""What outlives the server: a protocol session under its id, as it was, for as long as it would have lived."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest

from codesynapse.contracts.requirements import requirement
from tests.integration.harness import Person, Product, Transport, product
from tests.integration.tools import call, live_of, primed, register_tools, replayed, status_of, stream

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
MINUTES = 60


@asynccontextmanager
async def server(home: Path, **overrides: object) -> AsyncIterator[Product]:
    """A server on a home, where each goes on from the one before. What still runs at its end is not waited for."""
    async with product(store="sqlite", home=home, **{"shutdown_ms": 10, **overrides}) as running:
        yield running


def at(running: Product, transport: Transport) -> Transport:
    """The same session, asked of the server that runs now."""
    return replace(transport, http=running.http, url=running.url, requests=transport.requests + 100)


async def ping(running: Product, transport: Transport) -> int:
    return (await status_of(running, "POST", transport.all_headers(), PING))[0]


def moved(running: Product, *, minutes: float) -> None:
    running.clock.advance(seconds=minutes * MINUTES)  # type: ignore[attr-defined]


@requirement("survive:session")
async def test_a_session_goes_on_after_a_restart_as_it_was(tmp_path: Path) -> None:
    async with server(tmp_path) as running:
        register_tools(running.services)
        transport = await running.open(await running.person(), version="2025-06-18")
        await transport.request("logging/setLevel", {"level": "warning"})
        await transport.remember(("Ana", "likes", "tea"))
    async with server(tmp_path) as running:
        register_tools(running.services)
        again = at(running, transport)
        assert (await again.recall("Ana"))["facts"][0]["object"] == "tea"
        connection = live_of(running, again).connection
        assert (connection.version, connection.initialized, connection.log_level) == ("2025-06-18", True, "warning")
        assert connection.identity.session_id == transport.headers["X-CodeSynapse-Session"]
        async with stream(again) as events, stream(again):
            assert await events.rest() == []
        wrong = {**again.all_headers(), "MCP-Protocol-Version": "2025-11-25"}
        assert (await status_of(running, "POST", wrong, PING))[0] == 400
    async with server(tmp_path) as running:
        gone = at(running, transport)
        assert (await status_of(running, "DELETE", gone.all_headers()))[0] == 204
        assert await ping(running, gone) == 404
    async with server(tmp_path) as running:
        assert await ping(running, at(running, transport)) == 404


async def test_what_the_client_declared_is_still_known_after_a_restart(tmp_path: Path) -> None:
    declared = {"elicitation": {"form": {}, "url": {}}, "roots": {}}
    async with server(tmp_path) as running:
        person = await running.person()
        transport = Transport(http=running.http, url=running.url, headers=person.bound(await running.register(person)))
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": declared,
            "clientInfo": {"name": "t", "version": "1"},
        }
        async with transport.post(transport.message("initialize", params)) as answer:
            transport.id = answer.headers["Mcp-Session-Id"]
        await transport.notify("notifications/initialized")
        before = live_of(running, transport).connection.capabilities
    async with server(tmp_path) as running:
        again = at(running, transport)
        await again.request("ping")
        assert live_of(running, again).connection.capabilities == before == declared


async def test_a_session_that_is_unbound_stays_so_and_is_then_bound_for_good(tmp_path: Path) -> None:
    async with server(tmp_path) as running:
        person = await running.person()
        transport = Transport(http=running.http, url=running.url, headers=person.headers)
        await transport.initialize()
        first, second = await running.register(person), await running.register(person)
    async with server(tmp_path) as running:
        again = at(running, transport)
        assert await ping(running, again) == 200
        again.headers = person.bound(first)
        await again.recall("x")
    async with server(tmp_path) as running:
        again = replace(at(running, transport), headers=person.bound(second))
        assert await ping(running, again) == 403
        again.headers = person.headers
        assert await ping(running, again) == 403
        again.headers = person.bound(first)
        assert await ping(running, again) == 200


@requirement("survive:session")
async def test_the_common_call_writes_nothing_into_the_accounts(tmp_path: Path) -> None:
    async with server(tmp_path) as running:
        transport = await running.open(await running.person())
        await transport.recall("warm")
        with closing(sqlite3.connect(running.services.settings.database)) as watcher:
            (before,) = watcher.execute("PRAGMA data_version").fetchone()
            moved(running, minutes=1)
            for _ in range(20):
                await transport.recall("x")
                await transport.request("ping")
                await transport.request("tools/list")
            await running.server.keeper.note_use()
            assert watcher.execute("PRAGMA data_version").fetchone() == (before,)
            moved(running, minutes=6)
            await running.server.keeper.note_use()
            assert watcher.execute("PRAGMA data_version").fetchone() != (before,)


async def test_a_session_that_was_in_use_goes_on_and_one_that_was_idle_ends_when_it_would_have(tmp_path: Path) -> None:
    async with server(tmp_path) as running:
        person = await running.person()
        busy, idle = await running.open(person), await running.open(person)
        for _ in range(4):
            moved(running, minutes=6)
            await busy.request("ping")
            await running.server.keeper.note_use()
    async with server(tmp_path) as running:
        moved(running, minutes=31)
        assert await ping(running, at(running, busy)) == 200
        assert await ping(running, at(running, idle)) == 404


async def test_a_session_that_was_never_initialized_is_not_kept_for_long(tmp_path: Path) -> None:
    async with server(tmp_path) as running:
        person = await running.person()
        transport = await running.open(person)
        fresh = await opened_only(running, person)
    async with server(tmp_path) as running:
        moved(running, minutes=2)
        assert await ping(running, at(running, transport)) == 200
        assert await ping(running, at(running, fresh)) == 404


async def opened_only(running: Product, person: Person) -> Transport:
    """A session that was opened, and whose client then said nothing."""
    transport = Transport(http=running.http, url=running.url, headers=person.headers)
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    async with transport.post(transport.message("initialize", params)) as answer:
        assert answer.status == 200
        transport.id = answer.headers["Mcp-Session-Id"]
    return transport


async def test_what_nobody_comes_back_to_is_forgotten(tmp_path: Path) -> None:
    async with server(tmp_path) as running:
        person = await running.person()
        for _ in range(3):
            await running.open(person)
        await opened_only(running, person)
    async with server(tmp_path) as running:
        assert kept(running) == 4
        await running.server.keeper.sweep()
        assert kept(running) == 4
        moved(running, minutes=1)
        await running.server.keeper.sweep()
        assert kept(running) == 3
        moved(running, minutes=50)
        await running.server.keeper.sweep()
        assert kept(running) == 0


def kept(running: Product) -> int:
    with closing(sqlite3.connect(running.services.settings.database)) as watcher:
        (count,) = watcher.execute("SELECT count(*) FROM transports").fetchone()
    return int(count)


async def test_the_cap_of_a_principal_counts_what_was_opened_before_the_restart(tmp_path: Path) -> None:
    async with server(tmp_path, transports_per_principal_max=3) as running:
        person, stranger = await running.person(), await running.open(await running.person())
        opened = [await running.open(person) for _ in range(3)]
    async with server(tmp_path, transports_per_principal_max=3) as running:
        moved(running, minutes=1)
        assert await ping(running, at(running, opened[0])) == 200
        fresh = await running.open(person)
        statuses = [await ping(running, at(running, each)) for each in (*opened, fresh, stranger)]
        assert statuses[0] == statuses[3] == statuses[4] == 200
        assert sorted(statuses[1:3]) == [200, 404]


async def test_the_id_is_nowhere_in_the_file(tmp_path: Path) -> None:
    async with server(tmp_path) as running:
        transport = await running.open(await running.person())
        assert transport.id is not None
        files = [path.read_bytes() for path in tmp_path.iterdir() if path.is_file()]
    files += [path.read_bytes() for path in tmp_path.iterdir() if path.is_file()]
    assert [each for each in files if transport.id.encode() in each] == []


@pytest.mark.parametrize("ending", ["session", "key", "user"])
async def test_what_was_ended_does_not_come_back_with_a_restart(tmp_path: Path, ending: str) -> None:
    async with server(tmp_path) as running:
        person = await running.person()
        transport = await running.open(person)
        accounts = running.services.ports.accounts
        match ending:
            case "session":
                session = transport.headers["X-CodeSynapse-Session"]
                await accounts.revoke(person.tenant, session, subject_id=None, now_ms=running.clock())
            case "key":
                (key,) = await accounts.keys(person.tenant)
                await accounts.revoke_key(person.tenant, key.key_id, now_ms=running.clock())
            case _:
                for suspended in (True, False):
                    await accounts.suspend_user(person.subject, suspended=suspended, now_ms=running.clock())
        assert kept(running) == 0
    async with server(tmp_path) as running:
        expected = {"session": 404, "key": 401, "user": 404}[ending]
        assert await ping(running, at(running, transport)) == expected


async def test_an_event_id_of_another_session_replays_nothing_after_a_restart_either(tmp_path: Path) -> None:
    async with server(tmp_path) as running:
        gate = register_tools(running.services)
        person = await running.person()
        mine, yours = await running.open(person), await running.open(await running.person())
        async with stream(yours, call(1, "wait", text="secret")) as events:
            last = await primed(events)
            await gate.entries(1)
        assert await replayed(mine, last) == []
    async with server(tmp_path) as running:
        assert await replayed(at(running, mine), last) == []
        async with stream(at(running, yours), None, **{"Last-Event-ID": last}) as events:
            await primed(events)
            assert (await events.message())["error"]["data"]["code"] == "interrupted"
            assert await events.next() is None


async def test_with_another_secret_key_an_event_id_of_before_is_an_unknown_one(tmp_path: Path) -> None:
    async with server(tmp_path) as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, call(1, "wait")) as events:
            last = await primed(events)
            await gate.entries(1)
    (tmp_path / "secret.key").write_bytes(b"x" * 32)
    async with server(tmp_path) as running:
        assert await replayed(at(running, transport), last) == []


async def test_an_id_of_more_than_64_bytes_is_not_carried_and_its_request_is_told_without_one(tmp_path: Path) -> None:
    async with server(tmp_path) as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        ids = ["x" * 62, "x" * 63]  # With their quotes, 64 bytes and one more.
        last = []
        for number, each in enumerate(ids):
            async with stream(transport, call(each, "wait")) as events:
                last.append(await primed(events))
                await gate.entries(number + 1)
    async with server(tmp_path) as running:
        told = []
        for each in last:
            async with stream(at(running, transport), None, **{"Last-Event-ID": each}) as events:
                await primed(events)
                told.append((await events.message())["id"])
                assert await events.next() is None
        assert told == [ids[0], None]
