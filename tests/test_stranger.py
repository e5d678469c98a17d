"""A stranger runs our suite: from the wheel, in a repository with folders of our names, on stores that are wrong.

The stranger's environment sees the libraries of this one, and our wheel instead of our sources. Each wrong store of
tests/stranger/wrong.py fails the row that names its fault, and no row of another subject.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest

from codesynapse.contracts.report import Checked, Report

ROOT = Path(__file__).parent.parent
WRONG = Path(__file__).parent / "stranger" / "wrong.py"
SUITE = ["--pyargs", "codesynapse.contracts.suite"]

# The fault: the test that names it, and the classes of that subject, in which others may fail beside it.
FAULTS = {
    "lost_update": (
        "TestRevisions::test_another_revision_than_the_current_is_refused_with_the_current",
        {"TestRevisions", "TestCommitIds", "TestRacingCommits", "TestClosing", "TestRevival"},
    ),
    "forgotten_tombstone": (
        "TestRevival::test_no_revision_revives_a_revoked_session",
        {"TestRevival", "TestRevocation"},
    ),
    "quota_outside": (
        "TestQuotasUnderLoad::test_first_commits_at_once_reach_exactly_the_cap",
        {"TestQuotasUnderLoad"},
    ),
    "foreign_namespace": (
        "TestIsolation::test_another_scope_is_never_served_this_ones_memory",
        {"TestIsolation", "TestQuotas", "TestQuotasUnderLoad", "TestRevocation"},
    ),
    "expiry_extended": ("TestExpiry::test_a_commit_never_moves_the_expiry", {"TestExpiry"}),
    "reopened": ("TestClosing::test_a_closed_namespace_never_opens_again", {"TestClosing", "TestRevival"}),
    "replayed_as_new": (
        "TestCommitIds::test_a_repeated_commit_id_answers_its_first_result_and_writes_nothing",
        {"TestCommitIds", "TestRacingCommits", "TestClosing"},
    ),
    "foreign_hits": (
        "TestForeignHits::test_a_search_never_serves_another_scopes_vectors",
        {"TestForeignHits", "TestRemovedVectors"},
    ),
    "claimed_identity": (
        "TestRegistration::test_no_other_participant_can_claim_an_id_live_or_tombstoned",
        {"TestRegistration"},
    ),
    "duplicate_race": (
        "TestDuplicates::test_of_equal_memories_at_once_one_is_kept",
        # It makes the agent past what would be audited.
        {"TestDuplicates", "TestAgentAudit"},
    ),
    "lock_between": (
        "TestLocks::test_a_lock_that_was_acknowledged_holds_against_what_runs_beside_it",
        {"TestLocks"},
    ),
    "axis_leak": ("TestAxes::test_a_reach_sees_its_own_buckets", {"TestAxes", "TestRecall"}),
    "tenant_leak": (
        "TestAgentIsolation::test_another_tenants_records_do_not_exist",
        {"TestAgentIsolation", "TestMemories"},
    ),
    "lost_tuning": (
        "TestAgentSettings::test_of_two_who_change_a_tuning_the_second_is_refused_and_nothing_is_lost",
        {"TestAgentSettings"},
    ),
    "open_door": (
        "TestAgentGrants::test_a_grant_allows_what_it_says",
        {"TestAgentGrants", "TestAgentAudit"},
    ),
}
OTHERS = ["right", "small", "boastful", "unreachable", "talkative", "deadly"]
FAILURES_MAX = 20

THEIR_TEST = """
import server.app
import contracts


def test_their_own_packages_are_theirs():
    assert server.app.NAME == "theirs"
    assert contracts.NAME == "theirs"
