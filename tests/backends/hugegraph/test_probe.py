"""What the probe tells of real servers, and that it leaves no trace."""

from __future__ import annotations

from codesynapse.backends.hugegraph.connection import Connection
from codesynapse.backends.hugegraph.probe import probe
from codesynapse.backends.hugegraph.schema import VERSION


async def test_it_tells_version_schema_and_latency_and_leaves_no_trace(connection: Connection) -> None:
    status = await probe(connection)
    assert (status.product, status.schema) == ("HugeGraph", VERSION)
    assert status.version in ("1.5.0", "1.7.0")
    assert status.latency_ms > 0
    assert await connection.run("g.V().hasLabel('CodeSynapseSchema').has('key', 'probe').toList()", {}) == []
