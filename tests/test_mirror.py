"""Every module with code has a test file at the same place under tests/, so that nobody has to search for it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("backends", "contracts", "server")

# What is tested elsewhere: a module, or a whole folder with a slash at its end, and the reason.
ELSEWHERE = {
    "backends/memory/__init__.py": "opens the store; every test of the contract suite goes through it",
    "backends/neo4j/__init__.py": "opens the store; every test of the contract suite goes through it",
    "backends/sqlite/__init__.py": "opens the store; every test of the contract suite goes through it",
    "contracts/ledger/": "the rows of the ledger; tests/test_requirements.py holds them to the documents and the tests",
    "contracts/plugin.py": "runs inside pytest; tests/test_contract.py uses it and a stranger's repository proves it",
    "contracts/suite/": "is itself tests; deliberately wrong stores prove that it finds their faults",
    "server/__main__.py": "calls the command line, which tests/server/cli tests",
}


def has_code(path: Path) -> bool:
    """Whether the module defines any function; constants, structs and re-exports have nothing to run."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in ast.walk(tree))


def modules_with_code() -> list[str]:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if has_code(path)]
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def reason_of(module: str) -> str | None:
    """The entry of the table that covers the module."""
    covering = (entry for entry in ELSEWHERE if module == entry or (entry.endswith("/") and module.startswith(entry)))
    return next(covering, None)


def mirror_of(module: str) -> Path:
    """server/http/api.py -> tests/server/http/test_api.py; a package's own code is tested in test_init.py."""
    path = Path(module)
    name = "init" if path.stem == "__init__" else path.stem.strip("_")
    return ROOT / "tests" / path.parent / f"test_{name}.py"


def test_every_module_with_code_has_its_test_file() -> None:
    missing = [module for module in modules_with_code() if reason_of(module) is None and not mirror_of(module).exists()]
    assert missing == []


@pytest.mark.parametrize("entry", ELSEWHERE)
def test_every_exception_is_still_needed(entry: str) -> None:
    covered = [module for module in modules_with_code() if reason_of(module) == entry]
    assert covered, f"{entry} has no code any more: drop it from the table"
    assert not [module for module in covered if mirror_of(module).exists()], f"{entry} has its test: drop it"
