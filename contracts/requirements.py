"""The ledger: every promise of the two seeds and of product.md, with its source and its evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from codesynapse.contracts.ledger import Requirement, product, protocol, seed0, seed1, stateless

__all__ = ["ATTRIBUTE", "REQUIREMENTS", "ROWS_A_TEST_MAX", "Requirement", "requirement"]

REQUIREMENTS: tuple[Requirement, ...] = (*seed0.ROWS, *seed1.ROWS, *product.ROWS, *protocol.ROWS, *stateless.ROWS)

# Where `requirement` leaves the ids on a test.
ATTRIBUTE = "__requirements__"

# A test that serves more rows shows none of them well.
ROWS_A_TEST_MAX = 3

IDS = frozenset(row.id for row in REQUIREMENTS)

Test = TypeVar("Test", bound=Callable[..., object])


def requirement(*ids: str) -> Callable[[Test], Test]:
    """Mark a test with the one to three rows that it shows.

    Raises ValueError for an id that the ledger does not have, so that a renamed row is noticed at import.
    """
    if not 1 <= len(ids) <= ROWS_A_TEST_MAX:
        raise ValueError(f"a test names 1 to {ROWS_A_TEST_MAX} rows of the ledger, not {len(ids)}")
    if unknown := sorted(set(ids) - IDS):
        raise ValueError(f"the ledger has no row {', '.join(unknown)}")

    def mark(test: Test) -> Test:
        setattr(test, ATTRIBUTE, ids)
        return test

    return mark
