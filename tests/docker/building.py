"""The image, built and run without a daemon: by buildah in a chroot, on a Debian that debootstrap makes.

Both need root. Nothing is pulled from a registry of images, so that the base is the same release and not the same image
as the one that the Dockerfile names.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
CACHE = ROOT / ".cache" / "image"
PROGRAMS = ("buildah", "debootstrap")
RELEASE = "bookworm"
BASE = "localhost/debian:12-slim"
IMAGE = "localhost/codesynapse:test"
CERTIFICATE = "/usr/local/share/machine.crt"
"""In the base: the certificates of this machine, for one whose way to the packages has its own."""


class CannotBuild(Exception):
    """This machine lacks what building needs; the text says what to type."""


def require(environment: Mapping[str, str] = os.environ, *, install: bool = False) -> None:
    """Let the programs be there, or install them where a CI runs or `install` says so. Raises CannotBuild."""
    if _missing() and (install or environment.get("CI") == "true"):
        subprocess.run(["sh", "-c", line()], check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    if _missing():
        raise CannotBuild(f"make image-test needs {' and '.join(_missing())}; type: {line()}")
    if os.geteuid() != 0 and not install:
        raise CannotBuild("make image-test needs root: buildah's chroot and debootstrap do")


def line() -> str:
    """The line that installs them, on Debian and its kin."""
    rights = "" if os.geteuid() == 0 else "sudo "
    return f"{rights}apt-get update && {rights}apt-get install --yes --no-install-recommends {' '.join(PROGRAMS)}"


def _missing() -> list[str]:
    return [program for program in PROGRAMS if shutil.which(program) is None]


def command(*arguments: str) -> list[str]:
    """A command of buildah on a storage of this checkout."""
    places = ["--root", str(CACHE / "storage"), "--runroot", str(CACHE / "run"), "--storage-driver", "vfs"]
    return ["buildah", *places, *arguments]


def buildah(*arguments: str) -> str:
    """Run it to its end; what it prints."""
    done = subprocess.run(command(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"buildah {arguments[0]}: {done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout.strip()


def build(*options: str) -> None:
    """Build the image as the Dockerfile says, on the local base."""
    _make_base()
    isolated = ["--isolation", "chroot", "--pull-never", "--format", "docker", "--build-arg", f"BASE={BASE}"]
    buildah("bud", *isolated, *options, "--file", str(ROOT / "docker" / "Dockerfile"), "--tag", IMAGE, str(ROOT))
    # Each build takes the name from the one before, which would stay for good.
    buildah("rmi", "--prune", "--force")


def configuration() -> dict[str, Any]:
    """What the image says of itself: User, Env, Entrypoint, Cmd, Healthcheck, Volumes."""
    found: dict[str, Any] = json.loads(buildah("inspect", "--type", "image", IMAGE))["Docker"]["config"]
    return found


def _make_base() -> None:
    if BASE in buildah("images", "--format", "{{.Name}}:{{.Tag}}").splitlines():
        return
    folder = CACHE / "base"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    bootstrap = ["debootstrap", "--variant=minbase", "--include=ca-certificates", RELEASE, str(folder)]
    done = subprocess.run(bootstrap, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotBuild(f"debootstrap: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    container = buildah("from", "scratch")
    buildah("add", container, str(folder), "/")
    certificate = os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE")
    if certificate:
        buildah("add", container, certificate, CERTIFICATE)
        buildah("config", "--env", f"PIP_CERT={CERTIFICATE}", container)
    buildah("commit", "--rm", container, BASE)
    shutil.rmtree(folder)


if __name__ == "__main__":
    require(install=True)
