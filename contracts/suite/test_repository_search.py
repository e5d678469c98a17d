"""Repository memory is searched by terms, by names and along its edges."""

import pytest

from codesynapse.contracts.memory import EntityId, Outcome, entity_id
from codesynapse.contracts.repository import node_order
from codesynapse.contracts.suite.gates import OnRepository
from codesynapse.contracts.suite.worlds import NOW, Library, later, names_of, new_commit_id, triple
from codesynapse.contracts.triples import Triple

__all__ = ["TestCandidates", "TestNodes", "TestSlices", "TestTouching"]


class TestSlices(OnRepository):
    """A slice is exactly what was asked for, at one revision."""

    async def test_only_the_pairs_that_were_asked_for_are_read(self, library: Library) -> None:
        await library.remember("ana likes tea", "ana likes milk", "ana knows bo", "bo likes tea")
        served = await library.read("ana likes anything")
        assert {fact.object for fact in served.facts} == {entity_id("tea", ""), entity_id("milk", "")}
        assert names_of(served.entities) == {"ana", "tea", "milk"}

    async def test_entities_are_read_by_id_and_unknown_ones_are_left_out(self, library: Library) -> None:
        await library.remember("ana likes tea")
        asked = [entity_id("TEA", ""), entity_id("bo", ""), EntityId("e0")]
        served = await library.graph.read(library.scope, pairs=[], entities=asked)
        assert (names_of(served.entities), served.facts, served.revision) == ({"tea"}, (), 1)

    async def test_nothing_asked_for_tells_the_revision(self, library: Library) -> None:
        await library.remember("ana likes tea")
        served = await library.graph.read(library.scope, pairs=[], entities=[])
        assert (served.revision, served.facts, served.entities) == (1, (), ())


