"""The recall's law: which terms are looked up, which records are looked at, and how they rank and pass."""

from __future__ import annotations

import pytest

from codesynapse.contracts.agent_recall import (
    POSTINGS_MAX,
    QUERY_TERMS_MAX,
    Candidate,
    Candidates,
    Question,
    bm25,
    choose,
    gate,
    idf,
    looked_up,
    passing,
    rank,
    weights_of,
)
from codesynapse.contracts.agents import Kind, Reach
from codesynapse.contracts.errors import Invalid
from codesynapse.contracts.identity import Millis


def candidates(*texts: str) -> Candidates:
    """Memories of these words, the later the newer, which are all that the agent has."""
    rows = [Candidate(Kind.MEMORY, number, Millis(number), text) for number, text in enumerate(texts, start=1)]
    terms = {term for text in texts for term in text.split()}
    return Candidates(
        rows=tuple(rows),
        total=len(texts),
        total_terms=sum(len(text.split()) for text in texts),
        frequencies={term: sum(term in text.split() for text in texts) for term in terms},
    )


def ranked(query: str, *texts: str) -> list[str]:
    return [each.candidate.terms for each in rank(Question(terms=tuple(query.split())), candidates(*texts))]


def test_a_question_counts_each_term_once_and_not_too_many() -> None:
    assert Question(terms=("tea", "milk", "tea")).asked == ("tea", "milk")
    assert len(Question(terms=tuple(f"t{number}" for number in range(100))).asked) == QUERY_TERMS_MAX
    with pytest.raises(Invalid):
        Question(terms=("two words",))
    with pytest.raises(Invalid):
        Question(terms=(), source_id="x" * 257)


def test_episodes_are_left_out_where_a_source_is_asked_for_unless_a_channel_is() -> None:
    assert Question(terms=()).with_episodes
    assert not Question(terms=(), source_id="ana").with_episodes
    assert not Question(terms=(), source_id="ana", reach=Reach(project_id="p", channel="")).with_episodes
    assert Question(terms=(), source_id="ana", reach=Reach(channel="c")).with_episodes


def test_the_rarest_terms_are_looked_up_first_and_within_a_budget() -> None:
    frequencies = {"rare": 1, "some": POSTINGS_MAX - 1, "common": 2}
    weights = weights_of(("some", "common", "rare", "nowhere"), frequencies, 10_000)
    assert list(weights) == ["rare", "common", "some"]
    assert looked_up(weights, frequencies) == ["rare", "common"]
    assert looked_up(weights, {**frequencies, "some": POSTINGS_MAX - 3}) == ["rare", "common", "some"]


def test_a_term_that_everybody_carries_is_looked_up_where_there_is_no_other() -> None:
    frequencies = {"tea": 10 * POSTINGS_MAX}
    assert looked_up(weights_of(("tea",), frequencies, 10 * POSTINGS_MAX), frequencies) == ["tea"]
    assert looked_up({}, {}) == []


def test_those_that_carry_most_are_chosen_and_of_equal_ones_the_newest() -> None:
    weights = {"rare": 3.0, "some": 1.0}
    postings = [("rare", [2, 5]), ("some", [1, 2, 7, 9])]
    assert choose(postings, weights, 10) == [2, 5, 9, 7, 1]
    assert choose(postings, weights, 2) == [2, 5]
    assert choose([], {}, 10) == []


def test_what_shares_more_comes_first_and_what_shares_nothing_is_left_out() -> None:
    assert ranked("green tea", "tea time", "green tea", "milk") == ["green tea", "tea time"]
    assert ranked("water", "tea") == [] == ranked("", "tea")


def test_a_short_record_beats_a_long_one_and_the_newest_an_equal_one() -> None:
    assert ranked("tea", "tea and much else beside it", "tea cup", "tea pot")[0] == "tea pot"
    assert ranked("tea", "tea and much else beside it", "tea cup", "tea pot")[-1] == "tea and much else beside it"


def test_the_best_has_the_score_1_and_none_has_more() -> None:
    found = rank(Question(terms=("green", "tea")), candidates("tea time", "green tea", "green"))
    assert found[0].score == 1
    assert all(0 < each.score <= 1 for each in found)


def test_memories_come_before_episodes_of_one_moment() -> None:
    rows = (Candidate(Kind.EPISODE, 1, Millis(5), "tea"), Candidate(Kind.MEMORY, 2, Millis(5), "tea"))
    found = rank(Question(terms=("tea",)), Candidates(rows=rows, total=2, total_terms=2, frequencies={"tea": 2}))
    assert [each.candidate.kind for each in found] == [Kind.MEMORY, Kind.EPISODE]


def test_a_term_is_worth_more_the_fewer_carry_it_and_never_nothing() -> None:
    worth = [idf(frequency, 100) for frequency in (1, 10, 99, 100, 101)]
    assert worth == sorted(worth, reverse=True)
    assert worth[-1] > 0
    assert bm25({"tea": 1.0}, ["tea"], 0) > bm25({"tea": 1.0}, ["milk"], 0) == 0


@pytest.mark.parametrize(("total", "least"), [(0, 0.5), (250, 0.35), (500, 0.2), (10_000, 0.2)])
def test_an_uncalibrated_gate_falls_with_the_number_of_records(total: int, least: float) -> None:
    assert gate(total) == pytest.approx(least)
    assert gate(total, deep=True) == pytest.approx(least / 2)
    assert gate(total, threshold=0.3) == 0.3


def test_a_precision_moves_the_gate_within_its_bounds() -> None:
    assert gate(500, beta=2.0) == pytest.approx(0.4)
    assert gate(500, beta=0.5) == pytest.approx(0.1)
    assert gate(0, beta=100.0) == 0.9
    assert gate(0, threshold=-1.0) == 0


def test_what_is_below_the_gate_is_left_out_and_the_best_never_is() -> None:
    found = rank(Question(terms=("green", "tea")), candidates("tea time and more", "green tea", "milk"))
    assert len(found) == 2
    assert [each.candidate.terms for each in passing(found, 0.9)] == ["green tea"]
    assert passing(found, 0.0) == found
    assert passing([], 0.5) == []
