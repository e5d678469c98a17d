"""Texts on their way into agent memory: what is cut, folded, and compared."""

from __future__ import annotations

import pytest

from codesynapse.contracts.agents import TERMS_MAX, NewMemory
from codesynapse.contracts.errors import Invalid
from codesynapse.server.agents.wording import Exclusion, ahead_ms, cleaned, folded_source, is_blank, span, terms_of
from tests.server.world import START_MS


def test_words_are_kept_as_often_as_they_occur_and_never_more_than_an_index_takes():
    assert terms_of("Tea, teas and the tea", "cup") == ("tea", "tea", "tea", "cup")
    many = terms_of("word " * (TERMS_MAX + 5))
    assert len(many) == TERMS_MAX
    NewMemory(content="x", terms=many)
    NewMemory(content="x", terms=terms_of("x" * 500 + "bl " + "ﬁ" * 200))


def test_the_marks_of_recalled_memories_are_not_stored_again():
    assert cleaned("[Memory from 2026-01-01] Ana likes tea", field="content") == ("Ana likes tea", False)
    assert cleaned("A [Memory from Ana] B", field="content") == ("A  B", False)
    assert cleaned("[Memory of Ana]", field="content") == ("[Memory of Ana]", False)
    assert cleaned("  indented\n", field="content") == ("  indented\n", False)


@pytest.mark.parametrize("text", ["", " \n\t", "[Memory from here]", "[Memory from a] [Memory from b]"])
def test_a_text_without_anything_is_refused_by_its_field(text: str):
    with pytest.raises(Invalid) as refused:
        cleaned(text, field="content")
    assert refused.value.field == "content"


def test_a_text_that_is_too_long_is_cut_and_said_to_be():
    assert cleaned("abcde", field="content", maximum=5) == ("abcde", False)
    assert cleaned("abcdef", field="content", maximum=5) == ("abcde", True)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("ai", "Agent"), ("Assistant", "Agent"), (" user ", "User"), ("session", "System"), ("Robot", "Robot"), (5, 5)],
)
def test_types_of_sources_fold_to_three_words(sent: object, kept: object):
    assert folded_source({"type": sent, "id": "x"}) == {"type": kept, "id": "x"}


@pytest.mark.parametrize("sent", [None, {}])
def test_no_source_is_an_anonymous_one(sent: None):
    assert folded_source(sent) == {}


def test_a_timestamp_is_ahead_only_beyond_the_allowance():
    assert ahead_ms("2027-01-15T08:05:00Z", START_MS) == 0
    assert ahead_ms("2027-01-15T08:05:01Z", START_MS) == 301_000
    assert ahead_ms("tomorrow", START_MS) == 0


def test_the_span_of_a_history_is_of_the_moments_that_it_names():
    early, late = "2026-01-01T01:00:00+02:00", "2026-01-01T00:00:00Z"
    assert span([late, None, 5, "soon", early]) == (early, late)
    assert span([None, "soon"]) == ("", "")


def test_short_texts_exclude_their_like_and_long_ones_what_begins_alike():
    sentence = "Ana has been drinking green tea every morning since May"
    assert Exclusion(["  GREEN  tea "]).excludes("green tea")
    assert not Exclusion(["Ana has b"]).excludes(sentence)
    assert Exclusion([sentence[:43]]).excludes(sentence)
    assert Exclusion([sentence + " of last year"]).excludes(sentence)
    assert not Exclusion([sentence]).excludes("Ana")
    assert not Exclusion(["", "  "]).excludes("")


@pytest.mark.parametrize("text", ["", "  ", "\n\t", "\u200b\u200b", "\u202e", "\x00\x07", "\u00a0\u2003"])
def test_a_text_of_which_nobody_would_see_anything_is_blank(text: str):
    assert is_blank(text)
    with pytest.raises(Invalid):
        cleaned(text, field="content")


@pytest.mark.parametrize("text", [".", " a", "\u200b?", "\ue000", "\U0001f375", "\u0301"])
def test_a_text_of_which_somebody_would_see_something_is_not(text: str):
    assert not is_blank(text)
    assert cleaned(text, field="content")[0] == text
