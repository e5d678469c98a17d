"""The pytest plugin of the contract suite (pytest11): `--contract NAME[=URL]`, once for each backend to check.

    $ pytest --pyargs codesynapse.contracts.suite --contract mygraph=bolt://127.0.0.1:7687

or, with a test file that says `from codesynapse.contracts.suite import *`, just `pytest --contract mygraph`.

NAME is an entry point of the group `codesynapse.backends`. What its factory is given comes from the first of these
places that has any: the command line, the environment variable `CODESYNAPSE_CONTRACT_<NAME>` (the name in capitals,
`_` for whatever is no letter or digit), the line of that name in the ini option `contract_backends`. Each is a URL,
which becomes the option `url`, or `key=value,key=value`. `{tmp}` in a value is a fresh folder: one for the run, and one
more for each test that closes a backend and opens it again.

The lines of `contract_backends` (`NAME` or `NAME=…`) also say which backends are checked without `--contract`.

A test that a backend's static Features rule out is deselected at collection, never reported as left out. An unknown
name ends the run, and a backend that cannot be opened is an error of every test.

`--contract-report html` (or `json`) writes what the run has shown, row by row, for others to read; its form is
`codesynapse.contracts.report`.
"""

# Nothing of ours is imported up here: an entry point is loaded before coverage starts to count.
import os
import re
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from codesynapse.contracts.ports import Backend, Features, OpenBackend

GROUP = "codesynapse.backends"
REQUIRES = "contract_requires"
WITHOUT = "contract_without"
OPENED = "opened_backend"
FIXTURES = "codesynapse.contracts.suite.fixtures"
REPORTING = "codesynapse.contracts.suite.reporting"
UNNAMED = "the contract suite was collected and no backend named: name a backend with --contract NAME"

_pairs = re.compile(r"[a-z][a-z0-9_]*=").match


class Named:
    """A backend that was named: its declared features, and how to open it."""

    def __init__(self, name: str, opener: "OpenBackend", options: Mapping[str, str]) -> None:
        self.name = name
        self.features: Features = opener.features
        self._opener = opener
        self.options = options

    def open(self, folder: Path, **more: str) -> "AbstractAsyncContextManager[Backend]":
        """Open it; folder: what `{tmp}` stands for."""
        options = {key: value.replace("{tmp}", str(folder)) for key, value in self.options.items()}
        return self._opener({**options, **more})


named_key: pytest.StashKey[dict[str, Named]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("codesynapse")
    group.addoption(
        "--contract",
        action="append",
        default=[],
        metavar="NAME[=URL]",
        help="run the contract suite on this backend, an entry point of codesynapse.backends; repeatable",
    )
    group.addoption(
        "--contract-report",
        choices=["html", "json"],
        help="also write a report of the suite that can be published",
    )
    group.addoption(
        "--contract-report-output",
        metavar="FILE",
        help="where to write the report; contract-NAME.html or contract-NAME.json in this folder otherwise",
    )
    parser.addini("contract_backends", "NAME[=URL] of the backends to check without --contract", "linelist", [])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{REQUIRES}(*features): a test of the suite, for backends that declare all of these"
    )
    config.addinivalue_line("markers", f"{WITHOUT}(feature): a test of the suite, for backends that do not declare it")
    config.stash[named_key] = {}
    lines = dict(_split(line) for line in config.getini("contract_backends"))
    asked = dict(_split(line) for line in config.getoption("contract")) or lines
    for name, text in asked.items():
        text = text or os.environ.get(variable(name), "") or lines.get(name, "")
        config.stash[named_key][name] = Named(name, _opener(name), parsed(text))
    if asked:
        # By name: the suite imports this module, and modules do not import one another in a circle.
        config.pluginmanager.import_plugin(FIXTURES)
    if config.getoption("contract_report"):
        config.pluginmanager.import_plugin(REPORTING)
    elif config.getoption("contract_report_output"):
        raise pytest.UsageError("--contract-report-output: name the form as well, with --contract-report html or json")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if OPENED in metafunc.fixturenames and (names := metafunc.config.stash[named_key]):
        metafunc.parametrize(OPENED, list(names), indirect=True, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the Features rule out."""
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        (kept if _applies(item, config) else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def _applies(item: pytest.Item, config: pytest.Config) -> bool:
    if not any(mark.name in (REQUIRES, WITHOUT) for mark in item.iter_markers()):
        return True
    if not config.stash[named_key]:
        raise pytest.UsageError(UNNAMED)
    features = named_of(item).features
    needed = [feature for mark in item.iter_markers(REQUIRES) for feature in mark.args]
    barred = [feature for mark in item.iter_markers(WITHOUT) for feature in mark.args]
    return all(getattr(features, each) for each in needed) and not any(getattr(features, each) for each in barred)


def named_of(item: pytest.Item) -> Named:
    """The backend that a test of the suite runs on."""
    assert isinstance(item, pytest.Function)
    return item.config.stash[named_key][str(item.callspec.params[OPENED])]


def variable(name: str) -> str:
    """The environment variable that holds a backend's options."""
    return "CODESYNAPSE_CONTRACT_" + re.sub(r"[^A-Z0-9]", "_", name.upper())


def examples(few: int) -> int:
    """How many examples a generated test tries: few, or ten times as many with CODESYNAPSE_FULL=1."""
    return 10 * few if os.environ.get("CODESYNAPSE_FULL") == "1" else few


def parsed(text: str) -> dict[str, str]:
    """Options from a URL or from `key=value,key=value`."""
    if not text:
        return {}
    if not _pairs(text):
        return {"url": text}
    pairs = (pair.partition("=") for pair in text.split(","))
    return {key.strip(): value for key, _, value in pairs}


def _split(line: str) -> tuple[str, str]:
    name, _, text = line.partition("=")
    return name.strip(), text.strip()


def _opener(name: str) -> "OpenBackend":
    known: dict[str, EntryPoint] = {point.name: point for point in entry_points(group=GROUP)}
    if name not in known:
        raise pytest.UsageError(f"--contract: no backend {name!r}; there are: {', '.join(sorted(known)) or 'none'}")
    try:
        opener: OpenBackend = known[name].load()
    except (ImportError, AttributeError) as error:
        raise pytest.UsageError(f"--contract: backend {name!r} ({known[name].value}) is not there: {error}") from error
    if not hasattr(opener, "features"):
        raise pytest.UsageError(f"--contract: backend {name!r} declares no Features (codesynapse.contracts.opening)")
    return opener
