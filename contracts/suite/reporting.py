"""Collects a run for the report, and writes it; the plugin registers this module once a report is asked for.

With pytest-xdist the tests run in workers and the report is written by the controller: what it must know of a test goes
with the test's own report, as plain text.
"""

import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest
from msgspec import structs

from codesynapse.contracts import plugin, suite
from codesynapse.contracts.errors import CodeSynapseError
from codesynapse.contracts.report import Case, Checked, Ran, Report, Result, SuiteTest, as_json, checked, worst
from codesynapse.contracts.report_page import as_page
from codesynapse.contracts.withheld import without_secrets

# By place, not by name: pytest may import the suite's files under names of its own.
SUITE = Path(suite.__file__).resolve().parent

# What a worker tells: the backend, the test, and the problem or "".
TOLD = "codesynapse_contract"

# The phase in which xdist says that a worker was killed.
CRASHED = "???"
_crashed = re.compile(r"::(\w+::\w+)\[([^]]*)").search


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    named: dict[str, plugin.Named] = config.stash[plugin.named_key]
    if not named:
        raise pytest.UsageError("--contract-report: no backend is named; name it with --contract NAME")
    kind: str = config.getoption("contract_report")
    given: str | None = config.getoption("contract_report_output")
    path = config.invocation_params.dir / (given or f"contract-{file_name(list(named))}.{kind}")
    refuse_unwritable(path)
    config.pluginmanager.register(Collector(config, path, kind))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if (test := named_test(item)) is not None:
        named = plugin.named_of(item)
        problem = "" if call.excinfo is None else without_secrets(problem_of(call.excinfo), named.options)
        setattr(report, TOLD, [named.name, test, problem])
    return report


class Collector:
    """What the controller, or the one process, has been told, and the file to write it to."""

    def __init__(self, config: pytest.Config, path: Path, kind: str) -> None:
        self._config = config
        self._path = path
        self._kind = kind
        self._cases: dict[tuple[str, str], dict[str, Case]] = defaultdict(dict)
        self._started_s: float | None = None
        self._written = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told: list[str] | None = getattr(report, TOLD, None) or self._of_a_crash(report)
        if told is None:
            return
        name, test, problem = told
        begun = getattr(report, "start", None)
        self._started_s = min(filter(None, (self._started_s, begun)), default=None)
        cases = self._cases[name, test]
        case = case_of(report, problem or None)
        before = cases.get(report.nodeid)
        cases[report.nodeid] = case if before is None else later(before, case)

    def pytest_sessionfinish(self) -> None:
        if self._config.option.collectonly:
            return
        report = self.report()
        content = as_json(report) if self._kind == "json" else as_page(report).encode()
        try:
            self._path.write_bytes(content)
        except OSError as error:
            pytest.exit(f"--contract-report-output: {error}", returncode=pytest.ExitCode.INTERNAL_ERROR)
        self._written = True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._written:
            terminalreporter.write_line(f"contract report: {self._path}")

    def report(self) -> Report:
        """What is known by now."""
        started = None if self._started_s is None else datetime.fromtimestamp(self._started_s, UTC)
        return Report(
            suite=version("codesynapse"),
            started=None if started is None else started.isoformat(timespec="seconds"),
            backends=tuple(map(self._checked, self._config.stash[plugin.named_key].values())),
        )

    def _checked(self, named: plugin.Named) -> Checked:
        ran = Ran(
            name=named.name,
            distribution=distribution_of(named.name),
            features=structs.asdict(named.features),
            cases={test: list(cases.values()) for (name, test), cases in self._cases.items() if name == named.name},
        )
        return checked(ran, list(suite_tests()))

    def _of_a_crash(self, report: pytest.TestReport) -> list[str] | None:
        """What xdist says where a worker was killed under a test: it names the test, and cannot tell more."""
        found = _crashed(report.nodeid)
        if str(report.when) != CRASHED or found is None:
            return None
        named: dict[str, plugin.Named] = self._config.stash[plugin.named_key]
        for name in sorted(named, key=len, reverse=True):
            if f"{found[2]}-".startswith(f"{name}-"):
                return [name, found[1], "the process of the test was killed"]
        return None


