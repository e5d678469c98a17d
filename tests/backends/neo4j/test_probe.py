"""What the probe tells of a real server, and that it leaves no trace."""

from __future__ import annotations

from codesynapse.backends.neo4j.connection import Database
from codesynapse.backends.neo4j.probe import probe
from codesynapse.backends.neo4j.schema import VERSION
from tests.backends.neo4j.conftest import Ask
from tests.servers.neo4j import LTS, NEWEST


async def test_it_tells_version_schema_and_latency_and_leaves_no_trace(database: Database, ask: Ask) -> None:
    status = await probe(database)
    (kernel,) = await ask("CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel' RETURN versions")
    assert (status.product, status.version, status.schema) == ("Neo4j", kernel["versions"][0], VERSION)
    assert status.version in {release.version for release in (LTS, NEWEST)}
    assert status.latency_ms > 0
    (left,) = await ask("MATCH (n:CodeSynapseProbe) RETURN count(n) AS nodes")
    assert left["nodes"] == 0
