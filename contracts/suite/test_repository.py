"""Repository memory: one revision counter a repository, commits by rows, reads in slices."""

import asyncio

import pytest
from msgspec import structs

from codesynapse.contracts.errors import Invalid, QuotaExceeded, RevisionConflict, SnapshotInvalid
from codesynapse.contracts.memory import (
    COMMITS_KEPT,
    CommitId,
    Committed,
    Entity,
    FactId,
    Outcome,
    Revision,
    entity_id,
)
from codesynapse.contracts.ports import RepositoryGraph
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import RepositoryScope, Slice
from codesynapse.contracts.suite.gates import OnRepository
from codesynapse.contracts.suite.worlds import (
    NOW,
    Library,
    later,
    new_commit_id,
    new_library,
    numbered,
    settled,
    stated,
    triple,
    unique,
)

__all__ = ["TestRepositoryCommits", "TestRepositoryIsolation", "TestRepositoryQuotas"]


class TestRepositoryCommits(OnRepository):
    """Each changing commit raises the counter by one; a stale one is refused; the last 32 ids are kept."""

    async def test_a_repository_that_was_never_written_is_empty_at_revision_0(self, library: Library) -> None:
        served = await library.read("ana likes tea")
        assert served == Slice(revision=Revision(0))

    async def test_what_was_committed_is_served_with_its_ends(self, library: Library) -> None:
        first = await library.remember("ana likes tea", "bo likes milk")
        served = await library.read("ana likes tea")
        assert (first.revision, served.revision, len(served.facts)) == (1, 1, 1)
        assert {entity.name for entity in served.entities} == {"ana", "tea"}
        assert served.facts[0] == stated("ana likes tea", origin=library.session_id).facts[0]

    async def test_each_changing_commit_raises_the_revision_by_one(self, library: Library) -> None:
        assert [(await library.remember(f"ana likes tea{n}")).revision for n in range(3)] == [1, 2, 3]
        assert (await library.read()).revision == 3

    @pytest.mark.parametrize("read", [0, 2, 99])
    async def test_a_stale_revision_is_refused_with_the_current_one(self, library: Library, read: int) -> None:
        await library.remember("ana likes tea")
        change = library.change("mallory was here")
        with pytest.raises(RevisionConflict) as refusal:
            await library.propose(change, read)
        assert refusal.value.details == {"revision": 1}
        assert (await library.read("mallory was here")).facts == ()

    async def test_of_many_commits_on_one_revision_exactly_one_wins(self, library: Library) -> None:
        calls = (settled(library.propose(library.change(f"w{n} was here"), 0), RevisionConflict) for n in range(12))
        results = await asyncio.gather(*calls)
        assert sum(isinstance(each, Committed) for each in results) == 1
        served = await library.read(*(f"w{n} was here" for n in range(12)))
        assert (served.revision, len(served.facts)) == (1, 1)

    async def test_writers_that_read_again_after_a_conflict_lose_nothing(self, library: Library) -> None:
        async def write(number: int) -> None:
            while isinstance(await settled(library.remember(f"w{number} was here"), RevisionConflict), Exception):
                pass

        await asyncio.gather(*(write(number) for number in range(8)))
        served = await library.read(*(f"w{n} was here" for n in range(8)))
        assert (served.revision, len(served.facts)) == (8, 8)

    async def test_a_repeated_commit_id_answers_its_first_result_and_writes_nothing(self, library: Library) -> None:
        commit_id, outcome = new_commit_id(), Outcome(added=1, fact_ids=(FactId("f1"),))
        first = await library.propose(library.change("ana likes tea"), 0, commit_id=commit_id, outcome=outcome)
        again = await library.propose(library.change("bo likes milk"), 1, commit_id=commit_id)
        assert (first, again) == (
            Committed(revision=Revision(1), outcome=outcome),
            Committed(revision=Revision(1), outcome=outcome, replayed=True),
        )
        served = await library.read("bo likes milk")
        assert (served.revision, served.facts, served.entities) == (1, (), ())

    async def test_a_commit_id_is_remembered_through_31_further_commits_and_not_longer(self, library: Library) -> None:
        commit_id = new_commit_id()
        first = await library.remember("ana likes tea", commit_id=commit_id)
        for number in range(COMMITS_KEPT - 1):
            await library.remember(f"ana likes tea{number}")
        again = await library.propose(library.change("ana likes tea"), 0, commit_id=commit_id)
        assert again == structs.replace(first, replayed=True)
        await library.remember("one more commit")
        assert await library.graph.committed(library.scope, commit_id) is None
        with pytest.raises(RevisionConflict):
            await library.propose(library.change("ana likes tea"), 0, commit_id=commit_id)

    async def test_a_kept_result_can_be_read_and_an_unknown_one_is_none(self, library: Library) -> None:
        commit_id = new_commit_id()
        first = await library.remember("ana likes tea", commit_id=commit_id)
        kept = await library.graph.committed(library.scope, commit_id)
        assert kept is not None
        assert (kept.revision, kept.outcome) == (first.revision, first.outcome)
        assert await library.graph.committed(library.scope, new_commit_id()) is None

    @pytest.mark.parametrize("bad", ["", "a b", "abc\n", "x" * 129])
    async def test_a_malformed_commit_id_is_refused(self, library: Library, bad: str) -> None:
        with pytest.raises(Invalid):
            await library.graph.commit(
                library.change("ana likes tea"),
                read_revision=Revision(0),
                commit_id=CommitId(bad),
                outcome=Outcome(),
                now_ms=NOW,
            )
        assert (await library.read()).revision == 0

    async def test_a_row_is_replaced_by_its_id(self, library: Library) -> None:
        await library.remember(triple("ana lives_in Bern", functional=True))
        library.now_ms = later(NOW, 1_000)
        await library.remember(triple("ana lives_in Thun", functional=True))
        served = await library.read("ana lives_in Bern")
        assert {fact.intervals for fact in served.facts} == {((NOW, library.now_ms),), ((library.now_ms, None),)}
        assert {entity.name for entity in served.entities} == {"ana", "Bern", "Thun"}

    async def test_facts_say_which_session_wrote_them_and_planted_ones_say_nothing(self, library: Library) -> None:
        await library.remember("ana likes tea")
        await library.propose(library.change("bo likes milk", origin=None), 1)
        served = await library.read("ana likes tea", "bo likes milk")
        assert {fact.origin_session_id for fact in served.facts} == {library.session_id, None}

    async def test_a_writer_is_named_by_a_well_formed_session_id(self, library: Library) -> None:
        with pytest.raises(Invalid):
            await library.propose(structs.replace(library.change("ana likes tea"), origin_session_id="abc\n"), 0)

    async def test_any_text_comes_back_as_it_was(self, library: Library) -> None:
        lines = ["Stra\u00dfe is before\u2028after", "\U0001f9e0 is ').drop();'; --", 'x is "${y}" \\ `z`']
        change = library.change(*lines)
        await library.propose(change, 0)
        served = await library.read(*lines)
        assert set(served.facts) == set(change.facts)
        assert set(served.entities) == set(change.entities)

    async def test_a_malformed_row_is_refused_and_writes_nothing(self, library: Library) -> None:
        good = library.change("ana likes tea")
        fact, stranger = good.facts[0], Entity(id=entity_id("bo", ""), name="bo ")
        for spoilt in (
            structs.replace(good, entities=good.entities[:1]),
            structs.replace(good, entities=(*good.entities, stranger)),
            structs.replace(good, facts=(structs.replace(fact, predicate="Likes"),)),
            structs.replace(good, facts=(structs.replace(fact, intervals=()),)),
            structs.replace(good, facts=(structs.replace(fact, id=FactId("f" + "0" * 24)),)),
        ):
            with pytest.raises(SnapshotInvalid):
                await library.propose(spoilt, 0)
        served = await library.read("ana likes tea")
        assert (served.revision, served.facts, served.entities) == (0, (), ())

    async def test_an_end_may_be_there_already(self, library: Library) -> None:
        await library.remember("ana likes tea")
        change = library.change("ana likes milk")
        tea = tuple(entity for entity in change.entities if entity.name == "milk")
        await library.propose(structs.replace(change, entities=tea), 1)
        assert len((await library.read("ana likes milk")).facts) == 2


