"""Recall: what comes back, in which order, and how much of it a model has to read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from codesynapse.contracts.agents import EVERYWHERE, Tuning
from codesynapse.contracts.errors import StoreBusy
from codesynapse.server.agents.recalling import CHARS_DEFAULT, beta_of, fitted
from codesynapse.server.agents.views import Hit
from tests.server.agents.here import AGENT, Here, here


async def refs(place: Here, query: str, **more: Any) -> list[str]:
    said = await place.call("recall", agent_id=AGENT, query=query, **more)
    return [each["ref"] for each in said["messages"]]


async def test_the_best_match_comes_first_and_the_reason_only_on_request():
    async with here() as place:
        tea, both, _ = await place.store("green tea is fine", "green tea, always green tea", "coffee in the evening")
        said = await place.call("recall", agent_id=AGENT, query="green tea", match_reason=True)
        assert [each["ref"] for each in said["messages"]] == [f"mem:{both}", f"mem:{tea}"]
        assert said["messages"][0]["match_reason"] == {"signal": "lexical", "score": 1.0}
        plain = await place.call("recall", agent_id=AGENT, query="green tea")
        assert all("match_reason" not in each for each in plain["messages"])
        assert "advisory" not in plain


async def test_an_empty_query_answers_the_newest_first_memories_and_episodes():
    async with here() as place:
        (old,) = await place.store("old")
        talk = (await place.call("archive_episode", agent_id=AGENT, summary="a talk"))["episode_id"]
        place.world.clock.advance(seconds=1)
        (new,) = await place.store("new")
        assert await refs(place, "") == [f"mem:{new}", f"ep:{talk}", f"mem:{old}"]
        assert await refs(place, " ", limit=1, exclude_contents=["NEW"]) == [f"ep:{talk}"]
        assert await refs(place, "", limit=0) == []
        assert (await place.call("recall", agent_id="nobody", query="", limit=0))["code"] == "agent_forbidden"


async def test_a_weak_match_is_cut_by_the_gate_and_let_in_by_a_deep_recall():
    async with here() as place:
        strong, weak = await place.store("zebra quagga okapi", "okapi quagga filler filler filler")
        assert await refs(place, "zebra quagga okapi") == [f"mem:{strong}"]
        await place.agents.set_tuning(place.scope(), Tuning(threshold=0.6), now_ms=place.world.clock())
        assert await refs(place, "zebra quagga okapi") == [f"mem:{strong}"]
        assert await refs(place, "zebra quagga okapi", deep=True) == [f"mem:{strong}", f"mem:{weak}"]


def test_a_beta_of_its_own_beats_the_precision_and_neither_is_one():
    assert beta_of(Tuning(precision="strict")) == 2.0
    assert beta_of(Tuning(precision="strict", beta=0.7)) == 0.7
    assert beta_of(Tuning()) == 1.0


async def test_the_limit_is_filled_from_behind_what_is_excluded():
    async with here() as place:
        ids = await place.store(*(f"tea number {number}" for number in range(6)))
        texts = [f"tea number {number}" for number in (5, 4)]
        found = await refs(place, "tea", limit=3, exclude_contents=texts)
        assert found == [f"mem:{each}" for each in ids[3:0:-1]]


async def test_a_source_is_matched_exactly_or_by_its_prefix_and_leaves_episodes_out():
    async with here() as place:
        (one,) = await place.store("tea one", source={"id": "discord:1"})
        (two,) = await place.store("tea two", source={"id": "discord:12"})
        await place.call("archive_episode", agent_id=AGENT, summary="tea talk")
        assert await refs(place, "tea", source_id="discord:1") == [f"mem:{one}"]
        assert set(await refs(place, "tea", source_id="discord:")) == {f"mem:{one}", f"mem:{two}"}
        assert await refs(place, "tea", source_id="Discord:1") == []
        assert len(await refs(place, "tea")) == 3


async def test_long_contents_are_previewed_unless_asked_for_in_full():
    async with here() as place:
        await place.store("tea " * 200)
        (hit,) = (await place.call("recall", agent_id=AGENT, query="tea"))["messages"]
        assert (len(hit["content"]), hit["content_truncated"], hit["content_len"]) == (500, True, 800)
        (full,) = (await place.call("recall", agent_id=AGENT, query="tea", full_content=True))["messages"]
        assert (len(full["content"]), "content_len" in full) == (800, False)


async def test_past_the_bound_a_hit_carries_its_reference_and_time_only_and_none_is_left_out():
    async with here() as place:
        await place.store(*(f"tea number {number} " + "x" * 200 for number in range(10)))
        said = await place.call("recall", agent_id=AGENT, query="tea")
        assert len(said["messages"]) == 10
        full = [each for each in said["messages"] if "content" in each]
        assert full == said["messages"][: len(full)]
        assert 1 <= len(full) < 10
        assert {frozenset(each) for each in said["messages"][len(full) :]} == {frozenset({"ref", "timestamp"})}
        assert len(json.dumps(said["messages"], separators=(",", ":"))) <= CHARS_DEFAULT
        wide = await place.call("recall", agent_id=AGENT, query="tea", max_chars=10_000)
        assert [each["ref"] for each in wide["messages"]] == [each["ref"] for each in said["messages"]]
        assert all("content" in each for each in wide["messages"])


async def test_whole_texts_that_do_not_fit_name_the_bound_and_those_that_do_name_none():
    async with here() as place:
        await place.store(*(f"tea number {number} " + "x" * 600 for number in range(5)))
        for tool in ("recall", "recall_with_context"):
            asked = {"agent_id": AGENT, "query": "tea", "full_content": True}
            assert "full_content_budget_chars" not in await place.call(tool, **asked)
            assert (await place.call(tool, **asked, max_chars=1_000))["full_content_budget_chars"] == 1_000
            assert "full_content_budget_chars" not in await place.call(tool, agent_id=AGENT, query="tea", max_chars=500)


async def test_beside_a_conversation_the_reason_is_given_on_request_too():
    async with here() as place:
        await place.store("green tea")
        for asked in (True, False):
            said = await place.call("recall_with_context", agent_id=AGENT, query="green tea", match_reason=asked)
            assert ["match_reason" in each for each in said["messages"]] == [asked]


def test_a_bound_that_is_too_small_for_references_still_leaves_none_out():
    hits = [Hit(content="x", ref=f"mem:{number}", timestamp="t") for number in range(50)]
    assert [each.ref for each in fitted(hits, 100)] == [each.ref for each in hits]


async def test_an_answer_on_plain_facts_stays_under_1500_characters_with_its_notice():
    async with here() as place:
        place.world.hints.health = type(place.world.hints)(embedder=False).health
        facts = (
            f"Person {number} of the tea club lives in town {number} and has drunk tea since May"
            for number in range(40)
        )
        await place.store(*facts)
        await place.call("recall", agent_id=AGENT, query="tea", session_key="A")
        said = await place.call("recall", agent_id=AGENT, query="who drinks tea in town", session_key="A")
        assert said["advisory"]["severity"] == "hint"
        assert len(said["messages"]) == 10
        assert len(json.dumps(said, separators=(",", ":"))) < 1_500


async def test_a_recall_is_counted_at_its_memories_but_not_under_the_pause_of_its_key():
    async with here() as place:
        (tea,) = await place.store("tea")

        async def counted() -> int:
            (row,) = await place.agents.memories(place.scope(), reach=EVERYWHERE, source_id="", limit=9)
            return row.recalled

        await place.pause("A")
        free = await place.call("recall", agent_id=AGENT, query="tea", session_key="B")
        assert await counted() == 1
        assert await place.call("recall", agent_id=AGENT, query="tea", session_key="A") == free
        assert await counted() == 1
        assert tea == 1


async def test_an_answer_is_not_lost_to_a_counter_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch):
    async with here() as place:
        await place.store("tea")

        async def busy(*_: object, **__: object) -> None:
            raise StoreBusy

        monkeypatch.setattr(place.agents, "note_recalls", busy)
        assert len(await refs(place, "tea")) == 1
