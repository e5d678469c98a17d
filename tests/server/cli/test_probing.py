"""`doctor` on the graph stores: what it says of servers that are well, and of everything that can be wrong with one."""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest
from aiohttp.test_utils import unused_port
from msgspec import structs

from codesynapse.backends import open_backend
from codesynapse.backends.hugegraph import schema as hugegraph_schema
from codesynapse.backends.neo4j import schema as neo4j_schema
from codesynapse.contracts.errors import StoreBusy, StoreFault, Unavailable
from codesynapse.contracts.ports import StoreStatus
from codesynapse.server.cli.probing import SILENT, WAIT_S, check_graph, graph_advice
from codesynapse.server.services import backend_of, open_ports
from codesynapse.server.settings import Settings
from tests.server.cli.conftest import CommandLine
from tests.servers.neo4j import LTS, NEWEST
from tests.servers.running import Record

URLS = {"neo4j": "bolt://{}@127.0.0.1:{}{}", "hugegraph": "hugegraph+http://{}@127.0.0.1:{}{}"}


def said(cli: CommandLine, graph: str, code: int = 1) -> str:
    """The one line about the graph store. No line holds a password."""
    result = cli.run("doctor", CODESYNAPSE_GRAPH=graph, CODESYNAPSE_PORT=str(unused_port()))
    assert (result.exit_code, result.stderr) == (code, ""), result.stdout
    assert "secret" not in result.stdout
    (line,) = [line for line in result.stdout.splitlines() if ": graph: " in line]
    assert ("ok: stores: sqlite opens" in result.stdout) is True
    return line


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of something that takes connections and never says a word."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


async def with_schema(server: Record) -> None:
    """Whoever is the first on a server makes its schema, and finds it slow."""
    async with open_backend(backend_of(server.url), server.options) as backend:
        assert backend.session_memory is not None
        await backend.session_memory.quotas("nobody")


def test_neo4j_is_told_with_its_version_latency_and_schema(furnished: CommandLine, neo4j_server: Record) -> None:
    asyncio.run(with_schema(neo4j_server))
    line = said(furnished, neo4j_server.url, code=0)
    assert line.startswith("ok: graph: bolt://neo4j:***@127.0.0.1:")
    assert any(f" is Neo4j {release.version} and answers in " in line for release in (LTS, NEWEST))
    assert line.endswith(" ms; schema 1, and this user may write")


def test_hugegraph_is_told_with_its_version_latency_and_schema(
    furnished: CommandLine, hugegraph_server: Record
) -> None:
    asyncio.run(with_schema(hugegraph_server))
    line = said(furnished, hugegraph_server.url, code=0)
    assert line.startswith("ok: graph: hugegraph+http://admin:***@127.0.0.1:")
    assert " is HugeGraph 1." in line
    assert line.endswith(" ms; schema 1, and this user may write")


@pytest.mark.parametrize("store", URLS)
def test_a_server_that_is_not_there_is_told_with_what_to_do(furnished: CommandLine, store: str) -> None:
    line = said(furnished, URLS[store].format("ana:secret", unused_port(), ""))
    assert line.startswith("problem: graph: ")
    assert "answers at" in line or "start the server" in line


@pytest.mark.parametrize("store", URLS)
def test_a_server_that_says_nothing_is_told_before_five_seconds_are_over(
    furnished: CommandLine, store: str, silent: int
) -> None:
    assert WAIT_S <= 3.5  # The command's own start and end want their share of the five.
    line = said(furnished, URLS[store].format("ana:secret", silent, ""))
    assert line.startswith("problem: graph: ")
    assert SILENT in line or "answers at" in line or "start the server" in line


def test_what_is_wrong_with_neo4j_is_told_with_what_to_do(
    furnished: CommandLine, neo4j_server: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(with_schema(neo4j_server))
    port = neo4j_server.url.rpartition(":")[2]
    right = neo4j_server.url
    wrong = URLS["neo4j"].format("neo4j:secret-but-wrong", port, "")
    assert said(furnished, wrong).endswith("CODESYNAPSE_GRAPH must name the user and the password of the Neo4j server")
    assert said(furnished, f"{right}/nowhere").endswith("CODESYNAPSE_GRAPH must name a database of the Neo4j server")
    with monkeypatch.context() as patch:
        patch.setattr(neo4j_schema, "OLDEST", (9_999, 0))
        assert said(furnished, right).endswith("CODESYNAPSE_GRAPH must name Neo4j 4.4 or newer")
    with monkeypatch.context() as patch:
        patch.setattr(neo4j_schema, "VERSION", 0)
        assert "made by a newer release; install that release" in said(furnished, right)


def test_what_is_wrong_with_hugegraph_is_told_with_what_to_do(
    furnished: CommandLine, hugegraph_server: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = hugegraph_server.url.partition("?")[0]
    port = right.rpartition(":")[2]
    asyncio.run(with_schema(hugegraph_server))
    wrong = URLS["hugegraph"].format("admin:secret-but-wrong", port, "")
    assert said(furnished, wrong).endswith(
        "the server refuses the user and password of CODESYNAPSE_GRAPH; correct them"
    )
    assert "no graph of the name in CODESYNAPSE_GRAPH; correct it" in said(furnished, f"{right}/nowhere")
    with monkeypatch.context() as patch:
        patch.setattr(hugegraph_schema, "OLDEST", (9_999, 0))
        assert "older than HugeGraph 1.5; upgrade it" in said(furnished, right)
    with monkeypatch.context() as patch:
        patch.setattr(hugegraph_schema, "VERSION", 0)
        assert "a newer CodeSynapse made the schema; upgrade this one" in said(furnished, right)


async def test_a_store_without_a_schema_is_a_warning_and_is_not_used() -> None:
    async def probe() -> StoreStatus:
        return StoreStatus(product="Neo4j", version="5.26.0", schema=None, latency_ms=1.5)

    settings = Settings(graph="bolt://ana:hunter2@example.org", accounts="memory")
    async with open_ports(Settings(graph="memory", accounts="memory")) as ports:
        (finding,), usable = await check_graph(settings, structs.replace(ports, probe=probe), math.inf)
        assert (finding.level, usable) == ("warning", False)
        assert finding.text.startswith("bolt://ana:***@example.org is Neo4j 5.26.0 and answers in 1.5 ms; it holds no")
        assert await check_graph(settings, ports, math.inf) == ([], True)


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (StoreFault(field="schema", limit=1), "the schema was made by a newer release; install that release"),
        (StoreFault(field="graph store: nothing answers"), "nothing answers; correct it, or start the server"),
        (StoreFault(field="graph store: too old; upgrade it"), "too old; upgrade it"),
        (StoreFault(field="url", limit="a server"), "CODESYNAPSE_GRAPH must name a server"),
        (StoreBusy(), SILENT),
        (Unavailable(), "A service did not answer"),
    ],
)
def test_every_error_becomes_one_line_of_advice(error: Unavailable, advice: str) -> None:
    assert graph_advice(error).startswith(advice)
