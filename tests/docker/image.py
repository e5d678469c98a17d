"""The image as it is built and run; `make image-test` runs this, since it needs root, buildah and a minute."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.docker import building
from tests.docker.building import IMAGE, ROOT, buildah, command, configuration
from tests.servers.processes import free_port

USER = 10_001
READY_S = 120.0

# A root that nothing can be written to, with the home and a folder for what is temporary: what `read_only` and `tmpfs`
# of the compose files do.
READ_ONLY = """
mount --bind "$1" "$1"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
mount -t tmpfs tmpfs "$1/tmp"
mount --bind "$2" "$1/data"
mount -o remount,bind,ro "$1"
root=$1 user=$3
shift 3
exec chroot --userspec="$user" "$root" "$@"
"""


@pytest.fixture(scope="session")
def container() -> Iterator[str]:
    """A container of a freshly built image."""
    building.require()
    building.build()
    name = buildah("from", "--pull-never", IMAGE)
    # An engine mounts a volume in its place; buildah would mount one of its own over that.
    buildah("config", "--volume", "/data-", name)
    yield name
    buildah("rm", name)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A volume as an engine makes it from the image: it belongs to the image's user."""
    folder = tmp_path / "data"
    folder.mkdir(0o700)
    os.chown(folder, USER, USER)
    for parent in folder.parents:
        if parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o011)
    return folder


@contextmanager
def started(arguments: list[str], log: Path, environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """A process of ours with all that it starts, ended as a container is: by SIGTERM."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=None if environment is None else dict(environment),
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until_ready(port: int, log: Path) -> None:
    """Return once the server says that its stores answer."""
    due = time.monotonic() + READY_S
    while time.monotonic() < due:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            continue
    raise AssertionError(log.read_text("utf-8", "replace"))


def inside(container: str, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a program in the container, to its end."""
    run = command("run", "--isolation", "chroot", *options, container, "--", *arguments)
    return subprocess.run(run, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def main_program() -> list[str]:
    """What an engine would start."""
    said = configuration()
    return [*said["Entrypoint"], *said["Cmd"]]


def test_it_belongs_to_a_user_without_rights_and_holds_nothing_to_install_with(container: str) -> None:
    said = configuration()
    assert said["User"] == f"{USER}:{USER}"
    assert list(said["Volumes"]) == ["/data"]
    assert inside(container, "id", "-u").stdout.strip() == str(USER)
    assert inside(container, "/opt/codesynapse/bin/python", "-m", "pip", "--version").returncode != 0
    assert inside(container, "sh", "-c", "touch /opt/codesynapse/x").returncode != 0


def test_it_has_the_stores_of_its_extras(container: str) -> None:
    found = inside(container, "python3", "-c", "import gremlin_python, neo4j, codesynapse.backends.hugegraph")
    assert (found.returncode, found.stderr) == (0, "")


def test_it_serves_the_example_of_the_readme_and_tells_its_key_in_a_file_alone(
    container: str, home: Path, tmp_path: Path
) -> None:
    port, log = free_port(), tmp_path / "log"
    shared = ("--volume", f"{home}:/data", "--env", f"CODESYNAPSE_PORT={port}")
    with started(command("run", "--isolation", "chroot", *shared, container, "--", *main_program()), log):
        wait_until_ready(port, log)
        check = configuration()["Healthcheck"]["Test"]
        assert check[0] == "CMD"
        assert inside(container, *check[1:], options=shared).returncode == 0
        told = home / "bootstrap.key"
        assert (stat.S_IMODE(told.stat().st_mode), told.stat().st_uid) == (0o600, USER)
        key = told.read_text("utf-8").strip().removeprefix("CODESYNAPSE_API_KEY=")
        assert example(key, port)[:2] == [
            "Remembered: 12 new, 0 known already.",
            "Who sailed to Suriname, and which work describes its insects?",
        ]
    said = log.read_text("utf-8")
    assert "listening on http://127.0.0.1" in said
    assert "csk_" not in said
    # Nobody listens any more, and the check says so.
    assert inside(container, *check[1:], options=shared).returncode == 1


def example(key: str, port: int) -> list[str]:
    """Register a chat session as the README does, and run its example; what that prints."""
    session = f"image-{port}"
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1/execution/sessions",
        data=b'{"session_id": "%s"}' % session.encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 201
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "first_memory.py")],
        env={
            **os.environ,
            "CODESYNAPSE_API_KEY": key,
            "CODESYNAPSE_SESSION_ID": session,
            "CODESYNAPSE_PORT": str(port),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_it_works_on_a_root_that_cannot_be_written(container: str, home: Path, tmp_path: Path) -> None:
    root, port, log = buildah("mount", container), free_port(), tmp_path / "log"
    variables = [*configuration()["Env"], f"CODESYNAPSE_PORT={port}"]

    def chrooted(*program: str) -> list[str]:
        shell = ["unshare", "--mount", "--propagation", "private", "sh", "-euc", READ_ONLY, "sh"]
        return [*shell, root, str(home), f"{USER}:{USER}", "env", "-i", *variables, *program]

    refused = subprocess.run(chrooted("touch", "/opt/x"), capture_output=True, text=True, check=False)
    assert "Read-only file system" in refused.stderr
    with started(chrooted(*main_program()), log):
        wait_until_ready(port, log)
        key = (home / "bootstrap.key").read_text("utf-8").strip().removeprefix("CODESYNAPSE_API_KEY=")
        assert example(key, port)[0] == "Remembered: 12 new, 0 known already."
    buildah("umount", container)
