"""Who is refused how: one table, by every way over HTTP, each row beside the same request that is right."""

import pytest

from tests.integration import refusals_content as content
from tests.integration import refusals_identity as identity
from tests.integration.refusals_world import Case, Overheard, Way, World, assert_unheard, world

CASES = [
    *identity.CREDENTIALS,
    *identity.TRANSPORTS,
    *identity.EXECUTIONS,
    *content.ARGUMENTS,
    *content.REGISTRATION,
]
ROWS = [(case, way) for case in CASES for way in case.ways]
NAMES = [f"{case.name}, {way.__name__}" for case, way in ROWS]


async def permitted(here: World, way: Way, seat: str) -> None:
    """The right request is served."""
    answer = await here.send(await way(here, seat))
    assert answer.status < 300, answer
    assert answer.refusal == {}


@pytest.mark.parametrize(("case", "way"), ROWS, ids=NAMES)
async def test_what_is_not_right_is_refused_as_the_table_says_and_its_twin_is_served(
    case: Case, way: Way, monkeypatch: pytest.MonkeyPatch, overheard: Overheard
) -> None:
    async with world(monkeypatch) as here:
        await permitted(here, way, "spare")
        ask = await way(here, "first")
        await case.spoil(here, ask)
        answer = await here.send(ask)
        assert (answer.status, answer.refusal.get("code")) == (case.status, case.code)
        assert case.field is None or answer.refusal["field"] == case.field
        await assert_unheard(here, ask, answer, overheard)
        if not case.lasting:
            # On the same transport and session: the refusal has changed nothing.
            await permitted(here, way, "first")
