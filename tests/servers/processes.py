"""Processes that outlive the one that starts them: free ports, launching, waiting until ready, stopping by pid."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

READY_S = 120.0
POLL_S = 0.05

_launched: list[subprocess.Popen[bytes]] = []
"""Held for good: a process is to outlive its handle, which would complain when it is collected."""


class NotStarted(Exception):
    """A server ended, or did not answer, before it was ready; the text shows the end of its log."""


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def launch(
    command: Sequence[str], log: Path, *, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, so that an interrupt at the terminal does not reach it."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=None if environment is None else {**os.environ, **environment},
            start_new_session=True,
        )
    _launched.append(process)
    return process


def wait_until_ready(process: subprocess.Popen[bytes], ready: Callable[[], bool], *logs: Path) -> None:
    """Return once `ready` says yes. Raises NotStarted, and leaves no process behind."""
    due = time.monotonic() + READY_S
    while process.poll() is None and time.monotonic() < due:
        if ready():
            return
        time.sleep(POLL_S)
    process.kill()
    process.wait()
    tails = [log.read_text("utf-8", "replace")[-1500:] for log in logs if log.exists()]
    raise NotStarted(f"exit code {process.returncode}\n" + "\n".join(tails))


def listens(port: int) -> bool:
    """Whether somebody listens on a port of loopback."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def birth(pid: int) -> str | None:
    """When a process was born, so that a later one of the same number is not taken for it; None without it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return None
    # After the name, which stands in brackets and may hold anything: state first, the start time as the 20th.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[19]


def kill(pid: int, born: str) -> None:
    """End a process at once, if it is still the one that was born then, and wait until it is gone."""
    if birth(pid) != born:
        return
    os.kill(pid, signal.SIGKILL)
    while birth(pid) == born:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        time.sleep(POLL_S)
