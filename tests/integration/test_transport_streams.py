"""Streams: priming, resuming from any point, take-over, what is gone, what is foreign, and who does not read."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import closing, suppress

import pytest

from tests.integration.harness import LATEST, Product, Transport, product
from tests.integration.tools import (
    HANG_S,
    Gate,
    asking,
    call,
    live_of,
    primed,
    register_tools,
    status_of,
    stream,
    until,
)

OLDER = ("2025-06-18", "2025-03-26")


async def test_at_the_newest_revision_a_stream_begins_with_an_id_and_a_retry():
    async with product(sse_retry_ms=1_234) as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        async with transport.post(call(1, "say", text="x")) as answer:
            assert answer.headers["Cache-Control"] == "no-cache, no-transform"
            raw = (await answer.read()).decode()
        priming, response, end = raw.split("\n\n")
        assert [line.partition(":")[0] for line in priming.split("\n")] == ["id", "retry", "data"]
        assert "retry: 1234" in priming
        assert priming.endswith("data: ")
        assert json.loads(response.partition("data: ")[2])["id"] == 1
        assert end == ""


@pytest.mark.parametrize("version", OLDER)
async def test_at_older_revisions_no_data_is_empty_and_ids_ride_on_messages(version: str):
    async with product() as running:
        register_tools(running.services).opened.set()
        transport = await running.open(await running.person(), version=version)
        async with stream(transport, asking(1, "steps", "t", count=2)) as events:
            heard = await events.rest()
        assert len(heard) > 3
        assert all(event_id is not None and json.loads(data) for event_id, data in heard)
        async with stream(transport, None) as events:
            await status_of(running, "DELETE", transport.all_headers())
            assert await events.rest() == []


async def test_ids_are_ascii_and_differ_over_all_streams_of_a_session():
    async with product() as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        seen = set()
        for number in range(5):
            async with stream(transport, call(1, "say", text=str(number))) as events:
                ids = [event_id for event_id, _ in await events.rest()]
                assert not seen & set(ids)
                seen |= set(ids)
        assert all(event_id is not None and event_id.isascii() for event_id in seen)


async def test_a_stream_cut_before_its_answer_is_resumed_and_gets_it():
    async with product() as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, call(1, "wait", text="x")) as events:
            last = await primed(events)
            await gate.entries(1)
        async with stream(transport, None, **{"Last-Event-ID": last}) as events:
            assert await primed(events) == last
            gate.opened.set()
            message = await events.message()
            assert (message["id"], message["result"]["structuredContent"]["text"]) == (1, "x")
            assert await events.rest() == []
        assert gate.entered == 1


async def test_a_stream_cut_before_its_answer_is_resumed_after_it_as_well():
    async with product() as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, call(1, "wait")) as events:
            last = await primed(events)
        await gate.entries(1)
        gate.opened.set()
        await asyncio.gather(*running.server.lives.tasks)
        for _ in range(2):
            async with stream(transport, None, **{"Last-Event-ID": last}) as events:
                heard = await events.rest()
            assert [json.loads(data)["id"] for _, data in heard if data] == [1]


async def test_every_event_comes_exactly_once_whatever_the_place_of_the_cut():
    async with product() as running:
        gate = register_tools(running.services)
        gate.opened.set()
        transport = await running.open(await running.person())
        async with stream(transport, asking(1, "steps", "t", count=5)) as events:
            whole = await events.rest()
        for place, (event_id, _) in enumerate(whole):
            async with stream(transport, None, **{"Last-Event-ID": str(event_id)}) as events:
                assert (await events.rest())[1:] == whole[place + 1 :]


async def test_a_resume_takes_over_from_a_reader_that_is_still_attached():
    async with product() as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, call(1, "wait")) as first:
            last = await primed(first)
            async with stream(transport, None, **{"Last-Event-ID": last}) as second:
                assert await primed(second) == last
                assert await first.rest() == []
                gate.opened.set()
                assert (await second.message())["id"] == 1


async def test_a_second_get_closes_the_first_and_is_itself_alive():
    async with product() as running:
        transport = await running.open(await running.person())
        async with stream(transport, None) as first:
            old = await primed(first)
            async with stream(transport, None) as second:
                new = await primed(second)
                assert await first.rest() == []
                assert new.rpartition(".")[0] != old.rpartition(".")[0]
                assert len(live_of(running, transport).followers) == 1


async def test_the_event_id_of_another_session_leads_to_a_fresh_stream_with_nothing_of_it():
    async with product() as running:
        gate = register_tools(running.services)
        ana, ben = await running.open(await running.person()), await running.open(await running.person())
        async with stream(ana, call(7, "wait", text="secret")) as events:
            foreign = await primed(events)
            async with stream(ben, None, **{"Last-Event-ID": foreign}) as others:
                assert (await primed(others)).rpartition(".")[0] != foreign.rpartition(".")[0]
                gate.opened.set()
                assert (await events.message())["id"] == 7
                await status_of(running, "DELETE", ben.all_headers())
                assert await others.rest() == []


@pytest.mark.parametrize("invented", ["x", "x.1", ".", "1.1.1", "-1", "a" * 256])
async def test_an_invented_event_id_leads_to_a_fresh_stream(invented: str):
    async with product() as running:
        transport = await running.open(await running.person())
        async with stream(transport, None, **{"Last-Event-ID": invented}) as events:
            assert (await primed(events)).endswith(".0")


@pytest.mark.parametrize("malformed", ["a" * 257, "é"])
async def test_a_malformed_event_id_is_400_and_names_the_header(malformed: str):
    async with product() as running:
        transport = await running.open(await running.person())
        headers = {**transport.all_headers(), "Last-Event-ID": malformed}
        status, body = await status_of(running, "GET", headers)
        assert (status, body["error"]["data"]["field"]) == (400, "Last-Event-ID")


async def test_an_evicted_response_is_a_named_error_for_its_request():
    async with product(session_bytes_max=8_192) as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, call("first", "say")) as events:
            last = await primed(events)
            await events.rest()
        for number in range(10):
            await transport.call("say", {"text": "x" * 2_000, "count": number})
        async with stream(transport, None, **{"Last-Event-ID": last}) as events:
            await primed(events)
            message = await events.message()
            assert (message["id"], message["error"]["data"]["code"]) == ("first", "response_gone")
            assert await events.rest() == []


async def test_a_response_that_went_so_long_ago_that_its_long_request_id_is_forgotten_is_an_error_without_id(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("codesynapse.server.mcp.stream.GONE_MAX", 0)
    async with product() as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, call("x" * 80, "say")) as events:
            last = await primed(events)
            await events.rest()
        running.clock.advance(seconds=600)  # type: ignore[attr-defined]
        await running.server._sweep()
        async with stream(transport, None, **{"Last-Event-ID": last}) as events:
            await primed(events)
            message = await events.message()
            assert (message["id"], message["error"]["data"]["code"]) == (None, "response_gone")
            assert await events.rest() == []


async def test_a_response_is_gone_after_ten_minutes():
    async with product() as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, call(1, "say")) as events:
            last = await primed(events)
            await events.rest()
        running.clock.advance(seconds=600)  # type: ignore[attr-defined]
        await running.server._sweep()
        async with stream(transport, None, **{"Last-Event-ID": last}) as events:
            await primed(events)
            assert (await events.message())["error"]["data"]["code"] == "response_gone"


async def test_resuming_is_checked_as_a_call_is():
    async with product() as running:
        gate = register_tools(running.services)
        person = await running.person()
        transport = await running.open(person)
        async with stream(transport, call(1, "wait")) as events:
            last = await primed(events)
        for session_id, code in (
            (await running.register(person), "rebind_refused"),
            ("other", "session_not_registered"),
        ):
            headers = {**transport.all_headers(), **person.bound(session_id), "Last-Event-ID": last}
            status, body = await status_of(running, "GET", headers)
            assert (status, body["error"]["data"]["code"]) == (403, code)
        gate.opened.set()


async def test_a_client_that_waited_for_json_and_went_away_leaves_its_session_idle():
    async with product() as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        transport.accept = "application/json"
        waiting = asyncio.create_task(transport.request("tools/call", {"name": "wait"}))
        await gate.entries(1)
        live = live_of(running, transport)
        assert len(live.followers) == 1
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        gate.opened.set()
        await until(running, lambda: live.idle)


async def unread(running: Product, transport: Transport, body: object) -> socket.socket:
    """A connection that sent a POST and never reads."""
    port = int(running.base.rpartition(":")[2])
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, ("127.0.0.1", port))
    raw = json.dumps(body).encode()
    headers = {**transport.all_headers(), "Host": "127.0.0.1", "Content-Length": str(len(raw))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    await loop.sock_sendall(connection, f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + raw)
    return connection


async def test_a_client_that_never_reads_delays_nobody_and_is_cut_and_its_answer_kept():
    async with product() as running:
        gate = register_tools(running.services)
        transport, other = await running.open(await running.person()), await running.open(await running.person())
        connection = await unread(running, transport, asking(1, "flood", "t", count=400))
        with closing(connection):
            await reads_nothing(running, transport, other, gate)


async def reads_nothing(running: Product, transport: Transport, other: Transport, gate: Gate) -> None:
    await gate.entries(1)
    (reader,) = live_of(running, transport).followers.values()
    assert reader._sending_since is not None, "it is not stuck: the buffers took all"
    assert (await other.request("ping"))["result"] == {}
    assert running.server.lives.budget.used < 3 * 1024 * 1024
    # The moment of the next look, when the time for one write is over.
    reader.cut_if_stuck(reader._sending_since + running.services.limits.send_timeout_ms / 1000)
    await until(running, lambda: not live_of(running, transport).followers)
    gate.opened.set()
    await asyncio.gather(*running.server.lives.tasks)
    (kept,) = live_of(running, transport).log._streams.values()
    async with stream(transport, None, **{"Last-Event-ID": kept.event_id(0)}) as events:
        heard = await events.rest()
    assert json.loads(heard[-1][1])["id"] == 1
    assert len(heard) <= 257


async def test_a_silent_stream_carries_comments_that_are_no_events():
    async with product(heartbeat_ms=1) as running:
        transport = await running.open(await running.person(), version=OLDER[0])
        async with (
            asyncio.timeout(HANG_S),
            transport.http.get(transport.url, headers=transport.all_headers()) as answer,
        ):
            assert (await answer.content.readline()).startswith(b":")
        assert transport.version != LATEST
