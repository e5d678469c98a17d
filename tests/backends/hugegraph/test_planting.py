"""What a commit to repository memory writes, and the figures after it."""

from msgspec import structs

from codesynapse.backends.hugegraph.planting import Part, Root, planned, quotas_key, root_of, stored
from codesynapse.backends.hugegraph.rows import Figures
from codesynapse.contracts.memory import Committed, Outcome, Revision
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import RepositoryChange, RepositoryScope
from codesynapse.contracts.suite.worlds import NOW, stated

NOTHING = Part(root=Root(), quotas="", facts={}, words={}, entities={})
FIRST = Committed(revision=Revision(1), outcome=Outcome())


def change(*lines: str) -> RepositoryChange:
    graph = stated(*lines)
    return RepositoryChange(
        scope=RepositoryScope(tenant_id="t", repository="r"),
        entities=graph.entities,
        facts=graph.facts,
        terms={fact.id: ("a", "b", "a") for fact in graph.facts},
        origin_session_id="s",
    )


def figures_of(part: Part, asked: RepositoryChange) -> Figures:
    (root,) = [properties for label, _, properties in planned(part, asked, FIRST, "c", NOW).puts if label[0] == "R"]
    row = dict(zip(root[::2], root[1::2], strict=True))
    return root_of([1, row["figures"], "[]"]).figures


def test_new_rows_count_whole() -> None:
    found = figures_of(NOTHING, change("ana likes tea", "bo likes tea"))
    assert found == Figures(entities=3, facts=2, terms=6, live_facts=2, live_terms=6)


def test_rows_that_replace_others_count_their_difference() -> None:
    asked = change("ana likes tea")
    (fact,) = asked.facts
    held = Figures(entities=2, facts=1, terms=5, live_facts=1, live_terms=5)
    part = structs.replace(
        NOTHING,
        root=Root(figures=held),
        facts={fact.id: fact},
        words={fact.id: 5},
        entities={entity.id: entity for entity in asked.entities},
    )
    assert figures_of(part, asked) == Figures(entities=2, facts=1, terms=3, live_facts=1, live_terms=3)
    over = structs.replace(fact, intervals=((NOW, NOW),))
    ended = figures_of(part, structs.replace(asked, facts=(over,)))
    assert ended == Figures(entities=2, facts=1, terms=3, live_facts=0, live_terms=0)


def test_a_plan_names_the_caps_that_it_was_decided_on() -> None:
    plan = planned(NOTHING, change("ana likes tea"), FIRST, "c", NOW)
    assert list(plan.unchanged) == [("RepositoryMemoryTenant", quotas_key("t"), "quotas", "")]
    assert plan.expected == 0


def test_without_caps_the_defaults_hold() -> None:
    assert stored(NOTHING, change("ana likes tea"), None).quotas == Quotas()
    assert root_of(None) == Root()
