"""The tables of checks: what is repaired how, and how it is on the whole."""

from __future__ import annotations

import pytest

from codesynapse.contracts.agent_work import StoreCheck
from codesynapse.server.agents.checks import DEEP, HEALTH, Repair, status_of


def test_every_check_of_the_store_has_its_row() -> None:
    assert [check.store for check in HEALTH.values() if check.store is not None] == list(StoreCheck)
    assert all(name == check.store.value for name, check in HEALTH.items() if check.store is not None)


def test_no_name_is_in_both_tables() -> None:
    assert HEALTH.keys().isdisjoint(DEEP)


def test_a_hint_says_what_was_found_and_where_nothing_repairs_it_why() -> None:
    for check in (*HEALTH.values(), *DEEP.values()):
        assert check.hint.startswith(check.means)
        assert (check.repair is Repair.NONE) is bool(check.why)
        assert check.why in check.hint


@pytest.mark.parametrize(
    ("severities", "status"),
    [
        ({}, "healthy"),
        ({"info": 3}, "healthy"),
        ({"info": 1, "warn": 1}, "degraded"),
        ({"critical": 1, "warn": 0}, "unhealthy"),
        ({"critical": 0, "warn": 0, "info": 0}, "healthy"),
    ],
)
def test_the_worst_finding_decides(severities: dict[str, int], status: str) -> None:
    assert status_of(severities) == status
