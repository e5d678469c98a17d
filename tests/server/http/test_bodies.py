"""Bodies on their way: bounded in all and for each principal, and nobody's room is made at another's cost."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from codesynapse.contracts.errors import BodiesFull, EventsFull, ServerFull, StoreBusy, Unavailable
from codesynapse.server.http.requests import BODY_SHARES, SMALL_BODY, Bodies
from codesynapse.server.limits import Limits
from codesynapse.server.telemetry import unanswered
from tests.integration.harness import Person, Product, product
from tests.integration.logs import logged

ANA, BEN = ("acme", "ana"), ("acme", "ben")
LARGE = 1024 * 1024


def test_a_principal_reads_no_more_than_its_share_at_once_and_another_is_let_in() -> None:
    bodies = Bodies(Limits(bodies_bytes_max=2 * BODY_SHARES * LARGE))
    with ExitStack() as reading:
        for _ in range(2):
            reading.enter_context(bodies.reading(ANA, LARGE))
        with pytest.raises(BodiesFull, match=f"Limit: {2 * LARGE}"), bodies.reading(ANA, LARGE):
            pass
        with bodies.reading(BEN, LARGE), bodies.reading(ANA, SMALL_BODY):
            pass
    for _ in range(3):
        with bodies.reading(ANA, LARGE):
            pass


def test_all_together_read_no_more_than_the_bound_and_one_alone_may_be_larger_than_its_share() -> None:
    bodies = Bodies(Limits(bodies_bytes_max=3 * LARGE))
    with bodies.reading(ANA, 2 * LARGE):
        with pytest.raises(BodiesFull, match=f"Limit: {3 * LARGE}"), bodies.reading(BEN, 2 * LARGE):
            pass
        with bodies.reading(BEN, LARGE):
            pass
    with bodies.reading(BEN, 2 * LARGE):
        pass


async def begun(running: Product, person: Person, size: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A request whose body never comes to its end."""
    host, _, port = running.base.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {size}", "Content-Type: application/json"]
    head += [f"{name}: {value}" for name, value in person.headers.items()]
    writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + b" " * 1_000)
    return reader, writer


async def test_bodies_that_never_end_are_refused_beyond_a_share_and_given_back_when_their_senders_go() -> None:
    async with product(bodies_bytes_max=2 * BODY_SHARES * LARGE) as running:
        ana, ben = await running.person(), await running.person()
        held = [await begun(running, ana, LARGE) for _ in range(2)]
        await asyncio.sleep(0.2)
        reader, writer = await begun(running, ana, LARGE)
        async with asyncio.timeout(10):
            head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 1" in head
        other = await begun(running, ben, LARGE)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await other[0].readexactly(1)
        for _, each in (*held, other, (reader, writer)):
            each.transport.abort()
        await asyncio.sleep(0.2)
        again = await begun(running, ana, LARGE)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await again[0].readexactly(1)
        again[1].transport.abort()


@pytest.mark.parametrize("error", [BodiesFull(), EventsFull(), ServerFull()])
def test_what_a_caller_fills_up_is_no_fault_in_the_log(error: Unavailable, monkeypatch: pytest.MonkeyPatch) -> None:
    with logged(monkeypatch) as text:
        unanswered("request_unanswered", error)
        unanswered("request_unanswered", StoreBusy())
    assert text.getvalue().count("request_unanswered") == 1
