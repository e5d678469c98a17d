"""Ranking by words: the formula against figures worked out by hand, and that nothing but snapshot and query counts."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesynapse.contracts.change import apply
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import Entity, EntityId, Fact
from codesynapse.server.memory.ranking import (
    NAMED,
    QUERY_TERMS_MAX,
    Corpus,
    named_entities,
    query_terms,
    rank,
    terms_of,
    words,
)
from tests.server.world import triple

NOW = Millis(1_000)


def memory(*statements: tuple[str, str, str]) -> tuple[tuple[Fact, ...], dict[EntityId, Entity]]:
    applied = apply((), (), [triple(*each) for each in statements], NOW)
    return applied.facts, {entity.id: entity for entity in applied.entities}


def objects(query: str, *statements: tuple[str, str, str]) -> list[str]:
    facts, entities = memory(*statements)
    return [entities[each.fact.object].name for each in rank(query, facts, entities)]


def test_words_are_folded_stemmed_and_without_stop_words():
    assert words("The Cities of \uff21\uff2e\uff21 were lives_in") == ["citi", "ana", "live"]


def test_a_question_of_stop_words_alone_keeps_them():
    assert query_terms("who is it") == ["who", "is", "it"]
    assert query_terms("?!") == []


def test_a_question_has_each_term_once_and_a_bounded_number():
    assert query_terms("tea Tea TEAS milk") == ["tea", "milk"]
    assert len(query_terms(" ".join(f"w{number}" for number in range(500)))) == QUERY_TERMS_MAX


def test_a_fact_is_found_by_names_types_aliases_and_predicate():
    applied = apply(
        (), (), [triple("Ana", "works_at", "Louvre", subject_type="Person", object_aliases=("Museum",))], NOW
    )
    entities = {entity.id: entity for entity in applied.entities}
    assert sorted(terms_of(applied.facts[0], entities)) == sorted(["ana", "person", "work", "louvr", "museum"])


def test_bm25_is_that_of_a_hand_computed_example():
    # Three facts of 3, 3 and 4 terms: the mean is 10/3. "tea" is in two of them, "green" in one.
    facts, entities = memory(("Ana", "drinks", "tea"), ("Ben", "drinks", "milk"), ("Cleo", "drinks", "green tea"))
    scored = {entities[each.fact.object].name: each.lexical for each in rank("green tea", facts, entities)}
    tea = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    green = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))

    def weight(length: int) -> float:
        return 1.9 / (1 + 0.9 * (1 - 0.4 + 0.4 * length / (10 / 3)))

    best = (tea + green) * weight(4)
    assert scored == {"green tea": pytest.approx(1.0), "tea": pytest.approx(tea * weight(3) / best)}


def test_figures_of_a_larger_corpus_replace_those_of_the_candidates():
    facts, entities = memory(("Ana", "drinks", "tea"), ("Ben", "drinks", "milk"))
    corpus = Corpus(total=1_000, mean_length=3.0, frequencies={"drink": 900, "milk": 1})
    assert [entities[each.fact.object].name for each in rank("drink milk", facts, entities, corpus)] == ["milk", "tea"]
    (first, second) = rank("drink milk", facts, entities, corpus)
    idf = {term: math.log(1 + (1_000 - n + 0.5) / (n + 0.5)) for term, n in corpus.frequencies.items()}
    assert second.lexical / first.lexical == pytest.approx(idf["drink"] / (idf["drink"] + idf["milk"]))


def test_a_fact_about_an_entity_that_the_question_names_gets_the_bonus():
    facts, entities = memory(("Ana", "likes", "green tea"), ("Ben", "likes", "tea"))
    scored = {entities[each.fact.subject].name: each.named for each in rank("tea for Ben", facts, entities)}
    assert scored == {"Ana": 0.0, "Ben": NAMED}


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("where is new york?", {"New York"}),
        ("new yorker", set()),
        ("york new", set()),
        ("the big apple", {"New York"}),
        ("", set()),
        ("NEW-YORK", {"New York"}),
    ],
)
def test_an_entity_is_named_by_its_whole_name_or_an_alias(query: str, named: set[str]):
    applied = apply((), (), [triple("New York", "is", "...", subject_aliases=("Big Apple",))], NOW)
    found = named_entities(query, applied.entities)
    assert {entity.name for entity in applied.entities if entity.id in found} == named


def test_facts_without_a_word_of_the_question_are_not_answered():
    assert objects("tea", ("Ana", "likes", "milk")) == []
    assert objects("tea") == []
    assert objects("", ("Ana", "likes", "milk")) == []


def test_the_best_comes_first():
    statements = [("Ana", "lives_in", "Paris"), ("Ana", "works_at", "museum"), ("Ben", "lives_in", "Rome")]
    assert objects("Where does Ana live?", *statements)[0] == "Paris"


def test_equal_facts_come_newest_first_and_then_by_id():
    older = apply((), (), [triple("Ana", "likes", "tea x")], Millis(1))
    newer = apply(
        older.entities, older.facts, [triple("Ana", "likes", "tea y"), triple("Ana", "likes", "tea z")], Millis(2)
    )
    entities = {entity.id: entity for entity in newer.entities}
    ranked = rank("tea", newer.facts, entities)
    assert entities[ranked[-1].fact.object].name == "tea x"
    assert [each.fact.id for each in ranked[:2]] == sorted(each.fact.id for each in ranked[:2])


NAMES = st.sampled_from(["Ana", "Ben", "green tea", "tea", "New York", "milk", "old museum", "museum"])


@given(st.lists(st.tuples(NAMES, st.sampled_from(["likes", "lives_in"]), NAMES), max_size=12), NAMES, st.randoms())
def test_a_ranking_does_not_depend_on_the_order_of_facts_or_entities(
    statements: list[tuple[str, str, str]], query: str, dice: random.Random
):
    facts, entities = memory(*statements)
    shuffled, keys = list(facts), list(entities)
    dice.shuffle(shuffled)
    dice.shuffle(keys)
    assert rank(query, shuffled, {key: entities[key] for key in keys}) == rank(query, facts, entities)


@given(st.text(max_size=50))
def test_any_question_has_an_answer(query: str):
    facts, entities = memory(("Ana", "likes", "tea"), ("...", "is", "?"))
    for each in rank(query, facts, entities):
        assert 0 < each.score <= 1 + NAMED