class TestCandidates(OnRepository):
    """Facts that share a term with a query, and the figures that a ranking needs of the rest."""

    async def planted(self, library: Library) -> None:
        """Five facts: one superseded, one of the future, and terms that repeat."""
        await library.remember(triple("ana lives_in Bern", functional=True))
        library.now_ms = later(NOW, 1_000)
        await library.remember(triple("ana lives_in Thun", functional=True), "bo lives_in Bern")
        library.now_ms = later(NOW, 2_000)
        await library.remember("bo visits bo", triple("ana visits Rome", valid_from_ms=NOW + 9_000))

    async def asked(self, library: Library, *terms: str, limit: int = 50, history: bool = False) -> list[str]:
        """What the candidates say, in their order: subject and object."""
        found = await library.graph.candidates(
            library.scope, terms, limit=limit, now_ms=library.now_ms, history=history
        )
        names = {entity.id: entity.name for entity in found.slice.entities}
        return [f"{names[fact.subject]} {names[fact.object]}" for fact in found.slice.facts]

    async def test_each_shares_a_term_and_those_with_more_different_terms_come_first(self, library: Library) -> None:
        await library.remember("ana likes tea", "bo likes milk", "ana likes milk", "cy drinks juice")
        found = await self.asked(library, "ana", "milk")
        assert found[0] == "ana milk"
        assert set(found) == {"ana milk", "ana tea", "bo milk"}

    async def test_of_equal_ones_the_newest_recorded_come_first_then_the_smaller_id(self, library: Library) -> None:
        await library.remember("ana likes b1", "ana likes b2", "ana likes b3")
        library.now_ms = later(NOW, 1_000)
        await library.remember("ana likes a1")
        found = await library.graph.candidates(library.scope, ["ana"], limit=9, now_ms=library.now_ms, history=False)
        recorded = [fact.recorded_at_ms for fact in found.slice.facts]
        assert recorded == [library.now_ms, NOW, NOW, NOW]
        assert [fact.id for fact in found.slice.facts[1:]] == sorted(fact.id for fact in found.slice.facts[1:])

    async def test_a_term_that_is_asked_or_held_twice_counts_once_in_the_order(self, library: Library) -> None:
        await library.remember("bo visits bo", "bo likes tea")
        found = await self.asked(library, "bo", "bo", "tea")
        assert found == ["bo tea", "bo bo"]

    async def test_at_most_the_limit_is_served_and_the_figures_are_of_all(self, library: Library) -> None:
        await library.remember(*(f"ana likes tea{number}" for number in range(6)))
        found = await library.graph.candidates(library.scope, ["ana"], limit=2, now_ms=NOW, history=False)
        assert len(found.slice.facts) == 2
        assert (found.total, found.total_terms, dict(found.frequencies)) == (6, 18, {"ana": 6})

    async def test_only_what_is_current_is_served_and_counted(self, library: Library) -> None:
        await self.planted(library)
        assert set(await self.asked(library, "ana", "bern", "bo", "rome")) == {"ana Thun", "bo Bern", "bo bo"}
        found = await library.graph.candidates(
            library.scope, ["ana", "bern", "rome"], limit=9, now_ms=library.now_ms, history=False
        )
        assert (found.total, found.total_terms) == (3, 9)
        assert dict(found.frequencies) == {"ana": 1, "bern": 1, "rome": 0}

    async def test_history_serves_and_counts_everything(self, library: Library) -> None:
        await self.planted(library)
        assert set(await self.asked(library, "ana", "bern", history=True)) == {
            "ana Bern",
            "ana Thun",
            "bo Bern",
            "ana Rome",
        }
        found = await library.graph.candidates(
            library.scope, ["ana", "bern", "bo"], limit=9, now_ms=library.now_ms, history=True
        )
        assert (found.total, found.total_terms) == (5, 15)
        assert dict(found.frequencies) == {"ana": 3, "bern": 2, "bo": 2}

    async def test_a_fact_becomes_current_when_its_time_comes(self, library: Library) -> None:
        await self.planted(library)
        assert await self.asked(library, "rome") == []
        library.now_ms = later(NOW, 9_000)
        assert await self.asked(library, "rome") == ["ana Rome"]

    async def test_no_term_and_unknown_terms_find_nothing_but_the_figures(self, library: Library) -> None:
        await library.remember("ana likes tea")
        for terms in ([], ["nobody"]):
            found = await library.graph.candidates(library.scope, terms, limit=9, now_ms=NOW, history=False)
            assert (found.slice.facts, found.total, found.total_terms) == ((), 1, 3)
            assert dict(found.frequencies) == dict.fromkeys(terms, 0)

    async def test_a_fact_that_is_written_again_carries_its_new_terms_alone(self, library: Library) -> None:
        await library.remember("ana likes tea")
        change = library.change("ana likes tea")
        renamed = type(change)(
            scope=change.scope,
            entities=change.entities,
            facts=change.facts,
            terms={change.facts[0].id: ("chai",)},
            origin_session_id=change.origin_session_id,
        )
        await library.graph.commit(
            renamed,
            read_revision=(await library.read()).revision,
            commit_id=new_commit_id(),
            outcome=Outcome(),
            now_ms=NOW,
        )
        assert (await self.asked(library, "ana"), await self.asked(library, "chai")) == ([], ["ana tea"])
        found = await library.graph.candidates(library.scope, ["chai"], limit=9, now_ms=NOW, history=False)
        assert (found.total, found.total_terms) == (1, 1)

    async def test_terms_are_compared_as_they_are(self, library: Library) -> None:
        await library.remember("100% is a_b", "1000 is axb")
        assert await self.asked(library, "100%") == ["100% a_b"]
        assert await self.asked(library, "a_b") == ["100% a_b"]


