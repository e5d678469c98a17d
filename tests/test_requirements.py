"""The ledger is sound: each promise has a source and one kind of evidence, and each test that it names exists."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from codesynapse.contracts.requirements import REQUIREMENTS, ROWS_A_TEST_MAX

ROOT = Path(__file__).parent.parent

NOT_TESTABLE_MAX = 15
DECISIONS = range(1, 17)

ISSUES_TO_COME = {
    "Neo4j and Apache HugeGraph",
    "MCP complete",
    "Agent memory and the declared session key",
    "Offload, promotion and indexing",
    "Vectors and recall quality",
    "PostgreSQL, jobs and schedules",
    "Milvus",
    "Dashboard and browser sessions",
    "Retention and erasure",
    "Code graph and ingest",
    "Observability",
    "Packaging and release",
}

# Each place of a source is one of these, whole.
PLACES = re.compile(
    r"""
    seed\ 0,\ (Primary\ session\ contract|Runtime\ integration|Propagation\ and\ jobs|Session\ and\ repository\ memory
              |Graph\ and\ vector\ schema|Retention,\ audit\ and\ verification)
    | seed\ 1\ §([1-9]|10)
    | product\.md,\ (Introduction|Who\ uses\ it|The\ two\ identities|Names|Settings|Limits|First\ start|Commands|Shapes
                    |Who\ is\ refused\ how|Memory,\ in\ three\ scopes|Tools|Running\ it|What\ good\ means)
    | decision\ ([1-9]|1[0-6])
    | issue\ MCP\ complete
    """,
    re.VERBOSE,
)


def repeated(values: Iterable[str]) -> list[str]:
    return sorted(value for value, count in Counter(values).items() if count > 1)


def named_tests() -> list[str]:
    """Every test id of every row, as often as rows name it."""
    return [test for row in REQUIREMENTS for test in row.tests or ()]


def functions(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """The test functions of a module's or a class's body, methods as Class::method."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from functions(node.body, f"{prefix}{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield prefix + node.name


@cache
def defined_in(path: str) -> frozenset[str]:
    """The tests that a file defines; none where there is no file."""
    file = ROOT / path
    return frozenset(functions(ast.parse(file.read_text(encoding="utf-8")).body)) if file.is_file() else frozenset()


def exists(test: str) -> bool:
    path, _, name = test.partition("::")
    return name in defined_in(path)


def test_ids_are_unique_and_well_formed() -> None:
    assert repeated(row.id for row in REQUIREMENTS) == []
    assert [row.id for row in REQUIREMENTS if not re.fullmatch(r"[a-z0-9-]+(:[a-z0-9-]+){1,3}", row.id)] == []


def test_promises_are_unique_sentences() -> None:
    assert repeated(row.promise for row in REQUIREMENTS) == []
    assert [row.id for row in REQUIREMENTS if not re.fullmatch(r"[^\n]*\S\.", row.promise)] == []


def test_every_source_is_a_known_place() -> None:
    places = [(row.id, place) for row in REQUIREMENTS for place in row.source.split("; ")]
    assert [(row, place) for row, place in places if not PLACES.fullmatch(place)] == []


def test_each_row_gives_exactly_one_kind_of_evidence() -> None:
    assert [(row.id, row.evidence) for row in REQUIREMENTS if len(row.evidence) != 1] == []


def test_no_row_waits_for_its_tests() -> None:
    assert [row.id for row in REQUIREMENTS if row.tests == ()] == []


def test_every_named_test_exists() -> None:
    assert sorted({test for test in named_tests() if not exists(test)}) == []


def test_the_search_for_tests_finds_functions_and_methods_only() -> None:
    source = "def test_a(): ...\nasync def test_b(): ...\ndef helper(): ...\nclass TestC:\n    def test_d(self): ...\n"
    assert list(functions(ast.parse(source).body)) == ["test_a", "test_b", "TestC::test_d"]
    assert exists("tests/test_requirements.py::test_every_named_test_exists")
    assert not exists("tests/test_requirements.py::test_that_nobody_wrote")
    assert not exists("tests/test_nowhere.py::test_every_named_test_exists")


def test_a_row_names_a_test_once() -> None:
    assert [row.id for row in REQUIREMENTS if repeated(row.tests or ())] == []


def test_a_test_serves_at_most_three_rows() -> None:
    assert {test: rows for test, rows in Counter(named_tests()).items() if rows > ROWS_A_TEST_MAX} == {}


def test_few_rows_are_not_testable_and_each_says_why() -> None:
    reasons = [row.not_testable for row in REQUIREMENTS if row.not_testable is not None]
    assert len(reasons) <= NOT_TESTABLE_MAX
    assert all(reason.strip() for reason in reasons)


def test_decisions_are_those_of_the_product() -> None:
    assert [row.id for row in REQUIREMENTS if row.decision is not None and row.decision not in DECISIONS] == []


def test_what_is_to_come_names_an_agreed_issue() -> None:
    assert {row.to_come for row in REQUIREMENTS if row.to_come is not None} - ISSUES_TO_COME == set()
