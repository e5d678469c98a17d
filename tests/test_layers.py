"""The import laws of pyproject.toml are kept, and each of them can break."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINTER = Path(sys.executable).with_name("lint-imports")
FOLDERS = ("backends", "contracts", "server")

CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LAWS = {law["id"]: law for law in CONFIG["tool"]["importlinter"]["contracts"]}

# The law that must break (and no other), the file that breaks it, and the line that does.
BREACHES = [
    ("one-way", "server/mcp/__init__.py", "import codesynapse.server.sessions"),
    ("one-way", "server/surprise.py", "'a module that no layer names'"),
    ("bridge-alone", "server/bridge.py", "import codesynapse.server.telemetry"),
    ("bridge-is-started-only", "server/http/__init__.py", "import codesynapse.server.bridge"),
    ("contracts-know-nobody", "contracts/__init__.py", "import codesynapse.server.settings"),
    ("backends-know-contracts", "backends/sqlite/__init__.py", "import codesynapse.server.settings"),
    ("backends-are-strangers", "backends/sqlite/__init__.py", "import codesynapse.backends.memory"),
    ("pure-core", "server/hints/__init__.py", "import time"),
    ("hints-tell-nobody", "server/hints/__init__.py", "import codesynapse.contracts.ports"),
    ("hints-never-authorise", "server/sessions/__init__.py", "import codesynapse.server.hints"),
    ("one-door-to-stores", "server/memory/__init__.py", "import codesynapse.backends.sqlite"),
    ("no-cycles", "contracts/_breach_a.py", "import codesynapse.contracts._breach_b"),
]
# A cycle needs a second half, and the checker must not excuse it for standing under TYPE_CHECKING.
SECOND_HALF = """
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import codesynapse.contracts._breach_a
"""


def broken_laws(place: Path, *, importable_from: Path | None = None) -> set[str]:
    """Run import-linter in `place`; the ids of the laws that it found broken."""
    environment = {**os.environ, "COLUMNS": "200", "PYTHONPATH": str(importable_from or "")}
    command = [str(LINTER), "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    run = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    verdicts = dict(re.findall(r"^(\d\w* .+) (KEPT|BROKEN)", run.stdout, flags=re.MULTILINE))
    assert set(verdicts) == {law["name"] for law in LAWS.values()}, run.stdout + run.stderr
    broken = {key for key, law in LAWS.items() if verdicts[law["name"]] == "BROKEN"}
    assert (run.returncode != 0) == bool(broken)
    return broken


def copy_sources(place: Path) -> Path:
    """A copy of the three packages under `place` that shadows the installed ones."""
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, place / "codesynapse" / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return place / "codesynapse"


def test_every_law_is_kept() -> None:
    assert broken_laws(ROOT) == set()


def test_every_law_has_a_breach_below() -> None:
    assert {law for law, _, _ in BREACHES} == set(LAWS)


@pytest.mark.parametrize(("law", "file", "line"), BREACHES, ids=[f"{law}-{file}" for law, file, _ in BREACHES])
def test_one_wrong_import_breaks_exactly_its_law(law: str, file: str, line: str, tmp_path: Path) -> None:
    copy = copy_sources(tmp_path)
    if law == "no-cycles":
        (copy / "contracts" / "_breach_b.py").write_text(SECOND_HALF)
    with (copy / file).open("a", encoding="utf-8") as source:
        source.write(f"\n{line}\n")
    assert broken_laws(tmp_path, importable_from=tmp_path) == {law}


def test_the_pure_modules_of_memory_are_bound_as_soon_as_they_exist() -> None:
    # Naming a module that does not exist is an error of import-linter's, so the list grows with the folder.
    pure = [f"codesynapse.server.memory.{name}" for name in ("ranking", "redaction")]
    existing = {name for name in pure if (ROOT / "server" / "memory" / f"{name.rpartition('.')[2]}.py").exists()}
    assert existing == set(LAWS["pure-core"]["source_modules"]) & set(pure)
