"""A process that writes to a graph server beside others: `python -m tests.backends.racing STORE URL WORK NAME COUNT …`.

WORK `namespace`, then a tenant: so many writers on one namespace of it, each until its statement is in. WORK `tenants`,
then tenants: in each of them so many sessions, each stating facts until the tenant's quota refuses.
It says "ready" once it is connected, begins at a line of its input, and prints as JSON what it was told.
"""

from __future__ import annotations

import asyncio
import sys

import msgspec

from codesynapse.backends import open_backend
from codesynapse.contracts.errors import QuotaExceeded, RevisionConflict
from codesynapse.contracts.memory import Committed
from codesynapse.contracts.ports import SessionMemory
from codesynapse.contracts.suite.worlds import Chat, new_scope, settled

SHARED = "shared"


class Told(msgspec.Struct, kw_only=True):
    """The revisions that were acknowledged, the conflicts that were reported, the acknowledged facts of each tenant."""

    revisions: list[int] = msgspec.field(default_factory=list)
    conflicts: int = 0
    facts: dict[str, int] = msgspec.field(default_factory=dict)


def session_of(name: str, number: int) -> str:
    """The session of a process's writer in each tenant."""
    return f"{name}-{number}"


async def on_one_namespace(memory: SessionMemory, tenant: str, name: str, count: int) -> Told:
    """Each writer states one fact, reading again after each conflict."""
    scope, told = new_scope(tenant=tenant, session=SHARED), Told()

    async def write(number: int) -> None:
        chat = Chat(memory, scope)
        while isinstance(
            result := await settled(chat.remember(f"{session_of(name, number)} was here"), RevisionConflict), Exception
        ):
            told.conflicts += 1
        told.revisions.append(result.revision)

    await asyncio.gather(*(write(number) for number in range(count)))
    return told


async def on_tenants(memory: SessionMemory, tenants: list[str], name: str, count: int) -> Told:
    """Each session states one fact after the other until its tenant has no room."""
    told = Told()

    async def fill(tenant: str, number: int) -> None:
        chat = Chat(memory, new_scope(tenant=tenant, session=session_of(name, number)))
        added = 0
        while isinstance(await settled(chat.remember(f"fact{added} was here"), QuotaExceeded), Committed):
            added += 1
        told.facts[tenant] = told.facts.get(tenant, 0) + added

    await asyncio.gather(*(fill(tenant, number) for tenant in tenants for number in range(count)))
    return told


async def main(store: str, url: str, work: str, name: str, count: str, *tenants: str) -> None:
    async with open_backend(store, {"url": url, "deadline_ms": "120000"}) as backend:
        memory = backend.session_memory
        assert memory is not None
        await Chat(memory, new_scope()).load()
        print("ready", flush=True)
        sys.stdin.readline()
        if work == "namespace":
            told = await on_one_namespace(memory, tenants[0], name, int(count))
        else:
            told = await on_tenants(memory, list(tenants), name, int(count))
    print(msgspec.json.encode(told).decode())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
