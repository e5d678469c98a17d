"""A process that writes to Neo4j beside others: `python -m tests.backends.neo4j.racing URL WHAT TENANT NAME COUNT`.

WHAT `namespace`: as many writers on one namespace, each until its statement is in. WHAT `tenant`: as many sessions of
one tenant, each adding facts until its quota refuses. It prints how many facts were acknowledged.
"""

from __future__ import annotations

import asyncio
import sys

from codesynapse.backends import open_backend
from codesynapse.contracts.errors import QuotaExceeded, RevisionConflict
from codesynapse.contracts.memory import Committed
from codesynapse.contracts.ports import SessionMemory
from codesynapse.contracts.suite.worlds import Chat, new_scope, settled


async def on_one_namespace(memory: SessionMemory, tenant: str, name: str, count: int) -> int:
    """Each writer states one fact, reading again after each conflict."""
    scope = new_scope(tenant=tenant, session="shared", ns="shared")

    async def write(number: int) -> int:
        chat = Chat(memory, scope)
        while isinstance(await settled(chat.remember(f"{name}{number} was here"), RevisionConflict), Exception):
            pass
        return 1

    return sum(await asyncio.gather(*(write(number) for number in range(count))))


async def on_one_tenant(memory: SessionMemory, tenant: str, name: str, count: int) -> int:
    """Each session states one fact after the other until there is no room."""

    async def fill(number: int) -> int:
        chat = Chat(memory, new_scope(tenant=tenant, session=f"{name}{number}"))
        added = 0
        while isinstance(await settled(chat.remember(f"fact{added} was here"), QuotaExceeded), Committed):
            added += 1
        return added

    return sum(await asyncio.gather(*(fill(number) for number in range(count))))


async def main(url: str, what: str, tenant: str, name: str, count: str) -> None:
    async with open_backend("neo4j", {"url": url, "deadline_ms": "120000"}) as backend:
        assert backend.session_memory is not None
        work = on_one_namespace if what == "namespace" else on_one_tenant
        print(await work(backend.session_memory, tenant, name, int(count)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
