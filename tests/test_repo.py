"""What holds for every file of the repository: bounded sizes, no foreign places, no postponed work."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 40

# Longer files, each with its reason.
LONG_FILES: dict[str, str] = {
    "contracts/ledger/product.py": "data: one row a promise, read from top to bottom beside its source",
    "contracts/ledger/seed0.py": "data: one row a promise, read from top to bottom beside its source",
    "contracts/ledger/seed1.py": "data: one row a promise, read from top to bottom beside its source",
    "tests/conformance/lock/package-lock.json": "data: what npm locked, each package with its digest",
}
# Longer functions ("path::name"), each with its reason.
LONG_FUNCTIONS: dict[str, str] = {}

# In pieces, so that this file does not name what it looks for.
REGISTRIES = [
    "pypi" + ".org",
    "python" + "hosted.org",
    "npmjs" + ".org",
    "npmjs" + ".com",
    "crates" + ".io",
    "maven" + ".org",
    "maven.apache" + ".org",
    "proxy.golang" + ".org",
    "debian" + ".org",
]
OWN_PLACES = re.compile(r"(?<![\w.~*})\]>-])/(?:" + "|".join(["work", "root", r"home/\w+", r"Users/\w+"]) + r")/\w")
POSTPONED = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]) + r")\b")
NOT_RUN = re.compile(r"mark\.sk" + r"ip|pytest\.sk" + r"ip|importorsk" + r"ip|sk" + r"ipif|\.xf" + "ail")


@cache
def texts() -> dict[str, str]:
    """Every text file that git tracks or would track; symlinks and binary files are left out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    found: dict[str, str] = {}
    for name in filter(None, listing.decode().split("\0")):
        path = ROOT / name
        if not path.is_file() or path.is_symlink():
            continue
        content = path.read_bytes()
        if b"\0" not in content:
            found[name] = content.decode()
    return found


def lines_matching(pattern: re.Pattern[str], suffix: str = "") -> list[str]:
    """`path:line` of every line in which the pattern is found."""
    return [
        f"{name}:{number}"
        for name, text in texts().items()
        if name.endswith(suffix)
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def length_without_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert function.end_lineno is not None
    length = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        assert docstring.end_lineno is not None
        length -= docstring.end_lineno - docstring.lineno + 1
    return length


def functions() -> Iterator[tuple[str, int]]:
    """`path::name` and the length of every Python function."""
    for name, text in texts().items():
        if name.endswith(".py"):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{name}::{node.name}", length_without_docstring(node)


def test_no_file_names_the_host_of_a_package_registry() -> None:
    # Where packages come from is the machine's setting; a host written here would override it.
    assert lines_matching(re.compile("|".join(map(re.escape, REGISTRIES)))) == []


def test_no_file_names_a_place_of_somebodys_machine() -> None:
    assert lines_matching(OWN_PLACES) == []


def test_no_work_is_postponed_in_a_comment() -> None:
    assert lines_matching(POSTPONED) == []


def test_no_test_is_left_out() -> None:
    # What cannot run here is deselected at collection by its features, or it is a failure.
    assert lines_matching(NOT_RUN, ".py") == []


def test_no_file_is_too_long() -> None:
    long = {name for name, text in texts().items() if len(text.splitlines()) > FILE_LINES_MAX}
    assert long == set(LONG_FILES)


def test_no_function_is_too_long() -> None:
    long = {name for name, length in functions() if length > FUNCTION_LINES_MAX}
    assert long == set(LONG_FUNCTIONS)


@pytest.mark.parametrize("place", ["/wor" + "k/main", "see /roo" + "t/x", "'/hom" + "e/ana/x'", "/User" + "s/ana/y"])
def test_the_search_for_places_finds_one(place: str) -> None:
    assert OWN_PLACES.search(place)


@pytest.mark.parametrize("harmless", ["server/work/runner.py", "~/work/x", "https://example.org/home", "{root}/work/x"])
def test_the_search_for_places_leaves_others_alone(harmless: str) -> None:
    assert not OWN_PLACES.search(harmless)