class TestNodes(OnRepository):
    """Entities are found by words and named by ids, names and aliases, ignoring case."""

    async def planted(self, library: Library) -> None:
        await library.remember(
            Triple(subject="Ana Mar\u00eda", subject_type="person", predicate="owns", object="Caf\u00e9 50%"),
            Triple(subject="bank", subject_type="shore", predicate="near", object="River_1"),
            Triple(subject="Bank", subject_type="company", predicate="near", object="River21"),
            Triple(subject="bo", predicate="likes", object="tea", object_aliases=("Chai", "Stra\u00dfentee")),
        )

    async def found(self, library: Library, query: str) -> set[str]:
        return names_of(await library.graph.find_nodes(library.scope, query, after=None, limit=100))

    @pytest.mark.parametrize(
        ("query", "names"),
        [
            ("ana", {"Ana Mar\u00eda"}),
            ("MAR\u00cdA an", {"Ana Mar\u00eda"}),
            ("person", {"Ana Mar\u00eda"}),
            ("mar\u00eda company", set()),
            ("bank", {"bank", "Bank"}),
            ("bank comp", {"Bank"}),
            ("chai", {"tea"}),
            ("STRASSENTEE", {"tea"}),
            ("river_", {"River_1"}),
            ("50%", {"Caf\u00e9 50%"}),
            ("%", {"Caf\u00e9 50%"}),
            ("*", set()),
            ("nobody", set()),
        ],
    )
    async def test_every_word_of_the_query_occurs_in_name_type_or_aliases(
        self, library: Library, query: str, names: set[str]
    ) -> None:
        await self.planted(library)
        assert await self.found(library, query) == names

    async def test_an_empty_query_finds_all_in_order(self, library: Library) -> None:
        await self.planted(library)
        found = await library.graph.find_nodes(library.scope, " ", after=None, limit=100)
        assert len(found) == 8
        assert found == sorted(found, key=node_order)

    async def test_the_order_is_that_of_code_points(self, library: Library) -> None:
        # A store that compares UTF-16 or a language's collation has another.
        names = ["Zoe", "_x", "zoe2", "\u00e9mile", "\uff5ewave", "\U0001f9e0brain", "Adam"]
        await library.remember(*(f"{name} is here" for name in names))
        found = await library.graph.find_nodes(library.scope, "", after=None, limit=100)
        assert [entity.name for entity in found if entity.name != "here"] == sorted(names, key=str.casefold)

    async def test_pages_follow_one_another_without_gap_or_repetition(self, library: Library) -> None:
        await self.planted(library)
        whole = await library.graph.find_nodes(library.scope, "", after=None, limit=100)
        pages, after = [], None
        while page := await library.graph.find_nodes(library.scope, "", after=after, limit=3):
            pages.append(page)
            after = node_order(page[-1])
        assert [len(page) for page in pages] == [3, 3, 2]
        assert [entity for page in pages for entity in page] == whole

    async def test_a_page_begins_behind_its_cursor_also_where_the_entity_is_unknown(self, library: Library) -> None:
        await self.planted(library)
        found = await library.graph.find_nodes(library.scope, "", after=("c", ""), limit=100)
        assert found
        assert all(node_order(entity) > ("c", "") for entity in found)

    async def test_nodes_are_named_by_id_name_and_alias(self, library: Library) -> None:
        await self.planted(library)
        for name in ("TEA", "chai", "stra\u00dfentee", "STRASSENTEE", entity_id("tea", "")):
            assert names_of(await library.graph.named(library.scope, [name])) == {"tea"}
        both = await library.graph.named(library.scope, ["BANK", "bo", "nobody"])
        assert [entity.name.casefold() for entity in both] == ["bank", "bank", "bo"]
        assert both == sorted(both, key=node_order)
        assert await library.graph.named(library.scope, ["ban", "%", ""]) == []

    async def test_entities_come_back_whole(self, library: Library) -> None:
        await self.planted(library)
        (tea,) = await library.graph.named(library.scope, ["tea"])
        assert (tea.name, tea.type, tea.aliases) == ("tea", "", ("Chai", "Stra\u00dfentee"))


class TestTouching(OnRepository):
    """The current facts that begin or end at an entity."""

    async def test_facts_that_begin_or_end_there_are_served_with_both_ends(self, library: Library) -> None:
        await library.remember("ana knows bo", "bo knows cy", "cy knows di", "bo knows bo")
        near = await library.graph.touching(library.scope, [entity_id("BO", "")], limit=9, now_ms=NOW)
        assert len(near.facts) == 3
        assert names_of(near.entities) == {"ana", "bo", "cy"}
        assert near.revision == 1

    async def test_they_are_ordered_by_id_and_at_most_the_limit(self, library: Library) -> None:
        await library.remember(*(f"ana knows p{number}" for number in range(8)))
        ids = [entity_id("ana", ""), entity_id("p1", "")]
        whole = await library.graph.touching(library.scope, ids, limit=100, now_ms=NOW)
        assert [fact.id for fact in whole.facts] == sorted(fact.id for fact in whole.facts)
        few = await library.graph.touching(library.scope, ids, limit=3, now_ms=NOW)
        assert few.facts == whole.facts[:3]
        assert len(few.entities) == 4

    async def test_superseded_and_future_facts_are_not_among_them(self, library: Library) -> None:
        await library.remember(triple("ana lives_in Bern", functional=True))
        library.now_ms = later(NOW, 1_000)
        await library.remember(
            triple("ana lives_in Thun", functional=True), triple("ana visits Rome", valid_from_ms=NOW + 5_000)
        )
        asked = [entity_id("ana", "")]
        near = await library.graph.touching(library.scope, asked, limit=9, now_ms=library.now_ms)
        assert names_of(near.entities) == {"ana", "Thun"}
        ahead = await library.graph.touching(library.scope, asked, limit=9, now_ms=later(NOW, 5_000))
        assert names_of(ahead.entities) == {"ana", "Thun", "Rome"}

    async def test_an_unknown_entity_touches_nothing(self, library: Library) -> None:
        await library.remember("ana knows bo")
        for asked in ([], [EntityId("e0")]):
            near = await library.graph.touching(library.scope, asked, limit=9, now_ms=NOW)
            assert (near.facts, near.entities) == ((), ())
