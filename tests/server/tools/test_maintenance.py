"""The toolset `maintenance`: its twelve tools, what their schemas say, and what a pause makes of the ten that write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from codesynapse.server.hints.gated import GATED, KEYED
from codesynapse.server.hints.texts import SHORT
from tests.server.agents.here import AGENT
from tests.server.agents.maintained import Maintained, maintained
from tests.server.tools.test_gate import PLUS

WORDS = ["tea", "coffee", "milk", "cocoa", "water", "juice", "wine", "beer", "mate", "rum", "gin", "cider"]
CALLS: dict[str, dict[str, Any]] = {
    "lock_memory": {"memory_id": 1},
    "unlock_memory": {"memory_id": 2},
    "delete_agent_data": {"agent_id": AGENT},
    "calibrate_threshold": {"agent_id": AGENT},
    "set_recall_precision": {"agent_id": AGENT, "precision": "strict"},
    "get_recall_precision": {"agent_id": AGENT},
    "export_memories": {"agent_id": AGENT},
    "import_memories": {"input_path": "kept", "target_agent_id": "eve"},
    "merge_memories": {"source_agent_id": AGENT, "target_agent_id": "eve", "mode": "move"},
    "migrate_channel_axis": {"dry_run": False},
    "check_health": {"fix": True},
    "deep_check": {"agent_id": AGENT, "fix": True},
}
SKIPPED = [name for name in CALLS if name in GATED and not GATED[name].forced]
FORCED = [name for name in CALLS if name in GATED and GATED[name].forced]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Maintained]:
    """Twelve memories, the second locked, one that should be in a channel, one that is short, and a file of them."""
    async with maintained(tmp_path / "exports") as made:
        await made.store(*(f"ana drinks {word} with ben" for word in WORDS))
        await made.store("channelled", metadata={"channel": "c"})
        await made.store("ab", channel="null")
        await made.call("lock_memory", memory_id=2)
        await made.call("export_memories", agent_id=AGENT, output_path="kept")
        yield made


async def test_the_twelve_are_listed_behind_the_others_in_their_order(place: Maintained):
    assert [tool["name"] for tool in place.here.toolbox.catalog.visible(None)][-12:] == list(CALLS)


@pytest.mark.parametrize("name", CALLS)
async def test_each_answers_a_plain_call_by_its_schema(place: Maintained, name: str):
    assert (await place.call(name, **CALLS[name]))["ok"] is True


async def test_every_argument_is_described_bounded_and_no_identity(place: Maintained):
    for tool in place.here.toolbox.catalog.visible(None)[-12:]:
        schema = tool["inputSchema"]
        Draft202012Validator.check_schema(schema)
        Draft202012Validator.check_schema(tool["outputSchema"])
        assert schema["additionalProperties"] is False
        for name, member in schema["properties"].items():
            assert "description" in str(member), (tool["name"], name)
            assert not {"tenant", "subject", "user", "actor"} & set(name.split("_")), name


async def test_the_key_is_on_the_ten_that_a_pause_stops_and_not_on_the_export(place: Maintained):
    for tool in place.here.toolbox.catalog.visible(None)[-12:]:
        name, properties = tool["name"], tool["inputSchema"]["properties"]
        assert ("session_key" in properties) is (name in GATED) is (name in KEYED)
        if name in GATED:
            assert SHORT in str(properties["session_key"])
    assert len(SKIPPED) + len(FORCED) == 10


async def test_what_destroys_says_so(place: Maintained):
    tools = place.here.toolbox.catalog.visible(None)[-12:]
    destructive = {tool["name"] for tool in tools if tool["annotations"]["destructiveHint"]}
    assert destructive == {"delete_agent_data", "merge_memories", "check_health", "deep_check"}
    assert {tool["name"] for tool in tools if tool["annotations"]["readOnlyHint"]} == {"get_recall_precision"}


@pytest.mark.parametrize("name", SKIPPED)
async def test_a_paused_write_answers_with_the_keys_of_its_success_and_writes_nothing(place: Maintained, name: str):
    await place.pause("A")
    before = await place.everything()
    skipped = await place.call(name, **CALLS[name], session_key="A")
    assert await place.everything() == before
    success = await place.call(name, **CALLS[name], session_key="B")
    assert list(skipped) == [*success, *(each for each in PLUS if each not in success)]
    assert (skipped["ok"], skipped["persisted"], skipped["dry_run"]) == (True, False, True)
    assert "persisted" not in success
    assert await place.everything() != before


@pytest.mark.parametrize("name", FORCED)
async def test_a_paused_repair_looks_changes_nothing_and_says_so(place: Maintained, name: str):
    await place.pause("A")
    before = await place.everything()
    said = await place.call(name, **CALLS[name], session_key="A")
    assert await place.everything() == before
    assert said["repairs_skipped"] is True
    assert "paused" in said["repairs_skip_reason"]
    assert said.get("fixed", False) is False
    assert said.get("dry_run", True) is True
    assert "persisted" not in said
    success = await place.call(name, **CALLS[name], session_key="B")
    assert await place.everything() != before
    assert "repairs_skipped" not in success


async def test_a_paused_call_that_was_harmless_anyway_is_the_same_as_without_a_pause(place: Maintained):
    harmless: list[tuple[str, dict[str, Any]]] = [
        ("import_memories", {**CALLS["import_memories"], "dry_run": True}),
        ("merge_memories", {**CALLS["merge_memories"], "dry_run": True}),
        ("migrate_channel_axis", {}),
        ("check_health", {}),
        ("deep_check", {"agent_id": AGENT}),
    ]
    before = [await place.call(name, **arguments) for name, arguments in harmless]
    await place.pause()
    assert [await place.call(name, **arguments) for name, arguments in harmless] == before


async def test_a_skipped_answer_names_what_was_asked_and_no_result(place: Maintained):
    await place.pause()
    said = {name: await place.call(name, **CALLS[name]) for name in SKIPPED}
    assert said["lock_memory"]["locked_id"] is said["unlock_memory"]["unlocked_id"] is None
    assert said["delete_agent_data"]["agent_id"] == AGENT
    assert said["delete_agent_data"]["deleted_memories"] == 0
    assert said["calibrate_threshold"]["sidecar_persisted"] is False
    assert said["calibrate_threshold"]["new_threshold"] is None
    precision = said["set_recall_precision"]
    assert (precision["precision"], precision["beta"], precision["fused_gate"]) == ("strict", 2.0, None)
    named = await place.call("import_memories", **{**CALLS["import_memories"], "target_agent_id": "eve"})
    assert (named["agent_id"], named["persisted"]) == ("eve", False)
    assert said["import_memories"]["imported_memories"] == said["merge_memories"]["merged_memories"] == 0
    assert (said["merge_memories"]["mode"], said["merge_memories"]["target_agent_id"]) == ("move", "eve")
    assert said["merge_memories"]["source_deleted"] == {"memories": 0, "episodes": 0, "profiles": 0}


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("lock_memory", {"memory_id": 99}),
    ("lock_memory", {"memory_id": 1, "agent_id": "eve"}),
    ("lock_memory", {"memory_id": 1, "agent_id": ""}),
    ("unlock_memory", {"memory_id": 0}),
    ("unlock_memory", {"memory_id": 99}),
    ("delete_agent_data", {"agent_id": ""}),
    ("delete_agent_data", {"agent_id": "eve"}),
    ("calibrate_threshold", {"agent_id": AGENT, "percentile": 0}),
    ("calibrate_threshold", {"agent_id": AGENT, "sample_size": 9}),
    ("calibrate_threshold", {"agent_id": AGENT, "method": "magic"}),
    ("calibrate_threshold", {"agent_id": "eve"}),
    ("set_recall_precision", {"agent_id": AGENT, "precision": "exact"}),
    ("set_recall_precision", {"agent_id": AGENT, "beta": 101}),
    ("set_recall_precision", {"agent_id": "a b"}),
    ("export_memories", {"agent_id": "eve"}),
    ("export_memories", {"agent_id": AGENT, "output_path": "../up"}),
    ("export_memories", {"agent_id": AGENT, "output_path": "kept"}),
    ("import_memories", {}),
    ("import_memories", {"input_path": "kept", "upload_id": "x"}),
    ("import_memories", {"input_path": "missing"}),
    ("import_memories", {"input_path": "/etc/passwd"}),
    ("import_memories", {"upload_id": "x"}),
    ("import_memories", {"input_path": "kept", "target_agent_id": "a b"}),
    ("merge_memories", {"source_agent_id": AGENT, "target_agent_id": AGENT}),
    ("merge_memories", {"source_agent_id": "eve", "target_agent_id": AGENT}),
    ("merge_memories", {"source_agent_id": AGENT, "target_agent_id": "x", "strategy": "overwrite"}),
    ("migrate_channel_axis", {"agent_id": "eve"}),
    ("check_health", {"checks": ["no_such_check"]}),
    ("check_health", {"agent_id": "eve"}),
    ("deep_check", {"agent_id": AGENT, "checks": ["index_missing"]}),
    ("deep_check", {"agent_id": "eve"}),
    ("deep_check", {"agent_id": AGENT, "more": 1}),
]


@pytest.mark.parametrize(("name", "wrong"), WRONG)
async def test_what_is_wrong_is_refused_as_json_and_a_pause_changes_no_byte_of_it(
    place: Maintained, name: str, wrong: dict[str, Any]
):
    before = await place.everything()
    said = await place.call(name, **wrong)
    assert said["ok"] is False
    assert {"code", "error", "field"} <= said.keys()
    await place.pause()
    assert await place.call(name, **wrong) == said
    assert await place.everything() == before


@pytest.mark.parametrize("name", CALLS)
async def test_somebody_elses_agent_is_as_one_that_is_not_there(place: Maintained, name: str):
    arguments = {each: value for each, value in CALLS[name].items() if each != "input_path"}
    if name == "import_memories":
        arguments |= {"upload_id": "x"}
    said = await place.call(name, by="ben", **arguments)
    if name in ("migrate_channel_axis", "check_health"):
        assert (said["ok"], said.get("scanned", 0), said.get("total_memories", 0)) == (True, 0, 0)
        assert said.get("issues", []) == []
        return
    absent = {each: "nobody" if value == AGENT else value for each, value in arguments.items()}
    assert said["ok"] is False
    if absent != arguments:
        assert await place.call(name, by="cem", **absent) == said


async def test_an_unknown_check_is_refused_and_all_names_are_told(place: Maintained):
    said = await place.call("check_health", checks=["nonsense"])
    assert said["field"].startswith("checks")
    assert "index_missing" in said["limit"]
    assert "nonsense" not in str(said)