class TestRepositoryIsolation(OnRepository):
    """A repository is (tenant, name); nothing of another is read, changed or counted."""

    async def test_no_other_repository_is_served_this_ones_memory(self, library: Library) -> None:
        commit_id = new_commit_id()
        await library.remember("ana likes tea", commit_id=commit_id)
        tenant, name = library.scope.tenant_id, library.scope.repository
        for scope in (
            RepositoryScope(tenant_id=unique("tenant"), repository=name),
            RepositoryScope(tenant_id=tenant, repository=unique("repo")),
            RepositoryScope(tenant_id=tenant, repository=name.upper()),
            RepositoryScope(tenant_id=tenant.upper(), repository=name),
            RepositoryScope(tenant_id=name, repository=tenant),
            RepositoryScope(tenant_id=f"{tenant}:{name}", repository=name),
        ):
            other = Library(library.graph, scope)
            assert await other.read("ana likes tea") == Slice(revision=Revision(0))
            assert await other.graph.committed(scope, commit_id) is None
            assert await other.graph.find_nodes(scope, "", after=None, limit=10) == []
            assert await other.graph.named(scope, ["ana", entity_id("ana", "")]) == []
            assert (await other.graph.touching(scope, [entity_id("ana", "")], limit=9, now_ms=NOW)).facts == ()
            found = await other.graph.candidates(scope, ["ana"], limit=9, now_ms=NOW, history=True)
            assert (found.total, found.total_terms, found.slice.facts) == (0, 0, ())
            again = await other.remember("bo likes milk", commit_id=commit_id)
            assert (again.revision, again.replayed) == (1, False)
        assert (await library.read("bo likes milk")) == Slice(revision=Revision(1))

    async def test_the_same_names_in_two_repositories_are_two_memories(self, library: Library) -> None:
        other = new_library(library.graph, tenant=library.scope.tenant_id)
        await library.remember(triple("ana lives_in Bern", functional=True))
        await other.remember(triple("ana lives_in Thun", functional=True))
        for each in (library, other):
            assert len((await each.read("ana lives_in Bern")).facts) == 1


