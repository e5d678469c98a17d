"""The files of `docker/`, read without a daemon: linted, held to their schema, and to what the settings know."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from codesynapse.server.settings import PREFIX, Settings, load
from tests.docker.building import ROOT
from tests.servers import artifacts
from tests.servers.running import Record

DOCKER = ROOT / "docker"
COMPOSE = sorted(DOCKER.glob("compose.*.yaml"))
TOOLS = Path(sys.executable).parent
STORES = ("embedded", "hugegraph", "neo4j")


def composed(store: str) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load((DOCKER / f"compose.{store}.yaml").read_text("utf-8"))
    return found


def ran(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


def test_the_dockerfile_passes_its_linter_and_a_careless_one_does_not(tmp_path: Path) -> None:
    done = ran(TOOLS / "hadolint", DOCKER / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")
    (tmp_path / "Dockerfile").write_text("FROM debian\nRUN cd /x && apt-get install curl\n")
    assert ran(TOOLS / "hadolint", tmp_path / "Dockerfile").returncode != 0


def test_every_compose_file_keeps_the_schema_and_a_wrong_one_does_not(tmp_path: Path) -> None:
    check = [TOOLS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = ran(*check, *COMPOSE)
    assert done.returncode == 0, done.stdout
    (tmp_path / "compose.yaml").write_text("services:\n  a:\n    imagine: b\n")
    assert ran(*check, tmp_path / "compose.yaml").returncode != 0


def test_there_is_one_file_for_each_way_to_store() -> None:
    assert tuple(path.name.split(".")[1] for path in COMPOSE) == STORES


def test_every_variable_is_a_setting_and_its_value_is_accepted() -> None:
    text = "".join(path.read_text("utf-8") for path in [*COMPOSE, DOCKER / "Dockerfile"])
    named = {name.lower() for name in re.findall(rf"{PREFIX}([A-Z0-9_]+)", text)}
    assert named <= set(Settings.__struct_fields__)
    for store in STORES:
        environment = composed(store)["services"]["codesynapse"]["environment"]
        assert set(environment) <= {PREFIX + name.upper() for name in Settings.__struct_fields__}
        assert load({**environment, "CODESYNAPSE_HOME": "/nowhere"}).host == "0.0.0.0"


@pytest.mark.parametrize("store", STORES)
def test_it_is_published_on_loopback_alone_and_runs_with_as_little_as_it_needs(store: str) -> None:
    services = composed(store)["services"]
    assert [port for service in services.values() for port in service.get("ports", ())] == ["127.0.0.1:8420:8420"]
    ours = services["codesynapse"]
    assert (ours["read_only"], ours["cap_drop"], ours["tmpfs"]) == (True, ["ALL"], ["/tmp"])
    assert ours["security_opt"] == ["no-new-privileges:true"]
    assert ours["volumes"] == ["home:/data"]
    assert ours["build"] == {"context": "..", "dockerfile": "docker/Dockerfile"}


@pytest.mark.parametrize("store", ["neo4j", "hugegraph"])
def test_it_waits_for_its_store_and_both_read_one_secret_from_a_file(store: str) -> None:
    file = composed(store)
    ours, theirs = file["services"]["codesynapse"], file["services"][store]
    assert ours["depends_on"] == {store: {"condition": "service_healthy"}}
    assert theirs["healthcheck"]["test"][0] == "CMD"
    assert file["secrets"] == {"graph_password": {"file": "secrets/graph_password"}}
    assert ours["secrets"] == theirs["secrets"] == ["graph_password"]
    assert not re.search(r"(?i)password\W+[a-z0-9]{8}", str(theirs.get("environment", {})))


def test_no_image_of_another_is_taken_by_a_tag_that_says_nothing() -> None:
    images = [service["image"] for store in STORES for service in composed(store)["services"].values()]
    assert {image for image in images if ":" not in image} == {"codesynapse"}
    assert not [image for image in images if image.endswith(":latest")]


def test_the_context_is_what_the_image_is_built_from() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert next(line for line in lines if line and not line.startswith("#")) == "*"
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--)(.+) \S+$", (DOCKER / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert {name for names in copied for name in names.split()} == allowed


def test_the_secret_is_made_once_in_a_folder_that_is_its_owners_alone(tmp_path: Path) -> None:
    script = tmp_path / "secrets.sh"
    script.write_bytes((DOCKER / "secrets.sh").read_bytes())
    assert ran("sh", script).returncode == 0
    made = tmp_path / "secrets" / "graph_password"
    password = made.read_text("utf-8")
    assert re.fullmatch(r"[0-9a-f]{48}\n", password)
    assert (made.parent.stat().st_mode & 0o777, made.stat().st_mode & 0o777) == (0o700, 0o644)
    assert ran("sh", script).returncode == 0
    assert made.read_text("utf-8") == password


def test_hugegraph_is_configured_once_for_a_password_and_other_containers(
    tmp_path: Path, hugegraph_server: Record, request: pytest.FixtureRequest
) -> None:
    """With the configuration and the script of the real distribution; what would start is replaced."""
    kind = request.node.callspec.params["hugegraph_server"]
    version = "1.5.0" if kind == "hugegraph-1.5" else "1.7.0"
    jar = artifacts.CACHE / "jars" / f"hugegraph-{version}" / f"hugegraph-dist-{version}.jar"
    with zipfile.ZipFile(jar) as dist:
        dist.extractall(tmp_path, [name for name in dist.namelist() if name.startswith(("conf/", "bin/"))])
    (tmp_path / "bin" / "enable-auth.sh").chmod(0o755)
    for name, body in {"init-store.sh": "cat > initialized", "start-hugegraph.sh": 'echo "$@" > started'}.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "password").write_text("hunter2hunter2\n")
    command = ["env", f"HUGEGRAPH_FOLDER={tmp_path}", f"PASSWORD_FILE={tmp_path / 'password'}", "bash"]
    for _ in range(2):
        done = ran(*command, DOCKER / "hugegraph.sh")
        assert (done.returncode, done.stderr) == (0, "")
    gremlin = YAML(typ="safe").load((tmp_path / "conf" / "gremlin-server.yaml").read_text("utf-8"))
    assert (gremlin["host"], gremlin["maxContentLength"]) == ("0.0.0.0", 1_048_576)
    assert gremlin["authentication"]["authenticator"] == "org.apache.hugegraph.auth.StandardAuthenticator"
    assert (tmp_path / "initialized").read_text("utf-8") == "hunter2hunter2\n"
    assert (tmp_path / "started").read_text("utf-8").startswith("-d false")
