"""The two servers whose agent memory is measured, each a process; the peer is installed into `.cache/` at its version.

The version, with those of all that it needs, is in `requirements/cpersona.txt` alone.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements" / "cpersona.txt"
CACHE = ROOT / ".cache" / "cpersona"
UV = ROOT / ".cache" / "bootstrap" / "bin" / "uv"
OURS, PEER = "codesynapse", "cpersona"


@dataclass(frozen=True)
class Took:
    """One call: seconds of CPU and of wall time, and the text of its answer."""

    cpu_s: float
    wall_s: float
    text: str


@dataclass(frozen=True)
class Side:
    """A server that is up."""

    name: str
    process: subprocess.Popen[str]

    def do(self, tool: str, calls: list[dict[str, Any]]) -> list[Took]:
        """Call one tool, one call after the other. Raises RuntimeError when the server ended."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"tool": tool, "calls": calls}) + "\n")
        self.process.stdin.flush()
        return [Took(*each) for each in self.line()]

    def line(self) -> Any:
        """The next line that it says."""
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        if not said:
            raise RuntimeError(f"{self.name} ended with exit code {self.process.wait(10)}")
        return json.loads(said)


def version(lock: Path = LOCK) -> str:
    """The peer's version."""
    found = re.search(r"^cpersona==(\S+)", lock.read_text("utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]


def installed(cache: Path = CACHE, lock: Path = LOCK) -> Path:
    """The interpreter of the peer's environment, made where the lock is another than it was made from.

    Raises CalledProcessError.
    """
    python, stamp = cache / "bin" / "python", cache / "stamp"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not stamp.is_file() or stamp.read_text("ascii") != digest:
        shutil.rmtree(cache, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", cache], check=True)
        subprocess.run([*_installer(python), "--quiet", "--requirement", str(lock)], check=True)
        stamp.write_text(digest, "ascii")
    return python


def _installer(python: Path) -> list[str]:
    if UV.exists():
        return [str(UV), "pip", "install", "--python", str(python)]
    pip = [str(UV.with_name("python")), "-m", "pip", "--python", str(python), "install"]
    return [*pip, "--disable-pip-version-check"]


@contextmanager
def running(name: str, *arguments: str) -> Iterator[Side]:
    """Start a server, and end this very process at the end. Raises RuntimeError when it does not start."""
    python, module = (sys.executable, "agents_ours") if name == OURS else (str(installed()), "agents_cpersona")
    command = [python, "-m", f"benchmarks.{module}", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            side = Side(name, process)
            side.line()
            yield side
        finally:
            assert process.stdin is not None
            process.stdin.close()  # It ends by itself then, and takes its files with it.
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
