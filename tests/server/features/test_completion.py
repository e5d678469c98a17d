"""Completion: what begins with what was typed comes first, and only what the caller may read comes at all."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from codesynapse.contracts.accounts import Level
from codesynapse.contracts.requirements import requirement
from codesynapse.server.features.completion import TYPED_MAX, Completion, ranked
from tests.server.world import TENANT, World, triple, upsert, world


@pytest.fixture
async def here() -> AsyncIterator[World]:
    async with world() as made:
        yield made


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("", ["Straße", "alpha", "Beta"]),
        ("A", ["alpha", "Straße", "Beta"]),
        ("be", ["Beta"]),
        ("STRASS", ["Straße"]),
        (" beta ", ["Beta"]),
        ("x", []),
    ],
)
def test_names_match_without_case_and_those_that_begin_so_come_first(typed: str, found: list[str]):
    assert ranked(["Straße", "alpha", "Beta"], typed) == found


@requirement("features:grants")
async def test_only_repositories_with_a_grant_are_offered(here: World):
    for name in ("alpha", "beta", "secret"):
        await here.ports.accounts.create_repository(TENANT, name, now_ms=here.clock())
    ana = await here.user("ana")
    for name in ("alpha", "beta"):
        await here.ports.accounts.set_grant(TENANT, name, "ana", Level.READ, now_ms=here.clock())
    completion, execution = Completion(here.sessions, here.repository), await here.execution(ana, "s1")
    assert await completion.repositories(execution, "", {}) == ["alpha", "beta", "default"]
    assert await completion.repositories(execution, "s", {}) == []
    await here.ports.accounts.set_grant(TENANT, "beta", "ana", None, now_ms=here.clock())
    assert await completion.repositories(execution, "", {}) == ["alpha", "default"]


async def test_entities_are_those_of_the_chosen_repository_which_must_be_readable(here: World):
    execution = await here.execution(await here.user("ana"), "s1")
    await upsert(here.repository, execution, triple("Ana", "knows", "Hannah"), triple("Anatol", "knows", "Bo"))
    completion = Completion(here.sessions, here.repository)
    assert await completion.entities(execution, "ana", {}) == ["Ana", "Anatol"]
    assert await completion.entities(execution, "an", {"repository": "default"}) == ["Ana", "Anatol", "Hannah"]
    for chosen in ({"repository": "secret"}, {"repo": "not valid"}):
        assert await completion.entities(execution, "ana", chosen) == []
    assert await completion.entities(execution, "x" * (TYPED_MAX + 1), {}) == []


async def test_an_entity_is_offered_by_its_name_where_an_alias_matched(here: World):
    execution = await here.execution(await here.user("ana"), "s1")
    await upsert(here.repository, execution, triple("Ana", "knows", "Bo", subject_aliases=("Zed",)))
    assert await Completion(here.sessions, here.repository).entities(execution, "zed", {}) == ["Ana"]


async def test_depths_are_one_to_three(here: World):
    execution = await here.execution(await here.user("ana"), "s1")
    completion = Completion(here.sessions, here.repository)
    assert [await completion.depths(execution, typed, {}) for typed in ("", "2", "4")] == [["1", "2", "3"], ["2"], []]
