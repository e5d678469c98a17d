"""What `doctor` asks of a server: who it is, which schema it holds, whether this user may write, how long it takes."""

import asyncio
from typing import LiteralString

from codesynapse.backends.neo4j.connection import Database, Transaction
from codesynapse.backends.neo4j.schema import VERSION_READ
from codesynapse.contracts.ports import StoreStatus

COMPONENTS: LiteralString = (
    "CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel' RETURN versions[0] AS version"
)
# Refused to a user who may only read, and undone in any case.
WRITTEN: LiteralString = "CREATE (n:CodeSynapseProbe {name: $name}) RETURN n.name AS name"


async def probe(database: Database) -> StoreStatus:
    """Ask. Raises what any call raises."""
    (component,) = await database.rows(COMPONENTS, {})
    began = asyncio.get_running_loop().time()
    (schema,) = await database.rows(VERSION_READ, {})
    took_s = asyncio.get_running_loop().time() - began

    async def work(transaction: Transaction) -> None:
        await transaction.rows(WRITTEN, {"name": "probe"})

    await database.behind_writers("probe", work)
    return StoreStatus(
        product="Neo4j", version=component["version"], schema=schema["version"], latency_ms=round(1000 * took_s, 1)
    )
