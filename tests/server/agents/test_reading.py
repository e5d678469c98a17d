"""Reading: contents by reference, lists with their budgets, the profile."""

from __future__ import annotations

from codesynapse.contracts.agents import Kind
from codesynapse.server.agents.reading import CONTENTS_CHARS_MAX, fitting, parsed_ref
from tests.server.agents.here import AGENT, here


def test_a_reference_names_a_kind_and_a_number_and_nothing_else_is_one():
    assert parsed_ref("mem:7") == (Kind.MEMORY, 7)
    assert parsed_ref("ep:12") == (Kind.EPISODE, 12)
    for wrong in ("mem:", "mem:-1", "mem:7 ", "MEM:7", "mem:7x", "fact:7", "7", "", "mem:" + "9" * 19, "mem:\u0667"):
        assert parsed_ref(wrong) is None


async def test_contents_are_whole_in_the_order_asked_for_and_what_leads_nowhere_is_missing():
    async with here() as place:
        (tea,) = await place.store("tea " * 1_000, id="m1", source={"type": "user", "id": "u"})
        talk = (await place.call("archive_episode", agent_id=AGENT, summary="a talk", resolved=True))["episode_id"]
        (foreign,) = [(await place.call("store", agent_id="eve", content="secret", by="eve"))["id"]]
        refs = [f"ep:{talk}", "junk", f"mem:{foreign}", f"mem:{tea}", f"mem:{tea}", "mem:9999"]
        said = await place.call("get_contents", agent_id=AGENT, refs=refs)
        assert [each["ref"] for each in said["items"]] == [f"ep:{talk}", f"mem:{tea}"]
        assert (said["items"][0]["content"], said["items"][0]["resolved"]) == ("[Episode] a talk", True)
        assert (said["items"][1]["id"], len(said["items"][1]["content"])) == ("m1", 4_000)
        assert (said["missing"], said["count"]) == (["junk", f"mem:{foreign}", "mem:9999"], 2)


async def test_beyond_the_budget_contents_are_deferred_and_the_first_is_always_whole():
    async with here() as place:
        ids = await place.store(*(str(number) * 15_000 for number in range(4)))
        refs = [f"mem:{each}" for each in ids]
        said = await place.call("get_contents", agent_id=AGENT, refs=refs)
        assert (said["count"], said["deferred"], said["budget_chars"]) == (2, refs[2:], CONTENTS_CHARS_MAX)
        assert said["missing"] == []
        listed = await place.call("list_memories")
        assert (listed["count"], listed["budget_rows"], listed["budget_chars"]) == (2, 2, CONTENTS_CHARS_MAX)
        assert [each["id"] for each in listed["memories"]] == ids[:1:-1]


def test_one_row_always_fits_and_every_field_counts():
    assert fitting(["x" * 100], 10) == 1
    assert fitting([{"a": "é"}, {"a": "é"}], 18) == 2
    assert fitting([{"a": "é"}, {"a": "é"}], 17) == 1
    assert fitting([], 10) == 0


async def test_lists_are_newest_first_ties_by_id_and_hold_only_what_one_may_read():
    async with here() as place:
        ids = await place.store(*(f"memory {number}" for number in range(5)))
        await place.call("store", agent_id="eve", content="secret", by="eve")
        said = await place.call("list_memories")
        assert [each["id"] for each in said["memories"]] == ids[::-1]
        assert "budget_rows" not in said
        assert [each["id"] for each in (await place.call("list_memories", limit=2))["memories"]] == ids[:2:-1]
        assert (await place.call("list_memories", agent_id="eve"))["code"] == "agent_forbidden"
        assert (await place.call("list_memories", by="eve"))["count"] == 1
        assert (await place.call("list_episodes", by="eve"))["episodes"] == []


async def test_a_project_that_is_omitted_empty_or_named_reads_all_the_shared_pool_or_both():
    async with here() as place:
        (shared,) = await place.store("shared")
        (one,) = await place.store("one", project_id="x")
        (two,) = await place.store("two", project_id="y")

        async def listed(**more: str) -> set[int]:
            return {each["id"] for each in (await place.call("list_memories", **more))["memories"]}

        assert await listed() == {shared, one, two}
        assert await listed(project_id="") == {shared}
        assert await listed(project_id="x") == {shared, one}


async def test_a_profile_is_empty_before_it_is_written_and_needs_a_grant():
    async with here() as place:
        await place.store("tea")
        assert await place.call("get_profile", agent_id=AGENT) == {"profile": ""}
        assert (await place.call("get_profile", agent_id=AGENT, by="eve"))["code"] == "agent_forbidden"
