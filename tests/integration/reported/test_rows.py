"""Every row of the table stands for tests that there are."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.integration.reported.rows import ROWS

TESTS = Path(__file__).parent.parent.parent
NUMBERS = {
    *(1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29),
    *(31, 32, 34, 35, 37, 38, 40, 41, 43, 44),
}
"""Those of the research's table."""


@cache
def functions_of(file: str) -> frozenset[str]:
    """The tests of a file."""
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    return frozenset(each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_reported_fault_has_tests_and_each_of_them_is_there() -> None:
    assert set(ROWS) == NUMBERS
    for number, row in ROWS.items():
        assert row.tests, number
        assert len(set(row.tests)) == len(row.tests), number
        for test in row.tests:
            file, _, name = test.partition("::")
            assert name in functions_of(file), test


def test_every_test_beside_the_table_stands_for_a_row() -> None:
    named = {test for row in ROWS.values() for test in row.tests}
    here = Path(__file__).parent
    written = {
        f"{path.relative_to(TESTS).as_posix()}::{name}"
        for path in here.glob("test_*.py")
        if path.name != Path(__file__).name
        for name in functions_of(path.relative_to(TESTS).as_posix())
        if name.startswith("test_")
    }
    assert written <= named
