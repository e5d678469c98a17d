"""Streams that cross, grow, stall or cannot be read."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing

from tests.integration.cutting import FULL
from tests.integration.harness import Product, Transport, messages_of, product
from tests.integration.raw import connected_unread
from tests.integration.stateless import stateless
from tests.integration.tools import call, live_of, primed, register_tools, stream, until

CALLS = 10_000 if FULL else 1_200
ANSWER_BYTES = 1_000
"""Less than an answer of a call and its stream are counted with."""
TOLD = 5_000 if FULL else 1_000
TEXT = "a\u2028b\u2029c\u0085d"


async def test_replay_does_not_cross_sessions_that_use_the_same_request_ids():
    async with product() as running:
        gate = register_tools(running.services)
        ana, ben = await running.open(await running.person()), await running.open(await running.person())
        async with stream(ana, call(7, "wait", text="of Ana")) as hers:
            last_of_ana = await primed(hers)
        async with stream(ben, call(7, "wait", text="of Ben")) as his:
            last_of_ben = await primed(his)
        gate.opened.set()
        for who, last, text in ((ana, last_of_ana, "of Ana"), (ben, last_of_ben, "of Ben")):
            async with stream(who, **{"Last-Event-ID": last}) as events:
                await primed(events)
                (answer,) = [json.loads(data) for _, data in await events.rest()]
            assert (answer["id"], answer["result"]["structuredContent"]["text"]) == (7, text)


async def test_a_session_of_very_many_calls_keeps_no_more_than_its_ring_and_an_old_id_is_not_404():
    async with product() as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        async with stream(transport, call(0, "say", text="first")) as events:
            old = await primed(events)
            await events.rest()
        kept = []
        for batch in range(0, CALLS, 50):
            await asyncio.gather(*(said(transport, batch + number) for number in range(50)))
            kept.append(len(live_of(running, transport).log._streams))
        assert max(kept) <= running.services.limits.session_bytes_max // ANSWER_BYTES < CALLS
        assert running.server.lives.budget.used <= running.services.limits.session_bytes_max
        async with stream(transport, **{"Last-Event-ID": old}) as events:
            await primed(events)  # It is told of on a stream, and the session lives.
        assert (await transport.request("ping"))["result"] == {}


async def said(transport: Transport, number: int) -> None:
    """One call, answered whole."""
    async with transport.post(call(number + 1, "say", text="x")) as answer:
        (message,) = [each for each in await messages_of(answer) if "result" in each]
        assert message["id"] == number + 1


async def test_a_get_stream_that_nobody_reads_does_not_hold_up_a_ping():
    async with product() as running:
        running.services.toolbox.catalog.changing.add("tools")
        transport = await running.open(await running.person())
        with closing(await connected_unread(running, transport.all_headers())):
            await until(running, lambda: bool(live_of(running, transport).followers))
            for _ in range(TOLD):
                running.services.toolbox.changed("tools")
            assert (await transport.request("ping"))["result"] == {}
            assert running.server.lives.budget.used <= running.services.limits.session_bytes_max


async def test_ten_large_answers_at_once_all_arrive():
    async with product() as running:
        register_tools(running.services)
        transport = await running.open(await running.person())
        large = "x" * 200_000

        async def ask(number: int) -> str:
            async with transport.post(call(number, "say", text=large)) as answer:
                (message,) = [each for each in await messages_of(answer) if "result" in each]
                return str(message["result"]["structuredContent"]["text"])

        assert await asyncio.gather(*(ask(number) for number in range(10))) == [large] * 10


async def test_separators_of_unicode_do_not_cut_a_stateless_answer():
    async with product() as running:
        register_tools(running.services)
        peer = await stateless(running)
        message = peer.message("tools/call", {"name": "say", "arguments": {"text": TEXT}})
        async with peer.post(message) as answer:
            raw = await answer.read()
        assert raw.isascii()
        assert json.loads(raw)["result"]["structuredContent"]["text"] == TEXT


async def test_each_event_comes_whole_in_one_chunk():
    async with product() as running:
        gate = register_tools(running.services)
        transport = await running.open(await running.person())
        gate.opened.set()
        async with transport.post(call(1, "say", text="x")) as answer:
            async for part, whole in answer.content.iter_chunks():
                assert not whole or part.endswith(b"\n\n") or part == b""


async def opened_and_left(running: Product, transport: Transport) -> None:
    """A GET whose client vanishes without a word."""
    with closing(await connected_unread(running, transport.all_headers())):
        await until(running, lambda: bool(live_of(running, transport).followers))
        async with stream(transport) as events:
            await primed(events)
            assert len(live_of(running, transport).followers) == 1


async def test_after_a_half_dead_get_the_next_one_is_served():
    async with product() as running:
        transport = await running.open(await running.person())
        await opened_and_left(running, transport)
        async with stream(transport) as events:
            await primed(events)


async def test_a_subscription_gets_its_last_word_from_a_server_that_stops_at_once():
    async with product() as running:
        peer = await stateless(running)
        async with peer.stream("subscriptions/listen", {"notifications": {}}) as events:
            await events.message()
            await running.server._stop(running.server.application)
            assert "result" in await events.message()
            assert await events.next() is None
