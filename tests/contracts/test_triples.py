"""What a caller may assert: normalised, bounded, one line."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis
from codesynapse.contracts.triples import (
    YEAR_1_MS,
    YEAR_9999_MS,
    Triple,
    aliases_of,
    all_normalised,
    is_predicate,
    is_storable,
    name_of,
    normalised,
    require_storable,
    source_of,
    text_of,
    type_of,
)


def one(**changes: Any) -> Triple:
    return Triple(**{"subject": "ana", "predicate": "likes", "object": "tea", **changes})


def test_names_become_nfc_without_blanks_around_them() -> None:
    clean = normalised(one(subject="  Cafe\u0301 ", object="\u00a0tea\u2003", subject_aliases=(" A\u030a ", "\u00c5")))
    assert (clean.subject, clean.object, clean.subject_aliases) == ("Caf\u00e9", "tea", ("\u00c5",))


@given(st.text(max_size=40))
def test_what_was_normalised_once_stays_as_it_is(text: str) -> None:
    try:
        clean = text_of(text, longest=40, field="x")
    except Invalid:
        return
    assert text_of(clean, longest=40, field="x") == clean == unicodedata.normalize("NFC", clean).strip()
    assert not {unicodedata.category(each) for each in clean} & {"Cc", "Cs"}


@pytest.mark.parametrize("bad", ["a\nb", "a\tb", "a\x00b", "a\x1fb", "a\x7fb", "a\x85b", "\ud800", "a\udfffb"])
def test_control_characters_and_lone_surrogates_are_refused(bad: str) -> None:
    for field in ("subject", "object", "subject_type", "object_type", "source"):
        with pytest.raises(Invalid) as refusal:
            normalised(one(**{field: bad}))
        assert refusal.value.field == f"triple.{field}"
    with pytest.raises(Invalid):
        normalised(one(subject_aliases=(bad,)))


@pytest.mark.parametrize(
    "good", ["a\u2028b", "a\u2029b", "\U0001f9e0", "a\u200db", "\ufeffa", "\u202ea", "\ue000", "a b"]
)
def test_other_characters_are_let_through(good: str) -> None:
    assert normalised(one(subject=good)).subject == good


@pytest.mark.parametrize(
    ("field", "longest"),
    [("subject", 256), ("object", 256), ("subject_type", 64), ("object_type", 64), ("source", 512)],
)
def test_texts_are_bounded_in_characters(field: str, longest: int) -> None:
    for character in ("x", "\U0001f9e0"):
        assert getattr(normalised(one(**{field: character * longest})), field) == character * longest
        for more in (1, longest, 100_000):
            with pytest.raises(Invalid) as refusal:
                normalised(one(**{field: character * (longest + more)}))
            assert refusal.value.field == f"triple.{field}"
            assert str(longest) in str(refusal.value.limit)


def test_a_text_is_measured_after_it_was_normalised() -> None:
    assert len(name_of("e\u0301" * 256, field="x")) == 256
    with pytest.raises(Invalid):
        name_of("\u0958" * 200, field="x")


@pytest.mark.parametrize("field", ["subject", "object"])
@pytest.mark.parametrize("empty", ["", " ", "\u2028", "\u00a0"])
def test_a_name_cannot_be_empty(field: str, empty: str) -> None:
    with pytest.raises(Invalid):
        normalised(one(**{field: empty}))


def test_no_type_and_no_source_are_allowed() -> None:
    assert type_of("", field="x") == ""
    assert source_of("", field="x") is None
    assert source_of(None, field="x") is None


@pytest.mark.parametrize("good", ["a", "likes", "lives_in", "a1_", "p" * 64])
def test_predicates_are_small_letters_digits_and_underscores(good: str) -> None:
    assert is_predicate(good)
    assert normalised(one(predicate=good)).predicate == good


@pytest.mark.parametrize("bad", ["", "A", "Likes", "_a", "1a", "a-b", "a b", "likes\n", "\nlikes", "é", "p" * 65])
def test_other_predicates_are_refused(bad: str) -> None:
    assert not is_predicate(bad)
    with pytest.raises(Invalid) as refusal:
        normalised(one(predicate=bad))
    assert (refusal.value.field, refusal.value.limit) == ("triple.predicate", "[a-z][a-z0-9_]{0,63}")


def test_there_are_at_most_eight_aliases_of_128_characters_each_once() -> None:
    assert aliases_of(["b", "a", "b", " a"], field="x") == ("b", "a")
    assert len(aliases_of(list("abcdefgh"), field="x")) == 8
    assert aliases_of(["a" * 128], field="x") == ("a" * 128,)
    for bad in (list("abcdefghi"), ["a" * 129], [""], ["a\n b"]):
        with pytest.raises(Invalid):
            aliases_of(bad, field="x")


def test_moments_lie_in_the_years_1_to_9999() -> None:
    for good in (YEAR_1_MS, YEAR_9999_MS, Millis(0)):
        assert normalised(one(valid_from_ms=good)).valid_from_ms == good
    for bad in (YEAR_1_MS - 1, YEAR_9999_MS + 1, 1 << 63):
        with pytest.raises(Invalid) as refusal:
            normalised(one(valid_from_ms=bad))
        assert refusal.value.field == "triple.valid_from"


def test_1_to_50_triples_are_normalised_at_once_and_the_bad_one_is_named() -> None:
    assert len(all_normalised([one()] * 50)) == 50
    for count in (0, 51):
        with pytest.raises(Invalid) as refusal:
            all_normalised([one()] * count)
        assert (refusal.value.field, refusal.value.limit) == ("triples", "1 to 50")
    with pytest.raises(Invalid) as named:
        all_normalised([one(), one(object="")])
    assert named.value.field == "triples[1].object"


def test_normalising_keeps_everything_else() -> None:
    whole = one(
        subject_type="person",
        object_type="drink",
        subject_aliases=("An",),
        object_aliases=("chai",),
        functional=True,
        retract=True,
        valid_from_ms=5,
        source="a letter",
    )
    assert normalised(whole) == whole


def test_ids_ignore_the_case_of_names_and_nothing_else() -> None:
    assert one(subject="ANA", object="Tea").fact_id == one().fact_id
    others = [one(subject="anna"), one(predicate="like"), one(object="teas"), one(subject_type="person")]
    assert len({each.fact_id for each in (one(), *others, one(object_type="drink"))}) == 6


@pytest.mark.parametrize("text", ["", "ana", "a\x00b", "\U0001f375", "\uffff"])
def test_any_text_but_lone_surrogates_can_be_stored(text: str) -> None:
    assert is_storable(text)
    assert require_storable(text, field="model") == text


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_lone_surrogates_are_refused_by_the_fields_name(text: str) -> None:
    assert not is_storable(text)
    with pytest.raises(Invalid) as refusal:
        require_storable(text, field="model")
    assert (refusal.value.field, refusal.value.limit) == ("model", "no lone surrogates")
