"""The agents of one organisation, in a dict."""

from contextlib import suppress

import pytest

from codesynapse.backends.memory.agent_tenant import Tenant
from codesynapse.contracts.accounts import Level
from codesynapse.contracts.agents import AgentScope
from codesynapse.contracts.errors import AgentForbidden

SCOPE = AgentScope(tenant_id="t", subject_id="u", agent_id="a")


def test_what_is_refused_is_put_back_and_what_is_not_stays() -> None:
    tenant = Tenant()
    with suppress(ZeroDivisionError), tenant.whole(dry_run=False):
        tenant.writable(SCOPE)
        tenant.new_id()
        raise ZeroDivisionError
    assert (tenant.agents, tenant.last_id) == ({}, 0)
    with tenant.whole(dry_run=True):
        tenant.writable(SCOPE)
    assert tenant.agents == {}
    with tenant.whole(dry_run=False):
        tenant.writable(SCOPE)
    assert tenant.agent(SCOPE, Level.ADMIN).agent_id == "a"


def test_an_agent_in_sight_is_one_that_the_grants_reach() -> None:
    tenant = Tenant()
    tenant.writable(SCOPE)
    assert len(tenant.seen(SCOPE.principal, Level.ADMIN)) == 1
    stranger = AgentScope(tenant_id="t", subject_id="x", agent_id="a")
    assert tenant.seen(stranger.principal, Level.READ) == []
    with pytest.raises(AgentForbidden):
        tenant.seen(stranger, Level.READ)
