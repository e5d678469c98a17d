"""Snapshots, revisions and commit ids: what is committed is served whole, once, and never over something unread."""

import asyncio

import pytest
from msgspec import structs

from codesynapse.contracts.errors import Invalid, RevisionConflict
from codesynapse.contracts.memory import COMMITS_KEPT, CommitId, Committed, FactId, Outcome, Revision, Snapshot, digest
from codesynapse.contracts.suite.gates import OnSessionMemory
from codesynapse.contracts.suite.worlds import (
    NOW,
    Chat,
    later,
    new_commit_id,
    new_scope,
    settled,
    sorted_content,
    triple,
)
from codesynapse.contracts.triples import Triple

__all__ = ["TestCommitIds", "TestRacingCommits", "TestRevisions", "TestSnapshots"]

TEXTS = {
    "line separator": "before\u2028between\u2029after",
    "beyond the basic plane": "\U0001f9e0 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U00010348",
    "right to left": "\u05e9\u05dc\u05d5\u05dd \u0627\u0644\u0633\u0644\u0627\u0645",
    "composed": "Caf\u00e9 \u00c5ngstr\u00f6m",
    "casefolds to more": "Stra\u00dfe \u0130stanbul \ufb01n",
    "quotes": 'it\'s "quoted" \\ and `ticked` ${x} {y} %s',
    "SQL": "'; DROP TABLE facts; --",
    "Cypher": "'}) DETACH DELETE n //",
    "Gremlin": "').drop().iterate(); g.V().has('",
    "looks like null": "null",
    "looks like a number": "007",
    "256 characters": "n" * 256,
    "256 wide characters": "\U0001f9e0" * 256,
}


