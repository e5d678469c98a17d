"""The part of `doctor` that asks a graph store's server: who it is, which schema it holds, and what is wrong."""

import asyncio

from codesynapse.contracts.errors import CodeSynapseError, StoreFault
from codesynapse.server.cli.findings import Finding, ok, problem, warning
from codesynapse.server.services import Ports
from codesynapse.server.settings import Settings, masked_url

WAIT_S = 3.5
"""For opening and asking together: with the start of the command, a server that is away is told of within five s."""
SILENT = "does not answer in time; start it, look at its load, or correct the host and port in CODESYNAPSE_GRAPH"


async def check_graph(settings: Settings, ports: Ports, due: float) -> tuple[list[Finding], bool]:
    """What the graph store's server says of itself until a moment of the loop, and whether the store can be used.

    A store without a server says nothing, and can be used as far as anybody knows.
    """
    if ports.probe is None:
        return [], True
    name = masked_url(settings.graph).partition("?")[0]
    try:
        async with asyncio.timeout_at(due):
            status = await ports.probe()
    except TimeoutError:
        return [problem("graph", f"{name} {SILENT}")], False
    except CodeSynapseError as error:
        return [problem("graph", f"{name}: {graph_advice(error)}")], False
    told = f"{name} is {status.product} {status.version} and answers in {status.latency_ms} ms"
    if status.schema is None:
        return [warning("graph", f"{told}; it holds no schema yet, codesynapse serve makes it")], False
    return [ok("graph", f"{told}; schema {status.schema}, and this user may write")], True


def graph_advice(error: CodeSynapseError) -> str:
    """What to do about an error of a graph store, in one line."""
    if isinstance(error, StoreFault) and error.field == "schema":
        return "the schema was made by a newer release; install that release, or restore a backup of before"
    if error.field is not None and error.field.startswith("graph store: "):
        text = error.field.removeprefix("graph store: ")
        return text if ";" in text else f"{text}; correct it, or start the server"
    if isinstance(error.limit, str):
        return f"CODESYNAPSE_GRAPH must name {error.limit}"
    return SILENT if error.code == "store_busy" else error.message
