"""What the Makefile promises: every command is there, installs what it lacks, and fails when what it runs fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOLS = ("codesynapse", "python", "ruff", "mypy", "lint-imports")
# Writes down what it was called with; ends as the test says.
TOOL = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
exit "$STATUS"
"""
SUITE = "python -m pytest -p codesynapse.contracts.plugin --pyargs codesynapse.contracts.suite --contract "
# A command, and the last thing that it runs.
COMMANDS = {
    "serve": "codesynapse serve",
    "test": "python -m pytest",
    "test-all": "python -m pytest",
    "contract": f"{SUITE}memory",
    "lint": "lint-imports",
    "conformance": "python -m tests.conformance",
    "bench-mcp": "python -m benchmarks.mcp_bench",
    "bench-stores": "python -m benchmarks.stores_bench",
    "bench-agents": "python -m benchmarks.agents_bench",
    "fuzz": "python -m tests.fuzz",
    "fuzz-stores": "python -m tests.backends.fuzz",
    "mutate": "python -m tests.mutations",
    "image-test": "python -m pytest tests/docker/image.py",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """What make looks at, in a folder where nothing is installed."""
    for name in ("Makefile", "setup.cfg", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    return tmp_path


@pytest.fixture
def installed(place: Path) -> Path:
    """The same with all stamps, and with tools that only write down how they were called."""
    for name in TOOLS:
        tool = place / ".venv" / "bin" / name
        tool.parent.mkdir(parents=True, exist_ok=True)
        tool.write_text(TOOL)
        tool.chmod(0o755)
    (place / ".cache" / "bootstrap").mkdir(parents=True)
    for stamp in (
        ".cache/bootstrap/stamp",
        ".venv/python.stamp",
        ".venv/base.stamp",
        ".venv/dev.stamp",
        ".venv/java.stamp",
    ):
        (place / stamp).touch()
    return place


def make(place: Path, *arguments: str, status: int = 0) -> tuple[int, str]:
    """Run make there, apart from a make that runs these tests; its exit code and output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    environment |= {"CALLS": str(place / "calls"), "STATUS": str(status)}
    command = ["make", f"PYTHON={sys.executable}", *arguments]
    run = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def calls(place: Path) -> list[str]:
    """How the tools were called."""
    return (place / "calls").read_text(encoding="utf-8").splitlines()


def test_every_command_is_listed(place: Path) -> None:
    code, said = make(place)
    assert code == 0
    listed = [line.split()[1] for line in said.splitlines() if line.startswith("  make ")]
    assert {"setup", *COMMANDS} <= set(listed)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_runs_what_it_is_for_and_fails_when_that_fails(installed: Path, name: str) -> None:
    assert make(installed, name)[0] == 0
    assert calls(installed)[-1].startswith(COMMANDS[name])
    assert make(installed, name, status=3)[0] != 0


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_the_suite_is_run_on_the_named_store_and_pytest_has_the_last_word(installed: Path, store: str) -> None:
    code, said = make(installed, "contract", f"STORE={store}")
    assert (code, said) == (0, "")
    assert calls(installed) == [f"{SUITE}{store}"]


@pytest.mark.parametrize(
    ("store", "backend"),
    [("neo4j", "neo4j"), ("neo4j-2026", "neo4j"), ("hugegraph-1.5", "hugegraph"), ("hugegraph-1.7", "hugegraph")],
)
def test_for_a_graph_store_the_suite_is_run_beside_its_server(installed: Path, store: str, backend: str) -> None:
    code, said = make(installed, "contract", f"STORE={store}")
    assert (code, said) == (0, "")
    suite = SUITE.replace("python ", ".venv/bin/python ")
    assert calls(installed) == [f"python -m tests.servers run {store} -- {suite}{backend}"]


def test_setup_installs_what_needs_rights(place: Path) -> None:
    code, said = make(place, "setup", "--dry-run")
    assert code == 0
    assert 0 <= said.find("-m tests.servers.tools") < said.find("-m tests.docker.building")


def test_a_store_that_is_not_there_is_refused_with_those_that_are(installed: Path) -> None:
    code, said = make(installed, "contract", "STORE=nowhere")
    assert code != 0
    assert (
        'There is no store "nowhere" here yet; there are: memory sqlite neo4j neo4j-2026 hugegraph-1.5 hugegraph-1.7.'
        in said
    )


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("serve", ["requirements/base.txt", "--editable .", "codesynapse serve"]),
        ("test", ["requirements/base.txt", "--editable .", "requirements/dev.txt", "ruff check", "-m pytest"]),
    ],
)
def test_on_a_fresh_machine_a_command_first_installs_what_it_needs(place: Path, name: str, wanted: list[str]) -> None:
    code, said = make(place, name, "--dry-run")
    assert code == 0
    steps = ["-m venv .cache/bootstrap", "install --quiet --disable-pip-version-check", "-m venv --without-pip .venv"]
    found = [said.find(step) for step in (*steps, *wanted)]
    assert -1 not in found
    assert found == sorted(found)


def test_what_is_installed_is_not_installed_again(installed: Path) -> None:
    for name in ("serve", "test"):
        _, said = make(installed, name, "--dry-run")
        assert "install" not in said.replace(" --quiet", "")


@pytest.mark.parametrize(("name", "more"), [("test-all", ()), ("contract", ("STORE=neo4j-2026",))])
def test_what_asks_the_newest_neo4j_first_installs_a_java_for_it(place: Path, name: str, more: tuple[str, ...]) -> None:
    _, said = make(place, name, *more, "--dry-run")
    assert 0 < said.find("requirements/java.txt") < said.find("-m pytest")
    _, said = make(place, "test", "--dry-run")
    assert "java" not in said


def test_lint_runs_the_linter_the_type_checker_and_the_import_laws_over_all_packages(installed: Path) -> None:
    make(installed, "lint")
    assert calls(installed) == [
        "ruff check --quiet .",
        "ruff format --quiet --check .",
        "mypy ",
        "lint-imports --no-cache",
    ]
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    packages = [f"codesynapse.{folder}" for folder in ("server", "backends", "contracts")]
    assert (tools["mypy"]["strict"], tools["mypy"]["packages"]) == (True, packages)
    assert tools["importlinter"]["root_packages"] == packages


def test_what_decides_whether_a_change_may_land_runs_the_checks_and_all_tests(installed: Path) -> None:
    assert "\npart test\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    make(installed, "test")
    assert [call.split()[0] for call in calls(installed)] == ["ruff", "ruff", "mypy", "lint-imports", "python"]
