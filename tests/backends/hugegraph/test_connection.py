"""The wire on real servers: who is told what, cut lines, limits, and what never loads."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from msgspec import structs

from codesynapse.backends.hugegraph import faults
from codesynapse.backends.hugegraph.address import address_of
from codesynapse.backends.hugegraph.connection import IN_FLIGHT_MAX, Connection
from codesynapse.backends.hugegraph.faults import Late, Lost, ScriptRefused
from codesynapse.contracts.errors import Invalid, StoreBusy, StoreFault, Unavailable
from codesynapse.contracts.suite.worlds import settled
from tests.servers import hugegraph, processes

Start = Callable[..., subprocess.Popen[str]]

COUNT = """
import sys
from codesynapse.backends.hugegraph import open_hugegraph
print([name for name in ("nest_asyncio", "gremlin_python.driver.client") if name in sys.modules])
"""


# Does not end when it is interrupted, so that it cannot answer before it is given up.
STUBBORN = "def until = System.currentTimeMillis() + 1500; while (System.currentTimeMillis() < until) { }; 1"


async def refusal_of(url: str) -> StoreFault:
    connection = Connection(address_of(url), deadline_s=10)
    try:
        with pytest.raises(StoreFault) as refusal:
            await connection.run("1", {})
    finally:
        await connection.close()
    return refusal.value


async def test_a_wrong_password_an_unknown_graph_and_a_closed_port_are_told_apart(url: str) -> None:
    port = urlsplit(url).port
    assert (await refusal_of(url.replace(hugegraph.PASSWORD, "wrong"))).field == faults.REFUSED
    assert (
        await refusal_of(f"hugegraph+http://admin:{hugegraph.PASSWORD}@127.0.0.1:{port}/x")
    ).field == faults.NO_GRAPH
    assert (await refusal_of(f"hugegraph+http://a:b@127.0.0.1:{processes.free_port()}")).field == faults.UNREACHABLE


async def test_what_answers_but_speaks_no_gremlin_is_told(url: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        assert (await refusal_of(f"hugegraph+http://a:b@127.0.0.1:{port}")).field == faults.NOT_GREMLIN


async def test_one_that_never_answers_is_given_up_within_the_deadline() -> None:
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        gone.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        connection = Connection(address_of(f"hugegraph+http://a:b@127.0.0.1:{port}"), deadline_s=0.2)
        with pytest.raises(Unavailable):
            await connection.run("1", {})
        await connection.close()
        await gone.wait()


async def test_many_requests_share_one_line_and_each_gets_its_own_answer(connection: Connection) -> None:
    answers = await asyncio.gather(*(connection.run("n + 1", {"n": n}) for n in range(4 * IN_FLIGHT_MAX)))
    assert answers == [[n + 1] for n in range(4 * IN_FLIGHT_MAX)]


async def test_a_long_answer_comes_whole(connection: Connection) -> None:
    assert await connection.run("(1..1000).toList()", {}) == list(range(1, 1001))


async def test_a_script_that_takes_too_long_is_given_up_and_the_line_goes_on(connection: Connection) -> None:
    with pytest.raises(Late):
        await connection.run(STUBBORN, {}, within_s=0.2)
    assert await connection.run("1", {}) == [1]


async def test_a_refused_script_says_a_status_and_nothing_of_what_was_sent(connection: Connection) -> None:
    with pytest.raises(ScriptRefused) as refusal:
        await connection.run("throw new RuntimeException(text)", {"text": "a secret"})
    assert refusal.value.details == {"status": 597}
    assert "secret" not in str(refusal.value)


async def test_whatever_waits_fails_when_the_line_is_cut_and_the_next_one_connects_anew(connection: Connection) -> None:
    await connection.run("1", {})
    line = connection._line
    assert line is not None
    waiting = [asyncio.create_task(connection.run("Thread.sleep(30000); 1", {})) for _ in range(3)]
    # Answered after the three were sent, on the same line.
    assert await connection.run("2", {}) == [2]
    await line._socket.close()
    results = await asyncio.gather(*(settled(each, Lost) for each in waiting))
    assert [type(each) for each in results] == [Lost] * 3
    assert await connection.run("1", {}) == [1]


async def test_a_log_in_that_failed_elsewhere_on_the_server_is_not_noticed(connection: Connection, url: str) -> None:
    # It then forgets the log-ins of all lines on the same thread of its network, of which there are two here.
    await connection.run("g.V().limit(1).toList()", {})
    for _ in range(8):
        assert (await refusal_of(url.replace(hugegraph.PASSWORD, "wrong"))).field == faults.REFUSED
    answers = await asyncio.gather(*(connection.run("g.V().limit(1).count().next(); n", {"n": n}) for n in range(64)))
    assert answers == [[n] for n in range(64)]
    await asyncio.gather(*connection._left)


async def test_the_longest_request_is_found_and_a_longer_one_is_refused_unsent(connection: Connection) -> None:
    await connection.run("1", {})
    assert connection.request_max == 1_048_576
    assert await connection.run("text.length()", {"text": "x" * 900_000}) == [900_000]
    line = connection._line
    with pytest.raises(Invalid) as refusal:
        await connection.run("text.length()", {"text": "x" * 1_048_576})
    assert refusal.value.limit == 1_048_576
    assert connection._line is line
    assert line is not None
    assert line.alive


async def test_a_configured_length_is_taken_as_it_is(url: str) -> None:
    connection = Connection(structs.replace(address_of(url), request_max=5_000), deadline_s=10)
    with pytest.raises(Invalid):
        await connection.run("text", {"text": "x" * 5_000})
    await connection.close()


async def test_more_than_may_wait_are_refused_at_once(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codesynapse.backends.hugegraph.connection.WAITING_MAX", 2)
    results = await asyncio.gather(*(settled(connection.run("1", {}), StoreBusy) for _ in range(3)))
    assert sorted(isinstance(each, StoreBusy) for each in results) == [False, False, True]


@pytest.mark.parametrize(
    "text",
    ["it's", 'a "b"', "`c`", "${1 + 1}", "$x", "'); g.V().drop(); //", "\\u0027", "\x00", "\U0001f9e0", "\u2028"],
)
async def test_no_value_becomes_code(connection: Connection, text: str) -> None:
    assert await connection.run("text", {"text": text}) == [text]


async def test_a_lone_surrogate_is_refused(connection: Connection) -> None:
    with pytest.raises(Invalid):
        await connection.run("text", {"text": "\ud800"})


async def test_the_packages_own_driver_and_its_patches_of_asyncio_never_load(start_python: Start) -> None:
    output, errors = await asyncio.to_thread(start_python(COUNT).communicate)
    assert output.strip() == "[]", errors
