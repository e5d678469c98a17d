"""The report says of each promise what its tests have shown, in a form that is pinned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import jsonschema
import msgspec
import pytest

from codesynapse.contracts.report import (
    Case,
    Checked,
    Ran,
    Report,
    Result,
    SuiteTest,
    as_json,
    checked,
    sentence,
    worst,
)

STALE = "TestRevisions::test_another_revision_than_the_current_is_refused_with_the_current"
RACE = "TestRacingCommits::test_of_many_commits_on_one_revision_exactly_one_wins"
OWN = "TestOwn::test_something_that_no_row_names"
ABSENT = "TestFeatures::test_vectors_that_are_not_declared_are_absent"
SUITE = [
    SuiteTest(name=OWN),
    SuiteTest(name=STALE, requires=("session_memory",)),
    SuiteTest(name=RACE, requires=("session_memory", "durable")),
    SuiteTest(name=ABSENT, without=("vectors",)),
]
FEATURES = {"session_memory": True, "vectors": False, "durable": False}


def case(result: Result, duration_ms: float = 1.0, problem: str | None = None) -> Case:
    return Case(result=result, duration_ms=duration_ms, problem=problem)


def said(cases: Mapping[str, Sequence[Case]], **features: bool) -> Checked:
    ran = Ran(name="mygraph", distribution="mygraph 1.0", features=FEATURES | features, cases=cases)
    return checked(ran, SUITE)


def test_a_promise_is_worth_what_the_worst_of_its_tests_is() -> None:
    report = said({STALE: [case("passed"), case("failed", 2.5, "assert 1 == 2")], RACE: [case("passed")]}, durable=True)
    (row,) = [row for row in report.rows if row.id == "store:revision-check"]
    assert (row.result, row.duration_ms) == ("failed", 4.5)
    assert row.source == "seed 0, Graph and vector schema; decision 15"
    assert [(test.test, test.result, test.cases, test.problem) for test in row.tests] == [
        (STALE, "failed", 2, "assert 1 == 2"),
        (RACE, "passed", 1, None),
    ]


def test_what_was_not_run_is_not_said_to_hold() -> None:
    (row,) = [row for row in said({STALE: [case("passed")]}, durable=True).rows if row.id == "store:revision-check"]
    assert (row.result, row.tests[1].result) == ("not_run", "not_run")


def test_a_test_that_needs_what_is_not_declared_says_what_that_is() -> None:
    (row,) = [row for row in said({STALE: [case("passed")]}).rows if row.id == "store:revision-check"]
    assert row.result == "passed"
    assert (row.tests[1].result, row.tests[1].lacks) == ("not_declared", ("durable",))


def test_a_test_that_the_ledger_does_not_name_is_a_row_of_its_own() -> None:
    (row,) = [row for row in said({OWN: [case("passed")]}).rows if row.tests[0].test == OWN]
    assert (row.id, row.source, row.promise) == (None, None, "Something that no row names.")
    assert sentence("TestX::test_a_b") == "A b."


def test_what_is_not_declared_is_listed_with_its_proof() -> None:
    undeclared = {each.feature: each for each in said({ABSENT: [case("passed")]}).undeclared}
    assert (undeclared["vectors"].proof, undeclared["vectors"].result) == (ABSENT, "passed")
    assert (undeclared["durable"].proof, undeclared["durable"].result) == (None, None)


def test_a_proof_that_failed_or_did_not_run_proves_nothing() -> None:
    results = [said(cases).undeclared[0].result for cases in ({ABSENT: [case("failed")]}, {})]
    assert results == ["failed", "not_run"]


def test_the_proof_of_an_absence_is_no_row_of_a_store_that_has_it() -> None:
    report = said({}, vectors=True)
    assert ABSENT not in {test.test for row in report.rows for test in row.tests}
    assert [each.feature for each in report.undeclared] == ["durable"]


def test_rows_are_counted_by_their_result() -> None:
    counts = said({STALE: [case("error")], OWN: [case("passed")], ABSENT: [case("passed")]}).counts
    assert counts["error"] == sum(row.result == "error" for row in said({STALE: [case("error")]}).rows) > 0
    assert counts["passed"] == 2


@pytest.mark.parametrize(
    ("results", "of_them"),
    [
        ([], "not_run"),
        (["not_declared", "passed"], "passed"),
        (["passed", "not_run"], "not_run"),
        (["not_run", "error"], "error"),
        (["error", "failed"], "failed"),
    ],
)
def test_the_worst_result_counts(results: list[Result], of_them: Result) -> None:
    assert worst(results) == worst(results[::-1]) == of_them


def test_names_and_problems_are_plain() -> None:
    ran = Ran(name="a\nb", distribution="c\x00 1", features=FEATURES, cases={OWN: [case("failed", 1, "d\ud800")]})
    report = checked(ran, SUITE)
    problems = [test.problem for row in report.rows for test in row.tests if test.problem]
    assert (report.name, report.distribution, problems) == ("a\ufffdb", "c\ufffd 1", ["d\ufffd"])


def whole() -> Report:
    cases = {STALE: [case("failed", 1.5, "assert 1 == 2")], ABSENT: [case("passed")]}
    return Report(suite="1.0", started="2026-11-30T12:00:00+00:00", backends=(said(cases),))


def test_the_json_is_what_its_schema_says() -> None:
    document = json.loads(as_json(whole()))
    jsonschema.validate(document, msgspec.json.schema(Report))
    assert msgspec.json.decode(as_json(whole()), type=Report) == whole()


def test_the_shape_is_pinned_to_its_version() -> None:
    # A member that is added is listed here; one that goes, or means something else, needs another `version`.
    report = json.loads(as_json(whole()))
    assert (report["format"], report["version"]) == ("codesynapse-contract-report", 1)
    assert list(report) == ["format", "version", "suite", "started", "backends"]
    (backend,) = report["backends"]
    assert list(backend) == ["name", "distribution", "counts", "declared", "undeclared", "rows"]
    assert sorted(backend["counts"]) == ["error", "failed", "not_declared", "not_run", "passed"]
    assert list(backend["undeclared"][0]) == ["feature", "proof", "result"]
    row = backend["rows"][0]
    assert list(row) == ["id", "promise", "source", "result", "duration_ms", "tests"]
    assert list(row["tests"][0]) == ["test", "result", "cases", "duration_ms", "lacks", "problem"]
