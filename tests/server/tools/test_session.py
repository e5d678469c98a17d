"""The session tools: what the pause trio answers, and whom the findings tell apart."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec import Raw, structs

from codesynapse.contracts.errors import StoreBusy
from codesynapse.contracts.identity import Execution
from codesynapse.server.clock import ManualClock, rfc3339
from codesynapse.server.hints.findings import Finding
from codesynapse.server.hints.health import Cause
from codesynapse.server.hints.pauses import PAUSES_PER_PRINCIPAL_MAX
from codesynapse.server.hints.state import Hints
from codesynapse.server.telemetry import Metrics
from codesynapse.server.tools.dispatch import Dispatcher
from codesynapse.server.tools.operating import ContextFile
from codesynapse.server.tools.registry import SILENT, Toolbox, ToolContext, listed
from codesynapse.server.tools.session import SessionTools, register_session_tools
from tests.server.world import World, world

STDIO = structs.replace(SILENT, shared=False)


class CountingClock(ManualClock):
    """Counts how often it was read."""

    readings = 0

    def __call__(self) -> Any:
        self.readings += 1
        return super().__call__()


class Place:
    def __init__(self, here: World, execution: Execution) -> None:
        self.clock = CountingClock(here.clock.now_ms)
        self.hints = Hints(embedder=True)
        self.tools = SessionTools(self.hints, self.clock, ContextFile(""), "1.2.3")
        self.toolbox = Toolbox()
        register_session_tools(self.toolbox, self.tools)
        self.dispatcher = Dispatcher(self.toolbox, here.clock, Metrics())
        self.execution = execution

    async def call(self, name: str, context: ToolContext = SILENT, **arguments: Any) -> dict[str, Any]:
        answer = await self.dispatcher.call(self.execution, name, Raw(json.dumps(arguments).encode()), context)
        assert answer.structured is not None
        found: dict[str, Any] = json.loads(answer.structured)
        if not answer.is_error:
            Draft202012Validator(listed(self.toolbox.tool(name))["outputSchema"]).validate(found)
        return found


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    async with world() as here:
        yield Place(here, await here.execution(await here.user("ana"), "s"))


@pytest.mark.parametrize("context", [SILENT, STDIO], ids=["http", "stdio"])
@pytest.mark.parametrize(("key", "scope"), [("A", "session"), (None, "process"), (" ", "process")])
async def test_all_three_answer_in_their_shapes_with_the_scope_of_the_caller(
    place: Place, context: ToolContext, key: str | None, scope: str
):
    async def call(name: str, **more: Any) -> dict[str, Any]:
        return await place.call(name, context, session_key=key, **more)

    end = rfc3339(place.clock.now_ms + 60_000)
    free = {"paused": False, "expires_at": None, "ttl_remaining_seconds": None, "scope": scope}
    assert await call("persistence_status") == free
    assert await call("pause_persistence", ttl_seconds=60) == {
        "paused": True,
        "expires_at": end,
        "ttl_seconds": 60,
        "scope": scope,
    }
    place.clock.advance(seconds=20)
    assert await call("persistence_status") == {
        "paused": True,
        "expires_at": end,
        "ttl_remaining_seconds": 40,
        "scope": scope,
    }
    assert await call("resume_persistence") == {"paused": False, "was_active": True, "scope": scope}
    assert await call("resume_persistence") == {"paused": False, "was_active": False, "scope": scope}
    assert await call("persistence_status") == free


async def test_without_a_ttl_a_pause_lasts_half_an_hour(place: Place):
    assert (await place.call("pause_persistence"))["ttl_seconds"] == 1_800


@pytest.mark.parametrize("value", [True, False, 0, -1, 86_401, 1.0, 1e300, "60", None, [], 10**30], ids=repr)
async def test_a_ttl_that_is_no_integer_in_bounds_is_refused_by_name_and_bounds(place: Place, value: object):
    said = await place.call("pause_persistence", ttl_seconds=value)
    assert (said["ok"], said["code"], said["field"]) == (False, "invalid", "ttl_seconds")
    assert "1 to 86400" in said["limit"]
    assert not (await place.call("persistence_status"))["paused"]


async def test_the_schema_of_a_ttl_says_its_bounds_and_default(place: Place):
    ttl = listed(place.toolbox.tool("pause_persistence"))["inputSchema"]["properties"]["ttl_seconds"]
    assert {name: ttl[name] for name in ("type", "minimum", "maximum", "default")} == {
        "type": "integer",
        "minimum": 1,
        "maximum": 86_400,
        "default": 1_800,
    }


@pytest.mark.parametrize("name", ["pause_persistence", "resume_persistence", "persistence_status"])
async def test_a_call_reads_the_clock_once(place: Place, name: str):
    await place.call("pause_persistence")
    place.clock.readings = 0
    await place.call(name)
    assert place.clock.readings == 1


async def test_at_the_edge_of_a_pause_its_status_is_one_or_the_other(place: Place):
    await place.call("pause_persistence", ttl_seconds=1)
    place.clock.now_ms += 999
    said = await place.call("persistence_status")
    assert (said["paused"], said["ttl_remaining_seconds"]) == (True, 1)
    place.clock.now_ms += 1
    said = await place.call("persistence_status")
    assert (said["paused"], said["ttl_remaining_seconds"]) == (False, None)


async def test_the_pause_that_evicted_another_says_so_and_no_other_does(place: Place):
    for number in range(PAUSES_PER_PRINCIPAL_MAX):
        assert "evicted_nearest" not in await place.call("pause_persistence", session_key=f"k{number}")
    assert (await place.call("pause_persistence", session_key="one more"))["evicted_nearest"] is True
    assert not (await place.call("persistence_status", session_key="k0"))["paused"]


async def test_a_key_that_is_too_long_is_a_clear_error(place: Place):
    for name in ("pause_persistence", "resume_persistence", "persistence_status", "get_session_findings"):
        said = await place.call(name, session_key=" " * 257)
        assert (said["code"], said["field"], said["limit"]) == ("invalid", "session_key", "<= 256 characters")


async def test_no_answer_says_who_owns_a_pause(place: Place):
    said = [
        await place.call(name, session_key=key)
        for name in ("pause_persistence", "persistence_status", "resume_persistence")
        for key in ("A", None)
    ]
    assert not [each for each in said if {"pause_owner_known", "paused_by_self"} & each.keys()]


def test_the_descriptions_say_that_a_pause_concerns_ones_own_key():
    toolbox = Toolbox()
    register_session_tools(toolbox, SessionTools(Hints(), ManualClock(0), ContextFile(""), "1"))
    for name in ("pause_persistence", "resume_persistence", "persistence_status"):
        assert "your own session_key" in toolbox.tool(name).description


async def test_the_findings_own_up_to_a_shared_identity_over_http_and_never_over_stdio(place: Place):
    for key in (None, "", "  ", "transport"):
        assert (await place.call("get_session_findings", session_key=key))["identity_shared"] is True
        assert "identity_shared" not in await place.call("get_session_findings", STDIO, session_key=key)
    assert "identity_shared" not in await place.call("get_session_findings", session_key="A")


async def test_a_degraded_embedder_is_a_finding(place: Place):
    assert (await place.call("get_session_findings"))["total"] == 0
    for _ in range(2):
        place.hints.embedding_failed(Cause.ENDPOINT)
    said = await place.call("get_session_findings")
    assert (said["counts_by_kind"], said["counts_by_severity"]) == ({"embedder": 1}, {"critical": 1})


async def test_a_probe_is_asked_for_one_more_than_is_shown_and_one_that_breaks_stops_no_other(place: Place):
    async def many(_: Execution, limit: int) -> Sequence[Finding]:
        return [Finding(kind="many", check="many", severity="info", text="x")] * limit

    async def broken(_: Execution, __: int) -> Sequence[Finding]:
        raise StoreBusy

    place.tools.probes |= {"broken": broken, "many": many}
    said = await place.call("get_session_findings", per_kind_limit=3)
    assert said["counts_by_kind"] == {"check_crashed": 1, "many": 3}
    assert said["capped_kinds"] == ["many"]
    refused = await place.call("get_session_findings", per_kind_limit=0)
    assert (refused["field"], refused["limit"]) == ("per_kind_limit", ">= 1")


async def test_without_a_file_the_operating_context_is_dormant(place: Place):
    said = await place.call("get_operating_context")
    assert (said["ok"], said["enabled"]) == (False, False)
    assert "CODESYNAPSE_OPERATING_CONTEXT" in said["error"]
