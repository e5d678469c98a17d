"""The servers' own tools: what is fetched is checked, what is missing is named, and only our own processes end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import artifacts, tools
from tests.servers.processes import birth, kill


class Place:
    """A cache and a lock file of the test's own. fetched: how often the one jar was fetched."""

    def __init__(self, folder: Path) -> None:
        self.cache, self.lock = folder / "cache", folder / "artifacts.lock"
        self.fetched = 0
        right = folder / "right"
        right.mkdir()
        (right / "a.jar").write_bytes(b"jar")
        self.say(artifacts.digest(right))

    def say(self, digest: str) -> None:
        self.lock.write_text(f"# a comment\nthing-1 {digest}\n", "utf-8")

    def fetch(self, folder: Path) -> None:
        self.fetched += 1
        (folder / "jars" / "a.jar").write_bytes(b"jar")

    def jars(self) -> Path:
        return artifacts.jars("thing-1", "<project/>", cache=self.cache, lock=self.lock, fetch=self.fetch)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_packages_of_another_digest_are_refused_and_not_kept(place: Place) -> None:
    place.say("0" * 64)
    with pytest.raises(artifacts.WrongArtifacts, match="thing-1"):
        place.jars()
    assert not (place.cache / "jars" / "thing-1").exists()


def test_a_download_that_broke_off_is_begun_anew_and_a_whole_one_is_kept(place: Place) -> None:
    half = place.cache / "jars" / "thing-1.partial" / "jars"
    half.mkdir(parents=True)
    (half / "half.jar").write_bytes(b"ha")
    fetched = place.jars()
    assert [path.name for path in fetched.iterdir()] == ["a.jar"]
    assert (place.jars(), place.fetched) == (fetched, 1)


def test_missing_programs_are_named_with_the_line_that_installs_them() -> None:
    with pytest.raises(tools.ToolsMissing, match=r"mvn; type: .*apt-get install .*maven curl unzip$"):
        tools.require({}, look=lambda: ["mvn"])


def test_in_ci_they_are_installed() -> None:
    lacking = ["mvn"]
    tools.require({"CI": "true"}, look=lambda: list(lacking), act=lacking.clear)
    assert lacking == []


def named(folder: Path, said: str) -> str:
    """A program that says which Java it is."""
    program = folder / "java"
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("said", "version"),
    [('openjdk version "21.0.8" 2025-07-15 LTS', 21), ('openjdk version "17" 2021-09-14', 17), ("nothing of it", 0)],
)
def test_the_version_of_a_java_is_what_it_says(tmp_path: Path, said: str, version: int) -> None:
    assert tools.java_version(named(tmp_path, said)) == version
    assert tools.java_version(str(tmp_path / "none")) == 0


def test_a_java_that_is_old_enough_is_taken_and_a_newer_one_is_asked_for() -> None:
    assert tools.java_version(tools.java(17)) >= 17
    with pytest.raises(tools.ToolsMissing, match=r"need Java 999 or later; type: make \.venv/java\.stamp"):
        tools.java(999)


def test_a_run_at_full_count_has_the_newest_neo4j_and_no_other_has() -> None:
    said = "from tests.servers.kinds import TESTED; print(*TESTED)"
    for full, there in (("1", True), ("0", False)):
        found = subprocess.run(
            [sys.executable, "-c", said],
            env={**os.environ, "CODESYNAPSE_FULL": full},
            cwd=artifacts.ROOT,
            capture_output=True,
            text=True,
        )
        assert ("neo4j-2026" in found.stdout.split()) is there
        assert "hugegraph-1.7" in found.stdout.split()


def test_only_the_process_that_was_meant_is_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    born = birth(process.pid)
    assert born is not None
    kill(process.pid, born + "0")
    assert process.poll() is None
    kill(process.pid, born)
    assert birth(process.pid) != born
    process.communicate()
    assert birth(os.getpid()) is not None
