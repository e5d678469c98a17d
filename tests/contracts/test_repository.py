"""What a commit to repository memory may do, and how its entities are found."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from codesynapse.contracts.change import apply
from codesynapse.contracts.errors import Invalid, QuotaExceeded, RevisionConflict, SnapshotInvalid
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import CommitId, Committed, Entity, FactId, Outcome, Revision, entity_id
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.repository import (
    RepositoryChange,
    RepositoryScope,
    RepositoryStored,
    answers_to,
    check_cursor,
    check_repository_commit,
    entity_matches,
    node_order,
    search_text,
    sought,
)
from codesynapse.contracts.triples import Triple

NOW = Millis(1_000)
OUTCOME = Outcome(added=1)
GRAPH = apply((), (), [Triple(subject="ana", predicate="likes", object="tea")], NOW)
CHANGE = RepositoryChange(
    scope=RepositoryScope(tenant_id="acme", repository="code"),
    entities=GRAPH.entities,
    facts=GRAPH.facts,
    terms={},
    origin_session_id="s-1",
)


def stored(**changes: Any) -> RepositoryStored:
    plain: dict[str, Any] = {
        "revision": Revision(3),
        "earlier": None,
        "live_before": 0,
        "facts": 0,
        "entities": 0,
        "present_entities": frozenset(),
        "quotas": Quotas(),
    }
    return RepositoryStored(**plain | changes)


def check(
    before: RepositoryStored, change: RepositoryChange = CHANGE, *, read: int = 3, commit_id: str = "c-1"
) -> Committed:
    return check_repository_commit(
        before, change, read_revision=Revision(read), commit_id=CommitId(commit_id), outcome=OUTCOME
    )


def test_a_commit_raises_the_revision_by_one() -> None:
    assert check(stored()) == Committed(revision=Revision(4), outcome=OUTCOME)


@pytest.mark.parametrize("read", [0, 2, 4])
def test_a_stale_revision_is_refused_with_the_current_one(read: int) -> None:
    with pytest.raises(RevisionConflict) as refusal:
        check(stored(), read=read)
    assert refusal.value.details == {"revision": 3}


def test_a_known_commit_id_answers_its_first_result_whatever_it_brings() -> None:
    earlier = Committed(revision=Revision(1), outcome=Outcome(added=7))
    malformed = structs.replace(CHANGE, entities=())
    assert check(stored(earlier=earlier), malformed, read=0) == structs.replace(earlier, replayed=True)


def test_commit_id_and_origin_are_identifiers() -> None:
    with pytest.raises(Invalid) as commit:
        check(stored(), commit_id="abc\n")
    with pytest.raises(Invalid) as origin:
        check(stored(), structs.replace(CHANGE, origin_session_id=""))
    assert (commit.value.field, origin.value.field) == ("commit_id", "origin_session_id")


def test_both_ends_of_a_fact_are_brought_or_there() -> None:
    ends = frozenset(entity.id for entity in GRAPH.entities)
    bare = structs.replace(CHANGE, entities=())
    check(stored(present_entities=ends), bare)
    for present in (frozenset(), frozenset([entity_id("ana", "")])):
        with pytest.raises(SnapshotInvalid):
            check(stored(present_entities=present), bare)


@pytest.mark.parametrize(
    "spoilt",
    [
        structs.replace(CHANGE, facts=(structs.replace(GRAPH.facts[0], id=FactId("f1")),)),
        structs.replace(CHANGE, facts=(structs.replace(GRAPH.facts[0], intervals=()),)),
        structs.replace(CHANGE, entities=(*GRAPH.entities, Entity(id=entity_id("bo", ""), name="bo "))),
    ],
)
def test_malformed_rows_are_refused(spoilt: RepositoryChange) -> None:
    with pytest.raises(SnapshotInvalid):
        check(stored(), spoilt)


@pytest.mark.parametrize("term", ["", "t" * 1_025, "a\x00", "\ud800"])
def test_a_term_is_a_text_of_1_to_1024_characters(term: str) -> None:
    terms = {GRAPH.facts[0].id: ("tea", term)}
    with pytest.raises(SnapshotInvalid) as refusal:
        check(stored(), structs.replace(CHANGE, terms=terms))
    assert refusal.value.field == "terms"
    check(stored(), structs.replace(CHANGE, terms={GRAPH.facts[0].id: ("tea", "t" * 1_024)}))


@pytest.mark.parametrize("after", [("a\ud800", "e1"), ("a", "\udfff")])
def test_a_search_for_nodes_goes_on_behind_a_text_that_can_be_stored(after: tuple[str, str]) -> None:
    check_cursor(None)
    check_cursor(("ana", "e1"))
    with pytest.raises(Invalid) as refusal:
        check_cursor(after)
    assert refusal.value.field == "after"


def test_live_facts_are_counted_by_what_they_grow() -> None:
    full = Quotas(repository_facts_max=10)
    check(stored(facts=9, quotas=full))
    check(stored(facts=10, live_before=1, quotas=full))
    closed = structs.replace(GRAPH.facts[0], intervals=((Millis(1), Millis(2)),))
    check(stored(facts=99, quotas=full), structs.replace(CHANGE, facts=(closed,)))
    with pytest.raises(QuotaExceeded) as refusal:
        check(stored(facts=10, quotas=full))
    assert (refusal.value.field, refusal.value.limit) == ("repository_facts", 10)


def test_entities_are_counted_by_what_they_grow() -> None:
    full = Quotas(repository_entities_max=10)
    ends = frozenset(entity.id for entity in GRAPH.entities)
    check(stored(entities=8, quotas=full))
    check(stored(entities=99, present_entities=ends, quotas=full))
    with pytest.raises(QuotaExceeded) as refusal:
        check(stored(entities=9, quotas=full))
    assert (refusal.value.field, refusal.value.limit) == ("repository_entities", 10)


@pytest.mark.parametrize("field", ["tenant_id", "repository"])
def test_a_repository_scope_is_well_formed(field: str) -> None:
    with pytest.raises(Invalid):
        RepositoryScope(**({"tenant_id": "a", "repository": "b"} | {field: "a/b"}))


def entity(name: str, type_: str = "", *aliases: str) -> Entity:
    return Entity(id=entity_id(name, type_), name=name, type=type_, aliases=aliases)


ANA = entity("Ana Mar\u00eda", "Person", "Stra\u00dfe")


@pytest.mark.parametrize("query", ["", "  ", "ana", "ANA mar\u00cda", "an person", "STRASSE", "\u00eda"])
def test_every_word_of_a_query_occurs_somewhere(query: str) -> None:
    assert entity_matches(ANA, query)
    assert all(word in search_text(ANA) for word in query.casefold().split())


@pytest.mark.parametrize("query", ["anna", "ana bo", "%", "maria"])
def test_a_query_with_another_word_does_not_match(query: str) -> None:
    assert not entity_matches(ANA, query)


def test_a_word_cannot_reach_over_two_texts() -> None:
    assert not entity_matches(entity("ab", "cd"), "bc")


def test_nodes_are_ordered_by_folded_name_then_id() -> None:
    twins = sorted([entity("b", "x"), entity("B", "y")], key=lambda each: each.id)
    assert sorted([entity("c"), *reversed(twins), entity("A")], key=node_order) == [entity("A"), *twins, entity("c")]


def test_a_node_answers_to_its_id_name_and_aliases_whole() -> None:
    for name in (ANA.id, "ana mar\u00eda", "ANA MAR\u00cdA", "strasse", "stra\u00dfe"):
        assert answers_to(ANA, name)
    for name in ("ana", "person", ANA.id.upper(), "", "%"):
        assert not answers_to(ANA, name)


@pytest.mark.parametrize("spelt", ["Cafe\u0301 Zoe\u0308", " Caf\u00e9 Zo\u00eb ", "\tCAFE\u0301 zo\u00eb\n"])
def test_what_is_sought_has_the_form_of_stored_names(spelt: str) -> None:
    name = "Caf\u00e9 Zo\u00eb"
    entity = Entity(id=entity_id(name, ""), name=name)
    assert entity_matches(entity, sought(spelt))
    assert answers_to(entity, sought(spelt))
    assert not answers_to(entity, sought("Cafe Zoe"))
