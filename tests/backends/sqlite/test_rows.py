"""Entities and facts survive their rows."""

from collections.abc import Callable

import pytest
from msgspec import structs

from codesynapse.backends.sqlite.rows import (
    content_of_row,
    entity_of,
    entity_row,
    fact_of,
    fact_row,
    json_array,
    outcome_of,
    quotas_of,
)
from codesynapse.contracts.errors import StoreFault
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.memory import Entity, entity_id
from codesynapse.contracts.quotas import Quotas
from codesynapse.contracts.suite.worlds import NOW, later, stated

[FACT] = stated("Ana lives_in Rome", origin="s1").facts


def test_an_entity_comes_back_as_it_was_and_its_row_says_what_a_search_looks_into() -> None:
    entity = Entity(id=entity_id("STRASSE", "Place"), name="Straße", type="Place", aliases=("Road", 'a "b"'))
    *row, folded, search_text = entity_row(entity)
    assert entity_of(row) == entity
    assert (folded, search_text) == ("strasse", 'strasse\nplace\nroad\na "b"')


def test_a_fact_comes_back_as_it_was() -> None:
    *row, live, turns_ms, terms = fact_row(FACT, 3)
    assert fact_of(row) == FACT
    assert (live, turns_ms, terms) == (True, NOW, 3)


def test_the_last_turn_of_a_closed_fact_is_its_end() -> None:
    end = later(NOW, 5)
    row = fact_row(structs.replace(FACT, intervals=((NOW, end),)), 0)
    assert row[-3:-1] == (False, end)


def test_a_row_without_an_origin_gives_a_fact_without_one() -> None:
    row = list(fact_row(FACT, 0)[:-3])
    assert row[7] == "s1"
    row[7] = None
    assert fact_of(row).origin_session_id is None


def test_a_moment_before_1970_comes_back() -> None:
    early = Millis(-62_135_596_800_000)
    *row, _, _, _ = fact_row(stated("Ana likes tea", now_ms=early).facts[0], 0)
    assert fact_of(row).intervals == ((early, None),)


def test_texts_that_cannot_be_stored_are_left_out_of_a_query() -> None:
    assert json_array(["tea", "\ud800", "caf\u00e9"]) == '["tea","caf\u00e9"]'


def test_a_row_without_caps_has_the_defaults() -> None:
    assert quotas_of(None) == quotas_of("{}") == Quotas()


@pytest.mark.parametrize(
    "read",
    [
        lambda: entity_of(("id", "name", "type", "[1]")),
        lambda: entity_of(("id", "name")),
        lambda: fact_of(("id", "s", "p", "o", 1, NOW, "source", None, "{}")),
        lambda: content_of_row(b'{"tampered": true}'),
        lambda: content_of_row(b"[1,[],[[0,1,2]]]"),
        lambda: outcome_of(b"[]"),
        lambda: quotas_of("[]"),
    ],
)
def test_a_row_that_means_nothing_is_a_fault_of_the_store(read: Callable[[], object]) -> None:
    with pytest.raises(StoreFault) as fault:
        read()
    assert fault.value.cause == "ROW_UNREADABLE"
    assert fault.value.__cause__ is not None
