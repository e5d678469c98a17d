"""The distribution holds what the folders hold, under the one name `codesynapse`."""

from __future__ import annotations

import ast
import configparser
import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Modules that bear another name than the distribution that brings them.
OTHER_NAMES = {"Stemmer": "pystemmer", "gremlin_python": "gremlinpython"}
FOLDERS = ("backends", "contracts", "server")

# Prints the top-level names that importing the given modules adds to a fresh interpreter.
PROBE = """
import importlib, json, sys
before = set(sys.modules)
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


def read_setup() -> configparser.ConfigParser:
    """setup.cfg, with the case of its keys kept."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    return setup


def listed(setup: configparser.ConfigParser, section: str, key: str) -> list[str]:
    return [line.strip() for line in setup[section][key].splitlines() if line.strip() and not line.startswith("#")]


def sources() -> list[Path]:
    """Every module of the three folders, relative to the repository."""
    return sorted(path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def dotted(path: Path) -> str:
    """server/http/api.py -> codesynapse.server.http.api"""
    parts = path.with_suffix("").parts
    return ".".join(("codesynapse", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def top_level_imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names


def locked(name: str) -> dict[str, str]:
    """Distribution -> its whole line in requirements/<name>.txt."""
    lines = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return {line.partition("==")[0]: line for line in lines if "==" in line}


def test_every_folder_with_an_init_is_a_listed_package() -> None:
    folders = {dotted(path) for path in sources() if path.name == "__init__.py"}
    assert set(listed(read_setup(), "options", "packages")) == folders


def test_no_module_lies_in_a_folder_without_an_init() -> None:
    assert [path for path in sources() if not (ROOT / path.parent / "__init__.py").exists()] == []


def test_every_listed_package_data_exists() -> None:
    data = read_setup()["options.package_data"]
    for package, pattern in data.items():
        folder = ROOT.joinpath(*package.split(".")[1:])
        assert list(folder.glob(pattern)), f"{package} has no {pattern}"


def test_no_module_is_imported_under_a_bare_folder_name() -> None:
    # Two copies of one module hold two copies of its classes, and isinstance lies.
    bare = [name for name in sys.modules if name.partition(".")[0] in FOLDERS]
    assert bare == []


def test_contracts_need_msgspec_alone() -> None:
    pure = [
        dotted(path)
        for path in sources()
        if path.parts[0] == "contracts" and path.parts[1] not in ("plugin.py", "suite")
    ]
    probe = subprocess.run([sys.executable, "-c", PROBE, *pure], capture_output=True, text=True, check=False)
    assert probe.returncode == 0, probe.stderr
    foreign = set(json.loads(probe.stdout)) - sys.stdlib_module_names
    # msgspec itself looks for typing_extensions, and does without.
    assert foreign <= {"codesynapse", "msgspec", "typing_extensions"}


def test_the_base_install_holds_all_that_the_server_imports() -> None:
    base = {name.replace("-", "_") for name in locked("base")}
    for path in sources():
        if path.parts[:2] in (("contracts", "plugin.py"), ("contracts", "suite")):
            continue  # the extra "suite"
        foreign = top_level_imports(path) - sys.stdlib_module_names - {"codesynapse"}
        assert {OTHER_NAMES.get(name, name.lower()) for name in foreign} <= base | extra_of(path), path


def extra_of(path: Path) -> set[str]:
    """What the extra of a backend's name adds to the base install, for the modules of that backend alone."""
    setup = read_setup()
    if path.parts[0] != "backends" or path.parts[1] not in setup["options.extras_require"]:
        return set()
    lines = listed(setup, "options.extras_require", path.parts[1])
    return {re.split("[><=]", line)[0].replace("-", "_") for line in lines}


@pytest.mark.parametrize("name", ["base", "dev"])
def test_every_locked_requirement_has_one_exact_version(name: str) -> None:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*( ; .+)?", line)] == []


def test_the_dev_lock_repeats_the_versions_of_the_base_lock() -> None:
    dev = {name: line.partition(" ;")[0] for name, line in locked("dev").items()}
    assert {name: dev.get(name) for name in locked("base")} == {
        name: line.partition(" ;")[0] for name, line in locked("base").items()
    }


@pytest.mark.parametrize("group", ["console_scripts", "pytest11", "codesynapse.backends"])
def test_every_entry_point_loads(group: str) -> None:
    wanted = dict(line.split(" = ") for line in listed(read_setup(), "options.entry_points", group))
    ours = {point.name: point for point in importlib.metadata.entry_points(group=group) if point.name in wanted}
    assert {name: point.value for name, point in ours.items()} == wanted
    for point in ours.values():
        assert point.load() is not None


def test_the_distribution_the_command_and_the_import_root_have_one_name() -> None:
    setup = read_setup()
    commands = listed(setup, "options.entry_points", "console_scripts")
    packages = listed(setup, "options", "packages")
    names = {setup["metadata"]["name"], *(line.partition(" = ")[0] for line in commands)}
    assert names | {package.partition(".")[0] for package in packages} == {"codesynapse"}


def test_the_promised_extras_are_there_and_all_holds_those_of_a_running_server() -> None:
    extras = read_setup()["options.extras_require"]
    promised = {"neo4j", "hugegraph", "milvus", "postgres", "suite"}
    assert promised | {"all"} <= set(extras)
    for name in promised:
        lines = listed(read_setup(), "options.extras_require", name)
        assert all(re.fullmatch(r"[a-z0-9-]+>=[\d.]+(,<\d+)?", line) for line in lines), name
    (everything,) = listed(read_setup(), "options.extras_require", "all")
    assert set(re.fullmatch(r"codesynapse\[(.+)\]", everything)[1].split(",")) == promised  # type: ignore[index]
