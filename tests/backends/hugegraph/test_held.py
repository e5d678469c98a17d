"""What is remembered between commits is of one version, and bounded."""

from codesynapse.backends.hugegraph.held import (
    SCOPES_HELD_MAX,
    TENANTS_HELD_MAX,
    Facts,
    Held,
    Session,
    Tenant,
    content_row,
    counted,
    session_of,
    tenant_of,
)
from codesynapse.contracts.memory import Scope
from codesynapse.contracts.suite.worlds import new_scope


def facts(version: int, live: int = 0) -> Facts:
    return Facts(tenant=Tenant(version=version, live_facts=live), session=Session(), content=None)


def test_what_was_put_is_there_and_of_other_scopes_nothing() -> None:
    held, scope = Held(), new_scope()
    held.put(scope, facts(3))
    assert held.get(scope) == facts(3)
    assert held.get(new_scope(tenant=scope.tenant_id)) is None
    assert held.get(new_scope()) is None


def test_a_write_that_follows_keeps_the_tenants_other_scopes_at_the_new_version() -> None:
    held, scope = Held(), new_scope()
    other = new_scope(tenant=scope.tenant_id)
    held.put(scope, facts(3))
    held.put(other, facts(3))
    held.put(scope, facts(4, live=7), follows=3)
    found = held.get(other)
    assert found is not None
    assert (found.tenant.version, found.tenant.live_facts) == (4, 7)


def test_another_version_than_the_remembered_one_ends_what_was_remembered() -> None:
    held, scope = Held(), new_scope()
    other = new_scope(tenant=scope.tenant_id)
    held.put(other, facts(3))
    held.put(scope, facts(5))
    assert held.get(other) is None
    held.put(scope, facts(7), follows=6)
    assert held.get(scope) == facts(7)
    held.forget(scope.tenant_id)
    assert held.get(scope) is None


def test_so_many_scopes_of_a_tenant_and_so_many_tenants_are_remembered() -> None:
    held = Held()
    scopes = [new_scope(tenant="a") for _ in range(SCOPES_HELD_MAX + 1)]
    for scope in scopes:
        held.put(scope, facts(1))
    assert [held.get(scope) is None for scope in scopes] == [True] + [False] * SCOPES_HELD_MAX
    for number in range(TENANTS_HELD_MAX):
        held.put(Scope(tenant_id=f"t{number}", session_id="s", ns="n"), facts(1))
    assert held.get(scopes[-1]) is None


def test_rows_that_are_not_there_are_what_the_law_takes_for_nothing() -> None:
    assert tenant_of(None) == Tenant()
    assert session_of(None) == Session()
    assert content_row(None) is None
    assert session_of([0, 0, "{}"]) == Session()
    revoked = session_of([5, 7, '{"a":[1,2]}'])
    assert (revoked.expires_at_ms, revoked.revoked_at_ms, revoked.counts) == (5, 7, {"a": (1, 2)})


def test_the_usage_is_that_of_the_other_scopes() -> None:
    scope = Scope(tenant_id="t", session_id="s", ns="mine")
    session = counted(counted(Session(), "mine", 3, 4), "other", 5, 6)
    content = content_row(["mine", 1, 9, False, 3, 4, 1, "[]", ""])
    found = Facts(tenant=Tenant(roots=7, live_facts=20), session=session, content=content).stored(scope, None)
    assert (found.usage.session_namespaces, found.usage.session_facts) == (1, 5)
    assert (found.usage.tenant_roots, found.usage.tenant_facts) == (6, 17)
