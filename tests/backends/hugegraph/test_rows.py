"""Rows of repository memory."""

from codesynapse.backends.hugegraph.rows import (
    answer_key,
    entity_of,
    entity_properties,
    fact_of,
    fact_properties,
    shows,
    text,
    words_of,
)
from codesynapse.contracts.suite.worlds import NOW, stated, triple
from codesynapse.contracts.triples import Triple


def named(properties: list[object]) -> dict[object, object]:
    return dict(zip(properties[::2], properties[1::2], strict=True))


def test_entities_and_facts_come_back_as_they_were() -> None:
    graph = stated(Triple(subject="Straße", predicate="is", object="x", subject_aliases=("a\u2028b",), source="s"))
    assert [entity_of(text(each)) for each in graph.entities] == list(graph.entities)
    assert [fact_of(text(each)) for each in graph.facts] == list(graph.facts)


def test_an_entity_answers_to_its_name_and_aliases_ignoring_case() -> None:
    entity = stated(Triple(subject="Straße", predicate="is", object="x", subject_aliases=("Weg",))).entities[0]
    answers = named(entity_properties("r1", entity))["answers"]
    assert answers == sorted([answer_key("r1", "strasse"), answer_key("r1", "weg")])
    assert answers != named(entity_properties("r2", entity))["answers"]


def test_a_fact_carries_each_term_once_and_its_count() -> None:
    fact = stated("bo knows bo").facts[0]
    row = named(fact_properties("r1", fact, ("bo", "knows", "bo")))
    assert isinstance(row["terms"], list)
    assert (len(row["terms"]), words_of(str(row["word_counts"]))) == (2, {"bo": 2, "knows": 1})
    assert "terms" not in named(fact_properties("r1", fact, ()))


def test_an_edge_is_for_what_holds_from_now_on() -> None:
    now, ahead = stated("ana likes tea").facts[0], stated(triple("ana likes tea", valid_from_ms=NOW + 1)).facts[0]
    assert (shows(now, NOW), shows(ahead, NOW)) == (True, False)
