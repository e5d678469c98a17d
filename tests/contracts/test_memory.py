"""The canonical JSON of a snapshot, its size and digest, and deterministic ids."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesynapse.contracts.change import apply
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Identity, Millis
from codesynapse.contracts.memory import (
    Entity,
    Fact,
    Scope,
    Snapshot,
    canonical,
    content_of,
    digest,
    entity_id,
    fact_id,
    live_facts,
    scope_of,
    size_bytes,
)
from codesynapse.contracts.triples import Triple

SCOPE = Scope(tenant_id="acme", session_id="s-1", ns="code")
NAMES = ["Ana", "Bo", "Caf\u00e9 \u2028", 'quo"te', "\U0001f9e0"]

triples = st.builds(
    Triple,
    subject=st.sampled_from(NAMES),
    predicate=st.sampled_from(["likes", "knows"]),
    object=st.sampled_from(NAMES),
    subject_type=st.sampled_from(["", "person"]),
    subject_aliases=st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True).map(tuple),
    functional=st.booleans(),
    valid_from_ms=st.none() | st.integers(-50, 50).map(Millis),
    source=st.none() | st.just("a letter"),
)


def snapshot(*rows: Triple, now_ms: int = 10) -> Snapshot:
    graph = apply((), (), rows, Millis(now_ms))
    return Snapshot(scope=SCOPE, entities=graph.entities, facts=graph.facts)


SAMPLE = snapshot(
    Triple(subject="Ana", subject_type="person", predicate="lives_in", object="Bern", functional=True, source='a "b"'),
    Triple(subject="Ana", subject_type="person", predicate="lives_in", object="Z\u00fcrich\u2028", functional=True),
    Triple(subject="Ana", subject_type="person", predicate="likes", object="tea", object_aliases=("chai",)),
)


def test_the_canonical_json_is_pinned() -> None:
    # A store holds documents of this form for years: whoever changes it writes a second version beside it.
    assert canonical(SAMPLE.entities, SAMPLE.facts).decode() == (
        '[1,[["tea","",["chai"]],["Z\u00fcrich\u2028","",[]],["Ana","person",[]],["Bern","",[]]],'
        '[[2,"lives_in",3,1,10,"a \\"b\\"",null,[[10,10]]],'
        '[2,"likes",0,0,10,null,null,[[10,null]]],'
        '[2,"lives_in",1,1,10,null,null,[[10,null]]]]]'
    )


def test_size_and_digest_are_of_the_canonical_json() -> None:
    document = canonical(SAMPLE.entities, SAMPLE.facts)
    assert size_bytes(SAMPLE) == len(document)
    assert digest(SAMPLE) == hashlib.sha256(document).hexdigest()
    assert canonical((), ()) == b"[1,[],[]]"


def test_the_order_of_entities_and_facts_does_not_matter() -> None:
    turned = msgspec.structs.replace(SAMPLE, entities=SAMPLE.entities[::-1], facts=SAMPLE.facts[::-1])
    assert digest(turned) == digest(SAMPLE)


@given(st.lists(triples, max_size=8))
def test_what_was_written_is_read_back(rows: list[Triple]) -> None:
    whole = snapshot(*rows)
    document = canonical(whole.entities, whole.facts)
    entities, facts = content_of(document)
    assert set(entities) == set(whole.entities)
    assert set(facts) == set(whole.facts)
    assert canonical(entities, facts) == document


@pytest.mark.parametrize("document", [b"", b"[]", b"[1,[]]", b"{}", b'[1,[["a"]],[]]', b"[1,[],[[0]]]"])
def test_another_document_is_refused(document: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        content_of(document)


def test_ids_are_pinned_and_ignore_the_case_of_names() -> None:
    assert entity_id("Ana", "person") == entity_id("ANA", "person") == "ed5dddb76e0bc212fc1b340a3"
    assert fact_id(entity_id("a", ""), "p", entity_id("b", "")) == "f47ec752f5a9639f6f6ad42c9"
    assert entity_id("Stra\u00dfe", "") == entity_id("STRASSE", "")
    assert entity_id("Ana", "Person") != entity_id("Ana", "person")


def test_a_name_cannot_pass_for_a_name_and_a_type() -> None:
    assert entity_id("a b", "") != entity_id("a", "b")
    assert fact_id(entity_id("a", ""), "p", entity_id("b", "")) != fact_id(entity_id("b", ""), "p", entity_id("a", ""))


def fact(*intervals: tuple[int, int | None]) -> Fact:
    subject = entity_id("a", "")
    return Fact(
        id=fact_id(subject, "p", subject),
        subject=subject,
        predicate="p",
        object=subject,
        recorded_at_ms=Millis(0),
        intervals=tuple((Millis(start), None if end is None else Millis(end)) for start, end in intervals),
    )


def test_a_fact_is_live_while_its_newest_interval_is_open() -> None:
    assert fact((1, 2), (5, None)).live
    assert not fact((1, 2), (5, 6)).live
    assert live_facts((fact((1, None)), fact((1, 2)), fact((9, None)))) == 2


def test_a_fact_is_current_inside_its_intervals_only() -> None:
    held = fact((1, 3), (5, None))
    assert [held.current(Millis(moment)) for moment in (0, 1, 2, 3, 4, 5, 99)] == [
        False,
        True,
        True,
        False,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize("field", ["tenant_id", "session_id", "ns"])
def test_a_scope_is_well_formed(field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        Scope(**({"tenant_id": "a", "session_id": "a", "ns": "a"} | {field: "abc\n"}))
    assert refusal.value.field == field


def test_a_scope_is_the_identitys_own() -> None:
    ana = Identity(tenant_id="acme", subject_id="ana", session_id="s-1", parent_session_id="s-1")
    assert scope_of(ana, "code") == SCOPE


def test_an_entity_has_no_type_and_no_aliases_by_default() -> None:
    assert Entity(id=entity_id("a", ""), name="a") == Entity(id=entity_id("a", ""), name="a", type="", aliases=())
