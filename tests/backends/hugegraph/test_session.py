"""Plans on real servers: one writes if nothing changed, and not otherwise."""

from __future__ import annotations

import asyncio

import pytest

from codesynapse.backends.hugegraph.address import address_of
from codesynapse.backends.hugegraph.connection import Connection
from codesynapse.backends.hugegraph.faults import Late
from codesynapse.backends.hugegraph.held import Tenant
from codesynapse.backends.hugegraph.keys import tenant_key
from codesynapse.backends.hugegraph.plans import writing_tenant
from codesynapse.backends.hugegraph.session import Server
from codesynapse.contracts.suite.worlds import unique

# Holds a tenant's lock for longer than the writer has patience.
HOLD = """
synchronized (('codesynapse:' + lock).intern()) {
    graph.addVertex(T.label, 'CodeSynapseSchema', T.id, sign, 'key', sign, 'version', 0)
    graph.tx().commit()
    Thread.sleep(1500)
    graph.vertices(sign).next().remove()
    graph.tx().commit()
}
1
"""
HOLDING = "graph.tx().rollback(); g.V().hasLabel('CodeSynapseSchema').has('key', sign).hasNext()"
AFTER = """
synchronized (('codesynapse:' + lock).intern()) {
    g.V().hasLabel('SessionMemoryTenant').has('key', place).values('version').toList()
}
"""
VERSION = "g.V().hasLabel('SessionMemoryTenant').has('key', place).values('version').toList()"


async def test_a_plan_is_written_once_and_refused_on_another_version(server: Server) -> None:
    tenant = unique("tenant")
    plan = writing_tenant(tenant, Tenant(), Tenant(version=1))
    assert await server.apply(plan)
    assert not await server.apply(plan)
    assert await server.run(VERSION, place=tenant_key(tenant)) == [1]


async def test_of_many_plans_on_one_version_exactly_one_is_written(server: Server) -> None:
    tenant = unique("tenant")
    for version in range(20):
        plan = writing_tenant(tenant, Tenant(version=version), Tenant(version=version + 1))
        assert sum(await asyncio.gather(*(server.apply(plan) for _ in range(16)))) == 1


async def test_a_queue_lets_one_in_at_a_time_and_gives_up_at_the_deadline(server: Server) -> None:
    async with server.queue("b"):
        server._connection.deadline_s = 0.05
        with pytest.raises(Late):
            async with server.queue("b"):
                pass
    server._connection.deadline_s = 60
    async with server.queue("b"), server.queue("c"):
        pass


async def test_a_write_that_was_given_up_while_it_waited_for_the_lock_is_not_made_later(
    server: Server, url: str
) -> None:
    tenant = unique("tenant")
    place = tenant_key(tenant)
    hasty = Connection(address_of(url), deadline_s=60)
    patient = Server(hasty)
    await patient.run("1")
    hasty.deadline_s = 0.3
    holding = asyncio.create_task(server.run(HOLD, lock=place, sign=f"sign-{place}"))
    while await server.run(HOLDING, sign=f"sign-{place}") == [False]:
        pass
    with pytest.raises(Late):
        await patient.apply(writing_tenant(tenant, Tenant(), Tenant(version=1)))
    await holding
    # The lock is taken in turn: whoever waited is through when this has it.
    assert await server.run(AFTER, lock=place, place=place) == []
    await hasty.close()
