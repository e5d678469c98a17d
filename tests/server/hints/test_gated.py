"""The table of the tools that a pause stops: what is in it, and that nothing that writes stays out of it."""

from __future__ import annotations

import pytest

from codesynapse.server.hints.gated import EXEMPT, GATED, GRAPH_WRITERS, KEYED, SEED_KEYED, SEED_WRITERS, fault_of

# As the seed lists them (§5), and what the research saw a paused call do (cpersona.md §2.3).
SIXTEEN = {
    **dict.fromkeys(["store", "archive_episode", "update_memory", "lock_memory", "unlock_memory"], "skipped"),
    **dict.fromkeys(["delete_memory", "delete_episode", "delete_agent_data", "update_profile"], "skipped"),
    **dict.fromkeys(["calibrate_threshold", "set_recall_precision"], "skipped"),
    **dict.fromkeys(["import_memories", "merge_memories"], "previewed"),
    **dict.fromkeys(["migrate_channel_axis", "check_health", "deep_check"], "forced"),
}
GRAPH = ("upsert_graph_triples", "offload_turns", "promote_facts")


def treatment(name: str) -> str | None:
    row = GATED.get(name)
    if row is None:
        return None
    return "forced" if row.forced else "skipped" if row.harmless is None else "previewed"


@pytest.mark.parametrize("name", SIXTEEN)
def test_each_of_the_sixteen_is_gated_as_the_seed_says(name: str):
    assert treatment(name) == SIXTEEN[name]


@pytest.mark.parametrize("name", GRAPH)
def test_each_graph_tool_that_writes_is_gated(name: str):
    assert treatment(name) == "skipped"


def test_nothing_else_is_gated():
    assert set(GATED) == {*SIXTEEN, *GRAPH}
    assert (len(SEED_WRITERS), len(GRAPH_WRITERS)) == (16, 3)
    assert not GATED.keys() & EXEMPT


def test_exactly_22_of_the_seeds_tools_carry_the_key_and_four_of_ours():
    assert len(SEED_KEYED) == 22
    assert {*GRAPH, "recall_context"} == KEYED - SEED_KEYED
    assert "export_memories" not in KEYED


def fault(
    name: str, toolset: str = "memory", *, read_only: bool = False, keyed: bool = True, holds: bool = True
) -> str:
    return fault_of(name, toolset, read_only=read_only, keyed=keyed, holds=holds) or ""


@pytest.mark.parametrize("name", GATED)
def test_a_gated_tool_without_a_key_or_a_check_cannot_be_registered(name: str):
    assert not fault(name)
    assert "no session_key" in fault(name, keyed=False)
    assert "only reads" in fault(name, read_only=True)
    assert bool(fault(name, holds=False)) != GATED[name].forced


def test_a_tool_that_writes_and_is_in_no_table_cannot_be_registered():
    assert "no row" in fault("write_something", keyed=False)
    assert not fault("look_at_something", read_only=True, keyed=False)
    for name in EXEMPT - {"export_memories"}:
        assert not fault(name)
    assert not fault("export_memories", keyed=False)


def test_a_key_that_would_change_nothing_cannot_be_registered():
    for name in ("export_memories", "list_memories"):
        assert "change nothing" in fault(name, read_only=name == "list_memories")


def test_other_peoples_tools_in_toolsets_of_their_own_are_theirs():
    assert not fault("write_something", "mine", keyed=False, holds=False)
    assert "no session_key" in fault("store", "mine", keyed=False)
