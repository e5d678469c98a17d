"""The decorator that ties a test to its rows."""

from __future__ import annotations

import pytest

from codesynapse.contracts.requirements import ATTRIBUTE, REQUIREMENTS, ROWS_A_TEST_MAX, Requirement, requirement

IDS = [row.id for row in REQUIREMENTS[: ROWS_A_TEST_MAX + 1]]


def sample() -> str:
    return "ran"


def test_a_marked_test_knows_its_rows_and_runs_as_before() -> None:
    marked = requirement(*IDS[:ROWS_A_TEST_MAX])(sample)
    assert marked is sample
    assert getattr(marked, ATTRIBUTE) == tuple(IDS[:ROWS_A_TEST_MAX])
    assert marked() == "ran"


async def test_a_coroutine_can_be_marked() -> None:
    @requirement(IDS[0])
    async def waits() -> str:
        return "waited"

    assert getattr(waits, ATTRIBUTE) == (IDS[0],)
    assert await waits() == "waited"


def test_an_unknown_row_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="the ledger has no row no:such:row"):
        requirement(IDS[0], "no:such:row")


def test_more_than_three_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="1 to 3 rows of the ledger, not 4"):
        requirement(*IDS)


def test_no_row_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="1 to 3 rows of the ledger, not 0"):
        requirement()


def test_a_row_tells_which_kinds_of_evidence_it_gives() -> None:
    row = Requirement(id="a:b", promise="It holds.", source="decision 1", tests=(), decision=1)
    assert row.evidence == ("tests", "decision")
    assert Requirement(id="a:b", promise="It holds.", source="decision 1").evidence == ()