def case_of(report: pytest.TestReport, problem: str | None) -> Case:
    """One phase of a test. What else than the call fails is an error; what was left out did not run."""
    duration_ms = report.duration * 1000 if report.when == "call" else 0.0
    result: Result = "passed"
    if report.skipped:
        result = "not_run"
    elif report.failed:
        result = "failed" if report.when == "call" else "error"
    return Case(result=result, duration_ms=duration_ms, problem=problem if report.failed else None)


def later(before: Case, case: Case) -> Case:
    """A case after its next phase."""
    return Case(
        result=worst([before.result, case.result]),
        duration_ms=before.duration_ms + case.duration_ms,
        problem=before.problem or case.problem,
    )


def problem_of(excinfo: pytest.ExceptionInfo[BaseException]) -> str:
    """The first line of an error of the suite's or of the law's; of any other its kind alone.

    A driver's message may hold an address, a name, or what was sent; the backend's author has it from pytest.
    """
    error = excinfo.value
    kind = type(error).__name__
    raised_in = Path(excinfo.traceback[-1].frame.code.raw.co_filename).resolve()
    asserted = isinstance(error, AssertionError) and SUITE in raised_in.parents
    if asserted or isinstance(error, CodeSynapseError | pytest.fail.Exception):
        lines = str(error).strip().splitlines()
        return f"{kind}: {lines[0]}" if lines else kind
    return kind


def suite_tests() -> Iterator[SuiteTest]:
    """Every test of the suite, in its order."""
    for title in suite.__all__:
        group: type = getattr(suite, title)
        of_group = [mark for each in group.__mro__ for mark in _marks(each)]
        for name, function in vars(group).items():
            if name.startswith("test") and inspect.isroutine(function):
                marks = [*of_group, *_marks(function)]
                yield SuiteTest(
                    name=f"{title}::{name}",
                    requires=_features(marks, plugin.REQUIRES),
                    without=_features(marks, plugin.WITHOUT),
                )


def _marks(target: object) -> Sequence[pytest.Mark]:
    # Of the class itself, not of what it inherits.
    marks: Sequence[pytest.Mark] = vars(target).get("pytestmark", [])
    return marks


def _features(marks: Sequence[pytest.Mark], kind: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(feature) for mark in marks if mark.name == kind for feature in mark.args))


def named_test(item: pytest.Item) -> str | None:
    """`Class::test` of a test of the suite, also where a host has made a class of its own from ours; None of others."""
    if not isinstance(item, pytest.Function) or item.cls is None or plugin.OPENED not in item.fixturenames:
        return None
    for group in item.cls.__mro__:
        if item.originalname in vars(group) and _place(group) == SUITE:
            return f"{group.__name__}::{item.originalname}"
    return None


def _place(group: type) -> Path | None:
    file = getattr(sys.modules.get(group.__module__), "__file__", None)
    return None if file is None else Path(file).resolve().parent


def distribution_of(name: str) -> str | None:
    """Which distribution has registered the entry point, and its version."""
    for point in entry_points(group=plugin.GROUP, name=name):
        if point.dist is not None:
            return f"{point.dist.name} {point.dist.version}"
    return None


def file_name(names: Sequence[str]) -> str:
    """Names as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", "-".join(names))[:100]


def refuse_unwritable(path: Path) -> None:
    """Raises UsageError where the report could not be written, before anything runs. Leaves no file."""
    try:
        if path.exists() and not path.is_file():
            raise pytest.UsageError(f"--contract-report-output: {path} is no file")
        before = path.exists()
        path.open("ab").close()
        if not before:
            path.unlink()
    except OSError as error:
        raise pytest.UsageError(f"--contract-report-output: {error}") from error
