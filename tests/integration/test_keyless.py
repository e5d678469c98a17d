"""A caller that never heard of the key is answered as if there were none, byte for byte (seed 1 §3, §8, §10)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codesynapse.server.hints.gated import KEYED
from tests.documents import listed_tools
from tests.integration.harness import product
from tests.integration.keyless import CALLS, EVENTS, KEY, TRANSPORTS, answered, peer_of, played, recorded, unkeyed

transports = pytest.mark.parametrize("transport", TRANSPORTS)


@transports
async def test_a_keyless_sequence_gets_the_same_bytes_with_the_key_and_without_it_but_for_the_list(
    transport: str, tmp_path: Path
):
    listed, answers = await played(transport, tmp_path / "with", keyed=True)
    listed_without, answers_without = await played(transport, tmp_path / "without", keyed=False)
    assert answers == answers_without
    assert len(answers) == 60
    tools, fewer = (json.loads(each)["result"]["tools"] for each in (listed, listed_without))
    assert tools != fewer
    for tool in tools:
        tool["inputSchema"]["properties"].pop(KEY, None)
    assert tools == fewer


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@transports
async def test_a_keyless_sequence_gets_the_bytes_that_were_recorded(transport: str, store: str, tmp_path: Path):
    _, answers = await played(transport, tmp_path, keyed=True, store=store)
    for number, (answer, (call, said)) in enumerate(zip(answers, recorded(transport), strict=True)):
        assert (call, answer) == (CALLS[number], said), f"call {number}; python -m tests.integration.keyless"


async def test_the_sequence_calls_every_tool_of_the_four_toolsets_and_meets_a_pause_a_fault_and_refusals():
    assert {tool for tool, _ in CALLS} == {tool["name"] for tool in await listed_tools()}
    assert [arguments for _, arguments in CALLS if KEY in arguments] == []
    said = [json.loads(answer)["result"]["structuredContent"] for _, answer in recorded("http")]
    assert sum(each.get("persisted") is False for each in said) >= 6
    assert sum(each.get("ok") is False and "code" in each for each in said) >= 6
    assert [each["advisory"]["advisory_scope"] for each in said if "advisory" in each] == ["process"]
    assert {event.kind for events in EVENTS.values() for event in events} == {"fail", "work", "wait"}


@transports
async def test_what_differs_between_the_transports_is_what_the_seed_says(transport: str):
    differing = {
        call[0] for (call, one), (_, other) in zip(recorded("http"), recorded("stdio"), strict=True) if one != other
    }
    assert differing == {"get_session_findings", "recall_context"}
    assert any(b"identity_shared" in said for _, said in recorded(transport)) is (transport == "http")


@transports
async def test_the_key_is_really_gone_where_it_was_taken_out(transport: str):
    async with product() as running:
        assert set(unkeyed(running.services.toolbox)) == KEYED - {"offload_turns", "promote_facts"}
        async with peer_of(transport, running) as peer:
            for tool, arguments in CALLS:
                if tool in KEYED:
                    params = {"name": tool, "arguments": {**arguments, KEY: "A"}}
                    said = json.loads(await answered(peer, "tools/call", params))["result"]["structuredContent"]
                    assert (said["ok"], said["code"]) == (False, "invalid")
                    assert KEY not in said["limit"]
