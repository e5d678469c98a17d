"""The resource of an agent: what it remembers, for whom, how much of it, and who hears that it changed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agents import AgentScope
from codesynapse.contracts.identity import Execution
from codesynapse.contracts.requirements import requirement
from codesynapse.contracts.suite.keepers import Keeper
from codesynapse.server.agents.hearing import heard
from codesynapse.server.features.agents import RECORDS_MAX
from codesynapse.server.features.operations import Operations
from codesynapse.server.features.product import agent_changes, register_product
from codesynapse.server.features.registry import Features
from codesynapse.server.features.updates import Key, Updates, agent_key
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.messages import RESOURCE_NOT_FOUND, ProtocolError
from codesynapse.server.telemetry import Metrics
from codesynapse.server.tools.dispatch import STORED_DATA, Dispatcher
from codesynapse.server.tools.registry import SILENT, Toolbox
from tests.server.features.world import raw
from tests.server.world import TENANT, World, world

URI, TEMPLATE = "codesynapse://agent/bob", "codesynapse://agent/{agent_id}{?project_id,channel}"


class Place:
    """ana owns the agent bob."""

    def __init__(self, here: World, keeper: Keeper, execution: Execution) -> None:
        self.here = here
        self.keeper = keeper
        self.ana = execution

    def operations(self, size_max: int = 262_144) -> Operations:
        here, features = self.here, Features(Toolbox())
        register_product(
            *(features, here.sessions, here.engine, here.repository, here.recall, self.keeper.agents, here.clock),
            size_max=size_max,
        )
        return Operations(features, Dispatcher(features.toolbox, here.clock, Metrics()), here.clock, Limits())

    async def run(self, execution: Execution, method: str, size_max: int = 262_144, **params: Any) -> Any:
        return await self.operations(size_max).run(execution, method, raw(params), SILENT)

    async def read(self, uri: str = URI, *, by: Execution | None = None, size_max: int = 262_144) -> dict[str, Any]:
        (contents,) = (await self.run(by or self.ana, "resources/read", size_max, uri=uri))["contents"]
        assert (contents["uri"], contents["mimeType"]) == (uri, "application/json")
        assert len(contents["text"].encode()) <= size_max
        found: dict[str, Any] = json.loads(contents["text"])
        assert (found["source"], found["note"]) == ("an agent's memory", STORED_DATA)
        return found

    async def completed(self, execution: Execution, typed: str) -> list[str]:
        said = await self.run(
            execution,
            "completion/complete",
            ref={"type": "ref/resource", "uri": TEMPLATE},
            argument={"name": "agent_id", "value": typed},
        )
        values: list[str] = said["completion"]["values"]
        return values


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    async with world() as here:
        assert here.ports.agents is not None
        execution = await here.execution(await here.user("ana"), "s")
        scope = execution.identity
        keeper = Keeper(
            here.ports.agents, AgentScope(tenant_id=scope.tenant_id, subject_id=scope.subject_id, agent_id="bob")
        )
        await keeper.keep("tea")
        await keeper.keep("milk", project="p")
        await keeper.archive("a talk")
        yield Place(here, keeper, execution)


@requirement("agents:resource")
async def test_the_resource_holds_the_profile_and_the_records_newest_first(place: Place):
    await place.keeper.agents.set_profile(place.keeper.scope, "Ana likes tea.", now_ms=place.here.clock())
    found = await place.read()
    assert (found["agent_id"], found["profile"], found["truncated"]) == ("bob", "Ana likes tea.", False)
    assert [(each["ref"], each["content"]) for each in found["records"]] == [
        ("ep:3", "[Episode] a talk"),
        ("mem:2", "milk"),
        ("mem:1", "tea"),
    ]
    assert [each["ref"] for each in (await place.read(URI + "?project_id="))["records"]] == ["ep:3", "mem:1"]
    assert len((await place.read(URI + "?project_id=q&channel=c"))["records"]) == 2


@requirement("agents:resource")
async def test_it_is_bounded_in_records_and_in_bytes_and_says_so(place: Place):
    await place.keeper.keep(*(f"word{number}" for number in range(RECORDS_MAX)))
    found = await place.read()
    assert (len(found["records"]), found["truncated"]) == (RECORDS_MAX + 1, True)
    small = await place.read(size_max=2_000)
    assert small["truncated"]
    assert (small["limit_bytes"], small["left_out"] + len(small["records"])) == (2_000, RECORDS_MAX + 1)
    assert small["records"] == found["records"][: len(small["records"])]


@requirement("agents:resource")
async def test_without_a_grant_an_agent_is_as_one_that_does_not_exist(place: Place):
    eve = await place.here.execution(await place.here.user("eve"), "e")
    codes = []
    for execution, uri in (
        (eve, URI),
        (place.ana, "codesynapse://agent/none"),
        (place.ana, "codesynapse://agent/a%00"),
    ):
        with pytest.raises(ProtocolError) as refusal:
            await place.read(uri, by=execution)
        codes.append((refusal.value.code, str(refusal.value)))
    assert set(codes) == {(RESOURCE_NOT_FOUND, codes[0][1])}
    with pytest.raises(ProtocolError) as refusal:
        await place.operations().watch(eve, URI)
    assert refusal.value.code == RESOURCE_NOT_FOUND
    await place.keeper.agents.set_level(TENANT, "bob", "eve", Level.READ, now_ms=place.here.clock())
    assert len((await place.read(by=eve))["records"]) == 3


@requirement("agents:resource")
async def test_agents_with_a_grant_are_listed_and_completed_and_no_others(place: Place):
    eve = await place.here.execution(await place.here.user("eve"), "e")
    await place.keeper.on("billing").keep("tea")
    uris = [each["uri"] for each in (await place.run(place.ana, "resources/list"))["resources"]]
    assert [each for each in uris if "agent" in each] == ["codesynapse://agent/billing", URI]
    assert await place.completed(place.ana, "") == ["billing", "bob"]
    assert await place.completed(place.ana, "BO") == ["bob"]
    assert await place.completed(eve, "") == []
    assert not [each for each in (await place.run(eve, "resources/list"))["resources"] if "agent" in each["uri"]]


@requirement("agents:resource")
async def test_a_subscriber_hears_of_a_change_and_of_none_of_another_agent(place: Place):
    updates, keys = Updates(), list[Key]()
    keeper = Keeper(heard(place.keeper.agents, agent_changes(updates)), place.keeper.scope)
    key = await place.operations().watch(place.ana, URI + "?channel=c")
    assert key == agent_key(TENANT, "bob")
    updates.subscribe([key], keys.append)
    await keeper.keep("juice")
    await keeper.on("billing").keep("juice")
    updates.flush()
    assert keys == [key]
