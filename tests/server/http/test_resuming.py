"""What is told of requests whose responses are gone: each missing one once, by its id, and nothing untrue."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codesynapse.contracts.accounts import Authority, Caller
from codesynapse.contracts.errors import TransportUnknown
from codesynapse.server.clock import ManualClock
from codesynapse.server.features.reading_back import ReadBack
from codesynapse.server.http.live import Live, Lives
from codesynapse.server.http.resuming import standing_in
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.catalog import Catalog
from codesynapse.server.mcp.connection import Connection, ServerInfo
from codesynapse.server.mcp.messages import RequestId
from codesynapse.server.mcp.naming import NOWHERE, UNKNOWN, Asked
from codesynapse.server.mcp.stream import Lost

ANA = Caller(tenant_id="acme", subject_id="ana", key_id="k1")
CLOCK = ManualClock(0)
ONE, TWO, THREE = (RequestId(each) for each in (b"1", b'"2"', b"3"))
ASKED = (Asked(ONE, NOWHERE), Asked(TWO, UNKNOWN), Asked(THREE, NOWHERE))


def session() -> Live:
    """One that is not bound: nothing is read back for it."""
    connection = Connection(Catalog(), ServerInfo(name="n", title="t", version="1", instructions="i"))
    return Lives(Limits(), CLOCK).open(ANA, connection)


def lost(*missing: int, here: bool = False) -> Lost:
    return Lost("name", b"n" * 10, 4, ASKED, missing, here)


async def told(live: Live, about: Lost) -> list[dict[str, Any]]:
    nothing: Any = None
    read_back: ReadBack = nothing
    stream = await standing_in(read_back, live, Authority(caller=ANA), about, CLOCK)
    assert stream.finished
    return [json.loads(event.payload) for event in stream.after(about.sequence)]


async def test_each_missing_request_gets_one_error_by_its_id_and_the_others_none() -> None:
    answers = await told(session(), lost(0, 1))
    assert [each["id"] for each in answers] == [1, "2"]
    assert {each["error"]["data"]["code"] for each in answers} == {"interrupted"}


async def test_what_only_read_may_be_repeated_and_what_may_have_written_must_be_looked_up() -> None:
    reading, writing = await told(session(), lost(0, 1))
    assert "repeat it" in reading["error"]["message"]
    assert "must be looked up" in writing["error"]["message"]
    assert "repeat" not in writing["error"]["message"]


async def test_what_this_very_server_let_go_is_told_as_gone() -> None:
    answers = await told(session(), lost(2, here=True))
    assert [(each["id"], each["error"]["data"]["code"]) for each in answers] == [(3, "response_gone")]


async def test_a_session_that_ended_meanwhile_is_told_nothing() -> None:
    live = session()
    live.close()
    with pytest.raises(TransportUnknown):
        await told(live, lost(0))
