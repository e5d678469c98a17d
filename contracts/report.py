"""The report of a run of the contract suite: one row a promise, in a form that others may read by program.

Pure: `contracts/suite/reporting.py` collects what is said here, `contracts/report_page.py` makes a page of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from codesynapse.contracts.requirements import REQUIREMENTS
from codesynapse.contracts.withheld import plain

SUITE = "contracts/suite/"

Result = Literal["passed", "failed", "error", "not_declared", "not_run"]

# The worst first: what a promise with several tests, or a test with several cases, is worth.
SEVERITY: tuple[Result, ...] = ("failed", "error", "not_run", "passed", "not_declared")


class SuiteTest(Struct, frozen=True, kw_only=True):
    """A test that the suite has. name: `Class::test`. requires, without: names of Features."""

    name: str
    requires: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


class Case(Struct, frozen=True, kw_only=True):
    """What became of one case of a test. problem: one line about a failure, with nothing in it to withhold."""

    result: Result
    duration_ms: float = 0.0
    problem: str | None = None


class Ran(Struct, frozen=True, kw_only=True):
    """A backend that the suite ran on: the Features that it declares, and its cases by the name of their test."""

    name: str
    distribution: str | None
    features: Mapping[str, bool]
    cases: Mapping[str, Sequence[Case]]


class TestRow(Struct, frozen=True, kw_only=True):
    """A test. cases: how many ran. duration_ms: of all of them, without opening the backend.

    lacks: the Features that it needs and the backend does not declare. problem: of its first failure.
    """

    test: str
    result: Result
    cases: int
    duration_ms: float
    lacks: tuple[str, ...]
    problem: str | None


class Row(Struct, frozen=True, kw_only=True):
    """A promise, and the worst result of its tests. id, source: None for a test that the ledger has no row for."""

    id: str | None
    promise: str
    source: str | None
    result: Result
    duration_ms: float
    tests: tuple[TestRow, ...]


class Undeclared(Struct, frozen=True, kw_only=True):
    """A Feature that is declared unsupported. proof: the test that shows it absent; None where nothing could be there.

    result: of the proof.
    """

    feature: str
    proof: str | None
    result: Result | None


class Checked(Struct, frozen=True, kw_only=True):
    """A backend and its rows. counts: of rows, by their result. distribution: its name and version, if it has one."""

    name: str
    distribution: str | None
    counts: dict[Result, int]
    declared: tuple[str, ...]
    undeclared: tuple[Undeclared, ...]
    rows: tuple[Row, ...]


class Report(Struct, frozen=True, kw_only=True):
    """The whole report. suite: the version of CodeSynapse. started: ISO 8601 in UTC; None where nothing ran.

    A later form of this report that this one's readers would misread has another `version`; more members do not.
    """

    format: Literal["codesynapse-contract-report"] = "codesynapse-contract-report"
    version: Literal[1] = 1
    suite: str
    started: str | None
    backends: tuple[Checked, ...]


def as_json(report: Report) -> bytes:
    """The report as indented UTF-8."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


def checked(ran: Ran, suite: Sequence[SuiteTest]) -> Checked:
    """What a run says of a backend. suite: all tests of the suite, whether they ran or not."""
    # A proof that something is absent says nothing about a backend that has it.
    tests = {
        each.name: _tested(each, ran) for each in suite if not any(ran.features[feature] for feature in each.without)
    }
    rows = tuple(_rows(tests))
    proofs = {feature: each.name for each in suite for feature in each.without}
    return Checked(
        name=plain(ran.name),
        distribution=None if ran.distribution is None else plain(ran.distribution),
        counts={result: sum(row.result == result for row in rows) for result in SEVERITY},
        declared=tuple(feature for feature, offered in ran.features.items() if offered),
        undeclared=tuple(
            _undeclared(feature, proofs.get(feature), tests) for feature, offered in ran.features.items() if not offered
        ),
        rows=rows,
    )


def worst(results: Sequence[Result]) -> Result:
    """The worst of some results; `not_run` of none."""
    return min(results, key=SEVERITY.index, default="not_run")


def _tested(test: SuiteTest, ran: Ran) -> TestRow:
    lacks = tuple(feature for feature in test.requires if not ran.features[feature])
    cases = ran.cases.get(test.name, ())
    problems = [plain(case.problem) for case in cases if case.problem is not None]
    return TestRow(
        test=test.name,
        result="not_declared" if lacks else worst([case.result for case in cases]),
        cases=len(cases),
        duration_ms=round(sum((case.duration_ms for case in cases), 0.0), 3),
        lacks=lacks,
        problem=problems[0] if problems else None,
    )


def _rows(tests: Mapping[str, TestRow]) -> Iterator[Row]:
    """The promises of the ledger in its order, then the tests that it does not name: the suite's own promises."""
    shown: set[str] = set()
    for promise in REQUIREMENTS:
        names = [test.partition("::")[2] for test in promise.tests or () if test.startswith(SUITE)]
        if of_it := [tests[name] for name in names if name in tests]:
            shown.update(names)
            yield _row(promise.id, promise.promise, promise.source, of_it)
    for name, test in tests.items():
        if name not in shown:
            yield _row(None, sentence(name), None, [test])


def _row(key: str | None, promise: str, source: str | None, tests: Sequence[TestRow]) -> Row:
    return Row(
        id=key,
        promise=promise,
        source=source,
        result=worst([test.result for test in tests]),
        duration_ms=round(sum((test.duration_ms for test in tests), 0.0), 3),
        tests=tuple(tests),
    )


def sentence(name: str) -> str:
    """`TestX::test_a_store_forgets` is the promise "A store forgets."."""
    words = name.rpartition("::")[2].removeprefix("test_").replace("_", " ")
    return words[:1].upper() + words[1:] + "."


def _undeclared(feature: str, proof: str | None, tests: Mapping[str, TestRow]) -> Undeclared:
    return Undeclared(feature=feature, proof=proof, result=None if proof is None else tests[proof].result)
