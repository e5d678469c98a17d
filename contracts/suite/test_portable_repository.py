"""Moving repository memory: with its history, its terms, its revision and commit ids, and never served half."""

import pytest
from msgspec import structs

from codesynapse.contracts.errors import AlreadyExists, CodeSynapseError, RevisionConflict, Unavailable
from codesynapse.contracts.memory import entity_id
from codesynapse.contracts.portable import Head
from codesynapse.contracts.ports import Portable
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import RESTORING
from codesynapse.contracts.suite.gates import requires
from codesynapse.contracts.suite.test_portable import OnPortable, digests, items_of, move, moved
from codesynapse.contracts.suite.worlds import (
    NOW,
    Library,
    new_commit_id,
    numbered,
    settled,
    triple,
    unique,
)

__all__ = ["TestMovingRepositories"]


def library_of(library: Library, tenant: str) -> Library:
    """The same repository of another tenant."""
    return Library(library.graph, structs.replace(library.scope, tenant_id=tenant))


@requires("repository")
class TestMovingRepositories(OnPortable):
    """Repository memory with its history, its terms, its revision and commit ids; nothing is served half."""

    async def test_a_moved_repository_serves_finds_and_digests_the_same(
        self, portable: Portable, library: Library
    ) -> None:
        await library.remember(triple("ana lives_in Bern", functional=True), "ána mag Tee 🍵", "ana likes tea tea")
        await library.remember(triple("ana lives_in Thun", functional=True))
        tenant = await move(portable, library.scope.tenant_id)
        again = library_of(library, tenant)
        for history in (False, True):
            terms = ["ana", "tea", "tee", "lives_in", "nothing"]
            found = [
                await each.graph.candidates(each.scope, terms, limit=9, now_ms=NOW, history=history)
                for each in (library, again)
            ]
            assert found[0] == found[1]
        for query in ("", "an", "🍵"):
            nodes = [await each.graph.find_nodes(each.scope, query, after=None, limit=9) for each in (library, again)]
            assert nodes[0] == nodes[1]
        ends = [entity.id for entity in await library.graph.named(library.scope, ["ana"])]
        near = [await each.graph.touching(each.scope, ends, limit=9, now_ms=NOW) for each in (library, again)]
        assert near[0] == near[1]
        assert {fact.origin_session_id for fact in near[1].facts} == {library.session_id}
        assert digests(await items_of(portable, tenant), "t") == digests(
            await items_of(portable, library.scope.tenant_id), "t"
        )

    async def test_commit_ids_answer_and_the_next_commit_follows(self, portable: Portable, library: Library) -> None:
        made = {}
        for number in range(34):
            commit_id = new_commit_id()
            made[commit_id] = await library.remember(f"ana knows person{number}", commit_id=commit_id)
        again = library_of(library, await move(portable, library.scope.tenant_id))
        for number, (commit_id, first) in enumerate(made.items()):
            assert await again.graph.committed(again.scope, commit_id) == (None if number < 2 else first)
        with pytest.raises(RevisionConflict):
            await again.propose(again.change("ana likes tea"), 33)
        replayed = await again.propose(again.change("ana likes tea"), 0, commit_id=commit_id)
        assert replayed == structs.replace(first, replayed=True)
        assert (await again.remember("ana likes tea")).revision == 35

    async def test_caps_and_what_counts_in_them_move(self, portable: Portable, library: Library) -> None:
        await library.graph.set_quotas(library.scope.tenant_id, Quotas(repository_facts_max=2))
        await library.remember("ana likes tea")
        again = library_of(library, await move(portable, library.scope.tenant_id))
        with pytest.raises(CodeSynapseError, match="repository_facts"):
            await again.remember("ana likes milk", "ana likes juice")
        await again.remember("ana likes milk")

    async def test_a_half_moved_repository_serves_and_takes_nothing_until_it_is_whole(
        self, portable: Portable, library: Library
    ) -> None:
        await library.remember(*numbered(5))
        await library.remember("bo knows ana")
        items = await items_of(portable, library.scope.tenant_id, limit=2)
        again = library_of(library, unique("tenant"))
        *rows, head = [moved(item, again.scope.tenant_id) for item in items]
        for half in (rows[:1], rows[:-1], rows):
            for item in half:
                await portable.restore(item, now_ms=NOW)
            found = await items_of(portable, again.scope.tenant_id)
            assert [each.revision for each in found if isinstance(each, Head)] == [RESTORING]
            for call in (
                again.read("ana knows person00001"),
                again.propose(again.change("ana likes tea"), 0),
                again.propose(again.change("ana likes tea"), RESTORING),
                again.graph.candidates(again.scope, ["ana"], limit=9, now_ms=NOW, history=True),
                again.graph.touching(again.scope, [entity_id("ana", "")], limit=9, now_ms=NOW),
            ):
                with pytest.raises(Unavailable):
                    await call
            for nodes in (
                again.graph.find_nodes(again.scope, "", after=None, limit=9),
                again.graph.named(again.scope, ["ana"]),
            ):
                shown = await settled(nodes, Unavailable)
                assert isinstance(shown, Unavailable) or shown == []
            if half is not rows:
                with pytest.raises(RevisionConflict):
                    await portable.restore(head, now_ms=NOW)
        await portable.restore(head, now_ms=NOW)
        assert (await again.read("ana knows person00001")).revision == 2
        assert digests(await items_of(portable, again.scope.tenant_id), "t") == digests(items, "t")

    async def test_what_is_whole_is_refused_and_left_as_it_is(self, portable: Portable, library: Library) -> None:
        await library.remember("ana likes tea")
        items = await items_of(portable, library.scope.tenant_id)
        for item in items:
            with pytest.raises(AlreadyExists):
                await portable.restore(item, now_ms=NOW)
        assert await items_of(portable, library.scope.tenant_id) == items

    async def test_another_tenants_repository_of_the_same_name_is_not_mixed_in(
        self, portable: Portable, library: Library
    ) -> None:
        other = library_of(library, unique("tenant"))
        await library.remember("ana likes tea")
        await other.remember("bo likes milk", "bo likes tea")
        again = library_of(library, await move(portable, library.scope.tenant_id))
        nodes = await again.graph.find_nodes(again.scope, "", after=None, limit=9)
        assert [entity.name for entity in nodes] == ["ana", "tea"]
