"""The servers that are measured beside each other, and how each is started for an era and a form of answers.

The official TypeScript SDK's server and its Node are those that `tests/conformance/lock/` names; they are installed as
`make conformance` does.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conformance.installing import installed

ERAS = ("legacy", "modern")
FORMS = ("sse", "json")
CELLS = tuple((era, form) for era in ERAS for form in FORMS)
SCRIPT = Path(__file__).with_name("typescript_server.mjs")

Command = Callable[[str, str], list[str]]
"""The command line that serves an era in a form."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A server.

    by_accept: whether `Accept` decides on the form; the others are started for one, and want both types named.
    ours: whether the targets are its own, and its tools can write.
    """

    name: str
    command: Command
    by_accept: bool = False
    ours: bool = False


def _module(name: str) -> Command:
    """A server of Python that looks at `Accept` alone, and speaks both eras."""
    return lambda era, form: [sys.executable, "-m", name]


def _python_sdk(_: str, form: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.sdk_echo_server", *(["--json"] if form == "json" else [])]


def _typescript_sdk(era: str, form: str) -> list[str]:
    tools = installed()
    # A script finds its packages from where it lies.
    script = shutil.copy(SCRIPT, tools.modules.parent / SCRIPT.name)
    return [str(tools.node), str(script), era, form]


CONTENDERS = (
    Contender(name="codesynapse", command=_module("benchmarks.our_server"), by_accept=True, ours=True),
    Contender(name="python sdk", command=_python_sdk),
    Contender(name="typescript sdk", command=_typescript_sdk),
    Contender(name="bare aiohttp", command=_module("benchmarks.floor_server"), by_accept=True),
)


@dataclass(frozen=True, kw_only=True)
class Running:
    """A server that is up."""

    pid: int
    url: str
    headers: dict[str, str]

    def load(self, mode: str, **options: object) -> dict[str, Any]:
        """Run the load generator against it. Raises RuntimeError when a call failed."""
        command = [sys.executable, "-m", "benchmarks.mcp_load", "--url", self.url, "--server-pid", str(self.pid)]
        command += ["--mode", mode]
        for name, value in self.headers.items():
            command += ["--header", f"{name}: {value}"]
        for option, value in options.items():
            command += [f"--{option}"] if value is True else [f"--{option}", str(value)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise RuntimeError(f"the load generator failed: {ran.stdout[-1000:]}{ran.stderr[-2000:]}")
        found: dict[str, Any] = json.loads(ran.stdout)
        return found


@contextmanager
def running(contender: Contender, era: str, form: str) -> Iterator[Running]:
    """Start a server, and end this very process at the end."""
    process = subprocess.Popen(contender.command(era, form), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{contender.name} did not start")
        told = json.loads(line)
        yield Running(pid=process.pid, url=told["url"], headers=told["headers"])
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
