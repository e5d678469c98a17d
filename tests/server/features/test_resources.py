"""The product's resources: what they hold, for whom, and how much of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.identity import Execution
from codesynapse.contracts.requirements import requirement
from codesynapse.server.features.operations import Operations
from codesynapse.server.features.product import register_product
from codesynapse.server.features.registry import Features
from codesynapse.server.features.resources import cut
from codesynapse.server.features.updates import repository_key, session_key
from codesynapse.server.limits import Limits
from codesynapse.server.mcp.messages import INVALID_PARAMS, RESOURCE_NOT_FOUND, ProtocolError
from codesynapse.server.telemetry import Metrics
from codesynapse.server.tools.dispatch import STORED_DATA, Dispatcher
from codesynapse.server.tools.registry import SILENT, Toolbox
from tests.server.features.world import raw
from tests.server.world import REPO, TENANT, World, triple, upsert, world

CHAT, SHARED = "codesynapse://session-memory/default", "codesynapse://repository/default"
ANA = triple("Ana", "lives_in", "Graz", subject_type="Person", source="a letter")


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with world() as made:
        yield made


def operations(here: World, size_max: int = 262_144) -> Operations:
    features = Features(Toolbox())
    register_product(
        features,
        here.sessions,
        here.engine,
        here.repository,
        here.recall,
        here.ports.agents,
        here.clock,
        size_max=size_max,
    )
    return Operations(features, Dispatcher(features.toolbox, here.clock, Metrics()), here.clock, Limits())


async def read(here: World, execution: Execution, uri: str, size_max: int = 262_144) -> dict[str, Any]:
    made = operations(here, size_max)
    (contents,) = (await made.run(execution, "resources/read", raw({"uri": uri}), SILENT))["contents"]  # type: ignore[index]
    assert (contents["uri"], contents["mimeType"]) == (uri, "application/json")
    assert len(contents["text"].encode()) <= size_max
    found: dict[str, Any] = json.loads(contents["text"])
    assert found["note"] == STORED_DATA
    return found


async def code_of(here: World, execution: Execution, uri: str) -> int:
    with pytest.raises(ProtocolError) as caught:
        await read(here, execution, uri)
    return caught.value.code


async def uris(here: World, execution: Execution) -> list[str]:
    listed: Mapping[str, Any] = await operations(here).run(execution, "resources/list", raw({}), SILENT)  # type: ignore[assignment]
    return [each["uri"] for each in listed["resources"]]


async def test_this_chats_memory_is_read_with_its_sources_and_by_this_chat_alone(here: World):
    ana = await here.user("ana")
    mine, other = await here.execution(ana, "s1"), await here.execution(ana, "s2")
    await upsert(here.engine, mine, ANA)
    found = await read(here, mine, CHAT)
    (fact,) = found["facts"]
    assert (fact["subject"], fact["object"], fact["source"]) == ("Ana", "Graz", "a letter")
    assert (found["revision"], found["truncated"], found["closed"]) == (1, False, False)
    assert (await read(here, other, CHAT))["facts"] == []
    assert "s1" not in json.dumps(found)


async def test_a_repositorys_memory_is_read_whole_or_around_one_entity(here: World):
    execution = await here.execution(await here.user("ana"), "s1")
    await upsert(here.repository, execution, ANA, triple("Graz", "lies_in", "Styria"), triple("Bo", "likes", "tea"))
    whole = await read(here, execution, SHARED)
    assert {node["name"] for node in whole["nodes"]} == {"Ana", "Graz", "Styria", "Bo", "tea"}
    assert len(whole["edges"]) == 3
    near = await read(here, execution, SHARED + "?node=ana")
    assert {node["name"] for node in near["nodes"]} == {"Ana", "Graz"}
    far = await read(here, execution, SHARED + "?node=ana&depth=2")
    assert {edge["predicate"] for edge in far["edges"]} == {"lives_in", "lies_in"}
    assert not far["truncated"]


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        (SHARED + "?node=nobody", RESOURCE_NOT_FOUND),
        (SHARED + "?depth=4", INVALID_PARAMS),
        (SHARED + "?depth=x", INVALID_PARAMS),
        ("codesynapse://repository/a%20b", RESOURCE_NOT_FOUND),
        ("codesynapse://repository/default/more", RESOURCE_NOT_FOUND),
        ("codesynapse://session-memory/default?node=a", RESOURCE_NOT_FOUND),
    ],
)
async def test_what_is_not_there_or_not_possible_is_told_so(here: World, uri: str, code: int):
    assert await code_of(here, await here.execution(await here.user("ana"), "s1"), uri) == code


@requirement("features:grants")
@pytest.mark.parametrize("kind", ["session-memory", "repository"])
async def test_a_repository_without_a_grant_is_neither_listed_nor_read_nor_watched(here: World, kind: str):
    await here.ports.accounts.create_repository(TENANT, "secret", now_ms=here.clock())
    execution = await here.execution(await here.user("ana", level=Level.READ), "s1")
    assert await uris(here, execution) == [CHAT, SHARED]
    for name in ("secret", "nothing"):
        uri = f"codesynapse://{kind}/{name}"
        assert await code_of(here, execution, uri) == RESOURCE_NOT_FOUND
        with pytest.raises(ProtocolError):
            await operations(here).watch(execution, uri)


async def test_each_kind_of_memory_is_watched_under_its_own_key(here: World):
    execution = await here.execution(await here.user("ana"), "s1")
    made = operations(here)
    assert await made.watch(execution, CHAT) == session_key(TENANT, "s1", REPO)
    assert await made.watch(execution, SHARED + "?node=Ana") == repository_key(TENANT, REPO)


@requirement("features:resources")
async def test_what_does_not_fit_is_left_out_and_said_so(here: World):
    execution = await here.execution(await here.user("ana"), "s1")
    facts = [triple(f"entity {number}", "belongs_to", "everything", source="x" * 40) for number in range(50)]
    await upsert(here.engine, execution, *facts)
    await upsert(here.repository, execution, *facts)
    chat = await read(here, execution, CHAT, size_max=4_096)
    assert chat["truncated"]
    assert chat["left_out"] + len(chat["facts"]) == 50
    assert (chat["limit_bytes"], chat["left_out"] > 0) == (4_096, True)
    shared = await read(here, execution, SHARED, size_max=4_096)
    assert shared["truncated"]
    known = {node["id"] for node in shared["nodes"]}
    assert shared["edges"]
    assert all({edge["source"], edge["target"]} <= known for edge in shared["edges"])


@pytest.mark.parametrize(("most", "kept"), [(0, 0), (3, 0), (4, 1), (8, 2), (100, 3)])
def test_items_are_kept_as_far_as_their_json_fits(most: int, kept: int):
    found = cut(["a", "b", "c"], most)
    assert (len(found.kept), found.left_out) == (kept, 3 - kept)
