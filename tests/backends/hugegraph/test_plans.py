"""What a commit writes: only what differs, and edges for what holds."""

from __future__ import annotations

from msgspec import structs

from codesynapse.backends.hugegraph import plans
from codesynapse.backends.hugegraph.held import Facts, Session, Tenant
from codesynapse.backends.hugegraph.session import Plan
from codesynapse.contracts.commit import check_commit
from codesynapse.contracts.memory import Outcome, Revision, Scope, entity_id
from codesynapse.contracts.suite.worlds import NOW, new_commit_id, new_scope, new_snapshot, numbered, triple
from codesynapse.contracts.triples import Triple

NOTHING = Facts(tenant=Tenant(), session=Session(), content=None)


def committed(scope: Scope, facts: Facts, *lines: str | Triple, closed: bool = False) -> tuple[Plan, Facts]:
    revision = Revision(0) if facts.content is None else facts.content.root.revision
    proposed = structs.replace(new_snapshot(scope, *lines), closed=closed)
    commit_id = new_commit_id()
    accepted = check_commit(
        facts.stored(scope, None),
        proposed,
        read_revision=revision,
        commit_id=commit_id,
        outcome=Outcome(),
        now_ms=NOW,
    )
    return plans.committing(scope, facts, accepted, commit_id, NOW, (proposed.entities, proposed.facts))


def test_a_first_commit_writes_all_and_expects_nothing() -> None:
    plan, after = committed(new_scope(), NOTHING, "ana likes tea", "ana likes milk")
    assert (plan.expected, len(plan.vertices), len(plan.edges), len(plan.gone_edges)) == (0, 3, 2, 0)
    assert {label for label, _, _ in plan.puts} == {
        "SessionMemoryTenant",
        "SessionMemorySession",
        "SessionMemoryScope",
        "SessionMemoryDue",
        "MemoryCommit",
    }
    assert (after.tenant.version, after.tenant.roots, after.tenant.live_facts) == (1, 1, 2)


def test_a_later_commit_writes_what_differs() -> None:
    scope = new_scope()
    _, before = committed(scope, NOTHING, *numbered(50))
    plan, _ = committed(scope, before, *numbered(50, start=1))
    assert (len(plan.edges), len(plan.gone_edges), len(plan.gone_vertices)) == (1, 1, 1)
    assert len(plan.vertices) == 2


def test_the_same_content_writes_no_entity_and_no_edge() -> None:
    scope = new_scope()
    _, before = committed(scope, NOTHING, "ana likes tea")
    plan, _ = committed(scope, before, "ana likes tea")
    assert (list(plan.vertices), list(plan.edges), list(plan.gone_edges)) == ([], [], [])
    assert "SessionMemorySession" not in {label for label, _, _ in plan.puts}


def test_what_has_ended_or_lies_ahead_has_no_edge() -> None:
    ahead = triple("ana visits Rome", valid_from_ms=NOW + 1)
    plan, _ = committed(new_scope(), NOTHING, "ana likes tea", ahead)
    assert [edge[1].rpartition("-")[2] for edge in plan.edges] == [entity_id("tea", "")]


def test_closing_and_emptying_remove_everything_and_the_vectors() -> None:
    scope = new_scope()
    _, before = committed(scope, NOTHING, "ana likes tea")
    for plan, after in (committed(scope, before, closed=True), plans.emptying(scope, before)):
        assert (len(plan.gone_vertices), len(plan.gone_edges), len(plan.gone), len(plan.wipes)) == (2, 1, 1, 1)
        assert after.content is not None
        assert (after.content.document, after.tenant.live_facts, after.tenant.roots) == ("", 0, 1)


def test_a_revocation_raises_the_version_and_leaves_the_content_to_the_next_step() -> None:
    scope = new_scope()
    _, before = committed(scope, NOTHING, "ana likes tea")
    plan, after = plans.revoking(scope, before, NOW)
    assert (plan.expected, after.tenant.version) == (1, 2)
    assert after.session.revoked_at_ms == NOW
    assert [label for label, _, _ in plan.puts][-1] == "SessionMemoryRevocation"
