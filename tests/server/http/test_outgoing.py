"""Where a call's messages go: onto its stream, whose reader may be let go where it knows how to come back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codesynapse.contracts.accounts import Caller
from codesynapse.server.clock import ManualClock
from codesynapse.server.features.calls import Calls
from codesynapse.server.features.operations import Operations
from codesynapse.server.features.registry import Features
from codesynapse.server.http.live import Live
from codesynapse.server.http.outgoing import Outgoing, Waiting
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.catalog import Catalog
from codesynapse.server.mcp.connection import Connection, ServerInfo
from codesynapse.server.mcp.messages import RequestId
from codesynapse.server.mcp.stream import Budget, EventLog
from codesynapse.server.telemetry import Metrics
from codesynapse.server.tools.dispatch import Dispatcher
from codesynapse.server.tools.registry import Toolbox

ID = RequestId(b"1")


class Reader:
    """Somebody at a stream; counts how often it was let go."""

    stops = 0

    def stop(self) -> None:
        self.stops += 1

    def cut_if_stuck(self, _: float) -> None: ...


def session(version: str = "2025-11-25", *, asks: bool = True) -> tuple[Live, Outgoing, Any]:
    clock = ManualClock(0)
    connection = Connection(Catalog(), ServerInfo(name="n", title="t", version="1", instructions="i"))
    connection.version = version
    caller = Caller(tenant_id="t", subject_id="u", key_id="k")
    live = Live("id", caller, connection, EventLog(Limits(), Budget(9_999)), clock)
    toolbox = Toolbox()
    calls = Calls(Operations(Features(toolbox), Dispatcher(toolbox, clock, Metrics()), clock, Limits()), Limits())
    stream = live.log.open((ID,))
    return live, Outgoing(live, stream, clock, asks, calls), stream


def test_a_notification_stays_on_the_stream_and_the_answer_ends_it():
    _, out, stream = session()
    out.notify(b"{}")
    assert not stream.finished
    out.answer(ID, b"[]")
    assert stream.finished
    assert [(event.payload, event.response) for event in stream.after(0)] == [("{}", False), ("[]", True)]


def test_a_cancelled_call_ends_its_stream_without_a_word():
    _, out, stream = session()
    out.silence(ID)
    assert stream.finished
    assert not list(stream.after(0))


@pytest.mark.parametrize(
    ("version", "asks", "stops"), [("2025-11-25", True, 1), ("2025-06-18", True, 0), ("2025-11-25", False, 0)]
)
def test_only_a_reader_that_can_come_back_is_let_go(version: str, asks: bool, stops: int):
    live, out, stream = session(version, asks=asks)
    reader = Reader()
    live.follow(stream, reader)
    out.close_stream()
    assert (reader.stops, stream.finished) == (stops, False)


def test_the_subscriptions_are_the_sessions_and_end_with_it():
    live, out, _ = session()
    assert live.subscriptions is None
    assert out.subscriptions is out.subscriptions is live.subscriptions


async def test_who_waits_for_json_waits_until_it_is_told_to_stop():
    waiting = Waiting()
    waiting.cut_if_stuck(9.0)
    assert not waiting.over.is_set()
    waiting.stop()
    await asyncio.wait_for(waiting.over.wait(), 60)
