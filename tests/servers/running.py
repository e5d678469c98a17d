"""Which servers run: started once, shared by all who name themselves as users, ended when the last one leaves."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.servers import tools
from tests.servers.artifacts import CACHE, exclusively
from tests.servers.kinds import KINDS
from tests.servers.processes import birth, kill

BY_HAND = "by hand"
"""The user that `make servers` stands for; it leaves with `make servers-stop`."""


@dataclass
class Record:
    """A server that was started. born: tells its process from a later one of the same pid. users: who needs it."""

    pid: int
    born: str
    url: str
    options: dict[str, str]
    users: list[str]

    @property
    def alive(self) -> bool:
        return birth(self.pid) == self.born


def myself() -> str:
    """This process as a user: its pid, and when it was born."""
    return f"{os.getpid()} {birth(os.getpid())}"


def ensure(name: str, user: str) -> Record:
    """The running server of this name, started unless it is up; `user` needs it from now on."""
    with exclusively(f"run-{name}"):
        record = _read(name)
        if record is None or not record.alive:
            tools.require()
            record = _start(name)
        record.users = [*(each for each in record.users if each != user and _lives(each)), user]
        _write(name, record)
    return record


def release(name: str, user: str) -> None:
    """`user` needs the server no longer; it is ended when nobody else does."""
    with exclusively(f"run-{name}"):
        record = _read(name)
        if record is None or user not in record.users:
            return
        record.users = [each for each in record.users if each != user and _lives(each)]
        _write(name, record)
        if not record.users:
            _end(name, record)


def stop(name: str) -> bool:
    """End the server, whoever uses it; whether it ran."""
    with exclusively(f"run-{name}"):
        record = _read(name)
        if record is None:
            return False
        ran = record.alive
        _end(name, record)
        return ran


def status(name: str) -> Record | None:
    """The record of a server that runs."""
    record = _read(name)
    return record if record is not None and record.alive else None


def _start(name: str) -> Record:
    home = _folder(name) / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    launched = KINDS[name].start(home)
    return Record(
        pid=launched.pid, born=birth(launched.pid) or "", url=launched.url, options=launched.options, users=[]
    )


def _end(name: str, record: Record) -> None:
    kill(record.pid, record.born)
    shutil.rmtree(_folder(name), ignore_errors=True)


def _lives(user: str) -> bool:
    """Whether a user may still need anything: a run of tests that was killed does not."""
    if user == BY_HAND:
        return True
    pid, _, born = user.partition(" ")
    return birth(int(pid)) == born


def _folder(name: str) -> Path:
    return CACHE / "run" / name


def _read(name: str) -> Record | None:
    try:
        return Record(**json.loads((_folder(name) / "record.json").read_text("utf-8")))
    except FileNotFoundError:
        return None


def _write(name: str, record: Record) -> None:
    path = _folder(name) / "record.json"
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(asdict(record)), "utf-8")
    os.replace(fresh, path)
