"""What restoring writes, as plans: bounded, whole, and without what does not hold."""

from __future__ import annotations

from msgspec import structs

from codesynapse.backends.hugegraph import moving
from codesynapse.backends.hugegraph.keys import repository_key
from codesynapse.backends.hugegraph.planting import Root
from codesynapse.backends.hugegraph.rows import Figures, text
from codesynapse.contracts.memory import CommitId, Outcome, Revision
from codesynapse.contracts.portable import Caps, FoundFact, Head, KeptCommit, Rows
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import RESTORING, RepositoryScope
from codesynapse.contracts.suite.worlds import NOW, numbered, stated, triple
from codesynapse.contracts.triples import Triple

SCOPE = RepositoryScope(tenant_id="acme", repository="books")


def rows(*lines: str | Triple) -> Rows:
    graph = stated(*lines)
    facts = tuple(FoundFact(fact=fact, terms=("ana",), occurrences=2) for fact in graph.facts)
    return Rows(scope=SCOPE, revision=Revision(1), facts=facts, ends=graph.entities)


def test_rows_come_in_bounded_requests_that_hold_each_of_them_once() -> None:
    item = rows(*numbered(100))
    plans = list(moving.parts(item, NOW))
    assert len(plans) > 1
    assert max(len(text(plan)) for plan in plans) < 64 << 10
    assert sorted(fid for plan in plans for _, _, fid, _ in plan.edges) == sorted(each.fact.id for each in item.facts)
    for plan in plans:
        ends = {key for key, _ in plan.vertices}
        assert all({start, end} <= ends for start, end, _, _ in plan.edges)
        label, _, properties = plan.puts[0]
        assert (label, properties[properties.index("version") + 1]) == ("RepositoryMemory", RESTORING)


def test_no_rows_still_make_the_root() -> None:
    (plan,) = moving.parts(rows(), NOW)
    assert [label for label, _, _ in plan.puts] == ["RepositoryMemory"]


def test_what_does_not_hold_has_no_edge() -> None:
    (plan,) = moving.parts(rows("ana likes tea", triple("ana likes milk", valid_from_ms=NOW + 1)), NOW)
    assert (len(plan.edges), len(plan.gone_edges), len(plan.puts)) == (1, 1, 3)


def test_many_vertices_come_in_bounded_batches() -> None:
    puts = [("MemoryCommit", f"c{number}", ["outcome", "x" * 1_000]) for number in range(100)]
    batches = list(moving.batches(puts))
    assert [put for batch in batches for put in batch] == puts
    assert max(len(text(batch)) for batch in batches) <= moving.BATCH_CHARACTERS_MAX + 1_000
    assert list(moving.batches([])) == []


def test_caps_are_written_where_nobody_wrote_meanwhile() -> None:
    plan = moving.caps_plan(Caps(tenant_id="acme", of="repositories", quotas=Quotas()), "before")
    ((label, key, name, before),) = plan.unchanged
    assert (label, name, before) == ("RepositoryMemoryTenant", "quotas", "before")
    assert plan.puts[0][:2] == (label, key)


def test_the_last_plan_expects_the_half_restored_root_and_names_the_commits() -> None:
    kept = KeptCommit(commit_id=CommitId("c"), revision=Revision(1), outcome=Outcome(), origin_session_id="s")
    item = Head(scope=SCOPE, revision=Revision(1), commits=(kept,), entities=2, facts=1)
    plan = moving.finishing(item, structs.replace(Root(), revision=RESTORING), Figures(entities=2, facts=1))
    assert (plan.expected, plan.guard) == (RESTORING, repository_key(SCOPE))
    assert '["c"]' in plan.puts[0][2]
    ((_, _, properties),) = moving.commit_puts(repository_key(SCOPE), item)
    assert properties[-1] == "s"


def test_figures_are_of_all_facts_and_of_the_live_ones() -> None:
    live, ended = stated("ana likes tea").facts[0], stated("ana likes milk").facts[0]
    ended = structs.replace(ended, intervals=((NOW, NOW),))
    assert moving.figures_of([(live, 3), (ended, 4)], 3) == Figures(
        entities=3, facts=2, terms=7, live_facts=1, live_terms=3
    )
