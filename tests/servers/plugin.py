"""Gives the tests their servers: started when the first test that needs one is collected, ended with the run.

A test needs a server when it is a test of the contract suite on that server's store, or asks for its fixture.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from importlib.metadata import entry_points

import pytest

from codesynapse.contracts.plugin import GROUP, OPENED, Named, named_key, variable
from tests.servers import running
from tests.servers.artifacts import exclusively
from tests.servers.kinds import KINDS, NEO4J, TESTED

RUN = "CODESYNAPSE_TEST_RUN"
"""The environment variable that names this run to the workers: its servers are shared, and end when it does."""

CHOOSING = ("neo4j_server", "hugegraph_server", "graph_server", "graph")
"""The fixtures below whose parameter may be the name of a server."""

ALL = "all_servers"
"""The fixture of a test that needs every kind of server at once."""

starting_key: pytest.StashKey[dict[str, Future[running.Record]]] = pytest.StashKey()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        os.environ[RUN] = running.myself()
    config.stash[starting_key] = {}
    named = config.stash[named_key]
    for store in [each for each in named if variable(each) not in os.environ]:
        kinds = [kind.name for kind in TESTED.values() if kind.store == store]
        if len(kinds) > 1:
            # A store that runs on several versions of its server is checked on each of them.
            del named[store]
            named.update((kind, _named(kind, {})) for kind in kinds)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start what is needed beside the first tests, which need nothing of it."""
    if not session.config.option.collectonly:
        for name in {name for item in session.items for name in needs(item)}:
            _starting(session.config, name)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Wait for the servers of a test, and tell the contract plugin where they are."""
    for name in needs(item):
        record = _starting(item.config, name).result()
        store = KINDS[name].store
        named = item.config.stash[named_key]
        if name in named and variable(store) not in os.environ:
            named[name] = _named(name, record.options)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test that sweeps be alone on its server: what it removes and counts is that of all workers."""
    with ExitStack() as stack:
        for name in needs(item):
            assert isinstance(item, pytest.Function)
            sweeps = "sweep(" in inspect.getsource(item.function)
            stack.enter_context(exclusively(f"sweeping-{name}", shared=not sweeps))
        return (yield)


def pytest_unconfigure(config: pytest.Config) -> None:
    # Without the variable this run was refused while it was configured, and has no servers.
    if not hasattr(config, "workerinput") and RUN in os.environ:
        for name in KINDS:
            running.release(name, os.environ[RUN])


def needs(item: pytest.Item) -> list[str]:
    """The servers that a test needs."""
    if not isinstance(item, pytest.Function):
        return []
    params = item.callspec.params if hasattr(item, "callspec") else {}
    of_suite = [kind.name for kind in TESTED.values() if kind.name == params.get(OPENED) and not _given(kind.store)]
    asked = list(TESTED) if ALL in item.fixturenames else []
    chosen = [params[fixture] for fixture in CHOOSING if params.get(fixture) in KINDS]
    return list(dict.fromkeys([*of_suite, *asked, *chosen]))


def _given(store: str) -> bool:
    """Whether the environment says where a store's server is."""
    return variable(store) in os.environ


def _named(kind: str, options: Mapping[str, str]) -> Named:
    (entry,) = entry_points(group=GROUP, name=KINDS[kind].store)
    return Named(kind, entry.load(), options)


def _starting(config: pytest.Config, name: str) -> Future[running.Record]:
    known = config.stash[starting_key]
    if name not in known:
        executor = ThreadPoolExecutor(1)
        known[name] = executor.submit(running.ensure, name, os.environ[RUN])
        executor.shutdown(wait=False)
    return known[name]


@pytest.fixture(scope="session", params=NEO4J)
def neo4j_server(request: pytest.FixtureRequest) -> running.Record:
    """The Neo4j of a version that all tests of this run share."""
    return _starting(request.config, request.param).result()


@pytest.fixture(scope="session", params=["hugegraph-1.5", "hugegraph-1.7"])
def hugegraph_server(request: pytest.FixtureRequest) -> running.Record:
    """The HugeGraph of a version that all tests of this run share."""
    return _starting(request.config, request.param).result()


@pytest.fixture(scope="session", params=list(TESTED))
def graph_server(request: pytest.FixtureRequest) -> running.Record:
    """The server of each kind that all tests of this run share."""
    return _starting(request.config, request.param).result()


@pytest.fixture(scope="session", params=["sqlite", *TESTED])
def graph(request: pytest.FixtureRequest) -> str:
    """What CODESYNAPSE_GRAPH says for each store that outlives a process."""
    return _starting(request.config, request.param).result().url if request.param in KINDS else str(request.param)


@pytest.fixture(scope="session", name=ALL)
def every_server(request: pytest.FixtureRequest) -> dict[str, running.Record]:
    """Every server that all tests of this run share, by the name of its kind."""
    return {name: _starting(request.config, name).result() for name in TESTED}
