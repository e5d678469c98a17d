"""Java packages by the ordinary Maven client, into a cache that git ignores, checked against `artifacts.lock`.

A folder of the cache appears under its name only when it is whole and its digest is right: an interrupted download
leaves a folder of another name, which the next one removes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
CACHE = ROOT / ".cache" / "servers"
LOCK = Path(__file__).with_name("artifacts.lock")


class WrongArtifacts(Exception):
    """What was fetched is not what is locked."""


@contextmanager
def exclusively(name: str, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock of this checkout, also against other processes. shared: only against those who hold it alone."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


def locked(lock: Path = LOCK) -> dict[str, str]:
    """The digest of each set of packages, as `artifacts.lock` says: a name, a blank, a digest a line."""
    lines = lock.read_text("utf-8").splitlines()
    rows = [line.partition(" ") for line in lines if line and not line.startswith("#")]
    return {name: found for name, _, found in rows}


def digest(folder: Path) -> str:
    """One SHA-256 over the names and the SHA-256 of all files of a folder."""
    whole = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            whole.update(f"{path.name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()


def jars(
    name: str,
    pom: str,
    *,
    cache: Path = CACHE,
    lock: Path = LOCK,
    fetch: Callable[[Path], object] | None = None,
) -> Path:
    """The folder of jars that a POM asks for: from the cache, or fetched and checked. Raises WrongArtifacts.

    fetch: fills the folder `jars` beside `pom.xml`; Maven, unless a test has another.
    """
    target = cache / "jars" / name
    with exclusively(f"jars-{name}"):
        if target.is_dir():
            return target
        partial = target.with_name(f"{name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        (partial / "jars").mkdir(parents=True)
        (partial / "pom.xml").write_text(pom, "utf-8")
        (fetch or _maven)(partial)
        found = digest(partial / "jars")
        if found != locked(lock).get(name):
            raise WrongArtifacts(f"{name}: the packages have the digest {found}, {lock.name} says another")
        os.rename(partial / "jars", target)
        shutil.rmtree(partial)
    return target


def _maven(folder: Path) -> None:
    command = ["mvn", "-q", "-B", "-ntp", "-f", str(folder / "pom.xml"), "dependency:copy-dependencies"]
    options = [f"-DoutputDirectory={folder / 'jars'}", "-DincludeScope=runtime"]
    for attempt in (1, 2, 3):
        # What was fetched before a network gave up is kept by Maven itself, so that each attempt gets further.
        done = subprocess.run([*command, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode == 0:
            return
        if attempt == 3:
            raise WrongArtifacts(f"Maven cannot fetch the packages:\n{(done.stdout + done.stderr)[-2000:]}")