class TestRepositoryQuotas(OnRepository):
    """The caps of a repository, enforced inside the transaction."""

    async def test_a_repository_holds_so_many_live_facts(self, library: Library) -> None:
        await library.graph.set_quotas(library.scope.tenant_id, Quotas(repository_facts_max=2))
        await library.remember(triple("ana lives_in Bern", functional=True), "ana likes tea")
        with pytest.raises(QuotaExceeded) as refusal:
            await library.remember("ana likes milk")
        assert (refusal.value.field, refusal.value.limit) == ("repository_facts", 2)
        await library.remember(triple("ana lives_in Thun", functional=True))
        await library.remember(triple("ana likes tea", retract=True))
        await library.remember("ana likes milk")
        assert (await library.read()).revision == 4

    async def test_a_repository_holds_so_many_entities(self, library: Library) -> None:
        await library.graph.set_quotas(library.scope.tenant_id, Quotas(repository_entities_max=3))
        await library.remember("ana likes tea", "ana likes milk")
        with pytest.raises(QuotaExceeded) as refusal:
            await library.remember("ana likes juice")
        assert (refusal.value.field, refusal.value.limit) == ("repository_entities", 3)
        await library.remember("tea mixes_with milk")

    async def test_each_repository_of_a_tenant_has_the_whole_cap_and_other_tenants_their_own(
        self, graph: RepositoryGraph
    ) -> None:
        tenant = unique("tenant")
        await graph.set_quotas(tenant, Quotas(repository_facts_max=2))
        for library in (new_library(graph, tenant=tenant), new_library(graph, tenant=tenant)):
            await library.remember(*numbered(2))
            with pytest.raises(QuotaExceeded):
                await library.remember("ana likes tea")
        await new_library(graph).remember(*numbered(3))

    async def test_writers_at_once_reach_exactly_the_cap(self, library: Library) -> None:
        await library.graph.set_quotas(library.scope.tenant_id, Quotas(repository_facts_max=4))

        async def write(number: int) -> object:
            while True:
                result = await settled(library.remember(f"w{number} was here"), RevisionConflict, QuotaExceeded)
                if not isinstance(result, RevisionConflict):
                    return result

        results = await asyncio.gather(*(write(number) for number in range(9)))
        assert sum(isinstance(each, Committed) for each in results) == 4
        assert (await library.read()).revision == 4
