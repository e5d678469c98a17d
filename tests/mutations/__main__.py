"""Apply each defect to a copy of the sources and see its test fail; a test that still passes is the failure here.

Usage: python -m tests.mutations [WORD …]   (only the defects whose names hold one of the words)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.mutations.defects import MUTATIONS, Mutation

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("backends", "contracts", "server")
RUN_S = 600
PLUGINS = ("-p", "codesynapse.contracts.plugin", "-p", "no:cacheprovider")
FAILED = 1
"""pytest's exit code for tests that ran and failed; what could not even be collected has another one."""


def copied(place: Path) -> Path:
    """A copy of the three packages below `place` that shadows the installed ones."""
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, place / "codesynapse" / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return place / "codesynapse"


def mutated(source: str, mutation: Mutation) -> str:
    """The source with the defect. Raises ValueError where what is to be changed does not stand there once."""
    if source.count(mutation.old) != 1:
        raise ValueError(f"{mutation.name}: {mutation.file} holds {mutation.old!r} {source.count(mutation.old)} times")
    return source.replace(mutation.old, mutation.new)


def outcome(place: Path, tests: Sequence[str]) -> int:
    """pytest's exit code for these tests, on the copy below `place`."""
    # Without conftest: it prepares for servers that no test here needs, and takes longer than they do.
    options = ["-q", "-n", "0", "-x", "--noconftest", *PLUGINS, "--inline-snapshot=disable"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_S,
    )
    return run.returncode


def killed(place: Path, mutation: Mutation) -> bool:
    """Whether the defect fails its test."""
    file = place / "codesynapse" / mutation.file
    whole = file.read_text(encoding="utf-8")
    file.write_text(mutated(whole, mutation), encoding="utf-8")
    try:
        return outcome(place, mutation.test.split(" ")) == FAILED
    finally:
        file.write_text(whole, encoding="utf-8")


def main(words: Sequence[str]) -> int:
    """Prints one line a defect, and the count; 0 where each was killed."""
    chosen = [each for each in MUTATIONS if not words or any(word in each.name for word in words)]
    if not chosen:
        print("No defect has such a name.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copied(place)
        if outcome(place, sorted({test for each in chosen for test in each.test.split(" ")})) != 0:
            print("The tests fail without any defect: repair them first.", file=sys.stderr)
            return 2
        survivors = 0
        for each in chosen:
            dead = killed(place, each)
            survivors += not dead
            print(f"{'killed  ' if dead else 'SURVIVED'} {each.name}: {each.test.split('::')[-1]}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} defects killed.")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