class TestSnapshots(OnSessionMemory):
    """A snapshot is stored whole and served as it was proposed."""

    async def test_a_scope_that_was_never_written_is_empty_at_revision_0(self, chat: Chat) -> None:
        assert await chat.load() == Snapshot(scope=chat.scope)

    async def test_what_was_committed_is_served_whole(self, chat: Chat) -> None:
        proposed = chat.first("ana likes tea", "ana knows bo", "bo lives_in Bern")
        await chat.propose(proposed, 0)
        served = await chat.load()
        assert sorted_content(served) == sorted_content(proposed)
        assert (served.scope, served.revision, served.closed) == (chat.scope, 1, False)
        assert served.expires_at_ms == proposed.expires_at_ms

    @pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
    async def test_any_text_comes_back_as_it_was_with_the_same_digest(self, chat: Chat, text: str) -> None:
        row = Triple(
            subject=text,
            predicate="is_like",
            object=f"not {text}"[:256],
            subject_type=text[:64],
            subject_aliases=(text[:128], "alias"),
            source=text,
        )
        proposed = chat.first(row)
        await chat.propose(proposed, 0)
        served = await chat.load()
        assert sorted_content(served) == sorted_content(proposed)
        assert digest(served) == digest(proposed)

    async def test_types_aliases_sources_and_history_come_back(self, chat: Chat) -> None:
        await chat.remember(
            Triple(subject="ana", subject_type="person", predicate="lives_in", object="Bern", functional=True),
            Triple(subject="ana", predicate="likes", object="tea", object_aliases=("chai", "Tee"), source="a letter"),
            triple("ana works_at Acme", valid_from_ms=-5_000_000_000),
        )
        chat.now_ms = later(NOW, 1_000)
        proposed = chat.first()
        await chat.remember(
            Triple(subject="ana", subject_type="person", predicate="lives_in", object="Thun", functional=True),
            triple("ana works_at Acme", retract=True),
        )
        served = await chat.load()
        lived = {fact.intervals for fact in served.facts if fact.predicate == "lives_in"}
        assert lived == {((NOW, chat.now_ms),), ((chat.now_ms, None),)}
        assert {fact.intervals for fact in served.facts if fact.predicate == "works_at"} == {
            ((-5_000_000_000, chat.now_ms),)
        }
        assert {fact.source for fact in served.facts} == {None, "a letter"}
        assert {entity.aliases for entity in served.entities} == {(), ("chai", "Tee")}
        assert {fact.functional for fact in served.facts} == {True, False}
        assert proposed.facts == ()

    async def test_a_commit_replaces_the_snapshot(self, chat: Chat) -> None:
        await chat.propose(chat.first("ana likes tea", "bo likes milk"), 0)
        replacing = chat.first("cy likes juice")
        await chat.propose(replacing, 1)
        assert sorted_content(await chat.load()) == sorted_content(replacing)

    async def test_a_snapshot_may_lose_all_its_facts_and_stay_open(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        await chat.propose(chat.first(), 1)
        served = await chat.load()
        assert (served.facts, served.entities, served.closed, served.revision) == ((), (), False, 2)
        await chat.remember("ana likes milk")

    async def test_names_that_differ_by_case_only_are_one_entity(self, chat: Chat) -> None:
        await chat.remember("Ana likes Tea")
        again = await chat.remember("ANA likes tea", "ana likes TEA")
        served = await chat.load()
        assert {entity.name for entity in served.entities} == {"Ana", "Tea"}
        assert (len(served.facts), again.outcome.added, again.outcome.unchanged) == (1, 0, 2)

    async def test_the_same_name_of_another_type_is_another_entity(self, chat: Chat) -> None:
        await chat.remember(
            Triple(subject="Java", subject_type="island", predicate="lies_in", object="Asia"),
            Triple(subject="Java", subject_type="language", predicate="made_by", object="Sun"),
        )
        assert {entity.type for entity in (await chat.load()).entities if entity.name == "Java"} == {
            "island",
            "language",
        }

    async def test_the_outcome_is_answered_as_it_was_given(self, chat: Chat) -> None:
        outcome = Outcome(added=2, unchanged=3, superseded=1, retracted=4, removed=5, fact_ids=(FactId("f1"),))
        committed = await chat.propose(chat.first("ana likes tea"), 0, outcome=outcome)
        assert committed == Committed(revision=Revision(1), outcome=outcome)


class TestRevisions(OnSessionMemory):
    """A commit names the revision that it read; the store refuses a stale one, whoever wrote past the engine."""

    async def test_each_commit_raises_the_revision_by_one(self, chat: Chat) -> None:
        assert [(await chat.remember(f"ana likes tea{n}")).revision for n in range(3)] == [1, 2, 3]
        assert (await chat.load()).revision == 3

    @pytest.mark.parametrize("read", [0, 1, 3, 99])
    async def test_another_revision_than_the_current_is_refused_with_the_current(self, chat: Chat, read: int) -> None:
        await chat.remember("ana likes tea")
        await chat.remember("ana likes milk")
        with pytest.raises(RevisionConflict) as refusal:
            await chat.propose(chat.first("mallory was here"), read)
        assert refusal.value.details == {"revision": 2}

    async def test_the_first_commit_names_revision_0(self, chat: Chat) -> None:
        with pytest.raises(RevisionConflict) as refusal:
            await chat.propose(chat.first("ana likes tea"), 1)
        assert refusal.value.details == {"revision": 0}
        await chat.propose(chat.first("ana likes tea"), 0)

    async def test_a_refused_commit_writes_nothing(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        before = await chat.load()
        commit_id = new_commit_id()
        with pytest.raises(RevisionConflict):
            await chat.propose(chat.first("mallory was here"), 0, commit_id=commit_id)
        assert await chat.load() == before
        assert await chat.memory.committed(chat.scope, commit_id, now_ms=NOW) is None

    async def test_the_revision_inside_the_proposed_snapshot_is_not_looked_at(self, chat: Chat) -> None:
        proposed = structs.replace(chat.first("ana likes tea"), revision=Revision(77))
        assert (await chat.propose(proposed, 0)).revision == 1
        with pytest.raises(RevisionConflict):
            await chat.propose(structs.replace(proposed, revision=Revision(1)), 0)


class TestCommitIds(OnSessionMemory):
    """The last 32 commit ids are kept with their results, so that a lost acknowledgement can be settled."""

    async def test_a_repeated_commit_id_answers_its_first_result_and_writes_nothing(self, chat: Chat) -> None:
        commit_id, outcome = new_commit_id(), Outcome(added=1, fact_ids=(FactId("f1"),))
        first = await chat.propose(chat.first("ana likes tea"), 0, commit_id=commit_id, outcome=outcome)
        again = await chat.propose(chat.first("bo likes milk"), 1, commit_id=commit_id, outcome=Outcome(added=9))
        assert (first.replayed, again.replayed) == (False, True)
        assert structs.replace(again, replayed=False) == first
        assert sorted_content(await chat.load()) == sorted_content(chat.first("ana likes tea"))
        assert (await chat.load()).revision == 1

    async def test_a_commit_id_is_remembered_through_31_further_commits(self, chat: Chat) -> None:
        commit_id = new_commit_id()
        first = await chat.remember("ana likes tea", commit_id=commit_id)
        for number in range(COMMITS_KEPT - 1):
            await chat.remember(f"ana likes tea{number}")
        before = await chat.load()
        again = await chat.propose(chat.first("ana likes tea"), 0, commit_id=commit_id)
        assert again == structs.replace(first, replayed=True)
        assert await chat.load() == before

    async def test_after_32_further_commits_it_is_a_new_commit_that_read_too_long_ago(self, chat: Chat) -> None:
        commit_id = new_commit_id()
        await chat.remember("ana likes tea", commit_id=commit_id)
        for number in range(COMMITS_KEPT):
            await chat.remember(f"ana likes tea{number}")
        assert await chat.memory.committed(chat.scope, commit_id, now_ms=NOW) is None
        with pytest.raises(RevisionConflict) as refusal:
            await chat.propose(chat.first("ana likes tea"), 0, commit_id=commit_id)
        assert refusal.value.details == {"revision": COMMITS_KEPT + 1}

    async def test_a_replay_does_not_push_an_older_commit_id_out(self, chat: Chat) -> None:
        ids = [new_commit_id() for _ in range(COMMITS_KEPT)]
        for number, commit_id in enumerate(ids):
            await chat.remember(f"ana likes tea{number}", commit_id=commit_id)
        for _ in range(3):
            await chat.propose(chat.first(), 0, commit_id=ids[-1])
        kept = [await chat.memory.committed(chat.scope, each, now_ms=NOW) for each in ids]
        assert [each.revision for each in kept if each is not None] == list(range(1, COMMITS_KEPT + 1))

    async def test_a_kept_result_can_be_read_and_an_unknown_one_is_none(self, chat: Chat) -> None:
        commit_id = new_commit_id()
        first = await chat.remember("ana likes tea", commit_id=commit_id)
        kept = await chat.memory.committed(chat.scope, commit_id, now_ms=NOW)
        assert kept is not None
        assert (kept.revision, kept.outcome) == (first.revision, first.outcome)
        assert await chat.memory.committed(chat.scope, new_commit_id(), now_ms=NOW) is None
        assert await chat.memory.committed(new_scope(), commit_id, now_ms=NOW) is None

    @pytest.mark.parametrize("bad", ["", "a b", "abc\n", "é", "x" * 129])
    async def test_a_malformed_commit_id_is_refused(self, chat: Chat, bad: str) -> None:
        with pytest.raises(Invalid) as refusal:
            await chat.memory.commit(
                chat.first("ana likes tea"),
                read_revision=Revision(0),
                commit_id=CommitId(bad),
                outcome=Outcome(),
                now_ms=NOW,
            )
        assert refusal.value.field == "commit_id"
        assert (await chat.load()).revision == 0


class TestRacingCommits(OnSessionMemory):
    """Writers at the same time: none overwrites what it has not read."""

    async def test_of_many_commits_on_one_revision_exactly_one_wins(self, chat: Chat) -> None:
        await chat.remember("ana likes tea")
        proposals = [chat.first(f"writer{number} was here") for number in range(16)]
        calls = (settled(chat.propose(proposal, 1), RevisionConflict) for proposal in proposals)
        results = await asyncio.gather(*calls)
        won = [proposal for proposal, each in zip(proposals, results, strict=True) if isinstance(each, Committed)]
        lost = [each for each in results if isinstance(each, RevisionConflict)]
        assert (len(won), len(lost)) == (1, 15)
        assert {each.details["revision"] for each in lost} == {2}
        assert sorted_content(await chat.load()) == sorted_content(won[0])

    async def test_of_many_first_commits_exactly_one_wins(self, chat: Chat) -> None:
        calls = (settled(chat.propose(chat.first(f"writer{n} was here"), 0), RevisionConflict) for n in range(16))
        results = await asyncio.gather(*calls)
        assert sum(isinstance(each, Committed) for each in results) == 1
        assert ((await chat.load()).revision, await chat.facts()) == (1, 1)

    async def test_writers_that_read_again_after_a_conflict_lose_nothing(self, chat: Chat) -> None:
        async def write(number: int) -> None:
            while isinstance(await settled(chat.remember(f"writer{number} was here"), RevisionConflict), Exception):
                pass

        await asyncio.gather(*(write(number) for number in range(12)))
        served = await chat.load()
        assert (served.revision, len(served.facts)) == (12, 12)

    async def test_one_commit_id_sent_many_times_at_once_is_applied_once(self, chat: Chat) -> None:
        commit_id = new_commit_id()
        calls = (chat.propose(chat.first("ana likes tea"), 0, commit_id=commit_id) for _ in range(8))
        results = await asyncio.gather(*calls)
        assert sorted(each.replayed for each in results) == [False] + [True] * 7
        assert {each.revision for each in results} == {1}
        assert (await chat.load()).revision == 1
