"""Which memories and episodes of an agent answer a question, by their words: which are looked at, and how they rank.

Pure, so that a recall never depends on the store: a store gives postings and figures, the choice is made here. BM25 as
in Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, with k1 = 0.9 and b = 0.4 for short texts.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from codesynapse.contracts.agents import EVERYWHERE, Kind, Reach, require_terms, require_text
from codesynapse.contracts.identity import Millis

K1, B = 0.9, 0.4
QUERY_TERMS_MAX = 64
POSTINGS_MAX = 4_096
"""How many postings of one kind a question may cost; the terms that most records carry are left to the ranking."""
MEMORIES_MAX = 256
EPISODES_MAX = 64

GATE_FEW, GATE_MANY, MANY = 0.5, 0.2, 500
"""The gate of an agent that was never calibrated falls from the first to the second, reached at 500 records."""
GATE_MAX = 0.9
PRECISIONS = {"strict": 2.0, "balanced": 1.0, "lenient": 0.5}


class Question(Struct, frozen=True, kw_only=True):
    """What is asked of an agent. terms: folded as those of the records are. source_id: as `source_matches` takes it."""

    terms: tuple[str, ...]
    reach: Reach = EVERYWHERE
    source_id: str = ""

    def __post_init__(self) -> None:
        require_terms(self.terms)
        require_text(self.source_id, field="source_id", maximum=256)

    @property
    def asked(self) -> tuple[str, ...]:
        """The different terms that count, at most 64."""
        return tuple(dict.fromkeys(self.terms))[:QUERY_TERMS_MAX]

    @property
    def with_episodes(self) -> bool:
        """Whether episodes, which have no source, are asked for: not where a source is, unless a channel is too."""
        return not self.source_id or bool(self.reach.channel)


class Candidate(NamedTuple):
    """A record that shares a term with a question. terms: all of its own, one blank between."""

    kind: Kind
    id: int
    created_at_ms: Millis
    terms: str


class Candidates(Struct, frozen=True, kw_only=True):
    """Records to rank, and the figures of all of the agent's, whatever their bucket.

    total: how many records. total_terms: how many terms they have. frequencies: how many carry each asked term.
    """

    rows: tuple[Candidate, ...] = ()
    total: int = 0
    total_terms: int = 0
    frequencies: Mapping[str, int] = {}


class Ranked(NamedTuple):
    """A candidate and its BM25 as a share of the best one's: in (0, 1]."""

    candidate: Candidate
    score: float


def weights_of(asked: Sequence[str], frequencies: Mapping[str, int], total: int) -> dict[str, float]:
    """What each term that some record carries is worth, the rarest first."""
    carried = sorted((frequencies[term], index) for index, term in enumerate(asked) if frequencies.get(term))
    return {asked[index]: idf(frequency, total) for frequency, index in carried}


def looked_up(weights: Mapping[str, float], frequencies: Mapping[str, int]) -> list[str]:
    """The terms whose postings choose the candidates: the rarest, as long as all of them are at most 4,096.

    The rarest one always, of which a store gives the newest 4,096.
    """
    chosen: list[str] = []
    spent = 0
    for term in weights:
        spent += frequencies[term]
        if chosen and spent > POSTINGS_MAX:
            break
        chosen.append(term)
    return chosen


def choose(postings: Iterable[tuple[str, Sequence[int]]], weights: Mapping[str, float], limit: int) -> list[int]:
    """The records that carry the most, by weight, of the terms looked up; equal ones the newest, which is by id.

    postings: of each term in the order of `weights`, the ids of the records that carry it.
    """
    sums: dict[int, float] = {}
    for term, ids in postings:
        weight = weights[term]
        for each in ids:
            sums[each] = sums.get(each, 0.0) + weight
    best = sorted(((score, each) for each, score in sums.items()), reverse=True)
    return [each for _, each in best[:limit]]


def rank(question: Question, candidates: Candidates) -> list[Ranked]:
    """The candidates, best first; equal ones the newest, then by id, memories before episodes."""
    weights = weights_of(question.asked, candidates.frequencies, candidates.total)
    mean = candidates.total_terms / max(1, candidates.total)
    scored = [(bm25(weights, row.terms.split(" "), mean), row) for row in candidates.rows]
    best = max((score for score, _ in scored), default=0.0)
    if best <= 0:
        return []
    ranked = [Ranked(row, score / best) for score, row in scored if score > 0]
    return sorted(ranked, key=_place)


def _place(each: Ranked) -> tuple[float, int, bool, int]:
    row = each.candidate
    return (-round(each.score, 9), -row.created_at_ms, row.kind is Kind.EPISODE, -row.id)


def idf(frequency: int, total: int) -> float:
    """What a term is worth: the more, the fewer records carry it; always above 0."""
    return math.log(1 + (max(total - frequency, 0) + 0.5) / (frequency + 0.5))


def bm25(weights: Mapping[str, float], terms: Sequence[str], mean_length: float) -> float:
    """The score of a record of these terms."""
    norm = K1 * (1 - B + B * len(terms) / max(mean_length, 1.0))
    score = 0.0
    for term, weight in weights.items():
        count = terms.count(term)
        if count:
            score += weight * count * (K1 + 1) / (count + norm)
    return score


def gate(total: int, *, beta: float = 1.0, threshold: float | None = None, deep: bool = False) -> float:
    """The least share of the best score that an answer must have, in [0, 0.9].

    total: how many records the agent has. threshold: the calibrated gate; without one it falls from 0.5 to 0.2 at 500
    records. beta: of the precision, 2 for strict, 0.5 for lenient. deep: halves the gate.
    """
    if threshold is None:
        threshold = GATE_FEW + (GATE_MANY - GATE_FEW) * min(total, MANY) / MANY
    return max(0.0, min(GATE_MAX, threshold * beta)) / (2 if deep else 1)


def passing(ranked: Sequence[Ranked], least: float) -> list[Ranked]:
    """Those that pass a gate; the best always does."""
    return [each for each in ranked if each.score >= least]