"""


def build_wheel(place: Path) -> Path:
    """Our wheel, built from a copy, so that nothing is left in the repository."""
    sources = place / "sources"
    for folder in ("server", "backends", "contracts"):
        shutil.copytree(ROOT / folder, sources / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "pyproject.toml", "LICENSE", "README.md"):
        shutil.copy(ROOT / name, sources / name)
    # Where setuptools is at hand no network is needed; otherwise the build fetches it as an installer would.
    isolation = ["--no-isolation"] if importlib.util.find_spec("setuptools") else []
    command = [sys.executable, "-m", "build", "--wheel", *isolation, "--outdir", str(place), str(sources)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (wheel,) = place.glob("*.whl")
    return wheel


class Stranger:
    """Somebody's repository, and the environment in which they run their tests."""

    def __init__(self, place: Path) -> None:
        self.repository = place / "repository"
        self.python = place / "venv" / "bin" / "python"
        self._packages = place / "venv" / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"

    def prepare(self, wheel: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(self.python.parents[1])], check=True)
        # The libraries of this environment, behind the wheel. Its own .pth files are not followed from here, so an
        # editable install of our sources stays out of sight.
        (self._packages / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self._packages)
        shutil.copy(WRONG, self._packages / "mygraph.py")
        metadata = self._packages / "mygraph-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mygraph\nVersion: 1.0\n")
        points = "".join(f"{name} = mygraph:open_{name}\n" for name in (*FAULTS, *OTHERS))
        (metadata / "entry_points.txt").write_text(f"[codesynapse.backends]\n{points}")
        for folder in ("server", "contracts", "tests"):
            (self.repository / folder).mkdir(parents=True)
        for name in ("server/__init__.py", "contracts/__init__.py", "server/app.py"):
            (self.repository / name).write_text('NAME = "theirs"\n')
        (self.repository / "tests" / "test_theirs.py").write_text(THEIR_TEST)
        (self.repository / "tests" / "test_contract.py").write_text("from codesynapse.contracts.suite import *\n")

    def pytest(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run pytest there, as they would: no configuration, their folder on the path."""
        return self.run("-m", "pytest", "-p", "no:cacheprovider", "--tb=line", "-rfE", *arguments, **environment)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run their Python in their repository."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON", "COV"))}
        command = [str(self.python), *arguments]
        return subprocess.run(
            command, cwd=self.repository, env=kept | environment, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    place = tmp_path_factory.mktemp("stranger")
    stranger = Stranger(place)
    stranger.prepare(build_wheel(place))
    return stranger


@pytest.fixture(scope="module")
def failed(stranger: Stranger) -> dict[str, set[str]]:
    """What failed on each wrong store, as Class::test, with all of them named in one run."""
    # Left out: the comparison with the law, which may notice every fault and takes its time to find the shortest story.
    run = stranger.pytest("tests", "-k", "not TestAgainstTheLaw", *(f"--contract={name}" for name in FAULTS))
    assert run.returncode == 1, run.stdout + run.stderr
    assert "ERROR" not in run.stdout
    found: dict[str, set[str]] = defaultdict(set)
    for test, name in re.findall(r"^FAILED \S+?::(\w+::\w+)\[(\w+)", run.stdout, flags=re.MULTILINE):
        found[name].add(test)
    return found


@pytest.fixture(scope="module")
def right(stranger: Stranger) -> subprocess.CompletedProcess[str]:
    """The suite on the right store, by its name alone."""
    return stranger.pytest(*SUITE, "--contract", "right")


def counted(run: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """The numbers of pytest's last line: passed, failed, deselected, …"""
    return {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", run.stdout.splitlines()[-1])}


def test_the_right_store_passes_with_nothing_left_out(right: subprocess.CompletedProcess[str]) -> None:
    assert right.returncode == 0, right.stdout + right.stderr
    numbers = counted(right)
    assert numbers["passed"] > 300
    assert set(numbers) <= {"passed", "deselected", "in", "warnings", "warning"}


def test_one_line_runs_the_suite_beside_their_own_tests(
    stranger: Stranger, right: subprocess.CompletedProcess[str]
) -> None:
    both = stranger.pytest("tests", "--contract", "right")
    assert both.returncode == 0, both.stdout + both.stderr
    assert counted(both)["passed"] == counted(right)["passed"] + 1


def test_the_suite_comes_from_the_wheel(stranger: Stranger) -> None:
    run = stranger.run("-c", "import codesynapse.contracts.suite as suite; print(suite.__file__)")
    assert run.stdout.startswith(str(stranger.python.parents[1]))


def test_their_own_tests_need_no_backend(stranger: Stranger) -> None:
    run = stranger.pytest("tests/test_theirs.py")
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_store_fails_the_row_that_names_its_fault(failed: dict[str, set[str]], fault: str) -> None:
    row, subject = FAULTS[fault]
    assert row in failed[fault]
    assert {test.partition("::")[0] for test in failed[fault]} <= subject
    assert len(failed[fault]) <= FAILURES_MAX


def test_what_a_store_does_not_declare_is_deselected_and_proved_absent(stranger: Stranger) -> None:
    run = stranger.pytest(*SUITE, "--contract", "small", "-v")
    assert run.returncode == 0, run.stdout + run.stderr
    assert counted(run)["deselected"] > 100
    assert "TestFeatures::test_vectors_that_are_not_declared_are_absent[small] PASSED" in run.stdout
    assert "TestNearest" not in run.stdout


@pytest.mark.parametrize(
    ("name", "reason"),
    [("boastful", "Features say vectors=True"), ("unreachable", "no server at this address")],
)
def test_a_store_that_lies_or_cannot_be_opened_is_an_error(stranger: Stranger, name: str, reason: str) -> None:
    run = stranger.pytest(*SUITE, "--contract", name)
    assert run.returncode == 1, run.stdout + run.stderr
    assert reason in run.stdout
    assert counted(run)["errors"] > 100
    assert "FAILED" not in run.stdout


def test_an_unknown_name_is_a_usage_error_that_lists_the_known(stranger: Stranger) -> None:
    run = stranger.pytest(*SUITE, "--contract", "rihgt")
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    known = run.stderr.partition("no backend 'rihgt'; there are: ")[2].strip().split(", ")
    assert known == sorted(known)
    assert {"boastful", "memory", "right"} <= set(known)


def test_a_suite_without_a_backend_is_a_usage_error(stranger: Stranger) -> None:
    for arguments in (SUITE, ["tests"]):
        run = stranger.pytest(*arguments)
        assert run.returncode == pytest.ExitCode.USAGE_ERROR
        assert "name a backend with --contract NAME" in run.stderr


def reported(stranger: Stranger, *arguments: str, code: int) -> tuple[Checked, str]:
    """What the report of a run says of its one backend, and the report's text. code: the run's exit code."""
    run = stranger.pytest(*SUITE, "--contract-report", "json", "--contract-report-output", "report.json", *arguments)
    assert run.returncode == code, run.stdout + run.stderr
    path = stranger.repository / "report.json"
    assert f"contract report: {path}" in run.stdout
    text = path.read_text(encoding="utf-8")
    path.unlink()
    (backend,) = msgspec.json.decode(text, type=Report).backends
    return backend, text


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_report_names_the_promise_that_a_wrong_store_breaks(stranger: Stranger, workers: str) -> None:
    some = "TestRevisions or test_a_repeated_commit_id"
    backend, _ = reported(stranger, "--contract", "lost_update", "-k", some, "-n", workers, code=1)
    rows = {row.id: row for row in backend.rows if row.id}
    broken = rows["store:revision-check"]
    assert (backend.name, backend.distribution, broken.result) == ("lost_update", "mygraph 1.0", "failed")
    assert broken.promise.startswith("A store refuses a stale revision")
    test, not_run = broken.tests
    assert test.test == FAULTS["lost_update"][0]
    assert test.problem is not None
    assert test.problem.startswith("Failed: DID NOT RAISE")
    assert (not_run.result, not_run.cases) == ("not_run", 0)
    assert backend.counts["failed"] == sum(row.result == "failed" for row in backend.rows) > 0
    assert backend.counts["error"] == 0 < backend.counts["passed"]


def test_the_report_says_what_is_not_declared_and_which_test_proves_it_absent(stranger: Stranger) -> None:
    backend, _ = reported(stranger, "--contract", "small", "-k", "TestFeatures", code=0)
    assert backend.declared == ("session_memory",)
    absent = {each.feature: each for each in backend.undeclared}
    assert absent["vectors"].proof == "TestFeatures::test_vectors_that_are_not_declared_are_absent"
    assert {each.result for each in absent.values() if each.proof} == {"passed"}
    assert [each.feature for each in absent.values() if each.proof is None] == ["durable"]
    tests = {test.test: test for row in backend.rows for test in row.tests}
    foreign = tests["TestForeignHits::test_a_search_never_serves_another_scopes_vectors"]
    assert (foreign.result, foreign.lacks) == ("not_declared", ("vectors",))
    # What would prove that something declared is absent says nothing of this store.
    assert "TestFeatures::test_session_memory_that_is_not_declared_is_absent" not in tests


def test_a_store_that_cannot_be_opened_is_an_error_and_its_report_hides_its_options(
    stranger: Stranger,
) -> None:
    secrets = {"ana", "pa55 w", "pa55%20w", "db.example", "7687", "q-token"}
    url = "bolt://ana:pa55%20w@db.example:7687/memory?key=q-token"
    backend, text = reported(stranger, "--contract", f"talkative={url}", "-k", "TestSize", code=1)
    assert backend.counts["error"] > 0 == backend.counts["failed"] == backend.counts["passed"]
    problems = {test.problem for row in backend.rows for test in row.tests if test.problem}
    assert {problem.partition(" Limit:")[0] for problem in problems} == {
        "Unavailable: A service did not answer; the same request may succeed later. Field: url."
    }
    assert {secret for secret in secrets for problem in problems if secret in problem} == set()
    assert {secret for secret in secrets - {"ana"} if secret in text} == set()


def test_of_a_drivers_error_the_report_tells_the_kind_alone(stranger: Stranger) -> None:
    backend, text = reported(stranger, "--contract", "unreachable", "-k", "TestSize", code=1)
    assert {test.problem for row in backend.rows for test in row.tests} == {None, "ConnectionRefusedError"}
    assert "no server at this address" not in text


def test_a_test_that_kills_its_worker_is_an_error_of_its_row(stranger: Stranger) -> None:
    test = "TestSnapshots::test_a_scope_that_was_never_written_is_empty_at_revision_0"
    one = ("-k", test.partition("::")[2], "-n", "1", "--max-worker-restart", "0")
    backend, _ = reported(stranger, "--contract", "deadly", *one, code=1)
    (row,) = [row for row in backend.rows for each in row.tests if each.test == test]
    assert (row.result, row.tests[0].problem) == ("error", "the process of the test was killed")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--contract-report", "pdf"), "invalid choice: 'pdf'"),
        (("--contract-report", "html", "--contract-report-output", "nowhere/report.html"), "nowhere/report.html"),
        (("--contract-report", "html", "--contract-report-output", "tests"), "is no file"),
        (("--contract-report-output", "report.html"), "name the form as well"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(
    stranger: Stranger, arguments: tuple[str, ...], reason: str
) -> None:
    run = stranger.pytest(*SUITE, "--contract", "right", *arguments)
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert reason in run.stderr
    assert "collected" not in run.stdout
    assert not (stranger.repository / "report.html").exists()


def test_a_report_needs_a_backend_that_is_named(stranger: Stranger) -> None:
    run = stranger.pytest("tests/test_theirs.py", "--contract-report", "html")
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "no backend is named" in run.stderr


def test_the_page_is_written_here_under_the_backends_name(stranger: Stranger) -> None:
    run = stranger.pytest("tests", "--contract", "right", "--contract-report", "html", "-k", "TestSize or theirs")
    assert run.returncode == 0, run.stdout + run.stderr
    page = (stranger.repository / "contract-right.html").read_text(encoding="utf-8")
    assert "<h2>right (mygraph 1.0)</h2>" in page
    assert "limits:snapshot" in page
    assert "their_own_packages" not in page


def test_options_come_from_the_command_line_then_from_the_environment(stranger: Stranger) -> None:
    one = [*SUITE, "-k", "test_a_scope_that_was_never_written"]
    assert stranger.pytest(*one, "--contract", "right", CODESYNAPSE_CONTRACT_RIGHT="").returncode == 0
    for named, variable in (("right=bolt://127.0.0.1:1", ""), ("right", "bolt://127.0.0.1:1"), ("right", "a=1,b=2")):
        run = stranger.pytest(*one, "--contract", named, CODESYNAPSE_CONTRACT_RIGHT=variable)
        assert run.returncode == 1, run.stdout + run.stderr
        assert "Field: options. Limit: none." in run.stdout


def test_a_durable_store_is_closed_and_opened_again(stranger: Stranger) -> None:
    run = stranger.pytest(*SUITE, "--contract", "sqlite=path={tmp}/contract.db", "-k", "TestReopening")
    assert run.returncode == 0, run.stdout + run.stderr
    assert counted(run)["passed"] >= 4
