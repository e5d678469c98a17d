"""What `doctor` asks of a server: who it is, which schema it holds, whether this user may write, how long it takes."""

import asyncio

from codesynapse.backends.hugegraph.connection import Connection
from codesynapse.backends.hugegraph.schema import schema_version, server_version
from codesynapse.contracts.ports import StoreStatus

# Undone in any case.
WRITTEN = """
graph.tx().rollback()
try {
    graph.addVertex(T.label, 'CodeSynapseSchema', T.id, 'probe', 'key', 'probe', 'version', 0)
    []
} finally {
    graph.tx().rollback()
}
"""


async def probe(connection: Connection) -> StoreStatus:
    """Ask, without making the schema where it is not there yet, which takes longer than anybody waits for an answer."""
    version = await server_version(connection)
    schema = await schema_version(connection)
    if schema is not None:
        await connection.run(WRITTEN, {})
    began = asyncio.get_running_loop().time()
    await connection.run("1", {})
    took_s = asyncio.get_running_loop().time() - began
    return StoreStatus(product="HugeGraph", version=version, schema=schema, latency_ms=round(1000 * took_s, 1))
