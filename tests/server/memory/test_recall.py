"""Recall from the session and from the repository, and the plain reading of a session's facts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
import pytest
from msgspec import UNSET

from codesynapse.contracts.errors import SessionRevoked
from codesynapse.contracts.identity import Millis
from codesynapse.server.memory.views import FactView
from tests.server.world import REPO, World, triple, upsert, world

TEA = triple("Ana", "likes", "tea")


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with world() as made:
        yield made


def objects(facts: list[FactView]) -> list[str]:
    return [fact.object for fact in facts]


async def test_a_session_recalls_its_own_facts_best_first(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.engine, execution, triple("Ana", "lives_in", "Paris"), triple("Ben", "lives_in", "Rome"), TEA)
    recalled = await here.recall.session(execution, REPO, "Where does Ana live?", limit=10)
    assert objects(recalled.facts)[0] == "Paris"
    assert recalled.revision == 1
    scores = [fact.score for fact in recalled.facts]
    assert scores == sorted(scores, reverse=True)  # type: ignore[type-var]
    assert objects((await here.recall.session(execution, REPO, "Ana", limit=1)).facts)[1:] == []


async def test_another_session_of_the_same_user_recalls_none_of_it(here: World):
    ana = await here.user("ana")
    await upsert(here.engine, await here.execution(ana, "s1"), TEA)
    recalled = await here.recall.session(await here.execution(ana, "s2"), REPO, "tea", limit=10)
    assert (recalled.facts, recalled.revision) == ([], 0)


async def test_an_empty_recall_says_how_much_of_the_repository_matches(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    empty = await here.recall.session(execution, REPO, "tea", limit=10)
    assert empty.note == "Nothing in this session's memory matches, and nothing in the repository's."
    await upsert(here.repository, execution, TEA, triple("Ben", "likes", "tea"))
    hinted = await here.recall.session(execution, REPO, "tea", limit=10)
    assert isinstance(hinted.note, str)
    assert "2 facts of the repository" in hinted.note
    await upsert(here.engine, execution, TEA)
    assert (await here.recall.session(execution, REPO, "tea", limit=10)).note is UNSET


async def test_only_what_holds_now_is_recalled_unless_history_is_asked_for(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.engine, execution, triple("Ana", "lives_in", "Paris", functional=True))
    here.clock.advance(seconds=60)
    await upsert(here.engine, execution, triple("Ana", "lives_in", "Rome", functional=True))
    later = Millis(here.clock() + 60_000)
    await upsert(here.engine, execution, triple("Ana", "visits", "Oslo", valid_from_ms=later))
    assert objects((await here.recall.session(execution, REPO, "Ana", limit=10)).facts) == ["Rome"]
    past = await here.recall.session(execution, REPO, "Ana", limit=10, history=True)
    assert set(objects(past.facts)) == {"Rome", "Paris", "Oslo"}
    assert all(fact.intervals is not UNSET for fact in past.facts)
    here.clock.advance(seconds=60)
    assert set(objects((await here.recall.session(execution, REPO, "Ana", limit=10)).facts)) == {"Rome", "Oslo"}


async def test_an_explanation_says_what_speaks_for_a_fact(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.engine, execution, TEA)
    (fact,) = (await here.recall.session(execution, REPO, "does Ana like tea", limit=1, explain=True)).facts
    assert fact.explain == {"lexical": 1.0, "named": 0.5}
    assert fact.score == 1.5
    (plain,) = (await here.recall.session(execution, REPO, "tea", limit=1)).facts
    assert plain.explain is UNSET


async def test_the_characters_of_an_answer_are_bounded_by_whole_facts(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.engine, execution, *(triple("Ana", "likes", f"tea {number}") for number in range(5)))
    every = (await here.recall.session(execution, REPO, "tea", limit=10)).facts
    first = len(msgspec.json.encode(every[0]).decode())
    for most, count in ((first, 1), (10**6, 5)):
        recalled = await here.recall.session(execution, REPO, "tea", limit=10, max_chars=most)
        assert recalled.facts == every[:count]
        assert recalled.note is UNSET


async def test_an_answer_with_no_room_for_the_first_fact_says_so(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    for engine, recall in ((here.engine, here.recall.session), (here.repository, here.recall.repository)):
        await upsert(engine, execution, triple("Ana", "likes", "tea"))
        (fact,) = (await recall(execution, REPO, "tea", limit=10)).facts
        least = len(msgspec.json.encode(fact).decode())
        narrow = await recall(execution, REPO, "tea", limit=10, max_chars=least - 1)
        assert (narrow.facts, "max_chars" in str(narrow.note)) == ([], True)
        assert (await recall(execution, REPO, "tea", limit=10, max_chars=least)).note is UNSET
        nothing = await recall(execution, REPO, "milk", limit=10, max_chars=100)
        assert (nothing.facts, "max_chars" in str(nothing.note)) == ([], False)


async def test_the_repository_is_recalled_by_who_did_not_write_it(here: World):
    ana, ben = await here.user("ana"), await here.user("ben")
    await upsert(here.repository, await here.execution(ana, "s1"), TEA)
    recalled = await here.recall.repository(await here.execution(ben, "s2"), REPO, "tea", limit=10)
    assert objects(recalled.facts) == ["tea"]
    assert recalled.facts[0].origin_session_id == "s1"


async def test_the_same_facts_rank_alike_in_session_and_repository(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    statements = [triple("Ana", "likes", "tea"), triple("Ana", "lives_in", "Paris"), triple("Ben", "likes", "milk")]
    await upsert(here.engine, execution, *statements)
    await upsert(here.repository, execution, *statements)
    for query in ("what does Ana like", "Paris", "milk or tea"):
        own = await here.recall.session(execution, REPO, query, limit=10)
        shared = await here.recall.repository(execution, REPO, query, limit=10)
        assert [(fact.id, fact.score) for fact in own.facts] == [(fact.id, fact.score) for fact in shared.facts]


async def test_reading_without_a_query_answers_all_current_facts_newest_first(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    for city in ("Paris", "Rome"):
        await upsert(here.engine, execution, triple("Ana", "lives_in", city, functional=True))
        here.clock.advance(seconds=1)
    await upsert(here.engine, execution, TEA)
    read = await here.recall.read(execution, REPO, query=None, limit=50)
    assert objects(read.facts) == ["tea", "Rome"]
    assert objects((await here.recall.read(execution, REPO, query=None, limit=50, history=True)).facts)[-1] == "Paris"
    assert objects((await here.recall.read(execution, REPO, query=None, limit=1)).facts) == ["tea"]
    assert objects((await here.recall.read(execution, REPO, query="Rome", limit=50)).facts) == ["Rome"]


async def test_a_cleared_namespace_answers_empty_and_says_that_it_is_closed(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.engine, execution, TEA)
    assert not (await here.recall.read(execution, REPO, query=None, limit=50)).closed
    await here.engine.clear(execution, REPO)
    read = await here.recall.read(execution, REPO, query=None, limit=50)
    assert (read.facts, read.closed) == ([], True)
    assert (await here.recall.session(execution, REPO, "tea", limit=10)).facts == []


async def test_a_revoked_session_recalls_nothing(here: World):
    ana = await here.user("ana")
    execution = await here.execution(ana, "s")
    await upsert(here.engine, execution, TEA)
    await here.sessions.revoke(ana, "s")
    for work in (
        here.recall.session(execution, REPO, "tea", limit=1),
        here.recall.read(execution, REPO, query=None, limit=1),
    ):
        with pytest.raises(SessionRevoked):
            await work
