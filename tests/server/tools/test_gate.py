"""The gate: a paused write answers as skipped, an invalid one with its error, and every write stands behind it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator
from msgspec import UNSET, Raw, Struct, UnsetType, structs

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.identity import Execution
from codesynapse.server.hints.gated import EXEMPT, FINDINGS_TOOL, GATED, KEYED, OWN_TOOLSETS, RECALL_TOOLS
from codesynapse.server.hints.pauses import Pauses
from codesynapse.server.hints.session_key import bucket_of
from codesynapse.server.hints.texts import FINDINGS, FULL, SHORT
from codesynapse.server.telemetry import Metrics
from codesynapse.server.tools.dispatch import Dispatcher
from codesynapse.server.tools.gate import Gate
from codesynapse.server.tools.graph import GraphTools, register_graph_tools
from codesynapse.server.tools.registry import SILENT, Hold, Tool, Toolbox, listed
from tests.documents import listed_tools
from tests.server.tools.test_graph import CALLS
from tests.server.world import World, world

PLUS = ["persisted", "dry_run", "reason"]


class Arguments(Struct, forbid_unknown_fields=True, kw_only=True):
    text: str = ""
    fix: bool = False
    dry_run: bool = False
    session_key: str | None = None


class Said(Struct, kw_only=True):
    ok: bool = True
    result: Literal["stored", "skipped"] = "stored"
    id: int | Literal["no-persist"] = 7
    fixed: bool = False
    dry_run: bool = False
    repairs_skipped: bool | UnsetType = UNSET
    repairs_skip_reason: str | UnsetType = UNSET


class Place:
    """A dispatcher over tools of these names, which write down the arguments that they ran with."""

    def __init__(self, here: World, *names: str) -> None:
        self.here = here
        self.pauses = Pauses()
        self.toolbox = Toolbox()
        self.ran: list[Arguments] = []
        self.dispatcher = Dispatcher(self.toolbox, here.clock, Metrics(), Gate(self.pauses))
        for name in names:
            self.toolbox.register(self.tool(name))

    def tool(self, name: str) -> Tool:
        async def work(_: Execution, arguments: Arguments, __: Any) -> Said:
            self.ran.append(arguments)
            return Said(fixed=arguments.fix, dry_run=arguments.dry_run)

        async def check(_: Execution, arguments: Arguments) -> None:
            if arguments.text == "wrong":
                raise ValueError

        return Tool(
            name=name,
            title=name,
            description="For tests.",
            toolset="memory",
            arguments=Arguments,
            answer=Said,
            handler=work,
            read_only=False,
            hold=Hold(check=check),
        )

    def pause(self, execution: Execution, key: str | None) -> None:
        self.pauses.pause(bucket_of(execution.identity, key), 1_800, self.here.clock())

    async def call(self, execution: Execution, name: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.dispatcher.call(execution, name, Raw(json.dumps(arguments).encode()), SILENT)
        assert answer.structured is not None
        found: dict[str, Any] = json.loads(answer.structured)
        return found


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with world() as made:
        yield made


@pytest.fixture
async def ana(here: World) -> Execution:
    return await here.execution(await here.user("ana"), "s")


@pytest.mark.parametrize("name", GATED)
async def test_no_tool_of_the_table_writes_under_its_own_pause(here: World, ana: Execution, name: str):
    place = Place(here, name)
    place.pause(ana, "A")
    said = await place.call(ana, name, text="x", fix=True, session_key=" A ")
    if GATED[name].forced:
        assert said["repairs_skipped"] is True
        assert [(each.fix, each.dry_run) for each in place.ran] in ([(False, False)], [(True, True)])
    else:
        assert (place.ran, said["persisted"], said["id"]) == ([], False, "no-persist")


@pytest.mark.parametrize("name", GATED)
async def test_every_tool_of_the_table_writes_under_another_key_and_under_none(here: World, ana: Execution, name: str):
    place = Place(here, name)
    place.pause(ana, "A")
    for key in ("B", None, "a"):
        said = await place.call(ana, name, fix=True, session_key=key)
        assert "persisted" not in said
        assert "repairs_skipped" not in said
    assert len(place.ran) == 3


async def test_a_keyless_pause_skips_keyless_writes_and_no_declared_ones(here: World, ana: Execution):
    place = Place(here, "store")
    place.pause(ana, None)
    for key in (None, "", "  ", "transport"):
        assert (await place.call(ana, "store", session_key=key))["persisted"] is False
    assert "persisted" not in await place.call(ana, "store", session_key="A")
    assert len(place.ran) == 1


async def test_a_skipped_answer_has_the_keys_of_the_success_and_says_what_is_left_of_the_pause(
    here: World, ana: Execution
):
    place = Place(here, "store")
    success = await place.call(ana, "store")
    place.pause(ana, None)
    here.clock.advance(seconds=30)
    said = await place.call(ana, "store")
    assert [name for name in said if name not in ("persisted", "reason")] == list(success)
    assert "(29m left)" in said["reason"]
    assert (said["result"], said["dry_run"]) == ("skipped", True)
    here.clock.advance(seconds=1_740)
    assert "(30s left)" in (await place.call(ana, "store"))["reason"]


async def test_the_pause_ends_on_the_injected_clock(here: World, ana: Execution):
    place = Place(here, "store")
    place.pause(ana, "A")
    here.clock.advance(seconds=1_799)
    assert (await place.call(ana, "store", session_key="A"))["persisted"] is False
    here.clock.advance(seconds=1)
    assert "persisted" not in await place.call(ana, "store", session_key="A")


async def test_the_same_key_of_another_principal_is_not_paused(here: World, ana: Execution):
    ben = await here.execution(await here.user("ben"), "t")
    place = Place(here, "store")
    place.pause(ana, "main")
    assert "persisted" not in await place.call(ben, "store", session_key="main")
    assert (await place.call(ana, "store", session_key="main"))["persisted"] is False


@pytest.mark.parametrize("wrong", [{"text": 5}, {"nothing": 1}, {"session_key": "k" * 257}])
async def test_wrong_arguments_are_refused_with_their_error_even_while_paused(
    here: World, ana: Execution, wrong: dict[str, Any]
):
    place = Place(here, "store")
    free = await place.call(ana, "store", **wrong)
    place.pause(ana, None)
    assert await place.call(ana, "store", **wrong) == free
    assert free["code"] == "invalid"


@pytest.mark.parametrize("name", [name for name, row in GATED.items() if not row.forced])
async def test_what_the_tool_would_refuse_is_refused_even_while_paused(here: World, ana: Execution, name: str):
    place = Place(here, name)
    place.pause(ana, None)
    assert (await place.call(ana, name, text="wrong"))["code"] == "internal"
    assert (await place.call(ana, name, text="right"))["persisted"] is False


@pytest.mark.parametrize("name", ["import_memories", "merge_memories", "migrate_channel_axis"])
async def test_a_preview_runs_as_ever_while_paused(here: World, ana: Execution, name: str):
    place = Place(here, name)
    place.pause(ana, None)
    said = await place.call(ana, name, dry_run=True)
    assert (said["dry_run"], "persisted" in said, "repairs_skipped" in said, len(place.ran)) == (True, False, False, 1)


@pytest.mark.parametrize("name", ["check_health", "deep_check"])
async def test_a_diagnosis_runs_while_paused_and_repairs_nothing(here: World, ana: Execution, name: str):
    place = Place(here, name)
    place.pause(ana, None)
    said = await place.call(ana, name, fix=True)
    assert (said["fixed"], said["repairs_skipped"], "persisted" in said) == (False, True, False)
    assert "left)" in said["repairs_skip_reason"]
    assert "repairs_skipped" not in await place.call(ana, name, fix=False)


async def test_a_tool_that_writes_cannot_be_registered_past_the_table(here: World):
    place = Place(here)
    for wrong in (
        structs.replace(place.tool("store"), hold=None),
        structs.replace(place.tool("store"), read_only=True),
        structs.replace(place.tool("store"), name="write_something"),
    ):
        with pytest.raises(ValueError, match="the tool"):
            place.toolbox.register(wrong)
    assert place.toolbox.catalog.visible(None) == []


async def test_the_registry_agrees_with_the_table_tool_by_tool():
    tools = await listed_tools()
    assert {"upsert_graph_triples", "pause_persistence"} <= {tool["name"] for tool in tools}
    keyed = {tool["name"] for tool in tools if "session_key" in tool["inputSchema"]["properties"]}
    assert keyed == KEYED & {tool["name"] for tool in tools}
    for tool in tools:
        if not tool["annotations"]["readOnlyHint"]:
            assert tool["name"] in GATED.keys() | EXEMPT
    assert {"graph", "memory", "session", "maintenance"} == OWN_TOOLSETS


async def test_the_schema_of_every_keyed_tool_states_the_limit_and_draws_the_line():
    for tool in await listed_tools():
        key = tool["inputSchema"]["properties"].get("session_key")
        if key is not None:
            (text,) = [each for each in key.get("anyOf", [key]) if each["type"] == "string"]
            assert text["maxLength"] == 256
            full = tool["name"] in RECALL_TOOLS
            expected = FINDINGS if tool["name"] == FINDINGS_TOOL else FULL if full else SHORT
            assert text["description"] == expected


def graph_dispatcher(here: World, pauses: Pauses) -> Dispatcher:
    toolbox = Toolbox()
    register_graph_tools(toolbox, GraphTools(here.sessions, here.engine, here.repository, here.recall, here.hints))
    return Dispatcher(toolbox, here.clock, Metrics(), Gate(pauses))


async def test_every_gated_tool_of_the_graph_answers_skipped_with_the_keys_of_its_success_and_its_schema(
    here: World, ana: Execution
):
    pauses = here.hints.pauses
    dispatcher = graph_dispatcher(here, pauses)

    async def call(name: str, key: str) -> dict[str, Any]:
        body = {**CALLS[name], "session_key": key}
        answer = await dispatcher.call(ana, name, Raw(json.dumps(body).encode()), SILENT)
        assert answer.structured is not None
        found: dict[str, Any] = json.loads(answer.structured)
        return found

    pauses.pause(bucket_of(ana.identity, "A"), 60, here.clock())
    for name in CALLS:
        if name in GATED:
            skipped = await call(name, "A")
            assert (await here.repository.search(ana, "default", "", labels=[], limit=9, cursor=None)).nodes == []
            assert list(skipped) == [*await call(name, "B"), *PLUS]
            Draft202012Validator(listed(dispatcher.toolbox.tool(name))["outputSchema"]).validate(skipped)


async def test_a_pause_hides_no_missing_grant_and_no_impossible_statement(here: World):
    ben = await here.execution(await here.user("ben", level=Level.READ), "t")
    dispatcher = graph_dispatcher(here, here.hints.pauses)
    here.hints.pauses.pause(bucket_of(ben.identity, None), 60, here.clock())

    async def code(**arguments: Any) -> str:
        body = {**CALLS["upsert_graph_triples"], **arguments}
        answer = await dispatcher.call(ben, "upsert_graph_triples", Raw(json.dumps(body).encode()), SILENT)
        assert answer.structured is not None
        return str(json.loads(answer.structured).get("code"))

    assert await code() == "grant_insufficient"
    assert await code(repo="nothing") == "repository_forbidden"
    session = {"memory_scope": "session"}
    assert await code(**session, triples=[{"subject": "a\u0007", "predicate": "is", "object": "b"}]) == "invalid"
    assert await code(**session) == "None"


@pytest.mark.parametrize("scope", ["session", "repository"])
async def test_a_pause_hides_no_statement_that_what_is_there_forbids(here: World, ana: Execution, scope: str):
    dispatcher = graph_dispatcher(here, here.hints.pauses)
    tea = {"subject": "ana", "predicate": "likes", "object": "tea"}

    async def said(*aliases: str, key: str | None = None) -> dict[str, Any]:
        body = {"triples": [{**tea, "subject_aliases": aliases}], "memory_scope": scope, "session_key": key}
        answer = await dispatcher.call(ana, "upsert_graph_triples", Raw(json.dumps(body).encode()), SILENT)
        assert answer.structured is not None
        found: dict[str, Any] = json.loads(answer.structured)
        return found

    here.hints.pauses.pause(bucket_of(ana.identity, "A"), 60, here.clock())
    await said(*"abcdefgh")
    free = await said("i")
    assert (free["code"], free["field"]) == ("invalid", "triples[0].subject_aliases")
    assert await said("i", key="A") == free
    assert (await said("h", key="A"))["persisted"] is False
    await here.engine.clear(ana, "default")
    assert (await said("h", key="A")).get("code") == ("namespace_closed" if scope == "session" else None)
