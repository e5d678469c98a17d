"""Repository memory through its engine: provenance, conflicts, search by pages, neighbourhoods, aliases."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator

import pytest
from msgspec import UNSET

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.errors import GrantInsufficient, Invalid, RevisionConflict, SessionRevoked
from codesynapse.contracts.repository import RepositoryScope
from codesynapse.contracts.triples import normalised
from codesynapse.server.memory.views import Found
from tests.server.world import REPO, TENANT, World, triple, upsert, world


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with world() as made:
        yield made


async def search(here: World, execution: object, query: str, **more: object) -> Found:
    given = {"labels": [], "limit": 20, "cursor": None, **more}
    return await here.repository.search(execution, REPO, query, **given)  # type: ignore[arg-type]


def names(found: Found) -> list[str]:
    return [node.name for node in found.nodes]


async def test_every_fact_records_the_session_that_wrote_it(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    done = await upsert(here.repository, execution, triple("Ana", "likes", "tea"))
    assert [fact.origin_session_id for fact in done.facts] == ["s"]


async def test_repeating_a_fact_costs_no_revision_and_a_change_costs_one(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    first = await upsert(here.repository, execution, triple("Ana", "likes", "tea"))
    again = await upsert(here.repository, execution, triple("Ana", "likes", "tea"))
    other = await upsert(here.repository, execution, triple("Ana", "likes", "milk"))
    assert (first.revision, again.revision, again.unchanged, other.revision) == (1, 1, 1, 2)


async def test_a_revision_that_is_not_the_current_one_is_a_conflict(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.repository, execution, triple("Ana", "likes", "tea"), expected_revision=0)
    with pytest.raises(RevisionConflict) as caught:
        await upsert(here.repository, execution, triple("Ana", "likes", "milk"), expected_revision=0)
    assert caught.value.details == {"revision": 1}


async def test_many_writers_lose_no_update(here: World):
    ana = await here.user("ana")
    executions = [await here.execution(ana, f"s{number}") for number in range(16)]
    await asyncio.gather(
        *(upsert(here.repository, each, triple("Ana", "likes", f"tea {at}")) for at, each in enumerate(executions))
    )
    found = await here.repository.neighbourhood(executions[0], REPO, ["Ana"], depth=1, limit=100)
    assert len(found.edges) == 16


async def test_repositories_of_one_name_in_two_organisations_share_nothing(here: World):
    accounts = here.ports.accounts
    await accounts.create_organization("other", now_ms=here.clock())
    await accounts.create_repository("other", REPO, now_ms=here.clock())
    ana, eve = await here.user("ana"), await here.user("eve", tenant="other")
    await upsert(here.repository, await here.execution(ana, "s1"), triple("Ana", "likes", "tea"))
    theirs = await here.execution(eve, "s2")
    assert names(await search(here, theirs, "")) == []
    assert (await here.repository.candidates(theirs, REPO, ["tea"], history=False)).slice.facts == ()
    assert (await here.repository.neighbourhood(theirs, REPO, ["Ana"], depth=1, limit=9)).nodes == []
    assert TENANT != "other"


@pytest.mark.parametrize("spelt", ["Caf\u00e9 Zo\u00eb", "Cafe\u0301 Zoe\u0308", " CAFE\u0301 ZO\u00cb\t"])
async def test_what_is_sought_is_found_however_it_is_spelt(here: World, spelt: str):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.repository, execution, normalised(triple(spelt, "lies_in", " Wien ")))
    for asked in ("Cafe\u0301 Zoe\u0308", " Caf\u00e9 Zo\u00eb ", "Zoe\u0308", "CAFE\u0301"):
        assert len(names(await search(here, execution, asked))) == 1
    for asked in ("Cafe\u0301 Zoe\u0308", " caf\u00e9 zo\u00eb\n", " Wien "):
        near = await here.repository.neighbourhood(execution, REPO, [asked], depth=1, limit=9)
        assert len(near.nodes) == 2
    assert names(await search(here, execution, "Cafe Zoe")) == []
    assert (await here.repository.neighbourhood(execution, REPO, [" ", "Zoe"], depth=1, limit=9)).nodes == []


async def test_search_finds_entities_by_all_words_of_name_type_or_alias(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    statement = triple("New York", "is_in", "USA", subject_type="City", subject_aliases=("Big Apple",))
    await upsert(here.repository, execution, statement)
    for query in ("york", "CITY new", "apple", ""):
        assert "New York" in names(await search(here, execution, query))
    assert names(await search(here, execution, "york paris")) == []
    (node,) = (await search(here, execution, "york")).nodes
    assert (node.type, node.labels, node.aliases) == ("City", ["MemoryEntity"], ["Big Apple"])


async def test_pages_of_a_search_hold_every_entity_once_in_order(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.repository, execution, *(triple(f"n{number:02}", "is", "thing") for number in range(9)))
    seen, cursor = [], None
    for _ in range(4):
        found = await search(here, execution, "", limit=3, cursor=cursor)
        seen += names(found)
        cursor = found.next_cursor if found.next_cursor is not UNSET else None
    assert seen == [*(f"n{number:02}" for number in range(9)), "thing"]
    assert cursor is None


async def test_the_label_of_the_code_graph_alone_finds_no_memory(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.repository, execution, triple("Ana", "likes", "tea"))
    assert names(await search(here, execution, "ana", labels=["Node"])) == []
    assert names(await search(here, execution, "ana", labels=["MemoryEntity", "Node"])) == ["Ana"]


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "é",
        "\n",
        encoded("[]"),
        encoded('["a"]'),
        encoded("[1,2]"),
        encoded('{"a":1}'),
        encoded('["\\ud800",""]'),
    ],
)
async def test_a_cursor_that_we_did_not_give_is_invalid(here: World, cursor: str):
    execution = await here.execution(await here.user("ana"), "s")
    with pytest.raises(Invalid, match="Field: cursor"):
        await search(here, execution, "", cursor=cursor)


async def test_a_neighbourhood_grows_by_one_step_a_depth(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    chain = [triple(f"n{number}", "next", f"n{number + 1}") for number in range(5)]
    await upsert(here.repository, execution, *chain)
    for depth in (1, 2, 3):
        found = await here.repository.neighbourhood(execution, REPO, ["n0"], depth=depth, limit=100)
        assert [node.name for node in found.nodes] == [f"n{number}" for number in range(depth + 1)]
        assert (len(found.edges), found.truncated) == (depth, False)


async def test_a_neighbourhood_is_cut_at_its_limit_and_says_so(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.repository, execution, *(triple("hub", "has", f"leaf {number}") for number in range(10)))
    cut = await here.repository.neighbourhood(execution, REPO, ["hub"], depth=1, limit=9)
    whole = await here.repository.neighbourhood(execution, REPO, ["hub"], depth=1, limit=10)
    assert (len(cut.edges), cut.truncated, len(whole.edges), whole.truncated) == (9, True, 10, False)
    known = {node.id for node in cut.nodes}
    assert all(edge.source in known and edge.target in known for edge in cut.edges)


async def test_a_node_is_named_by_id_name_or_alias_and_an_unknown_one_is_left_out(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.repository, execution, triple("Ana", "likes", "tea", subject_aliases=("Anna",)))
    by_name = await here.repository.neighbourhood(execution, REPO, ["ANA"], depth=1, limit=9)
    by_alias = await here.repository.neighbourhood(execution, REPO, ["anna", "nobody"], depth=1, limit=9)
    by_id = await here.repository.neighbourhood(execution, REPO, [by_name.nodes[0].id], depth=1, limit=9)
    assert by_name == by_alias == by_id
    assert (await here.repository.neighbourhood(execution, REPO, ["nobody"], depth=3, limit=9)).nodes == []


async def test_what_no_longer_holds_is_no_edge(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.repository, execution, triple("Ana", "likes", "tea"))
    here.clock.advance(seconds=1)
    await upsert(here.repository, execution, triple("Ana", "likes", "tea", retract=True))
    found = await here.repository.neighbourhood(execution, REPO, ["Ana"], depth=1, limit=9)
    assert found.edges == []


async def test_an_entity_that_gains_an_alias_is_found_by_it_through_its_older_facts(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    await upsert(here.repository, execution, triple("New York", "is_in", "USA"))
    await upsert(here.repository, execution, triple("New York", "has", "museum", subject_aliases=("Gotham",)))
    found = await here.repository.candidates(execution, REPO, ["gotham"], history=False)
    assert len(found.slice.facts) == 2


async def test_a_write_whose_session_is_revoked_while_it_waits_its_turn_leaves_nothing(here: World):
    ana = await here.user("ana")
    execution, other = await here.execution(ana, "s"), await here.execution(ana, "t")
    async with here.repository._turns.of(RepositoryScope(tenant_id=TENANT, repository=REPO)):
        waiting = asyncio.create_task(upsert(here.repository, execution, triple("Ana", "likes", "tea")))
        await asyncio.sleep(0)
        await here.sessions.revoke(ana, "s")
    with pytest.raises(SessionRevoked):
        await waiting
    assert names(await search(here, other, "")) == []


async def test_a_write_whose_grant_is_withdrawn_while_it_waits_its_turn_leaves_nothing(here: World):
    execution = await here.execution(await here.user("ana"), "s")
    async with here.repository._turns.of(RepositoryScope(tenant_id=TENANT, repository=REPO)):
        waiting = asyncio.create_task(upsert(here.repository, execution, triple("Ana", "likes", "tea")))
        await asyncio.sleep(0)
        await here.ports.accounts.set_grant(TENANT, REPO, "ana", Level.READ, now_ms=here.clock())
    with pytest.raises(GrantInsufficient):
        await waiting
    assert names(await search(here, execution, "")) == []
